"""Record what the libraries compute with the weights of `make real`, in real_weights.json.

    make real-test
    .venv/bin/pip install --target v --no-deps wordllama==0.4.0.post1 toml
    PYTHONPATH=v .venv/bin/python tests/data/golden/real_weights.py

Similarities are of each query with each document, by sentence-transformers and, of the static embeddings, by wordllama
itself; log-odds are of the first query, by transformers. All on a CPU in float32, one text at a time.
"""

import json
from importlib.metadata import version
from pathlib import Path

import torch
from safetensors.numpy import load_file
from sentence_transformers import SentenceTransformer, SparseEncoder
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer
from wordllama import inference

MODELS = Path("models")
QUERIES = [
    "solar power in the desert Plants in Africa are relevant.",
    "太阳能 只要非洲的电站",
    "солнечная энергия в пустыне",
]
DOCUMENTS = [
    "Ouarzazate The plant in Morocco supplies a million homes.",
    "Ferry sank A passenger ferry sank in a storm.",
    "摩洛哥的太阳能电站为一百万户家庭供电。",
]
ENCODERS = {
    "all-MiniLM-L6-v2": SentenceTransformer,
    "multilingual-e5-small-4bit": SentenceTransformer,
    "splade-tiny": SparseEncoder,
}
CAUSAL, PROMPT, TOKENS = "SmolLM2-135M-Instruct-4bit", "Query: {}\nDocument: {}\nRelevant:", ["Ġno", "Ġyes"]


def similarities(name, kind):
    """Return the similarity of each query with each document."""
    model = kind(str(MODELS / name), device="cpu")
    queries, documents = (
        [encode([text], convert_to_tensor=True) for text in texts]
        for encode, texts in ((model.encode_query, QUERIES), (model.encode_document, DOCUMENTS))
    )
    return [[float(model.similarity(query, document)) for document in documents] for query in queries]


def static():
    """Return the same by wordllama, whose loader looks for its tokenizer in another folder than its wheel's."""
    folder = Path(inference.__file__).parent
    weights = load_file(folder / "weights" / "l2_supercat_256.safetensors")["embedding.weight"]
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    model = inference.WordLlamaInference(weights, tokenizer)
    return [[float(model.similarity(query, document)) for document in DOCUMENTS] for query in QUERIES]


def log_odds():
    """Return the logit of yes minus that of no for each document."""
    tokenizer = AutoTokenizer.from_pretrained(MODELS / CAUSAL)
    network = AutoModelForCausalLM.from_pretrained(MODELS / CAUSAL, dtype=torch.float32).eval()
    no, yes = tokenizer.convert_tokens_to_ids(TOKENS)
    odds = []
    for document in DOCUMENTS:
        inputs = tokenizer(PROMPT.format(QUERIES[0], document), return_tensors="pt")
        with torch.no_grad():
            logits = network(**inputs).logits[0, -1]
        odds.append(float(logits[yes] - logits[no]))
    return odds


programs = ("sentence-transformers", "transformers", "torch", "wordllama")
recorded = {
    "program": ", ".join(f"{name} {version(name)}" for name in programs),
    "script": "tests/data/golden/real_weights.py",
    "queries": QUERIES,
    "documents": DOCUMENTS,
    "prompt": PROMPT,
    "tokens": TOKENS,
    "scores": {name: similarities(name, kind) for name, kind in ENCODERS.items()}
    | {"wordllama-256": static(), CAUSAL: log_odds()},
}
path = Path(__file__).with_suffix(".json")
path.write_text(json.dumps(recorded, ensure_ascii=False, indent=1) + "\n")

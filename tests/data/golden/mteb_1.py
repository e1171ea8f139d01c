"""Record what mteb 1.21.0's loaders, which mFollowIR used, make of queries and documents, in mteb_1.json.

    python tests/support/golden_models.py FOLDER
    uv venv v --python 3.11
    uv pip install --python v/bin/python torch==2.13.0 mteb==1.21.0 transformers==4.46.3 sentence-transformers==3.3.1 \
        gritlm==1.0.2 FlagEmbedding==1.4.2 peft==0.15.2 'datasets<4' accelerate sentencepiece protobuf
    v/bin/python tests/data/golden/mteb_1.py FOLDER

The first command runs in Heed's environment (the last packages of the third can need --no-deps, as they ask for CUDA).
Every loader of mteb runs as it is, and the evaluator of its task mFollowIR asks it; only the hub's ids lead to the
tiny models, in single precision. Rerankers are called with texts: that evaluator hands them a document as a dict of
title and text, which two of them refuse and the others print into their prompts. Tokenizers of E5-Mistral and SFR
append ``</s>``, as theirs do under transformers 4; an encoder that attends both ways by nature stands in for GritLM's
own code, which is not on PyPI.
"""

import json
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))
from golden_texts import ASKED, DOCUMENTS

FOLDER = Path(sys.argv[1])
BESIDE = ("transformers", "sentence-transformers", "gritlm", "FlagEmbedding")
COPIES = FOLDER.with_name(f"{FOLDER.name}-4")
TASK = "mFollowIRInstructionRetrieval"
ADAPTERS = ["samaya-ai/RepLLaMA-reproduced"]  # Promptriever fails in this version: its prompts are None
MODELS = {
    "bert": [
        *(f"intfloat/multilingual-e5-{size}" for size in ("small", "base", "large")),
        *("nomic-ai/nomic-embed-text-v1.5", "facebook/mcontriever-msmarco"),
        "castorini/mdpr-tied-pft-msmarco-ft-all",
    ],
    "bge": ["BAAI/bge-base-en-v1.5", "BAAI/bge-large-en-v1.5"],
    "decoder": ["intfloat/e5-mistral-7b-instruct", "Salesforce/SFR-Embedding-2_R"],
    "both_ways": ["GritLM/GritLM-7B"],
    "adapter": ADAPTERS,
    "seq2seq": [
        *("castorini/monot5-base-msmarco-10k", "castorini/monot5-3b-msmarco-10k", "google/flan-t5-base"),
        *("google/flan-t5-large", "unicamp-dl/mt5-13b-mmarco-100k"),
    ],
    "causal": ["meta-llama/Llama-2-7b-chat-hf", "mistralai/Mistral-7B-Instruct-v0.2", "jhu-clsp/FollowIR-7B"],
    "pairs": ["BAAI/bge-reranker-v2-m3", "jinaai/jina-reranker-v2-base-multilingual"],
}
KINDS = {name: kind for kind, names in MODELS.items() for name in names}


def copied():
    """Copy the models with the names that transformers 4 has for their classes."""
    shutil.rmtree(COPIES, ignore_errors=True)
    shutil.copytree(FOLDER, COPIES)
    for path in COPIES.glob("*/tokenizer_config.json"):
        settings = json.loads(path.read_text())
        kind = "BertTokenizerFast" if path.parent.name in ("bert", "pairs") else "PreTrainedTokenizerFast"
        given = {"tokenizer_class": kind, "model_input_names": ["input_ids", "attention_mask"]}
        path.write_text(json.dumps(settings | given))
    path = COPIES / "decoder" / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    processor = tokenizer["post_processor"]
    processor["single"].append({"SpecialToken": {"id": "</s>", "type_id": 0}})
    processor["special_tokens"]["</s>"] = {"id": "</s>", "ids": [2], "tokens": ["</s>"]}
    path.write_text(json.dumps(tokenizer))


def redirect(owner):
    """Let ``owner.from_pretrained`` read the tiny model for a hub id, in single precision."""
    original = owner.from_pretrained.__func__

    def from_pretrained(cls, name, *args, **settings):
        for field in ("torch_dtype", "device_map", "trust_remote_code", "revision"):
            settings.pop(field, None)
        folder = str(place(name))
        if owner.__name__ == "PeftModel":
            return original(cls, name, str(place(args[0])), *args[1:], **settings)
        return original(cls, folder, *args, **settings)

    owner.from_pretrained = classmethod(from_pretrained)


def place(name):
    """Return the folder of a hub id; bases of adapters are the tiny Llama."""
    if not isinstance(name, str) or Path(name).is_dir():
        return name
    base = "llama" if adapted else KINDS.get(name, "llama")
    return COPIES / ("adapter" if name in ADAPTERS else base)


copied()
adapted = False
import peft  # noqa: E402
import sentence_transformers  # noqa: E402
import transformers  # noqa: E402
from mteb.evaluation.evaluators.InstructionRetrievalEvaluator import InstructionRetrievalEvaluator  # noqa: E402
from mteb.model_meta import ModelMeta  # noqa: E402
from mteb.models.overview import MODEL_REGISTRY  # noqa: E402

parts = sentence_transformers.models  # of BGE's own files
modules = [parts.Transformer(str(COPIES / "bert")), parts.Pooling(32, "cls"), parts.Normalize()]
sentence_transformers.SentenceTransformer(modules=modules, device="cpu").save(str(COPIES / "bge"))
auto = transformers.models.auto
for owner in (auto.AutoModel, auto.AutoModelForCausalLM, auto.AutoModelForSeq2SeqLM, auto.AutoTokenizer):
    redirect(owner)
redirect(auto.AutoModelForSequenceClassification)
redirect(peft.PeftModel)
for kind in (sentence_transformers.SentenceTransformer, sentence_transformers.CrossEncoder):
    made = kind.__init__

    def init(self, name, *args, made=made, **settings):
        for field in ("revision", "automodel_args", "trust_remote_code"):
            settings.pop(field, None)
        made(self, str(place(name)), *args, device="cpu", **settings)

    kind.__init__ = init
forward = transformers.BertModel.forward
transformers.BertModel.forward = lambda self, *args, is_causal=None, **settings: forward(self, *args, **settings)

read = []
encoded = transformers.PreTrainedTokenizerBase.__call__


def call(self, text=None, *args, **settings):
    read.extend([text] if isinstance(text, str) else text)
    return encoded(self, text, *args, **settings)


transformers.PreTrainedTokenizerBase.__call__ = call


def scores(name):
    """Return the scores of every query with its instruction and every document, and the texts that were tokenised."""
    global adapted
    adapted = KINDS[name] == "adapter"
    meta = MODEL_REGISTRY.get(name) or ModelMeta(
        loader=None, name=name, languages=[], open_weights=True, revision=None, release_date=None
    )
    loader = getattr(meta.loader, "keywords", {}).get("wrapper") and meta.loader()  # partial of a partial: rerankers
    model = loader() if callable(loader) else (loader or meta.load_model())
    read.clear()
    if hasattr(model, "predict"):
        texts = [f"{title} {text}".strip() for title, text in DOCUMENTS.values()]
        found = [model.predict([(query, text, instruction) for text in texts]) for query, instruction in ASKED]
    else:
        evaluator = InstructionRetrievalEvaluator(model, task_name=TASK, encode_kwargs={"batch_size": 2})
        corpus = {docid: {"title": title, "text": text} for docid, (title, text) in DOCUMENTS.items()}
        asked = [evaluator(corpus, {"1": query}, instructions={query: text})["1"] for query, text in ASKED]
        found = [[one[docid] for docid in DOCUMENTS] for one in asked]
    return {
        "kind": KINDS[name].replace("bge", "bert"),
        "scores": found,
        "texts": [text for text in dict.fromkeys(read) if len(text) < 1000],
    }


with torch.no_grad():
    results = {name: scores(name) for name in KINDS}
recorded = {
    "program": f"mteb {version('mteb')}",
    "beside": ", ".join(f"{name} {version(name)}" for name in BESIDE),
    "script": "tests/data/golden/mteb_1.py",
    "systems": results,
}
path = Path(__file__).with_suffix(".json")
path.write_text(json.dumps(recorded, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

"""Models with random weights in published shapes, and both sides that run them: Heed, and the libraries directly."""

import random
import string
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from benchmarks.neural_models import PROMPT
from heed.compute import Compute
from heed.models.encoders import SentenceEncoder
from heed.models.registry.entries import Model
from heed.models.rerankers.cross_encoder import CrossEncoderReranker
from heed.models.rerankers.yes_no import YesNoReranker
from heed.types import Document, Query

LONGEST = 512  # tokens of a text or pair
INSTRUCTION = " ".join(["only what names a river and says in which year it was measured"] * 4)
BATCHES = (16, 64, 256)  # of which the libraries take the best
EMBEDDINGS = ("embed", "lm_head")  # parameters that are looked up, or of which two rows are used
SIZES = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size")
Scores = list[float]


class Shape(NamedTuple):
    """The sizes of a published model, what it is used as, how many documents are read at a time, and its weights."""

    family: str
    config: str
    sizes: dict[str, Any]
    pool: int
    folder: Path | None = None


def _bert(width: int, layers: int, heads: int, words: int) -> dict[str, Any]:
    sizes = {"hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": heads, "vocab_size": words}
    return {**sizes, "intermediate_size": 4 * width}


def _qwen(width: int, layers: int, heads: int, inner: int) -> dict[str, Any]:
    sizes = {"hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": heads, "vocab_size": 151936}
    return {**sizes, "intermediate_size": inner, "num_key_value_heads": 8, "head_dim": 128}


SHAPES = {
    "MiniLM-L6": Shape("bi-encoder", "BertConfig", _bert(384, 6, 12, 30522), 2000),
    "XLM-R-large": Shape(
        "cross-encoder",
        "XLMRobertaConfig",
        {**_bert(1024, 24, 16, 250002), "max_position_embeddings": 514, "num_labels": 1},
        500,
    ),
    "Qwen3-0.6B": Shape("causal", "Qwen3Config", {**_qwen(1024, 28, 16, 3072), "tie_word_embeddings": True}, 500),
    "Qwen3-8B": Shape("causal", "Qwen3Config", _qwen(4096, 36, 32, 12288), 48),
}
KINDS = {
    "bi-encoder": "AutoModel",
    "cross-encoder": "AutoModelForSequenceClassification",
    "causal": "AutoModelForCausalLM",
}


def shrunk(shape: Shape) -> Shape:
    """Return the shape with small sizes; of real weights, with fewer documents."""
    if shape.folder:
        return shape._replace(pool=4)
    small = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    heads = {"num_key_value_heads": 1, "head_dim": 16} if shape.family == "causal" else {}
    return shape._replace(sizes={**shape.sizes, **small, **heads, "vocab_size": 8000}, pool=4)


def of_folder(folder: Path) -> Shape:
    """Return the shape of a bi-encoder's folder, with its weights."""
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(folder)
    sizes = {name: getattr(config, name) for name in SIZES}
    return Shape("bi-encoder", type(config).__name__, sizes, 2000, folder)


class Work(NamedTuple):
    """A shape with its folder, the texts that it reads, and their tokens."""

    shape: Shape
    folder: Path
    texts: list[str]
    tokenizer: Any


def words(count: int, known: Sequence[str] = ()) -> list[str]:
    """Return ``count`` texts of 20 to 400 words, the first of ``known`` most often, or of random letters."""
    chooser = random.Random(0)
    known = known or ["".join(chooser.choices(string.ascii_lowercase, k=2 + at % 7)) for at in range(2000)]
    weights = [1 / (at + 1) for at in range(len(known))]
    return [" ".join(chooser.choices(known, weights, k=chooser.randint(20, 400))) for _ in range(count)]


def parameters(shape: Shape) -> tuple[int, int]:
    """Return how many parameters the shape has, and how many of them are multiplied with every token."""
    import transformers

    _ = getattr(transformers, shape.config.replace("Config", "Model"))  # its module makes numbers, which meta has not
    with torch.device("meta"):
        named = [(name, weight.numel()) for name, weight in _network(shape).named_parameters()]
    return sum(size for _, size in named), sum(
        size for name, size in named if not any(one in name for one in EMBEDDINGS)
    )


def make(shape: Shape, folder: Path, device: str, tokenizer: Any) -> Work:
    """Write the model into ``folder`` in bfloat16, with random weights of the size that keeps a layer's variance."""
    with torch.device(device):
        network = _network(shape)
    with torch.no_grad():
        for weight in network.parameters():
            if weight.dim() == 2:
                weight.normal_(std=weight.shape[1] ** -0.5)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return Work(shape, folder, words(shape.pool), tokenizer)


def opened(shape: Shape) -> Work:
    """Return the work of real weights, whose texts are of the words of their tokenizer."""
    from transformers import AutoTokenizer

    assert shape.folder
    tokenizer = AutoTokenizer.from_pretrained(shape.folder)
    entries = sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])  # BERT's begin with the frequent ones
    return Work(shape, shape.folder, words(shape.pool, [word for word, _ in entries if word.isalpha()]), tokenizer)


def _network(shape: Shape) -> Any:
    import transformers

    config = getattr(transformers, shape.config)(**shape.sizes, pad_token_id=0)
    return getattr(transformers, KINDS[shape.family]).from_config(config, dtype=torch.bfloat16)


def operations(work: Work, multiplied: int) -> float:
    """Return the additions and multiplications of reading every text once and whole, without padding.

    Two for a token and each of the ``multiplied`` parameters, four for a pair of tokens and each number of a layer's
    heads; in a causal model half of these.
    """
    family, sizes = work.shape.family, work.shape.sizes
    asked = query(0).text
    if family == "causal":
        texts = [PROMPT.replace("{query}", asked).replace("{document}", text) for text in work.texts]
    else:
        texts = work.texts if family == "bi-encoder" else [f"{asked} {text}" for text in work.texts]
    lengths = [min(len(ids), LONGEST) for ids in work.tokenizer(texts, verbose=False)["input_ids"]]
    wide = sizes["num_attention_heads"] * sizes.get("head_dim", sizes["hidden_size"] // sizes["num_attention_heads"])
    pairs = (2 if family == "causal" else 4) * sizes["num_hidden_layers"] * wide
    return float(sum(2 * multiplied * length + pairs * length**2 for length in lengths))


def query(number: int) -> Query:
    """Return a query with an instruction; another for another number."""
    return Query(str(number), f"river {number} {INSTRUCTION}", f"river {number}", INSTRUCTION)


class Heed:
    """A model by Heed, which makes its batches itself."""

    def __init__(self, work: Work, dtype: str, device: str) -> None:
        """Load the model."""
        family = work.shape.family
        entry = Model(str(work.folder), family=family, max_length=LONGEST, dtype=dtype)
        compute = Compute(device, dtype)
        self._documents = [Document(f"d{at}", "", text) for at, text in enumerate(work.texts)]
        self._encoder = self._reranker = None
        if family == "bi-encoder":
            self._encoder = SentenceEncoder(entry._replace(pooling="mean", similarity="cos"), compute)
        elif family == "cross-encoder":
            self._reranker = CrossEncoderReranker(entry, compute)
        else:
            self._reranker = YesNoReranker(entry._replace(prompt=PROMPT, tokens=("no", "yes")), compute)
        (self._encoder or self._reranker).load()

    def scores(self, number: int) -> Scores:
        """Return the scores of all documents for a query; of a bi-encoder their vectors are made anew."""
        if self._reranker:
            return list(self._reranker.score(query(number), self._documents))
        [vector] = self._encoder.encode_queries([query(number)])
        return (self._encoder.encode_documents(self._documents) @ vector).tolist()

    def close(self) -> None:
        """Unload the model."""
        (self._encoder or self._reranker).close()


class Library:
    """A model by sentence-transformers, or by transformers for a causal one, with batches of a size."""

    def __init__(self, work: Work, dtype: str, device: str) -> None:
        """Load the model."""
        self._score: Callable[[int, int], Scores] | None = LOADERS[work.shape.family](work, dtype, device)

    def scores(self, number: int, batch: int) -> Scores:
        """Return the scores of all documents for a query."""
        assert self._score
        return self._score(number, batch)

    def close(self) -> None:
        """Unload the model."""
        self._score = None


def _encoder(work: Work, dtype: str, device: str) -> Callable[[int, int], Scores]:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(work.folder), device=device, model_kwargs={"dtype": dtype})
    model.max_seq_length = LONGEST

    def score(number: int, batch: int) -> Scores:
        options = {"batch_size": batch, "normalize_embeddings": True, "show_progress_bar": False}
        [vector] = model.encode([query(number).text], **options)
        return (model.encode(work.texts, **options) @ vector).tolist()

    return score


def _classifier(work: Work, dtype: str, device: str) -> Callable[[int, int], Scores]:
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(work.folder), device=device, max_length=LONGEST, model_kwargs={"dtype": dtype})

    def score(number: int, batch: int) -> Scores:
        pairs = [(query(number).text, text) for text in work.texts]
        options = {"batch_size": batch, "activation_fn": torch.nn.Identity(), "show_progress_bar": False}
        return model.predict(pairs, **options).tolist()

    return score


def _answers(work: Work, dtype: str, device: str) -> Callable[[int, int], Scores]:
    """Return a function that reads prompts by length, padded at the left, and computes their last logits alone."""
    from transformers import AutoModelForCausalLM

    network = AutoModelForCausalLM.from_pretrained(work.folder, dtype=dtype).to(device).eval()
    tokenizer = work.tokenizer
    tokenizer.padding_side = "left"
    entries = tokenizer.convert_tokens_to_ids(["no", "yes"])

    def score(number: int, batch: int) -> Scores:
        prompts = [PROMPT.replace("{query}", query(number).text).replace("{document}", text) for text in work.texts]
        order = sorted(range(len(prompts)), key=lambda at: -len(prompts[at]))
        scores = [0.0] * len(prompts)
        for part in (order[begin : begin + batch] for begin in range(0, len(order), batch)):
            features = tokenizer(
                [prompts[at] for at in part], padding=True, truncation=True, max_length=LONGEST, return_tensors="pt"
            ).to(device)
            with torch.inference_mode():
                logits = network(
                    input_ids=features["input_ids"],
                    attention_mask=features["attention_mask"],
                    logits_to_keep=1,
                ).logits[:, -1, entries]
            for at, (no, yes) in zip(part, logits.float().tolist(), strict=True):
                scores[at] = yes - no
        return scores

    return score


LOADERS = {"bi-encoder": _encoder, "cross-encoder": _classifier, "causal": _answers}


def kendall(one: Sequence[float], other: Sequence[float]) -> float:
    """Return Kendall's tau: pairs of documents in the same order less those in another, by all pairs."""
    import numpy as np

    first, second = (np.sign(np.subtract.outer(scores, scores)) for scores in (np.array(one), np.array(other)))
    count = len(one) * (len(one) - 1)
    return float((first * second).sum() / count)

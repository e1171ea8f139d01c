"""Real weights, which ``make real`` brings: Heed beside sentence-transformers with its best size of batches.

Both sides get the same texts, the same weights in float32 and torch's own number of threads, in turn, in one process.
The library runs once with each of some sizes of batches, and takes the one with the least processor time.
How the results compare is the largest difference between both sides' numbers, as a part of the largest number.
"""

import gzip
import json
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import ROOT, Measured, Row, Settings, difference, in_turn, seconds
from heed.addons.architectures.learned_sparse import SparseTextEncoder
from heed.compute import Compute
from heed.models.encoders import SentenceEncoder
from heed.models.registry.entries import Model
from heed.reranking.similarity import Similarity
from heed.retrieval.dense.vectors import begins
from heed.types import Document, Query

ENGLISH, CHINESE = "scifact/corpus.jsonl.gz", "hc4/cc-news-zho-1000.jsonl.gz"
MINILM, E5, STATIC, SPLADE = "all-MiniLM-L6-v2", "multilingual-e5-small-4bit", "wordllama-256", "splade-tiny"
SIZES = (4, 16, 64)
PEER, AIM = "sentence-transformers", 0.97
QUERY = Query("1", "gene expression in the mouse", "gene expression in the mouse")
Ours = Callable[[], list[float]]
Theirs = Callable[[int], list[float]]  # with a size of batches


def measure(settings: Settings) -> Measured:
    """Run the rows."""
    lacking = [name for name in (MINILM, E5, STATIC, SPLADE) if not (ROOT / "models" / name).is_dir()]
    if lacking:
        sys.exit(f"models/ lacks {', '.join(lacking)}; run make real first")
    logging.getLogger("heed").setLevel(logging.ERROR)
    few, many = (10, 100) if settings.quick else (30, 5000)
    english, chinese = (_texts(settings.data / name, many) for name in (ENGLISH, CHINESE))
    rows = {
        f"{MINILM}: encode": (*encoding(MINILM, english[:few]), SIZES),
        f"{E5}: encode": (*encoding(E5, chinese[:few]), SIZES),
        f"{STATIC}: encode": (*encoding(STATIC, english), (16, 256, 4096)),
        f"{MINILM}: rerank": (*reranking(MINILM, english[:few]), SIZES),
        f"{SPLADE}: encode": (*sparse_encoding(SPLADE, english[:few]), SIZES),
    }
    repeat = settings.repetitions(3)
    about = (
        f"{few} texts, of SciFact or, for {E5}, of Chinese news; {len(english)} for {STATIC}. A reranker has a query, "
        f"too. The size of batches is the best of three for sentence-transformers. Repetitions: {repeat}."
    )
    return Measured(about, [_row(name, *sides, repeat) for name, sides in rows.items()])


def encoding(name: str, texts: list[str]) -> tuple[Ours, Theirs]:
    """Documents to vectors: SentenceEncoder and SentenceTransformer.encode_document."""
    ours, theirs, documents = _encoder(name), _library(name), _documents(texts)
    options: Any = {"normalize_embeddings": True, "show_progress_bar": False}
    return (
        lambda: ours.encode_documents(documents).ravel().tolist(),
        lambda size: theirs.encode_document(texts, batch_size=size, **options).ravel().tolist(),
    )


def reranking(name: str, texts: list[str]) -> tuple[Ours, Theirs]:
    """A pool by similarity, each document encoded: Similarity, and SentenceTransformer.similarity."""
    ours, theirs, documents = _encoder(name), _library(name), _documents(texts)

    def library(size: int) -> list[float]:
        vectors = theirs.encode_document(texts, batch_size=size, show_progress_bar=False)
        query = theirs.encode_query([QUERY.text], show_progress_bar=False)
        scores: list[float] = theirs.similarity(query, vectors).ravel().tolist()
        return scores

    return lambda: list(Similarity(ours).score(QUERY, documents)), library


def sparse_encoding(name: str, texts: list[str]) -> tuple[Ours, Theirs]:
    """Documents to weights of words, whose sums are compared: SparseTextEncoder and SparseEncoder."""
    from sentence_transformers import SparseEncoder

    path, documents = str(ROOT / "models" / name), _documents(texts)
    ours = SparseTextEncoder(Model(path, family="learned-sparse"), Compute("cpu"))
    theirs = SparseEncoder(path, device="cpu")

    def heed() -> list[float]:
        rows = ours.encode_documents(documents)
        sums: list[float] = np.add.reduceat(rows[:, 2], begins(rows)).tolist()
        return sums

    def library(size: int) -> list[float]:
        rows = theirs.encode_document(texts, batch_size=size, show_progress_bar=False)
        sums: list[float] = rows.to_dense().sum(1).tolist()
        return sums

    return heed, library


def _encoder(name: str) -> SentenceEncoder:
    return SentenceEncoder(Model(str(ROOT / "models" / name)), Compute("cpu"))


def _library(name: str) -> Any:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(ROOT / "models" / name), device="cpu")


def _documents(texts: list[str]) -> list[Document]:
    return [Document(f"d{number:05}", "", text) for number, text in enumerate(texts)]


def _row(name: str, ours: Ours, theirs: Theirs, sizes: tuple[int, ...], repeat: int) -> Row:
    """Both sides in turn, after a run of each that is not counted."""
    scores, expected = ours(), theirs(sizes[0])
    size = min(sizes, key=lambda size: seconds(lambda: theirs(size))[1])
    times = in_turn(ours, lambda: theirs(size), repeat)
    results = difference(scores, expected, max(map(abs, expected)))
    return Row(name, PEER, *times, AIM, f"{results}; batches of {size}")


def _texts(path: Path, count: int) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        records = [json.loads(line) for line, _ in zip(stream, range(count), strict=False)]
    return [f"{record.get('title') or ''} {record['text']}".strip() for record in records]

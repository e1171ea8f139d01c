"""Encoding, reranking and dense search compared with the libraries that they stand on.

Both sides get the same texts, the same weights in float32 and torch's own number of threads, in turn, in one process.
How the results compare is the largest difference between both sides' numbers, as a part of the largest number.
"""

import gzip
import json
import logging
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.neural_models import causal, classifier, encoder
from benchmarks.timing import Measured, Row, Settings, difference, in_turn
from heed.compute import Compute
from heed.models.registry.entries import Model
from heed.types import Document, Query

REAL = ("hc4/cc-news-zho-1000.jsonl.gz", "followtable/IndusTR/corpus.jsonl.gz")
TEXTS, POOL, FEWER = 100, 200, 30  # documents that are encoded, that are reranked, and of either for a quick run
SCRIPTS = (range(97, 123), range(0x430, 0x450), range(0x627, 0x64B), range(0x4E00, 0x4F00))  # Latin … Han
INSTRUCTION = " ".join(["only what names a river and says in which year it was measured is relevant"] * 12)
WARM = 16  # documents that are reranked before the clock runs; other rows run whole once
CPU = Compute("cpu")
Side = Callable[[], list[float]]


def measure(settings: Settings) -> Measured:
    """Make models and texts, run the rows."""
    from transformers.utils.logging import disable_progress_bar

    repeat = settings.repetitions(3)
    logging.getLogger("heed").setLevel(logging.ERROR)
    disable_progress_bar()
    with tempfile.TemporaryDirectory() as folder:
        work = Work(Path(folder), settings)
        rows = [_row(name, work, repeat) for name in ROWS]
    about = (
        f"{work.count} texts are encoded, {len(work.pool)} reranked. They have 20 to 500 words in four scripts, drawn "
        f"at random; real ones are {work.source}. The models have random weights: BERT with "
        f"6 layers of 384 numbers, and for the prompts a Llama with 4 layers of 256. Repetitions: {repeat}."
    )
    return Measured(about, rows)


class Work:
    """The texts and models of all rows."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        """Make them in ``folder``."""
        self.folder = folder
        self.count, pooled = (min(size, FEWER) if settings.quick else size for size in (TEXTS, POOL))
        self.made, self.pool = _zipfian(self.count), _zipfian(pooled)
        paths = [settings.data / name for name in REAL]
        there = all(path.exists() for path in paths)
        self.source = "Chinese news and English tables" if there else "not on this machine, so they are generated too"
        self.real, self.real_pool = (_real(paths, len(texts)) if there else texts for texts in (self.made, self.pool))
        self.encoder = encoder(folder / "encoder", self.made)
        self.classifier = classifier(folder / "classifier", self.encoder)


def encoding(work: Work, texts: list[str]) -> tuple[Side, Side]:
    """Documents to vectors: SentenceEncoder and SentenceTransformer.encode."""
    from sentence_transformers import SentenceTransformer

    from heed.models.encoders import SentenceEncoder

    entry = Model(str(work.encoder), document="{text}", pooling="mean", max_length=512, similarity="cos")
    ours = SentenceEncoder(entry, CPU)
    theirs = SentenceTransformer(str(work.encoder), device="cpu")
    theirs.max_seq_length = 512
    documents = _documents(texts)
    return (
        lambda: ours.encode_documents(documents).ravel().tolist(),
        lambda: theirs.encode(texts, normalize_embeddings=True, show_progress_bar=False).ravel().tolist(),
    )


def reranking(work: Work, texts: list[str]) -> tuple[Side, Side]:
    """A pool under one condition: CrossEncoderReranker and CrossEncoder.predict."""
    import torch
    from sentence_transformers import CrossEncoder

    from heed.models.rerankers.cross_encoder import CrossEncoderReranker

    ours = CrossEncoderReranker(Model(str(work.classifier), max_length=512), CPU)
    theirs = CrossEncoder(str(work.classifier), device="cpu", max_length=512)
    query, documents = _query(texts[0][:40], texts[1][:60]), _documents(texts)
    pairs = [(query.text, text) for text in texts]
    ours.score(_query(query.query), documents[:WARM])
    theirs.predict([(query.query, text) for text in texts[:WARM]], show_progress_bar=False)
    return (
        lambda: ours.score(query, documents),
        lambda: theirs.predict(pairs, activation_fn=torch.nn.Identity(), show_progress_bar=False).tolist(),
    )


def prefix(work: Work) -> tuple[Side, Side]:
    """A causal model behind a long instruction: the same beginning of its prompts is read once, or every time."""
    from heed.models.rerankers.yes_no import YesNoReranker

    texts = work.made[: work.count // 5]
    entry = causal(work.folder / f"causal-{len(list(work.folder.iterdir()))}", work.made)
    query, documents = _query("river", INSTRUCTION), _documents(texts)
    once, again = (YesNoReranker(entry, CPU, share_prefix=share) for share in (True, False))
    return (
        lambda: once.score(query, documents),
        lambda: again.score(query, documents),
    )


def _query(query: str, instruction: str = "") -> Query:
    return Query("1", f"{query} {instruction}".strip(), query, instruction)


def _documents(texts: list[str]) -> list[Document]:
    return [Document(f"d{number:05}", "", text) for number, text in enumerate(texts)]


def dense(work: Work) -> tuple[Side, Side]:
    """200 queries, the 1000 best of 100,000 vectors: DenseIndex and a FAISS index of the same."""
    import faiss
    import numpy as np

    from heed.retrieval.dense.search import open_index
    from heed.retrieval.dense.vectors import SHARD, Vectors

    chooser, count = np.random.default_rng(0), 100_000
    matrix = chooser.standard_normal((count, 384), dtype=np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    folder = work.folder / "vectors"
    folder.mkdir()
    for number, begin in enumerate(range(0, count, SHARD)):
        np.save(folder / f"shard-{number:05}.npy", matrix[begin : begin + SHARD])
    docids = [f"d{at:07}" for at in range(count)]
    (folder / "docids.txt").write_text("\n".join(docids))
    queries, depth = matrix[chooser.choice(count, 200)], 1000
    qids = [str(at) for at in range(len(queries))]
    ours, theirs = open_index(folder, Vectors(folder), {}, "exact", "cpu"), faiss.IndexFlatIP(384)
    theirs.add(matrix)

    def bare() -> list[float]:
        scores, found = theirs.search(queries, depth)
        rows = zip(found.tolist(), scores.tolist(), strict=True)
        return _scores(
            {
                qid: dict(zip([docids[at] for at in hits], row, strict=True))
                for qid, (hits, row) in zip(qids, rows, strict=True)
            }
        )

    return lambda: _scores(ours.search(qids, queries, depth)), bare


def _scores(run: dict[str, dict[str, float]]) -> list[float]:
    return [score for hits in run.values() for score in hits.values()]


# how a row is made, the peer, the least ratio asked for
ROWS: dict[str, tuple[Callable[[Work], tuple[Side, Side]], str, float | None]] = {
    "encode": (lambda work: encoding(work, work.made), "sentence-transformers", 0.97),
    "encode, real texts": (lambda work: encoding(work, work.real), "sentence-transformers", 0.97),
    "rerank": (lambda work: reranking(work, work.pool), "sentence-transformers", 0.97),
    "rerank, real texts": (lambda work: reranking(work, work.real_pool), "sentence-transformers", 0.97),
    "beginning that prompts share, read once": (prefix, "Heed, read every time", 1.3),
    "exact dense search": (dense, "FAISS", 0.95),
}


def _row(name: str, work: Work, repeat: int) -> Row:
    """Both sides in turn; the first run of each is not counted, but for reranking, which takes minutes."""
    make, peer, aim = ROWS[name]
    ours, theirs = (Kept(side) for side in make(work))
    if not name.startswith("rerank"):
        ours()
        theirs()
    seconds = in_turn(ours, theirs, repeat)
    results = difference(ours.found, theirs.found, max(map(abs, theirs.found)))
    return Row(name, peer, *seconds, aim, results)


class Kept:
    """A side that keeps what it found last."""

    def __init__(self, side: Side) -> None:
        """Have found nothing yet."""
        self._side, self.found = side, list[float]()

    def __call__(self) -> None:
        """Run the side."""
        self.found = self._side()


def _zipfian(count: int) -> list[str]:
    """Texts of 20 to 500 words of four scripts, a script a text."""
    chooser = random.Random(0)
    letters = [[chr(one) for one in script] for script in SCRIPTS]
    words = [["".join(chooser.choices(one, k=2 + at % 7)) for at in range(500)] for one in letters]
    weights = [1 / (at + 1) for at in range(500)]
    return [" ".join(chooser.choices(words[at % 4], weights, k=chooser.randint(20, 500))) for at in range(count)]


def _real(paths: list[Path], count: int) -> list[str]:
    """Return texts of both files in turn."""
    return [text for pair in zip(*(_texts(path, count // 2) for path in paths), strict=True) for text in pair]


def _texts(path: Path, count: int) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        records: Iterator[dict[str, Any]] = map(json.loads, stream)
        texts = (f"{one.get('title') or ''} {one['text']}".strip() for one in records)
        return [text for text, _ in zip(texts, range(count), strict=False)]

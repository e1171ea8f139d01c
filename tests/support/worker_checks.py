"""What the tests of workers share: tasks for several workers, compared with one process's results byte by byte."""

import os
import random
import signal
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from heed.addons.cluster import Workers
from heed.addons.cluster.shared import shared_model
from heed.addons.cluster.workers import WorkerPool
from heed.compute import Compute
from heed.formats.document_store import DocumentStore
from heed.models.encoders import SentenceEncoder
from heed.models.registry.entries import Model
from heed.reranking.rescore import PoolDocuments, rescore
from heed.retrieval.dense.vectors import embed
from heed.types import Document, Query, Reranker, Topic

CPU = Compute("cpu")
TOPICS = [Topic(str(at), "eng", "abc def", {"original": f"only {'abcdefgh'[at]}"}) for at in range(8)]


def records() -> list[dict[str, str]]:
    chance = random.Random(0)
    return [
        {"id": f"d{at:03}", "text": "".join(chance.choices("abcdefgh  ", k=chance.randint(5, 90)))} for at in range(300)
    ]


def encoder(folder: Path, workers: Workers | None = None) -> Any:
    model = Model(str(folder), family="bi-encoder", pooling="mean", max_length=64)
    return shared_model(model, CPU, workers) if workers else SentenceEncoder(model, CPU)


def pool_of(system: Any) -> WorkerPool:
    """The workers of a shared system, started."""
    system.load()
    pool: WorkerPool = system._pool
    return pool


def queries(condition: str) -> list[Query]:
    return [topic.under(condition) for topic in TOPICS]


def pools(store: DocumentStore) -> dict[str, list[str]]:
    docids = list(store.docids())
    return {topic.qid: docids[at * 7 : at * 7 + 30] for at, topic in enumerate(TOPICS)}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


class Killing(PoolDocuments):
    """The documents of each pool; while they are read a worker is killed."""

    def __init__(self, store: DocumentStore, victim: int | None) -> None:
        super().__init__(pools(store), store)
        self.victim, self.read = victim, 0

    def __call__(self, query: Query) -> Sequence[Document]:
        self.read += 1
        if self.victim is not None and self.read == 6:
            os.kill(self.victim, signal.SIGKILL)
        return super().__call__(query)


def killing(batches: Iterable[Any], pool: WorkerPool, at: int) -> Iterator[Any]:
    """``batches``; before number ``at`` a worker is killed."""
    for number, batch in enumerate(batches):
        if number == at:
            os.kill(pool.workers[0].pid, signal.SIGKILL)
        yield batch


def check_encoding(store: DocumentStore, folder: Path, tiny: Path, workers: Workers) -> None:
    """Shards, digests and queries are those of one process, also those that a killed worker had."""
    plain, parallel = encoder(tiny), encoder(tiny, workers)
    embed(folder / "one", store, plain)
    embed(folder / "several", store, parallel)
    assert contents(folder / "several") == contents(folder / "one")
    assert len(list((folder / "one").glob("shard-*.npy"))) == 8
    documents = list(store)
    parts = [documents[at : at + 20] for at in range(0, 300, 20)]
    batches = parallel.encode_batches(killing(parts, pool_of(parallel), 6))
    for ours, theirs in zip(batches, map(plain.encode_documents, parts), strict=True):
        assert ours.tobytes() == theirs.tobytes()
    asked = queries("original")
    assert parallel.encode_queries(asked).tobytes() == plain.encode_queries(asked).tobytes()
    parallel.close()


def check_reranking(
    plain: Reranker, parallel: Reranker, store: DocumentStore, folder: Path, victim: int | None
) -> None:
    """Runs and journals are those of one process."""
    for condition in ("query", "original"):
        asked = queries(condition)
        one = rescore(plain, asked, Killing(store, None), folder / "one.partial", "")
        several = rescore(parallel, asked, Killing(store, victim), folder / "several.partial", "")
        assert several == one and len(one) == len(TOPICS)
        assert contents(folder)["several.partial"] == contents(folder)["one.partial"]
        victim = None

"""What the tests of engines share: work for several workers, compared with one process's byte by byte."""

import os
import random
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from heed.io.document_store import DocumentStore
from heed.models.encoders import SentenceEncoder
from heed.models.registry import Model
from heed.reranking.rescoring import Reranker, rerank
from heed.retrieval.scan import Scan
from heed.retrieval.vectors import embed
from heed.types import Topic
from heed.workers.pool import Crew
from heed.workers.processes import Process
from heed.workers.spread import SpreadEncoder

TOPICS = [Topic(str(at), "eng", "abc def", {"original": f"only {'abcdefgh'[at]}"}) for at in range(8)]


def records() -> list[dict[str, str]]:
    chance = random.Random(0)
    return [
        {"id": f"d{at:03}", "text": "".join(chance.choices("abcdefgh  ", k=chance.randint(5, 90)))} for at in range(300)
    ]


def encoder(folder: Path, crew: Crew | None = None) -> Any:
    settings = Model(str(folder), pooling="mean", max_length=64)
    plain = SentenceEncoder(settings, "cpu")
    return SpreadEncoder(plain, settings, "cpu", crew) if crew else plain


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def pid_of(worker: Any) -> int:
    return int(worker._process.pid if isinstance(worker, Process) else worker._pid)


class Pools(dict[str, list[str]]):
    """The pool of each topic; on the way a worker is killed."""

    def __init__(self, store: DocumentStore, victim: Any) -> None:
        docids = list(store.docids())
        super().__init__({topic.qid: docids[at * 7 : at * 7 + 30] for at, topic in enumerate(TOPICS)})
        self.victim, self.asked = victim, 0

    def get(self, qid: str, default: Any = None) -> Any:
        self.asked += 1
        if self.victim is not None and self.asked == len(TOPICS) + 6:  # rescoring counts the pairs first
            os.kill(self.victim, signal.SIGKILL)
        return super().get(qid, default)


def killing(batches: Iterable[Any], crew: Crew, at: int) -> Iterator[Any]:
    """``batches``; before number ``at`` a worker is killed."""
    for number, batch in enumerate(batches):
        if number == at:
            os.kill(pid_of(crew.workers[0]), signal.SIGKILL)
        yield batch


def check_encoding(store: DocumentStore, folder: Path, tiny: Path, crew: Crew) -> None:
    """Shards, digests and queries are those of one process, also those that a killed worker was at."""
    embed(folder / "one", store, encoder(tiny))
    embed(folder / "several", store, encoder(tiny, crew))
    assert contents(folder / "several") == contents(folder / "one")
    assert len(list((folder / "one").glob("shard-*.npy"))) == 8
    documents = list(store)
    parts = [documents[at : at + 20] for at in range(0, 300, 20)]
    plain, spread = encoder(tiny), encoder(tiny, crew)
    for ours, theirs in zip(spread.shards(killing(parts, crew, 6)), map(plain.documents, parts), strict=True):
        assert ours.tobytes() == theirs.tobytes()
    asked = [(topic.query, topic.instructions["original"]) for topic in TOPICS]
    assert spread.queries(asked).tobytes() == plain.queries(asked).tobytes()


def check_reranking(plain: Reranker, spread: Reranker, store: DocumentStore, folder: Path, victim: Any) -> None:
    """Runs and journals are those of one process."""
    for condition in ("query", "original"):
        one = rerank(plain, TOPICS, condition, Pools(store, None), folder / "one.partial")
        several = rerank(spread, TOPICS, condition, Pools(store, victim), folder / "several.partial")
        assert several == one and len(one) == len(TOPICS)
        assert contents(folder)["several.partial"] == contents(folder)["one.partial"]
        victim = None


def check_candidates(spread: Scan, plain: Scan, queries: Any) -> None:
    for wanted in (1, 10, 250):
        for ours, theirs in zip(spread.candidates(queries, wanted), plain.candidates(queries, wanted), strict=True):
            np.testing.assert_array_equal(np.sort(ours), np.sort(theirs))

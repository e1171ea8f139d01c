"""Rescore a pool under one condition, topic by topic, so that a kill costs one topic at most."""

import json
import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from heed.errors import HeedError, fail
from heed.io.artifacts import Recipe
from heed.io.files import digest_json
from heed.progress import bar, duration, log, timed
from heed.types import Run, Topic

LONG = 5.0  # seconds of work ahead from which an estimate is told


class Reranker(Protocol):
    """Scores documents for a topic under a condition; higher is better."""

    @property
    def name(self) -> str:
        """What runs of this reranker are called."""

    @property
    def recipe(self) -> Recipe:
        """Everything that decides its scores."""

    def prepare(self) -> None:
        """Load and open what scoring needs, so that it can be timed alone."""

    def score(self, topic: Topic, condition: str, docids: Sequence[str]) -> Sequence[float]:
        """One finite score for each of ``docids``, in their order."""


@runtime_checkable
class Announcing(Protocol):
    """A reranker that tells what its work will cost, and afterwards what it had to mend."""

    def begin(self, topics: Sequence[Topic], condition: str, pooled: Mapping[str, list[str]]) -> None:
        """Called before the first of ``topics`` is scored."""

    def finish(self) -> None:
        """Called after the last."""


@runtime_checkable
class Spreading(Protocol):
    """A reranker that scores several topics at once."""

    @property
    def at_once(self) -> int:
        """How many."""


def rerank(
    reranker: Reranker, topics: Sequence[Topic], condition: str, pooled: Mapping[str, list[str]], journal: Path
) -> Run:
    """The pool of each topic rescored under ``condition``.

    ``journal`` collects the scores of every finished topic; a run that was killed goes on from
    it if the reranker, the topics and the pool are the same.
    """
    key = digest_json([reranker.recipe, condition, topics, pooled])
    run = _read_journal(journal, key)
    if run:
        log.info(f"{reranker.name}.{condition}: {len(run)} of {len(topics)} topics are done already")
    todo = [topic for topic in topics if topic.qid not in run]
    if isinstance(reranker, Announcing):
        reranker.begin(todo, condition, pooled)
    journal.parent.mkdir(parents=True, exist_ok=True)
    pairs = sum(len(pooled.get(topic.qid, [])) for topic in todo)
    label = f"{reranker.name}.{condition}"
    with timed("run", label) as work, journal.open("a" if run else "w", encoding="utf-8") as stream:
        if not run:
            stream.write(json.dumps({"key": key}) + "\n")
        start = time.perf_counter()
        for topic in bar(todo, len(todo), label, "topics"):
            docids = pooled.get(topic.qid, [])
            scores = [float(score) for score in reranker.score(topic, condition, docids)]
            fail(_not_finite(reranker.name, topic.qid, docids, scores))
            run[topic.qid] = dict(zip(docids, scores, strict=True))
            stream.write(json.dumps({"qid": topic.qid, "scores": run[topic.qid]}) + "\n")
            stream.flush()
            if docids and not work.count:
                at_once = reranker.at_once if isinstance(reranker, Spreading) else 1
                _tell_estimate(label, len(docids) * at_once, pairs, time.perf_counter() - start)
            work.did(len(docids), "pairs")
    if isinstance(reranker, Announcing):
        reranker.finish()
    return {topic.qid: run[topic.qid] for topic in topics if run[topic.qid]}


def _tell_estimate(label: str, done: int, pairs: int, seconds: float) -> None:
    """Say, after the first topic, how long all will take, where that is long."""
    rate = done / seconds
    if (pairs - done) / rate > LONG:
        log.info(f"{label}: {pairs} pairs at {rate:.3g} a second, about {duration(pairs / rate)}")


def _read_journal(journal: Path, key: str) -> Run:
    """The finished topics; a last line that was cut by a kill is dropped from the file too."""
    if not journal.exists():
        return {}
    lines = journal.read_bytes().splitlines(keepends=True)
    whole = [line for line in lines if line.endswith(b"\n")]
    try:
        head, *rest = [json.loads(line) for line in whole]
        if head["key"] != key:
            return {}
        run = {record["qid"]: record["scores"] for record in rest}
    except (ValueError, KeyError, TypeError):
        return {}
    if len(whole) < len(lines):
        with journal.open("r+b") as stream:
            stream.truncate(sum(map(len, whole)))
    return run


def _not_finite(name: str, qid: str, docids: Sequence[str], scores: Sequence[float]) -> list[str]:
    if len(scores) != len(docids):
        raise HeedError(f"{name}: topic {qid}: {len(scores)} scores for {len(docids)} documents")
    return [
        f"{name}: topic {qid}, document {docid}: score {score}, expected a finite number (half precision overflow?)"
        for docid, score in zip(docids, scores, strict=True)
        if not math.isfinite(score)
    ]

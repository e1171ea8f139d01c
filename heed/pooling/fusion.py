"""Pools by reciprocal rank fusion: the union of the top documents of several runs, cut to the best."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from heed.ranking import top
from heed.types import Run

RRF_K = 60  # Cormack, Clarke and Büttcher, SIGIR 2009, section 2


class Fused(NamedTuple):
    """A document's best rank (from 1) over a topic's lists, and its reciprocal rank fusion score."""

    rank: int
    score: float


Candidates = dict[str, dict[str, Fused]]  # topic -> docid -> rank and score


def pool(runs: Iterable[Run], depth: int, size: int) -> dict[str, list[str]]:
    """Return for each topic the union of every run's top ``depth``, the ``size`` best by fusion, best first."""
    lists: dict[str, list[list[str]]] = {}
    for run in runs:
        for qid, scores in run.items():
            lists.setdefault(qid, []).append(list(top(scores, depth)))
    return {qid: best(fuse(rankings), size) for qid, rankings in lists.items()}


def fuse(lists: Iterable[Sequence[str]]) -> dict[str, Fused]:
    """Return every document of ``lists`` (docids, best first) with its best rank and fused score.

    A document's fused score is the sum of ``1 / (60 + rank)`` over the lists that hold it.
    """
    ranks: dict[str, list[int]] = {}
    for docids in lists:
        for rank, docid in enumerate(docids, 1):
            ranks.setdefault(docid, []).append(rank)
    longest = max((rank for own in ranks.values() for rank in own), default=0)
    shares = [1 / (RRF_K + rank) for rank in range(longest + 1)]
    # fsum: neither the order of runs nor the version of Python changes the last bit
    return {docid: Fused(min(own), math.fsum([shares[rank] for rank in own])) for docid, own in ranks.items()}


def best(documents: Mapping[str, Fused], size: int | None = None) -> list[str]:
    """Return the ``size`` documents (None: all) of the highest fused scores, best first."""
    scores = {docid: fused.score for docid, fused in documents.items()}
    return list(top(scores, len(scores) if size is None else size))

"""The pool of a topic: what all retrievers found under all conditions, cut by reciprocal rank fusion."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from heed.ranking import top
from heed.types import Run

RRF_K = 60  # Cormack, Clarke and Büttcher, SIGIR 2009, section 2


class Standing(NamedTuple):
    """How a document stands over a topic's lists: its best rank from 1, and its fused score."""

    rank: int
    score: float


def pool(runs: Iterable[Run], depth: int, size: int) -> dict[str, list[str]]:
    """For each topic the union of every run's top ``depth``, the ``size`` best by fusion, best first."""
    lists: dict[str, list[list[str]]] = {}
    for run in runs:
        for qid, scores in run.items():
            lists.setdefault(qid, []).append(list(top(scores, depth)))
    return {qid: best(standings(found), size) for qid, found in lists.items()}


def standings(lists: Iterable[Sequence[str]]) -> dict[str, Standing]:
    """Every document of ``lists`` (docids, best first) with its standing.

    A document's fused score is the sum of ``1 / (60 + rank)`` over the lists that hold it.
    """
    found_at: dict[str, list[int]] = {}
    for docids in lists:
        for rank, docid in enumerate(docids, 1):
            found_at.setdefault(docid, []).append(rank)
    longest = max((rank for at in found_at.values() for rank in at), default=0)
    shares = [1 / (RRF_K + rank) for rank in range(longest + 1)]
    # fsum: neither the order of runs nor the version of Python moves a last bit
    return {docid: Standing(min(at), math.fsum([shares[rank] for rank in at])) for docid, at in found_at.items()}


def best(found: dict[str, Standing], size: int | None = None) -> list[str]:
    """The ``size`` documents (all without one) of the highest fused scores, best first."""
    scores = {docid: standing.score for docid, standing in found.items()}
    return list(top(scores, len(scores) if size is None else size))

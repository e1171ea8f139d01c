"""The one order of documents: score descending, then docid descending; that of topics; lists fused to one.

This is trec_eval's rule (docids compared as strings, so that insertion order never matters).
Cutting at a depth, pooling and the ranks inside measures all go through here.
"""

import math
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from operator import ge, gt, neg
from typing import NamedTuple

import numpy as np

RRF_K = 60  # of reciprocal rank fusion: Cormack, Clarke and Büttcher, SIGIR 2009, section 2


def in_order(qids: Iterable[str]) -> list[str]:
    """Return topics in the order of files: numbers first, by their value, then other ids as strings."""
    return sorted(qids, key=lambda qid: (int(qid) if qid.isdecimal() else float("inf"), qid))


def ranked(scores: Mapping[str, float]) -> list[str]:
    """Return the docids of one topic, best first."""
    return [docid for _, docid in _in_order(scores)]


def top(scores: Mapping[str, float], depth: int) -> dict[str, float]:
    """Return the ``depth`` best documents of one topic with their scores, best first."""
    values = list(scores.values())
    if 0 < depth < len(values) and all(map(ge, values, islice(values, 1, None))):  # as most lists come, but for ties
        reaching = bisect_right(values, -values[depth - 1], key=neg)
        scores = dict(islice(scores.items(), reaching))
    return {docid: score for score, docid in _in_order(scores)[:depth]}


def ranks(scores: Mapping[str, float], docids: Collection[str]) -> list[int]:
    """Return the rank, from 1, of each of ``docids``; one that is missing gets the list's length + 1.

    The rank of a missing document follows FollowIR (mteb ``get_rank_from_dict``) and InfoSearch.
    """
    values = np.fromiter(scores.values(), dtype=np.float64, count=len(scores))
    known = [docid for docid in docids if docid in scores]
    looked_up = np.array([scores[docid] for docid in known], dtype=np.float64)
    ascending = np.sort(values)
    best = 1 + len(scores) - np.searchsorted(ascending, looked_up, side="right")
    last = len(scores) - np.searchsorted(ascending, looked_up, side="left")
    rank_of = dict(zip(known, best.tolist(), strict=True))
    listed = list(scores)
    for score, first in dict(zip(looked_up[last > best].tolist(), best[last > best].tolist(), strict=True)).items():
        tied = sorted((listed[position] for position in np.flatnonzero(values == score).tolist()), reverse=True)
        rank_of |= {docid: rank for rank, docid in enumerate(tied, first) if docid in rank_of}
    return [rank_of.get(docid, len(scores) + 1) for docid in docids]


class Fused(NamedTuple):
    """A document's best rank (from 1) over a topic's lists, and its reciprocal rank fusion score."""

    rank: int
    score: float


def pooled(runs: Iterable[Mapping[str, Mapping[str, float]]], depth: int, size: int) -> dict[str, list[str]]:
    """Return for each topic the union of every run's top ``depth``, the ``size`` best by fusion, best first."""
    lists: dict[str, list[list[str]]] = {}
    for run in runs:
        for qid, scores in run.items():
            lists.setdefault(qid, []).append(list(top(scores, depth)))
    return {qid: best(fuse(rankings), size) for qid, rankings in lists.items()}


def fuse(lists: Iterable[Sequence[str]]) -> dict[str, Fused]:
    """Return every document of ``lists`` (docids, best first) with its best rank and the sum of ``1 / (60 + rank)``."""
    ranks_of: dict[str, list[int]] = {}
    for docids in lists:
        for rank, docid in enumerate(docids, 1):
            ranks_of.setdefault(docid, []).append(rank)
    # fsum: neither the order of runs nor the version of Python changes the last bit
    return {
        docid: Fused(min(ranks), math.fsum([1 / (RRF_K + rank) for rank in ranks])) for docid, ranks in ranks_of.items()
    }


def best(documents: Mapping[str, Fused], size: int | None = None) -> list[str]:
    """Return the ``size`` documents (None: all) of the highest fused scores, best first."""
    scores = {docid: fused.score for docid, fused in documents.items()}
    return list(top(scores, len(scores) if size is None else size))


def scaled(scores: Sequence[float]) -> list[float]:
    """Return scores brought to [0, 1], the lowest 0 and the highest 1; all 0 where they are all the same."""
    lowest, highest = min(scores, default=0.0), max(scores, default=0.0)
    if lowest == highest:
        return [0.0] * len(scores)
    return [(score - lowest) / (highest - lowest) for score in scores]


def _by_ranks(lists: Iterable[Mapping[str, float]]) -> dict[str, float]:
    return {docid: fused.score for docid, fused in fuse(map(ranked, lists)).items()}


def _by_scores(lists: Iterable[Mapping[str, float]]) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for scores in lists:
        brought = scaled([*scores.values()]) if len({*scores.values()}) > 1 else [1.0] * len(scores)
        for docid, value in zip(scores, brought, strict=True):
            values.setdefault(docid, []).append(value)
    return {docid: math.fsum(of_document) for docid, of_document in values.items()}


FUSIONS = {"rrf": _by_ranks, "sum": _by_scores}


def fused_runs(runs: Iterable[Mapping[str, Mapping[str, float]]], how: str, depth: int) -> dict[str, dict[str, float]]:
    """Return for each topic the ``depth`` best documents of the runs' first ``depth``, with their fused scores.

    By ``rrf``, reciprocal rank fusion, a document's score is the sum of ``1 / (60 + rank)``; by ``sum``, that of its
    scores, each list's brought to [0, 1], and 1 where all are equal, as pyserini has it. A list without the document
    adds nothing.
    """
    lists: dict[str, list[dict[str, float]]] = {}
    for run in runs:
        for qid, scores in run.items():
            lists.setdefault(qid, []).append(top(scores, depth))
    return {qid: top(FUSIONS[how](of_topic), depth) for qid, of_topic in lists.items()}


def _in_order(scores: Mapping[str, float]) -> list[tuple[float, str]]:
    values = list(scores.values())
    entries = zip(values, scores, strict=True)
    if all(map(gt, values, islice(values, 1, None))):
        return list(entries)  # as nearly every list comes, known in a fifth of the time that sorting takes
    return sorted(entries, reverse=True)

"""Measures of one run beside the standard ones: documents judged, robustness, diversity.

Those of diversity are over judgements by subtopic (column 2 of TREC's qrels).
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping

from heed.measures.per_topic import Measure, PerTopic, judged
from heed.ranking import top
from heed.types import Qrels, Run, subtopics_of

ROBUSTNESS, ROBUSTNESS_OF = "Robustness@10", "nDCG@10"  # InfoSearch's
Covered = dict[str, set[str]]  # docid -> the subtopics that it is relevant to


def judged_share(run: Run, qrels: Qrels, cutoff: int = 10**9) -> PerTopic:
    """Return the share of the first ``cutoff`` documents of each topic's list, or of all, that have a grade from 0.

    A negative grade is not judged, so that it is 1 − trec_eval 10's ``unj``, but over the documents that a shorter list
    has; for ir_measures' ``Judged@k`` it is judged. Ties are broken as everywhere.
    """
    grades = judged(qrels)
    first = {qid: top(run.get(qid, {}), cutoff) for qid in qrels}
    return {qid: sum(docid in grades[qid] for docid in docids) / (len(docids) or 1) for qid, docids in first.items()}


def robustness(values: PerTopic, query_of: Mapping[str, str]) -> PerTopic:
    """Return Robustness@k by query: the worst of the query's values over its instructions.

    InfoSearch, section 2.3, and InstructIR (mteb ``robustness_at_10``), with ``values`` the nDCG@k
    of each instructed topic and ``query_of`` each topic's query; KeyError if it lacks a topic.
    """
    worst: PerTopic = {}
    for qid, value in values.items():
        query = query_of[qid]
        worst[query] = min(worst.get(query, value), value)
    return worst


def alpha_ndcg(run: Run, qrels: Qrels, cutoff: int, alpha: float = 0.5, relevant: int = 1) -> PerTopic:
    """Return each topic's α-nDCG@k, 0 … 1: the gain of a subtopic shrinks by 1 − ``alpha`` with every document of it.

    Clarke et al. (SIGIR 2008), as NIST's ndeval computes it: the document at rank r gains ``(1 − α)^n / log2(r + 1)``
    for each subtopic in which its grade is at least ``relevant``, with ``n`` documents of that subtopic above it; the
    sum is divided by that of the greedy ideal list. Topics without a relevant document, or missing from the run, have
    0.
    """
    values = {}
    for qid, grades in qrels.items():
        covered = _covered(qrels, qid, relevant)
        gain = _gain((covered.get(docid, set()) for docid in top(run.get(qid, {}), cutoff)), alpha)
        ideal = _gain(_ideal(covered, cutoff, alpha), alpha)
        values[qid] = gain / ideal if grades and ideal else 0.0
    return values


def subtopic_recall(run: Run, qrels: Qrels, cutoff: int, relevant: int = 1) -> PerTopic:
    """Return each topic's StRecall@k: the share of its subtopics that the first ``cutoff`` documents cover.

    Zhai et al. (SIGIR 2003). Subtopics without a relevant document do not count; topics without any, or
    missing from the run, have 0.
    """
    values = {}
    for qid in qrels:
        covered = _covered(qrels, qid, relevant)
        seen = set[str]().union(*(covered.get(docid, set()) for docid in top(run.get(qid, {}), cutoff)))
        values[qid] = len(seen) / (len(set[str]().union(*covered.values())) or 1)
    return values


def _covered(qrels: Qrels, qid: str, relevant: int) -> Covered:
    covered: Covered = {}
    for subtopic, grades in (subtopics_of(qrels[qid]) or {"": qrels[qid]}).items():
        for docid, grade in grades.items():
            if grade >= relevant:
                covered.setdefault(docid, set()).add(subtopic)
    return covered


def _gain(subtopics: Iterable[set[str]], alpha: float) -> float:
    """Return the discounted gain of a list of documents, given by the subtopics that each covers."""
    seen: Counter[str] = Counter()
    total = 0.0
    for rank, of_document in enumerate(subtopics, 1):
        total += _novelty(of_document, seen, alpha) / math.log2(rank + 1)
        seen.update(of_document)
    return total


def _novelty(of_document: set[str], seen: Counter[str], alpha: float) -> float:
    return math.fsum((1 - alpha) ** seen[subtopic] for subtopic in of_document)


def _ideal(covered: Covered, cutoff: int, alpha: float) -> list[set[str]]:
    """Return the list that takes the document of the highest gain next, of equal ones the last by docid."""
    left = {docid: covered[docid] for docid in sorted(covered, reverse=True)}
    seen: Counter[str] = Counter()
    ideal: list[set[str]] = []
    while left and len(ideal) < cutoff:
        best = max(left, key=lambda docid: _novelty(left[docid], seen, alpha))
        ideal.append(left.pop(best))
        seen.update(ideal[-1])
    return ideal


MEASURES = (
    Measure(
        name="Judged",
        function=judged_share,
        parameters={"@": "cutoff"},
        cutoff_optional=True,
        example="Judged@20",
    ),
    Measure(
        name="Robustness",
        function=robustness,
        by_name=False,
    ),
    Measure(
        name="alpha_nDCG",
        function=alpha_ndcg,
        parameters={"@": "cutoff", "alpha": "alpha", "rel": "relevant"},
        example="alpha_nDCG@20",
    ),
    Measure(
        name="StRecall",
        function=subtopic_recall,
        parameters={"@": "cutoff", "rel": "relevant"},
        example="StRecall@20",
    ),
)

"""Measures of contrasts, of NevIR, MultiConIR and ExcluIR: is the wanted one of two documents above the other?

The documents of a topic differ in what the query asks for: the measures need its wanted documents (grade from 1) and
its unwanted ones (grade 0) among the judgements; documents without a grade, or with a negative one (not judged), are
passed over. A document that a run lacks is below all others.
"""

import math
from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from itertools import pairwise, product

from heed.measures.per_topic import Measure, PerTopic, judged
from heed.ranking import ranks, top
from heed.types import Qrels, Run


def pairwise_accuracy(run: Run, qrels: Qrels) -> PerTopic:
    """Return 1 for each pair of topics that both put their own document above the other's, else 0; a tie is wrong.

    NevIR (Weller et al., EACL 2024): two queries that differ in a negation, and a document for each, so that
    chance is 25%. The topics of a pair share the part of their qid before the last ``_`` (``7_q1``, ``7_q2``), which
    is the pair's name in the result; a topic's own documents are those graded from 1, the other's those of its
    partner and those with a lower grade. mteb's ``paired_accuracy`` asks for the own document at rank 1, which is the
    same where a list holds the two documents alone, but for a tie, which it decides by docid. Topics without a partner,
    and pairs of which a topic has no document of its own or no other, have no value.
    """
    pairs: dict[str, list[str]] = defaultdict(list)
    for qid in qrels:
        pairs[qid.rpartition("_")[0]].append(qid)
    partners = {name: qids for name, qids in pairs.items() if name and len(qids) > 1}
    values, qrels = {}, judged(qrels)
    for name, qids in partners.items():
        documents = {docid for qid in qids for docid in qrels[qid]}
        own_documents = {qid: {docid for docid in documents if qrels[qid].get(docid, 0) > 0} for qid in qids}
        if all(own_documents[qid] and documents - own_documents[qid] for qid in qids):
            pairs_of = {qid: product(docids, documents - docids) for qid, docids in own_documents.items()}
            values[name] = float(all(_above(run.get(qid, {}), *two) for qid in qids for two in pairs_of[qid]))
    return values


def _above(scores: Mapping[str, float], docid: str, other: str) -> bool:
    return scores.get(docid, -math.inf) > scores.get(other, -math.inf)


def win_rate(run: Run, qrels: Qrels, step: int | None = None) -> PerTopic:
    """Return each topic's win rate: the share of its pairs of documents of neighbouring grades in the right order.

    MultiConIR (Lu et al., 2025). Task 1, complexity robustness: ``Query_k`` with its positive (grade 1) and ``HN_k``
    (0) is one pair, won if the positive has the higher score. Task 2, relevance monotonicity: ``Query10`` with the
    positive and ``HN1`` … ``HN10``, graded 10 down to 0, are ten; ``step`` asks for one of them alone, from 1 at the
    top. A tie is not won. Topics with documents of one grade, or without that step, have no value.
    """
    return {qid: sum(won) / len(won) for qid, won in _outcomes(run, qrels, step).items()}


def monotonic_order(run: Run, qrels: Qrels) -> PerTopic:
    """Return 1 for each topic all of whose pairs of neighbouring grades are won (:func:`win_rate`), else 0."""
    return {qid: float(all(won)) for qid, won in _outcomes(run, qrels).items()}


def flip_rate(base: Run, new: Run, qrels: Qrels) -> PerTopic:
    """Return each topic's flip rate: the share of its pairs won in one of two runs and not in the other, 0 … 1.

    MultiConIR, task 3, query format invariance: ``base`` is of the query as a list of conditions, ``new`` of the same
    query in natural language; the pairs are those of :func:`win_rate`. Topics missing from one of the runs have no
    value.
    """
    judged = {qid: grades for qid, grades in qrels.items() if qid in base and qid in new}
    before, after = _outcomes(base, judged), _outcomes(new, judged)
    return {
        qid: sum(was != now for was, now in zip(won, after[qid], strict=True)) / len(won) for qid, won in before.items()
    }


def _outcomes(run: Run, qrels: Qrels, step: int | None = None) -> dict[str, list[bool]]:
    """Return of each topic, for each pair of documents of neighbouring grades, whether it is won; from the top down."""
    outcomes = {}
    for qid, grades in judged(qrels).items():
        levels: dict[int, list[str]] = defaultdict(list)
        for docid in sorted(grades):
            levels[grades[docid]].append(docid)
        steps = list(pairwise(levels[grade] for grade in sorted(levels, reverse=True)))
        chosen = steps if step is None else steps[step - 1 : step]
        scores = run.get(qid, {})
        won = [_above(scores, upper, lower) for level in chosen for upper, lower in product(*level)]
        if won:
            outcomes[qid] = won
    return outcomes


def delta_recall(run: Run, qrels: Qrels, cutoff: int) -> PerTopic:
    """Return each topic's ΔR@k, −1 … 1: the recall of its wanted documents minus that of its unwanted ones.

    ExcluIR (Zhang et al., AAAI 2025). Topics without documents of both kinds have no value; one that the
    run lacks has 0.
    """
    return {
        qid: _recall(run, qid, relevant, cutoff) - _recall(run, qid, excluded, cutoff)
        for qid, (relevant, excluded) in _sides(qrels).items()
    }


def _recall(run: Run, qid: str, docids: list[str], cutoff: int) -> float:
    first = top(run.get(qid, {}), cutoff)
    return sum(docid in first for docid in docids) / len(docids)


def delta_mrr(run: Run, qrels: Qrels, cutoff: int) -> PerTopic:
    """Return each topic's ΔMRR@k, −1 … 1: 1 / rank of its first wanted document minus that of its first unwanted one.

    ExcluIR; 0 in place of 1 / rank beyond the cutoff. Topics without documents of both kinds have no
    value.
    """
    return {
        qid: sum(
            sign / rank for sign, rank in zip((1, -1), _first_ranks(run, qid, sides), strict=True) if rank <= cutoff
        )
        for qid, sides in _sides(qrels).items()
    }


def right_rank(run: Run, qrels: Qrels, cutoff: int) -> PerTopic:
    """Return 1 for each topic with a wanted document in its first ``cutoff`` and no unwanted one above it, else 0.

    ExcluIR's right rank (RR), with the cutoff 10 of its program. Topics without documents of both kinds
    have no value.
    """
    values = {}
    for qid, sides in _sides(qrels).items():
        relevant, excluded = _first_ranks(run, qid, sides)
        values[qid] = float(relevant <= cutoff and relevant < excluded)
    return values


def _first_ranks(run: Run, qid: str, sides: tuple[list[str], list[str]]) -> list[float]:
    """Return the best rank of the documents of each side; infinite where the list has none."""
    scores = run.get(qid, {})
    return [min(ranks(scores, [docid for docid in side if docid in scores]), default=math.inf) for side in sides]


def _sides(qrels: Qrels) -> dict[str, tuple[list[str], list[str]]]:
    """Return each topic's wanted and unwanted documents, without the topics that lack one of them."""
    sides = {
        qid: (
            sorted(d for d, grade in grades.items() if grade > 0),
            sorted(d for d, grade in grades.items() if grade == 0),
        )
        for qid, grades in qrels.items()
    }
    return {qid: both for qid, both in sides.items() if all(both)}


_of_sides = partial(
    Measure,
    parameters={"@": "cutoff"},
)

MEASURES = (
    Measure(
        name="PairwiseAccuracy",
        function=pairwise_accuracy,
    ),
    Measure(
        name="WinRate",
        function=win_rate,
        parameters={"@": "step"},
        cutoff_optional=True,
    ),
    Measure(
        name="MonotonicOrder",
        function=monotonic_order,
    ),
    _of_sides(
        name="dR",
        function=delta_recall,
        example="dR@1",
    ),
    _of_sides(
        name="dMRR",
        function=delta_mrr,
        example="dMRR@10",
    ),
    _of_sides(
        name="RightRank",
        function=right_rank,
        example="RightRank@10",
    ),
    Measure(
        name="FlipRate",
        function=flip_rate,
        of="pair",
        takes=lambda pair: (pair.base, pair.new, pair.qrels or pair.new_qrels),
        lower_is_better=True,
    ),
)

"""Did a system follow the instruction? Measures by the runs of two conditions, and InfoSearch's of three."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from heed.errors import UsageError
from heed.measures.per_topic import (
    Array,
    Inputs,
    Judged,
    Measure,
    PerTopic,
    Ranks,
    Variant,
    difference,
    no_longer_relevant,
    ranks_of,
    scores_of,
)
from heed.progress import warn
from heed.ranking import top
from heed.types import Run

P_MRR, KEPT, SELECTIVITY = "p-MRR", "p-MRR kept", "selectivity"  # the last two are Heed's own, beside each p-MRR
EXACT = 1e-12  # what rounding leaves of a difference that is 0
BEST = 3  # of IFIR's grades 0 to 3

Grades = Mapping[str, Mapping[str, float]]  # qid -> docid -> grade, which may be a mean or an expectation
GOLD_RANK = "mean gold rank"  # the one measure that is not on a scale to 1
K = 20  # InfoSearch, section 2.3: beyond rank K a rise earns next to nothing
BEYOND_K = 0.01
Gold = Mapping[str, Sequence[str]]  # qid -> docids that stay relevant, in the order of the data


def p_mrr(base: Run, new: Run, changed: Judged) -> PerTopic:
    """Return each topic's p-MRR: did documents that are no longer relevant fall? −1 … 1, 0 is no change.

    FollowIR (Weller et al., 2024), equation 1, for every document of ``changed[qid]`` with rank
    ``r`` in ``base`` and ``s`` in ``new``: ``s / r − 1`` where it rose or stayed (``r ≥ s``),
    ``1 − r / s`` where it fell; averaged over the topic's documents. A document missing from a run
    has the list's length + 1 as its rank (mteb ``get_rank_from_dict``). Topics without changed
    documents, or missing from one of the runs, have no value: compare the number of values with
    the number of topics. Paper and released code agree (``>`` and ``≥`` both give 0 on equal ranks), but not
    on ``changed``: see :func:`heed.measures.no_longer_relevant`.
    """
    ranks = ranks_of([base, new], changed)
    old, now = ranks.values
    return ranks.means(np.where(old >= now, now / old - 1, 1 - old / now))


def selectivity(base: Run, new: Run, changed: Judged, unchanged: Judged) -> PerTopic:
    """Return each topic's selectivity: how much more the documents that are ruled out fell than those that stay.

    Heed's own, no paper's: p-MRR over ``changed``, the documents that are no longer relevant, minus "p-MRR kept", the
    same equation over ``unchanged``, those relevant under both conditions. p-MRR alone is high for a system that sinks
    all documents; selectivity is near 0 there, and 0 where nothing moves. −2 … 2, ends excluded. Topics without
    documents of both kinds, or missing from one of the runs, have no value, so the mean is not that of p-MRR minus that
    of p-MRR kept.
    """
    return difference(p_mrr(base, new, changed), p_mrr(base, new, unchanged))


def nfr(base: Run, new: Run, traps: Judged) -> PerTopic:
    """Return each topic's negation failure rate (NFR): the share of trap documents that rose, 0 … 1, lower is better.

    FollowTable, section 5.6: traps are unwanted documents that name what the instruction negates;
    one fails if its rank in ``new`` is better than in ``base``. Topics without traps, or missing
    from one of the runs, have no value. No program was released.
    """
    ranks = ranks_of([base, new], traps)
    old, now = ranks.values
    return ranks.means((now < old).astype(float))


def irs(
    base: Run, new: Run, relevant: Judged, ruled_out: Judged, corpus_size: int, variant: Variant = "paper"
) -> PerTopic:
    """Return each topic's instruction responsiveness score (IRS), −1 … 1.

    FollowTable, section 4.3, equations 1–4: with ``w(r) = 1 / log2(r + 1)``, ``S`` is the gain of
    Σw over ``relevant`` minus the gain over ``ruled_out`` from ``base`` to ``new``; IRS is ``S``
    divided by that of the ideal ranking of ``corpus_size`` documents (relevant on top, ruled out at
    the bottom) where ``S ≥ 0``, else by the absolute value for the worst (the mirror). A qid with
    no documents in ``relevant`` and in ``ruled_out`` has 0 and counts, as in the paper; topics missing
    from one of the runs have no value.

    ``paper``: judged documents missing from a list share the bottom ranks of the corpus, so that
    IRS stays in [−1, 1]; an ideal base that is kept scores 1 (the paper's RQ5). ``released``
    (``eval/irs.py``): a missing document has rank ``corpus_size + 1``, which can pass 1 and −1; an
    ideal base scores 0, as does one that is the worst and gets worse. In both a base that becomes
    ideal scores exactly 1, whatever rounding leaves.

    Raises :class:`UsageError` if lists and judged documents do not fit into ``corpus_size``.
    """
    topics = sorted(relevant.keys() | ruled_out.keys())
    judged = {qid: [*sorted(relevant.get(qid, ())), *sorted(ruled_out.get(qid, ()))] for qid in topics}
    ranks = ranks_of([base, new], judged)
    good = np.array([len(relevant.get(qid, ())) for qid in ranks.qids], dtype=np.int64)
    bad = ranks.sizes - good
    sign = np.repeat(np.tile([1.0, -1.0], len(good)), np.stack([good, bad], axis=1).ravel())
    old, now = (
        ranks.sums(sign * _weights(run, of_run, judged, ranks, corpus_size, variant))
        for run, of_run in zip((base, new), ranks.values, strict=True)
    )
    gain = now - old
    ideal = _tops(good.tolist()) - _bottoms(bad.tolist(), corpus_size) - old
    worst = _bottoms(good.tolist(), corpus_size) - _tops(bad.tolist()) - old
    with np.errstate(divide="ignore", invalid="ignore"):  # a quotient by 0 is not the one selected
        shares = [np.zeros(len(gain)), gain / np.abs(worst), np.ones(len(gain)), np.maximum(gain, 0) / ideal]
    from_worst = (gain < -EXACT) & (np.abs(worst) <= EXACT)
    becomes_ideal = (ideal > EXACT) & (np.abs(gain - ideal) <= EXACT)
    cases = [from_worst, gain < -EXACT, becomes_ideal, ideal > EXACT]
    values = ranks.by_topic(np.select(cases, shares, default=1.0 if variant == "paper" else 0.0))
    return values | {qid: 0.0 for qid in topics if not judged[qid] and qid in base and qid in new}


def _weights(run: Run, of_run: Array, judged: Judged, ranks: Ranks, corpus_size: int, variant: Variant) -> Array:
    """Return the weight of every judged document, by its rank ``of_run`` or, if missing, by ``variant``."""
    present = ~np.isnan(scores_of(run, judged, ranks.qids, np.nan))
    missing = ranks.sums((~present).astype(np.int64))
    lengths = np.array([len(run[qid]) for qid in ranks.qids], dtype=np.int64)
    too_long = [qid for qid, size in zip(ranks.qids, lengths + missing, strict=True) if size > corpus_size]
    if too_long:
        raise UsageError(
            f"IRS: the lists of {len(too_long)} topics ({too_long[0]} …) with the judged documents outside them do not "
            f"fit into a corpus of {corpus_size}; give the number of documents that were searched"
        )
    if variant == "paper":
        absent = _bottoms(missing.tolist(), corpus_size) / np.maximum(missing, 1)
    else:
        absent = np.full(len(missing), _weight(corpus_size + 1))
    return np.where(present, 1 / np.log2(of_run + 1), np.repeat(absent, ranks.sizes))


def _weight(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def _tops(sizes: Sequence[int]) -> Array:
    """Return Σw of as many documents on top, for each size."""
    return np.array([math.fsum(_weight(rank) for rank in range(1, size + 1)) for size in sizes])


def _bottoms(sizes: Sequence[int], corpus_size: int) -> Array:
    """Return Σw of as many documents at the bottom of the corpus, for each size."""
    ranges = (range(corpus_size - size + 1, corpus_size + 1) for size in sizes)
    return np.array([math.fsum(map(_weight, ranks)) for ranks in ranges])


def instfol(base: Run, new: Run, grades: Grades, new_grades: Grades, cutoff: int = 20, best: float = BEST) -> PerTopic:
    """Return each topic's INSTFOL, at most 1: the share of what was left to gain that the instruction gained.

    IFIR (Song et al., NAACL 2025): with ``q`` and ``i`` the mean grades of the first ``cutoff`` documents
    without (``base``) and with the instruction (``new``), ``(i − q) / (best − q)``; ``i − q`` where ``q`` is ``best``
    already. Grades, by a person or a model, say how well a document satisfies the instruction, 0 … ``best``; as in the
    authors' ``llm_eval.py`` documents with a negative grade are left out, and so are those without one. A loss is not
    bounded: it is far below −1 where ``q`` was near ``best``. Topics missing from one of the runs, or without a graded
    document in one of the lists, have no value. Raises :class:`UsageError` for a grade above ``best``; warns if
    none is above 1.
    """
    highest = max((grade for each in (*grades.values(), *new_grades.values()) for grade in each.values()), default=best)
    if highest <= 1 < best:
        warn(
            f"INSTFOL: no grade is above 1, where {best} is the best: at most {1 / best:.0%} of the gain can be reached"
        )
    values = {}
    for qid in base.keys() & new.keys():
        q = _mean_grade(base[qid], grades.get(qid, {}), cutoff, best)
        i = _mean_grade(new[qid], new_grades.get(qid, {}), cutoff, best)
        if q is not None and i is not None:
            values[qid] = i - q if q == best or i == q else (i - q) / (best - q)
    return dict(sorted(values.items()))


def _mean_grade(scores: Mapping[str, float], grades: Mapping[str, float], cutoff: int, best: float) -> float | None:
    graded = [grades[docid] for docid in top(scores, cutoff) if grades.get(docid, -1) >= 0]
    if graded and max(graded) > best:
        raise UsageError(f"INSTFOL: found the grade {max(graded):g}, expected 0 to {best:g}")
    return sum(graded) / len(graded) if graded else None


def _of_ruled_out(pair: Inputs) -> tuple[Any, ...]:
    return *pair.two, pair.ruled_out


def _of_kept(pair: Inputs) -> tuple[Any, ...] | None:
    """Return the arguments of p-MRR kept; None where there is no p-MRR, which it stands beside."""
    return (*pair.two, pair.relevant) if p_mrr(*_of_ruled_out(pair)) else None


def _of_corpus(pair: Inputs) -> tuple[Any, ...] | None:
    if not (pair.corpus_size and pair.new_qrels):
        return None
    judged = pair.new_qrels.keys() - (pair.not_judged.keys() - _both(pair).keys())  # unknown is not 0
    relevant = {qid: pair.relevant.get(qid, set()) for qid in pair.qrels if qid in judged}
    return *pair.two, relevant, pair.ruled_out, pair.corpus_size, pair.variant


def _both(pair: Inputs) -> dict[str, set[str]]:
    qids = pair.relevant.keys() | pair.ruled_out.keys()
    return {qid: pair.relevant.get(qid, set()) | pair.ruled_out.get(qid, set()) for qid in qids}


def mean_rank(run: Run, gold: Judged) -> PerTopic:
    """Return the mean rank, from 1, of each topic's gold documents, as InfoSearch's tables print it."""
    ranks = ranks_of([run], gold)
    return ranks.means(ranks.values[0])


def wise(
    runs: tuple[Run, Run, Run], gold: Gold, judged: Mapping[str, int], k: int = K, variant: Variant = "paper"
) -> PerTopic:
    """Return each topic's weighted instruction sensitivity (WISE), −1 … 1, the mean over its gold documents.

    InfoSearch, section 2.3, equations 6–9. ``runs`` are the original, instructed and reversed one;
    with the ranks ``o``, ``i``, ``r`` of a gold document and ``n = judged[qid]`` documents judged:
    where ``i ≤ o < r`` the reward is 1 if ``o ≤ n`` and ``i = 1``, else ``(1 − (o − i) / k) / √i``
    if ``o ≤ k``, else 0.01; otherwise −1 if ``r < o < i``, else ``(o − i) / i`` if ``o ≤ i``, else
    ``(r − o) / o``. Two clauses of equation 8 hold where ``r < o = i`` and where
    ``r = o < i``: they are read from top to bottom, the first that holds counts, as in the released
    program; so ``o, i, r = 5, 5, 2`` gives 0, which would be −0.6 from the bottom up. The rank of a
    missing document is the list's length + 1. Topics without gold documents, or missing from one of
    the runs, have no value; KeyError if ``judged`` lacks one of the others.

    ``released`` (the repository's ``utils.py``): full reward only if ``o < n``, and ``√(o − i)`` in
    place of ``o − i``.
    """
    ranks = ranks_of(runs, gold)
    original, instructed, reverse = ranks.values
    count = np.repeat([judged[qid] for qid in ranks.qids], ranks.sizes)
    near = original <= count if variant == "paper" else original < count
    rise = np.maximum(original - instructed, 0)
    if variant == "released":
        rise = np.sqrt(rise)
    followed = (instructed <= original) & (original < reverse)
    opposed = (reverse < original) & (original < instructed)
    cases = [
        (followed & near & (instructed == 1), 1.0),
        (followed & (original > k), BEYOND_K),
        (followed, (1 - rise / k) / np.sqrt(instructed)),
        (opposed, -1.0),
        (original <= instructed, (original - instructed) / instructed),
    ]
    conditions, values = zip(*cases, strict=True)
    return ranks.means(np.select(conditions, values, default=(reverse - original) / original))


def sicr(runs: tuple[Run, Run, Run], gold: Gold, variant: Variant = "paper") -> PerTopic:
    """Return each topic's strict instruction compliance (SICR): the share of its gold documents that comply, 0 … 1.

    InfoSearch, section 2.3, equations 4–5. ``runs`` are the original, instructed and reversed one. A
    document complies if its rank is better and its score higher in the instructed run than in the
    original, and both better there than in the reversed, all strictly. A document missing from a
    list has the list's length + 1 as its rank and a score below every other. Scores must be
    comparable between the runs, which those of list-wise rerankers are not. Topics without gold
    documents, or missing from one of the runs, have no value.

    ``released``: a missing document scores 0; one that is first already may stay first with no
    lower score; and, since a counter is reset for every gold document, only the last one of a topic
    is counted, over the number of all.
    """
    ranks = ranks_of(runs, gold)
    original, instructed, reverse = ranks.values
    absent = 0.0 if variant == "released" else -np.inf
    score, instructed_score, reverse_score = (scores_of(run, gold, ranks.qids, absent) for run in runs)
    rises = (instructed < original) & (instructed_score > score)
    if variant == "released":
        rises = np.where(original == 1, (instructed == 1) & (instructed_score >= score), rises)
    complies = (rises & (original < reverse) & (score > reverse_score)).astype(float)
    if variant == "released":
        last = np.zeros(len(complies))
        last[np.cumsum(ranks.sizes) - 1] = 1
        complies *= last
    return ranks.means(complies)


def gold_of(pair: Inputs) -> dict[str, list[str]]:
    """Return the documents, by qid, that WISE, SICR and the mean gold rank are about: those that stay relevant."""
    return {qid: sorted(docids) for qid, docids in pair.relevant.items()}


def _of_three(pair: Inputs) -> tuple[Any, ...] | None:
    return (tuple(pair.runs.values()), gold_of(pair), pair.variant) if pair.reverse else None


def _of_three_and_judged(pair: Inputs) -> tuple[Any, ...] | None:
    ruled_out = pair.changed or no_longer_relevant(pair.qrels, pair.new_qrels)  # its program counts no -1 either
    judged = {qid: len(docids) + len(ruled_out.get(qid, ())) for qid, docids in pair.relevant.items()}
    return (tuple(pair.runs.values()), gold_of(pair), judged, K, pair.variant) if pair.reverse else None


# what measures of documents that move share; mFollowIR compares systems by Wilcoxon's test
_of_moves = partial(Measure, of="pair", by_name=False, test="wilcoxon", signed=True)

MEASURES = (
    _of_moves(
        name=P_MRR,
        function=p_mrr,
        takes=_of_ruled_out,
        about=lambda pair: (pair.two, pair.ruled_out),
    ),
    _of_moves(
        name=KEPT,
        function=p_mrr,
        takes=_of_kept,
        about=lambda pair: (pair.two, pair.relevant),
        lower_is_better=True,
        comes_with=P_MRR,
    ),
    _of_moves(
        name=SELECTIVITY,
        function=selectivity,
        takes=lambda pair: (*pair.two, pair.ruled_out, pair.relevant),
        comes_with=P_MRR,
    ),
    Measure(
        name="NFR",
        function=nfr,
        of="pair",
        takes=lambda pair: (*pair.two, pair.traps),
        lower_is_better=True,
        by_name=False,
    ),
    _of_moves(
        name="IRS",
        function=irs,
        takes=_of_corpus,
        about=lambda pair: (pair.two, _both(pair)),
    ),
    Measure(
        name="INSTFOL",
        function=instfol,
        of="pair",
        takes=lambda pair: (pair.base, pair.new, pair.qrels, pair.new_qrels or pair.qrels),
        parameters={"@": "cutoff"},
        signed=True,
        example="INSTFOL@20",
    ),
    _of_moves(
        name="WISE",
        function=wise,
        of="three",
        takes=_of_three_and_judged,
        about=lambda pair: (list(pair.runs.values()), pair.relevant),
    ),
    _of_moves(
        name="SICR",
        function=sicr,
        of="three",
        takes=_of_three,
        about=lambda pair: (list(pair.runs.values()), pair.relevant),
        signed=False,
    ),
    Measure(
        name=GOLD_RANK,
        function=mean_rank,
        lower_is_better=True,
        by_name=False,
    ),
)

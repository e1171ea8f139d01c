"""Pairwise measures of two runs or three, did a system follow the instruction, and the documents they are about."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from heed.errors import UsageError
from heed.measures.judged_ranks import Judged, PerTopic, Ranks, Variant, difference, ranks_of, scores_of
from heed.types import Qrels, Run

if TYPE_CHECKING:
    from heed.measures.judged_ranks import Array

EXACT = 1e-12  # what rounding leaves of a difference that is 0

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
    the number of topics. Paper and released code agree (``>`` and ``≥`` both give 0 on equal ranks).
    """
    import numpy as np

    ranks = ranks_of([base, new], changed)
    old, now = ranks.values
    return ranks.means(np.where(old >= now, now / old - 1, 1 - old / now))


def selectivity(base: Run, new: Run, changed: Judged, kept: Judged) -> PerTopic:
    """Return each topic's selectivity: how much more the documents that are ruled out fell than those that stay.

    Heed's own, no paper's: p-MRR over ``changed``, the documents that are no longer relevant, minus "p-MRR kept", the
    same equation over ``kept``, those relevant under both conditions. p-MRR alone is high for a system that sinks all
    documents; selectivity is near 0 there, and 0 where nothing moves. −2 … 2, ends excluded. Topics without documents
    of both kinds, or missing from one of the runs, have no value, so the mean is not that of p-MRR minus that of
    p-MRR kept.
    """
    return difference(p_mrr(base, new, changed), p_mrr(base, new, kept))


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
    base: Run, new: Run, wanted: Judged, unwanted: Judged, corpus_size: int, variant: Variant = "paper"
) -> PerTopic:
    """Return each topic's instruction responsiveness score (IRS), −1 … 1.

    FollowTable, section 4.3, equations 1–4: with ``w(r) = 1 / log2(r + 1)``, ``S`` is the gain of
    Σw over ``wanted`` minus the gain over ``unwanted`` from ``base`` to ``new``; IRS is ``S``
    divided by that of the ideal ranking of ``corpus_size`` documents (wanted on top, unwanted at
    the bottom) where ``S ≥ 0``, else by the absolute value for the worst (the mirror). A qid with
    no documents in ``wanted`` and in ``unwanted`` has 0 and counts, as in the paper; topics missing
    from one of the runs have no value.

    ``paper``: judged documents missing from a list share the bottom ranks of the corpus, so that
    IRS stays in [−1, 1]; an ideal base that is kept scores 1 (the paper's RQ5). ``released``
    (``eval/irs.py``): a missing document has rank ``corpus_size + 1``, which can pass 1 and −1; an
    ideal base scores 0, as does one that is the worst and gets worse. In both a base that becomes
    ideal scores exactly 1, whatever rounding leaves.

    Raises :class:`UsageError` if lists and judged documents do not fit into ``corpus_size``.
    """
    import numpy as np

    topics = sorted(wanted.keys() | unwanted.keys())
    judged = {qid: [*sorted(wanted.get(qid, ())), *sorted(unwanted.get(qid, ()))] for qid in topics}
    ranks = ranks_of([base, new], judged)
    good = np.array([len(wanted.get(qid, ())) for qid in ranks.qids], dtype=np.int64)
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


def _weights(run: Run, of_run: "Array", judged: Judged, ranks: Ranks, corpus_size: int, variant: Variant) -> "Array":
    """Return the weight of every judged document, by its rank ``of_run`` or, if missing, by ``variant``."""
    import numpy as np

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


def _tops(sizes: Sequence[int]) -> "Array":
    """Return Σw of as many documents on top, for each size."""
    import numpy as np

    return np.array([math.fsum(_weight(rank) for rank in range(1, size + 1)) for size in sizes])


def _bottoms(sizes: Sequence[int], corpus_size: int) -> "Array":
    """Return Σw of as many documents at the bottom of the corpus, for each size."""
    import numpy as np

    ranges = (range(corpus_size - size + 1, corpus_size + 1) for size in sizes)
    return np.array([math.fsum(map(_weight, ranks)) for ranks in ranges])


def in_no_list(runs: Sequence[Run], judged: Judged) -> PerTopic:
    """Return the share of each topic's documents that are in none of ``runs``: what happens to them is not seen.

    Topics without documents, or missing from one of the runs, have no value.
    """
    return {
        qid: len(unseen(runs, qid, docids)) / len(docids)
        for qid, docids in judged.items()
        if docids and all(qid in run for run in runs)
    }


def in_one_list(base: Run, new: Run, judged: Judged) -> PerTopic:
    """Return the share of each topic's documents that are in one of the two lists only: their move is a guess.

    The other list may end too early, or write their ids in another way. Topics without documents, or missing from one
    of the runs, have no value.
    """
    return {
        qid: sum((docid in base[qid]) != (docid in new[qid]) for docid in docids) / len(docids)
        for qid, docids in judged.items()
        if docids and qid in base and qid in new
    }


def unseen(runs: Sequence[Run], qid: str, docids: Collection[str]) -> set[str]:
    """Return those of ``docids`` that are in none of the topic's lists."""
    absent = set(docids)
    for run in runs:
        absent = absent.difference(run[qid])
    return absent


def mean_rank(run: Run, gold: Judged) -> PerTopic:
    """Return the mean rank, from 1, of each topic's gold documents, as InfoSearch's tables print it."""
    ranks = ranks_of([run], gold)
    return ranks.means(ranks.values[0])


def no_longer_relevant(original: Qrels, changed: Qrels) -> dict[str, set[str]]:
    """Return the documents, by qid, with a positive grade in ``original`` only, for the topics in both qrels.

    Topics in which nothing changed are left out.
    """
    return _once_relevant(original, changed, still=False)


def still_relevant(original: Qrels, changed: Qrels) -> dict[str, set[str]]:
    """Return the documents, by qid, with a positive grade in both qrels; topics without any are left out."""
    return _once_relevant(original, changed, still=True)


def _once_relevant(original: Qrels, changed: Qrels, still: bool) -> dict[str, set[str]]:
    documents = {
        qid: {docid for docid, grade in grades.items() if grade > 0 and (changed[qid].get(docid, 0) > 0) is still}
        for qid, grades in original.items()
        if qid in changed
    }
    return {qid: docids for qid, docids in documents.items() if docids}


def wise(
    runs: tuple[Run, Run, Run],
    gold: Gold,
    judged: Mapping[str, int],
    k: int = K,
    variant: Literal["paper", "released", "wheel"] = "paper",
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
    place of ``o − i``. ``wheel`` (``mteb_infosearch 0.1.0``): full reward only if ``o < n``, and
    the −1 is never given.
    """
    import numpy as np

    ranks = ranks_of(runs, gold)
    original, instructed, reverse = ranks.values
    count = np.repeat([judged[qid] for qid in ranks.qids], ranks.sizes)
    near = original <= count if variant == "paper" else original < count
    rise = np.maximum(original - instructed, 0)
    if variant == "released":
        rise = np.sqrt(rise)
    followed = (instructed <= original) & (original < reverse)
    opposed = (reverse < original) & (original < instructed) & (variant != "wheel")
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
    import numpy as np

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

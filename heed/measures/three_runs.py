"""InfoSearch's measures: of an original run, an instructed and a reversed one, by the documents that stay relevant."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from heed.measures.definition import Measure
from heed.measures.inputs import Inputs, no_longer_relevant
from heed.measures.judged_ranks import ranks_of, scores_of
from heed.measures.per_topic import Judged, PerTopic, Variant
from heed.types import Run

GOLD_RANK = "mean gold rank"  # the one measure that is not on a scale to 1
K = 20  # InfoSearch, section 2.3: beyond rank K a rise earns next to nothing
BEYOND_K = 0.01

Gold = Mapping[str, Sequence[str]]  # qid -> docids that stay relevant, in the order of the data


def mean_rank(run: Run, gold: Judged) -> PerTopic:
    """Return the mean rank, from 1, of each topic's gold documents, as InfoSearch's tables print it."""
    ranks = ranks_of([run], gold)
    return ranks.means(ranks.values[0])


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


MEASURES = (
    Measure(
        name="WISE",
        function=wise,
        of="three",
        takes=_of_three_and_judged,
        about=lambda pair: (list(pair.runs.values()), pair.relevant),
        by_name=False,
        test="wilcoxon",
        signed=True,
        value="mean reward of the documents that stay relevant: high if they rise with the instruction and fall with "
        "the opposite one",
        needs="a third run, under the opposite instruction",
        source="InfoSearch, eqs. 6–9",
    ),
    Measure(
        name="SICR",
        function=sicr,
        of="three",
        takes=_of_three,
        about=lambda pair: (list(pair.runs.values()), pair.relevant),
        by_name=False,
        test="wilcoxon",
        value="share of the documents that stay relevant whose rank and score both rise with the instruction and fall "
        "with the opposite one",
        needs="a third run, under the opposite instruction",
        source="InfoSearch, eqs. 4–5",
    ),
    Measure(
        name=GOLD_RANK,
        function=mean_rank,
        lower_is_better=True,
        by_name=False,
        value="mean rank of the documents that stay relevant, not ×100",
        needs="qrels of both conditions",
        source="InfoSearch, as its tables print it",
    ),
)

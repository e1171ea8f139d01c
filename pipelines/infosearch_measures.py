"""InfoSearch's measures over three rankings: original, instructed, reversed."""

from collections.abc import Mapping, Sequence
from typing import Literal

from pipelines.judged import PerTopic
from pipelines.ranking import ranks
from pipelines.trec import Run

K = 20  # InfoSearch, section 2.3: beyond rank K a right move earns next to nothing
BEYOND_K = 0.01

Variant = Literal["paper", "released"]
Gold = Mapping[str, Sequence[str]]  # qid -> docids that stay relevant, in the order of the data


def wise(
    runs: tuple[Run, Run, Run],
    gold: Gold,
    judged: Mapping[str, int],
    k: int = K,
    variant: Literal["paper", "released", "wheel"] = "paper",
) -> PerTopic:
    """Weighted instruction sensitivity of each topic, −1 … 1, averaged over its gold documents.

    InfoSearch, section 2.3, equations 4–8. ``runs`` are the original, instructed and reversed one;
    with the ranks ``o``, ``i``, ``r`` of a gold document and ``n = judged[qid]`` documents judged:
    where ``i ≤ o < r`` the reward is 1 if ``o ≤ n`` and ``i = 1``, else ``(1 − (o − i) / k) / √i``
    if ``o ≤ k``, else 0.01; otherwise −1 if ``r < o < i``, else ``(o − i) / i`` if ``o ≤ i``, else
    ``(r − o) / o``. A missing document has the list's length + 1 as its rank.

    ``released`` (the repository's ``utils.py``): full reward only if ``o < n``, and ``√(o − i)`` in
    place of ``o − i``. ``wheel`` (``mteb_infosearch 0.1.0``): full reward only if ``o < n``, and
    the −1 is never given.
    """
    values = {}
    for qid, documents in gold.items():
        if documents and all(qid in run for run in runs):
            places = zip(*(ranks(run[qid], documents) for run in runs), strict=True)
            scored = [_wise(place, judged[qid], k, variant) for place in places]
            values[qid] = sum(scored) / len(scored)
    return values


def _wise(place: tuple[int, ...], judged: int, k: int, variant: str) -> float:
    original, instructed, reverse = place
    if instructed <= original < reverse:
        near = original <= judged if variant == "paper" else original < judged
        if near and instructed == 1:
            return 1.0
        if original > k:
            return BEYOND_K
        step = original - instructed
        moved = step**0.5 if variant == "released" else step
        return float((1 - moved / k) / instructed**0.5)
    if reverse < original < instructed and variant != "wheel":
        return -1.0
    if original <= instructed:
        return (original - instructed) / instructed
    return (reverse - original) / original


def sicr(runs: tuple[Run, Run, Run], gold: Gold, variant: Variant = "paper") -> PerTopic:
    """Strict instruction compliance of each topic: the share of its gold documents that comply, 0 … 1.

    InfoSearch, section 2.3, equation 9: a document complies if its rank is better and its score
    higher in the instructed run than in the original, and both better there than in the reversed,
    all strictly. A document missing from a list has the list's length + 1 as its rank and a score
    below every other. Scores must be comparable between the runs, which those of list-wise
    rerankers are not.

    ``released``: a missing document scores 0; one that is first already may stay first with no
    lower score; and, since a counter is reset for every gold document, only the last one of a topic
    is counted, over the number of all.
    """
    values = {}
    for qid, documents in gold.items():
        if documents and all(qid in run for run in runs):
            complies = [_complies(runs, qid, docid, variant) for docid in documents]
            counted = complies[-1:] if variant == "released" else complies
            values[qid] = sum(counted) / len(complies)
    return values


def _complies(runs: tuple[Run, Run, Run], qid: str, docid: str, variant: str) -> bool:
    original, instructed, reverse = (ranks(run[qid], [docid])[0] for run in runs)
    absent = 0.0 if variant == "released" else float("-inf")
    score, told, against = (run[qid].get(docid, absent) for run in runs)
    rises = instructed < original and told > score
    if variant == "released" and original == 1:
        rises = instructed == 1 and told >= score
    return rises and original < reverse and score > against

"""InfoSearch's measures over three rankings: original, instructed, reversed."""

from collections.abc import Mapping, Sequence
from typing import Literal

from heed.measures.judged import PerTopic, ranks_of, scores_of
from heed.types import Run

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
    import numpy as np

    found = ranks_of(runs, gold)
    original, instructed, reverse = found.at
    count = np.repeat([judged[qid] for qid in found.qids], found.sizes)
    near = original <= count if variant == "paper" else original < count
    step = np.maximum(original - instructed, 0)
    moved = np.sqrt(step) if variant == "released" else step
    rewarded = (instructed <= original) & (original < reverse)
    turned = (reverse < original) & (original < instructed) & (variant != "wheel")
    cases = [
        (rewarded & near & (instructed == 1), 1.0),
        (rewarded & (original > k), BEYOND_K),
        (rewarded, (1 - moved / k) / np.sqrt(instructed)),
        (turned, -1.0),
        (original <= instructed, (original - instructed) / instructed),
    ]
    conditions, values = zip(*cases, strict=True)
    return found.mean(np.select(conditions, values, default=(reverse - original) / original))


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
    import numpy as np

    found = ranks_of(runs, gold)
    original, instructed, reverse = found.at
    absent = 0.0 if variant == "released" else -np.inf
    score, told, against = (scores_of(run, gold, found.qids, absent) for run in runs)
    rises = (instructed < original) & (told > score)
    if variant == "released":
        rises = np.where(original == 1, (instructed == 1) & (told >= score), rises)
    complies = (rises & (original < reverse) & (score > against)).astype(float)
    if variant == "released":
        last = np.zeros(len(complies))
        last[np.cumsum(found.sizes) - 1] = 1
        complies *= last
    return found.mean(complies)

"""The order in which assessors get a topic's documents: by fusion, hidden, or as earlier judgements advise."""

import heapq
import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from heed.pooling.fusion import Standing, best
from heed.pooling.samples import lot
from heed.ranking import ranked

ORDERS = {
    "hidden": "shuffled by the seed, so that neither rank nor system shows",
    "fused": "best first by reciprocal rank fusion",
    "mtf": "move-to-front: run by run, staying with a run while it gives relevant documents",
    "hedge": "Hedge: runs weighted by what was judged in them",
}
BETA = 0.1  # Hedge's learning rate; the paper leaves it open in (0, 1), this value is our choice


class Part(NamedTuple):
    """A topic's pool: ``docids`` are to be ordered, ``lists`` (sorted by run) found them, ``grades`` are known.

    ``grades`` may hold documents that are not in ``docids`` any more; a grade above 0 is relevant.
    """

    topic: str
    docids: Collection[str]
    standings: Mapping[str, Standing]
    lists: Sequence[Sequence[str]]
    grades: Mapping[str, int]


def ordered(order: str, part: Part, seed: int) -> list[str]:
    """The documents of ``part`` in the order of that name of :data:`ORDERS`."""
    if order == "hidden":
        return sorted(part.docids, key=lambda docid: lot("order", seed, part.topic, docid))
    wanted = set(part.docids)
    found = {"mtf": move_to_front, "hedge": hedge}.get(order, _fused)(part)
    known = [docid for docid in found if docid in wanted]
    return known + sorted(wanted.difference(known), reverse=True)  # in no list: relevant, but not retrieved


def _fused(part: Part) -> list[str]:
    return best({docid: part.standings[docid] for docid in part.docids if docid in part.standings})


def move_to_front(part: Part) -> list[str]:
    """The documents of the lists that are not judged, as move-to-front pooling asks for them.

    Cormack, Palmer and Clarke, SIGIR 1998, "local" variant: all runs start with one priority; the
    run of the highest is read on; a relevant document keeps its run in front, one that is not lowers
    the run's priority by 1. A document that was met in another run is passed over. Runs of the same
    priority take turns by name (the paper leaves that open). Known grades are used on the way. The
    first unjudged document is the one to judge now; those after it come as if none were relevant.
    """
    queue = [(0, at) for at in range(len(part.lists))]  # (-priority, run)
    places = [0] * len(part.lists)
    met = {docid for docids in part.lists for docid in docids}.difference(
        part.docids, part.grades
    )  # cut from the pool: nobody is asked
    asked = []
    while queue:
        lowered, at = queue[0]
        docids = part.lists[at]
        while places[at] < len(docids) and docids[places[at]] in met:
            places[at] += 1
        if places[at] == len(docids):
            heapq.heappop(queue)
            continue
        docid = docids[places[at]]
        met.add(docid)
        if docid not in part.grades:
            asked.append(docid)
        if part.grades.get(docid, 0) <= 0:
            heapq.heapreplace(queue, (lowered + 1, at))
    return asked


def hedge(part: Part) -> list[str]:
    """The documents of the lists that are not judged, by their loss under Hedge's mixture, highest first.

    Aslam, Pavlu and Savell, SIGIR 2003 (and "A unified model …", CIKM 2003): a document at rank
    ``r`` of a run has the loss ``½ · (−1)^rel · ln(Z / r)`` there, ``Z`` being the number of
    documents in all lists of the topic; one that the run lacks has the mean of that over the ranks
    from the run's end to ``Z``. Runs start with equal weights, and each judged document multiplies a
    run's weight by ``β^loss``. Asked next is the document whose weighted loss would be highest if it
    were not relevant; documents whose losses are equal go by docid, descending.
    """
    weights = hedge_weights(part)
    total = _union(part.lists)
    terms: dict[str, list[float]] = {}
    for docids, weight in zip(part.lists, weights, strict=True):
        absent = _absent(len(docids), total)
        for rank, docid in enumerate(docids, 1):
            terms.setdefault(docid, []).append(weight * (math.log(total / rank) - absent))
    # fsum: the order of the runs moves no last bit; what is left out is the same for every document
    scores = {docid: math.fsum(found) for docid, found in terms.items() if docid not in part.grades}
    return ranked(scores)


def hedge_weights(part: Part) -> list[float]:
    """The weight of each list after the known judgements; they sum to 1."""
    total = _union(part.lists)
    logs = []
    for docids in part.lists:
        place = {docid: rank for rank, docid in enumerate(docids, 1)}
        absent = _absent(len(docids), total)
        losses = [
            (-0.5 if grade > 0 else 0.5) * (math.log(total / place[docid]) if docid in place else absent)
            for docid, grade in part.grades.items()
            if docid in part.standings
        ]
        logs.append(math.log(BETA) * math.fsum(losses))
    heights = [math.exp(one - max(logs)) for one in logs]  # after many judgements the powers themselves underflow
    return [one / math.fsum(heights) for one in heights]


def _union(lists: Sequence[Sequence[str]]) -> int:
    return len({docid for docids in lists for docid in docids})


def _absent(length: int, total: int) -> float:
    """The mean of ``ln(total / r)`` over ``r = length + 1 … total``; 0 for a list that holds all."""
    if length == total:
        return 0.0
    return math.log(total) - (math.lgamma(total + 1) - math.lgamma(length + 1)) / (total - length)

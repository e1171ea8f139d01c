"""The order in which assessors get a topic's documents: by fusion, hidden, or guided by earlier judgements."""

import heapq
import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from heed.addons.judging.pools.samples import random_key
from heed.ranking import Fused, best, ranked

ORDERS = {
    "hidden": "shuffled by the seed, so that neither rank nor system shows",
    "fused": "best first by reciprocal rank fusion",
    "mtf": "move-to-front, which reads a run as long as it gives relevant documents",
    "hedge": "Hedge, which weights runs by the judgements of their documents",
}
GUIDED = ("mtf", "hedge")  # those that learn from judgements
BETA = 0.1  # Hedge's learning rate; the paper allows any in (0, 1), this value is our choice


class TopicPool(NamedTuple):
    """A topic's ``docids`` to be ordered, the ``lists`` (sorted by run) that retrieved them, and known ``grades``.

    ``grades`` may hold documents that are no longer in ``docids``; a grade above 0 is relevant.
    """

    topic: str
    docids: Collection[str]
    fused: Mapping[str, Fused]
    lists: Sequence[Sequence[str]]
    grades: Mapping[str, int]


def order_documents(order: str, pool: TopicPool, seed: int) -> list[str]:
    """Return the documents of ``pool`` in the ``order`` of that name in :data:`ORDERS`."""
    if order == "hidden":
        return sorted(pool.docids, key=lambda docid: random_key("order", seed, pool.topic, docid))
    docids = set(pool.docids)
    sort = {"mtf": move_to_front, "hedge": hedge}.get(order, _by_fusion)
    retrieved = [docid for docid in sort(pool) if docid in docids]
    return retrieved + sorted(docids.difference(retrieved), reverse=True)  # in no list: relevant, but not retrieved


def _by_fusion(pool: TopicPool) -> list[str]:
    return best({docid: pool.fused[docid] for docid in pool.docids if docid in pool.fused})


def move_to_front(pool: TopicPool) -> list[str]:
    """Return the documents of the lists that are not judged, in the order of move-to-front pooling.

    Cormack, Palmer and Clarke, SIGIR 1998, "local" variant: all runs start with one priority; the
    run of the highest priority is read next; a relevant document keeps its run in front, any other lowers
    the run's priority by 1. A document that another run gave before is skipped. Runs of the same
    priority take turns by name (the paper does not say). Known grades are used on the way. The
    first unjudged document is the one to judge now; those after it come as if none were relevant.
    """
    queue = [(0, index) for index in range(len(pool.lists))]  # (-priority, run)
    positions = [0] * len(pool.lists)
    retrieved = {docid for docids in pool.lists for docid in docids}
    seen = retrieved.difference(pool.docids, pool.grades)  # cut from the pool: not to be judged
    ordered = []
    while queue:
        lowered, index = queue[0]
        docids = pool.lists[index]
        while positions[index] < len(docids) and docids[positions[index]] in seen:
            positions[index] += 1
        if positions[index] == len(docids):
            heapq.heappop(queue)
            continue
        docid = docids[positions[index]]
        seen.add(docid)
        if docid not in pool.grades:
            ordered.append(docid)
        if pool.grades.get(docid, 0) <= 0:
            heapq.heapreplace(queue, (lowered + 1, index))
    return ordered


def hedge(pool: TopicPool) -> list[str]:
    """Return the documents of the lists that are not judged, by their loss under Hedge's mixture, highest first.

    Aslam, Pavlu and Savell, SIGIR 2003 (and "A unified model …", CIKM 2003): a document at rank
    ``r`` of a run has the loss ``½ · (−1)^rel · ln(Z / r)`` there, ``Z`` being the number of
    documents in all lists of the topic; one that the run lacks has the mean of that over the ranks
    from the run's end to ``Z``. Runs start with equal weights, and each judged document multiplies a
    run's weight by ``β^loss``. Judged next is the document whose weighted loss would be highest if it
    were not relevant; documents whose losses are equal are sorted by docid, descending.
    """
    weights = hedge_weights(pool)
    total = _union(pool.lists)
    terms: dict[str, list[float]] = {}
    for docids, weight in zip(pool.lists, weights, strict=True):
        absent = _absent(len(docids), total)
        for rank, docid in enumerate(docids, 1):
            terms.setdefault(docid, []).append(weight * (math.log(total / rank) - absent))
    # fsum: the order of the runs does not change the last bit; terms left out are the same for every document
    scores = {docid: math.fsum(losses) for docid, losses in terms.items() if docid not in pool.grades}
    return ranked(scores)


def hedge_weights(pool: TopicPool) -> list[float]:
    """Return the weight of each list after the known judgements; they sum to 1."""
    total = _union(pool.lists)
    logs = []
    for docids in pool.lists:
        ranks = {docid: rank for rank, docid in enumerate(docids, 1)}
        absent = _absent(len(docids), total)
        losses = [
            (-0.5 if grade > 0 else 0.5) * (math.log(total / ranks[docid]) if docid in ranks else absent)
            for docid, grade in pool.grades.items()
            if docid in pool.fused
        ]
        logs.append(math.log(BETA) * math.fsum(losses))
    powers = [math.exp(value - max(logs)) for value in logs]  # relative: after many judgements β^loss underflows
    return [power / math.fsum(powers) for power in powers]


def _union(lists: Sequence[Sequence[str]]) -> int:
    return len({docid for docids in lists for docid in docids})


def _absent(length: int, total: int) -> float:
    """Return the mean of ``ln(total / r)`` over ``r = length + 1 … total``; 0 for a list of all documents."""
    if length == total:
        return 0.0
    return math.log(total) - (math.lgamma(total + 1) - math.lgamma(length + 1)) / (total - length)

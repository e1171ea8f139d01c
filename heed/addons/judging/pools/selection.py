"""Which of a topic's pooled documents are judged, and in which order: sizes, budgets, samples, orders for assessors."""

import heapq
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from hashlib import sha256
from itertools import accumulate, chain
from pathlib import Path
from typing import NamedTuple

from heed.files import write_bytes
from heed.progress import log
from heed.ranking import Fused, best, ranked
from heed.types import Qrels

ALL = ""  # the key of a size or budget for all topics or languages


Candidates = dict[str, dict[str, Fused]]  # topic -> docid -> rank and score


def cut(candidates: Candidates, sizes: Mapping[str, int]) -> Candidates:
    """Return each topic's ``sizes[topic]`` (else ``sizes[""]``, else all) documents of the highest fused scores."""
    if not sizes:
        return candidates
    return {
        topic: {docid: documents[docid] for docid in best(documents, sizes.get(topic, sizes.get(ALL)))}
        for topic, documents in candidates.items()
    }


def spend(candidates: Candidates, budget: int) -> Candidates:
    """Return ``budget`` documents over all topics: every topic pooled to the same depth, the deepest that fits.

    That is depth-k pooling with ``k`` chosen by the budget. The rest of the budget goes to the documents
    of depth ``k + 1`` with the highest fused scores, whatever their topic. A topic whose runs
    agree gets fewer documents than one whose runs differ: what is equal is how deep each run is read.
    """
    at_rank = Counter(fused.rank for documents in candidates.values() for fused in documents.values())
    totals = zip(sorted(at_rank), accumulate(at_rank[rank] for rank in sorted(at_rank)), strict=True)
    depth = max((rank for rank, total in totals if total <= budget), default=0)
    chosen = {
        topic: {docid: fused for docid, fused in documents.items() if fused.rank <= depth}
        for topic, documents in candidates.items()
    }
    following = min((rank for rank in at_rank if rank > depth), default=0)
    at_following = (
        (topic, {docid: fused for docid, fused in documents.items() if fused.rank == following})
        for topic, documents in candidates.items()
    )
    # within a topic best first, docids descending on ties; sorting by score keeps that order
    entries = [(topic, docid, documents[docid]) for topic, documents in at_following for docid in best(documents)]
    entries.sort(key=lambda entry: -entry[2].score)
    for topic, docid, fused in entries[: budget - sum(map(len, chosen.values()))]:
        chosen[topic][docid] = fused
    return chosen


def spend_by_language(candidates: Candidates, budgets: Mapping[str, int], languages: Mapping[str, str]) -> Candidates:
    """Return the documents of :func:`spend` in each language with a budget, then of all that by the budget for all.

    ``languages`` are those of the documents; a language without a budget is not cut.
    """
    budgeted = sorted(set(budgets) - {ALL})
    if budgeted:
        parts: dict[str, Candidates] = {language: {} for language in budgeted}
        for topic, documents in candidates.items():
            for docid, fused in documents.items():
                parts.setdefault(languages[docid], {}).setdefault(topic, {})[docid] = fused
        for language in budgeted:
            parts[language] = _spend_and_log(parts[language], budgets[language], f" in {language}")
        candidates = {
            topic: {docid: fused for part in parts.values() for docid, fused in part.get(topic, {}).items()}
            for topic in candidates
        }
    return _spend_and_log(candidates, budgets[ALL], "") if ALL in budgets else candidates


def _spend_and_log(candidates: Candidates, budget: int, where: str) -> Candidates:
    total = sum(map(len, candidates.values()))
    if total < budget:
        log.info(f"budget of {budget}{where}: only {total} documents to choose from; a larger depth=K gives more")
        return candidates
    chosen = spend(candidates, budget)
    empty = sum(not documents for documents in chosen.values())
    if empty:
        log.info(f"budget of {budget}{where}: too small for {empty} of {len(chosen)} topics, which get no document")
    return chosen


class Stratum(NamedTuple):
    """The documents whose best rank over the runs is ``first`` … ``last``; ``share`` of them is drawn."""

    first: int
    last: int
    share: Fraction

    def __str__(self) -> str:
        """Return the stratum as in :func:`parse_strata`."""
        return f"{self.first}-{self.last}:{float(self.share):g}"


class Layer(NamedTuple):
    """A topic's documents in a stratum, best first, and those that were drawn, each with the same probability."""

    documents: list[str]
    drawn: list[str]

    @property
    def probability(self) -> Fraction:
        """The probability with which each document was drawn."""
        return Fraction(len(self.drawn), len(self.documents))


Sample = dict[str, list[Layer]]  # topic -> a layer for each stratum


def parse_strata(text: str) -> tuple[Stratum, ...]:
    """Return the strata of ``1-10:1.0,11-100:0.3``; ValueError where ranks leave a gap or a share is not in (0, 1]."""
    strata: list[Stratum] = []
    for part in text.split(","):
        ranks, _, share = part.strip().partition(":")
        first, _, last = ranks.partition("-")
        try:
            stratum = Stratum(int(first), int(last), Fraction(share))
        except (ValueError, ZeroDivisionError) as error:
            raise ValueError(f"found {part!r}, expected FIRST-LAST:SHARE, such as 11-100:0.3") from error
        next_rank = strata[-1].last + 1 if strata else 1
        if stratum.first != next_rank or stratum.last < stratum.first:
            raise ValueError(f"found {part!r}, expected a stratum from rank {next_rank}, without gap or overlap")
        if not 0 < stratum.share <= 1:
            raise ValueError(f"found {part!r}, expected a share above 0 and up to 1")
        strata.append(stratum)
    return tuple(strata)


def draw_sample(candidates: Candidates, strata: Sequence[Stratum], seed: int) -> Sample:
    """Return simple random samples without replacement, one of each topic's strata.

    Of ``n`` documents ``m = ceil(share · n)`` are drawn, so that none has probability 0; every one of
    them has the probability ``m / n``. It is the stratified design of xinfAP (Yilmaz, Kanoulas and
    Aslam, SIGIR 2008). Randomness is the SHA-256 of seed, topic and docid: the same for any order of the
    runs, and a larger share draws all that a smaller one drew and more.
    """
    sample: Sample = {}
    for topic, documents in candidates.items():
        layers = sample.setdefault(topic, [])
        ordered = best(documents)
        for stratum in strata:
            docids = [docid for docid in ordered if stratum.first <= documents[docid].rank <= stratum.last]
            # "sample": with the key of the hidden order, drawn documents of thin strata would all come first in it
            shuffled = sorted(docids, key=lambda docid: random_key("sample", seed, topic, docid))
            layers.append(Layer(docids, shuffled[: math.ceil(stratum.share * len(docids))]))
    return sample


def random_key(use: str, seed: int, topic: str, docid: str) -> bytes:
    """Return 32 pseudo-random bytes for a document, independent of its rank and runs, the same on every machine.

    Different ``use`` gives independent keys. Ids hold no spaces, so no two inputs give the same text.
    """
    return sha256(f"{use} {seed} {topic} {docid}".encode()).digest()


def write_probabilities(path: Path, sample: Sample) -> None:
    """Write a line for each drawn document: topic, stratum, docid, probability, with a space between.

    These are the columns of qrels with the stratum in the second, which qrels leave unused, and the
    probability in the place of the grade. TREC's Legal track put the probability after the grade
    (``qrelsL07.probs``); xinfAP's program expects stratum and grade. Both files can be joined from this
    one and the finished qrels. Probabilities are written so that they read back as the same double.
    """
    lines = [
        f"{topic} {number} {docid} {float(layer.probability)!r}\n"
        for topic, layers in sample.items()
        for number, layer in enumerate(layers, 1)
        for docid in layer.drawn
    ]
    write_bytes(path, "".join(lines).encode())


class StratumCounts(NamedTuple):
    """A stratum over all topics: its documents, how many were drawn and judged, and the relevant ones.

    ``estimated`` is the Horvitz–Thompson estimate of the stratum's relevant documents, the sum of
    ``1 / probability`` over the relevant ones that were drawn; None while a drawn one is unjudged.
    """

    stratum: str
    documents: int
    drawn: int
    judged: int
    relevant: int
    estimated: float | None


def count_strata(strata: Sequence[Stratum], sample: Sample, grades: Qrels) -> list[StratumCounts]:
    """Return the counts of each stratum; Horvitz and Thompson, JASA 1952, for the estimate."""
    counts = []
    for number, stratum in enumerate(strata):
        of_topics = {topic: layers[number] for topic, layers in sample.items()}
        graded = [
            (layer.probability, grades.get(topic, {}).get(docid))
            for topic, layer in of_topics.items()
            for docid in layer.drawn
        ]
        judged = [(probability, grade) for probability, grade in graded if grade is not None]
        relevant = [probability for probability, grade in judged if grade > 0]
        total = float(sum((1 / probability for probability in relevant), Fraction()))
        size = sum(len(layer.documents) for layer in of_topics.values())
        estimated = total if len(judged) == len(graded) else None
        counts.append(StratumCounts(str(stratum), size, len(graded), len(judged), len(relevant), estimated))
    return counts


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
    total = len({*chain.from_iterable(pool.lists)})
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
    total = len({*chain.from_iterable(pool.lists)})
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


def _absent(length: int, total: int) -> float:
    """Return the mean of ``ln(total / r)`` over ``r = length + 1 … total``; 0 for a list of all documents."""
    if length == total:
        return 0.0
    return math.log(total) - (math.lgamma(total + 1) - math.lgamma(length + 1)) / (total - length)

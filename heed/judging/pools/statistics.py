"""Statistics of a pool: its sizes, shares and overlap of runs, judging time, how deep it reaches into the lists."""

from collections.abc import Collection, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from heed.formats.pools import Pool
from heed.judging.pools.pool_inputs import RankedList, system_of

Lists = Mapping[str, Sequence[RankedList]]  # topic -> lists

SECONDS = 30.0  # to judge a document; an assumption, not a measurement: measure your own assessors


class Sizes(NamedTuple):
    """Documents in all, and per topic."""

    topics: int
    documents: int
    smallest: int
    median: float
    largest: int


class Share(NamedTuple):
    """A run's share of a pool: its documents there, those of no other run, those of no other system."""

    run: str
    system: str
    documents: int
    unique: int
    system_unique: int


class Overlap(NamedTuple):
    """The share of ``run``'s pooled documents that ``other`` retrieved too, and Jaccard's coefficient of both."""

    run: str
    other: str
    share: float
    jaccard: float


Retrieved = dict[str, int]  # run -> the pooled documents that it retrieved, as the bits of one number


def sizes(pooled: Pool) -> Sizes:
    """Return the sizes of ``pooled``, which holds at least one topic."""
    counts = [len(docids) for docids in pooled.values()]
    return Sizes(len(counts), sum(counts), min(counts), float(median(counts)), max(counts))


def retrieved_documents(pooled: Pool, topics: Lists, runs: Sequence[str]) -> Retrieved:
    """Return which documents of ``pooled`` each of ``runs`` retrieved; shares and overlaps are counted from it."""
    bits_of = {run: bytearray(sum(map(len, pooled.values())) // 8 + 1) for run in runs}
    start = 0
    for topic, docids in pooled.items():
        positions = {docid: position for position, docid in enumerate(docids, start)}
        start += len(docids)
        for ranking in topics.get(topic, ()):
            bits = bits_of[ranking.run]
            for position in (positions[docid] for docid in ranking.docids if docid in positions):
                bits[position >> 3] |= 1 << (position & 7)
    return {run: int.from_bytes(bits, "little") for run, bits in bits_of.items()}


def shares(retrieved: Retrieved) -> list[Share]:
    """Return each run's share of the pool.

    Unique contribution is Zobel's (SIGIR 1998): documents in the pool by this run alone. Runs called
    ``<system>.<condition>`` belong to one system.
    """
    systems: Retrieved = {}
    for run, bits in retrieved.items():
        systems[system_of(run)] = systems.get(system_of(run), 0) | bits
    by_runs, by_systems = _by_several(retrieved), _by_several(systems)
    return [
        Share(run, system_of(run), bits.bit_count(), (bits & ~by_runs).bit_count(), (bits & ~by_systems).bit_count())
        for run, bits in retrieved.items()
    ]


def _by_several(retrieved: Retrieved) -> int:
    once = several = 0
    for bits in retrieved.values():
        several |= once & bits
        once |= bits
    return several


def overlaps(retrieved: Retrieved) -> list[Overlap]:
    """Return the overlap of every run with every run, itself too; a run without a pooled document shares 0."""
    pairs = []
    for run, bits in retrieved.items():
        for other, other_bits in retrieved.items():
            both, either, documents = (bits & other_bits).bit_count(), (bits | other_bits).bit_count(), bits.bit_count()
            pairs.append(Overlap(run, other, both / documents if documents else 0.0, both / either if either else 0.0))
    return pairs


class Reach(NamedTuple):
    """The best rank of the deepest document ``taken`` from a topic's lists, and the depth to which all are in it."""

    taken: int
    whole: int


def lists_reached(pooled: Pool, judged: Mapping[str, Collection[str]], topics: Lists) -> dict[str, list[RankedList]]:
    """Return the lists of each topic of ``pooled`` to the depth that the pool reached; statistics count no further.

    That depth is the rank of the deepest document that the pool took from the topic's lists, a document being
    at the best of its ranks. Where all the topic's lists are in the pool (or ``judged`` before) to a deeper rank,
    it is that rank, but none deeper than the pool reached in any topic. So a pool of depth 5 reaches depth 5 in all
    topics; with a budget the common depth, or one more; and the same documents have the same depth however they
    were asked for. Lists that are split by language reach a depth in each.
    """
    groups: dict[tuple[str, str], list[list[str]]] = {}
    for topic in pooled:
        for ranking in topics.get(topic, ()):
            groups.setdefault((topic, ranking.language), []).append(ranking.docids)
    reaches = {
        (topic, language): _reach(lists, set(pooled[topic]), judged.get(topic, ()))
        for (topic, language), lists in groups.items()
    }
    deepest: dict[str, int] = {}
    for (_, language), reach in reaches.items():
        deepest[language] = max(reach.taken, deepest.get(language, 0))
    depths = {key: max(reach.taken, min(reach.whole, deepest[key[1]])) for key, reach in reaches.items()}
    return {
        topic: [
            ranking._replace(docids=ranking.docids[: depths[topic, ranking.language]])
            for ranking in topics.get(topic, ())
        ]
        for topic in pooled
    }


def _reach(lists: Sequence[Sequence[str]], pooled: Collection[str], judged: Collection[str]) -> Reach:
    ranks: dict[str, int] = {}
    whole = max(map(len, lists))
    for docids in lists:
        unpooled = None
        for rank, docid in enumerate(docids, 1):
            if docid in pooled:
                ranks[docid] = min(rank, ranks.get(docid, rank))
            elif unpooled is None and docid not in judged:
                unpooled = rank
        whole = min(whole, unpooled - 1) if unpooled else whole
    return Reach(max(ranks.values(), default=0), whole)


def depths(reached: Lists) -> dict[str, int]:
    """Return the depth reached in each topic, that of its longest list."""
    return {topic: max((len(ranking.docids) for ranking in lists), default=0) for topic, lists in reached.items()}

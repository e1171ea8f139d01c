"""Statistics of a pool: sizes, shares and overlap of runs, judging time."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from heed.formats.pools import Pool
from heed.judging.pools.inputs import RankedList, system_of

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


def retrieved_documents(pooled: Pool, topics: Mapping[str, Sequence[RankedList]], runs: Sequence[str]) -> Retrieved:
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


def hours(documents: int, seconds: float) -> float:
    """Return the expected judging time in hours at ``seconds`` a document."""
    return documents * seconds / 3600

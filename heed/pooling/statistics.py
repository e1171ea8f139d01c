"""What a pool consists of: each run's share in it, how far runs agree, how long the judging takes."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from heed.io.pools import Pool
from heed.pooling.runs import Listing, system_of

SECONDS = 30.0  # a document, judging; an assumption, not a measurement: measure your own assessors


class Sizes(NamedTuple):
    """Documents a topic, and in all."""

    topics: int
    documents: int
    smallest: int
    median: float
    largest: int


class Share(NamedTuple):
    """A run's part of a pool: its documents there, those of no other run, those of no other system."""

    run: str
    system: str
    documents: int
    unique: int
    system_unique: int


class Overlap(NamedTuple):
    """Of two runs' pooled documents: the share of ``run``'s that ``other`` holds too, and Jaccard's coefficient."""

    run: str
    other: str
    share: float
    jaccard: float


Holdings = dict[str, int]  # run -> the pooled documents it holds, as the bits of one number


def sizes(pooled: Pool) -> Sizes:
    """The sizes of ``pooled``, which holds at least one topic."""
    counts = [len(docids) for docids in pooled.values()]
    return Sizes(len(counts), sum(counts), min(counts), float(median(counts)), max(counts))


def holdings(pooled: Pool, topics: Mapping[str, Sequence[Listing]], runs: Sequence[str]) -> Holdings:
    """Which documents of ``pooled`` each of ``runs`` holds in one of its lists; all that is counted comes from it."""
    held = {run: bytearray(sum(map(len, pooled.values())) // 8 + 1) for run in runs}
    start = 0
    for topic, docids in pooled.items():
        place = {docid: at for at, docid in enumerate(docids, start)}
        start += len(docids)
        for one in topics.get(topic, ()):
            mine = held[one.run]
            for at in (place[docid] for docid in one.docids if docid in place):
                mine[at >> 3] |= 1 << (at & 7)
    return {run: int.from_bytes(bits, "little") for run, bits in held.items()}


def shares(held: Holdings) -> list[Share]:
    """Each run's part of the pool.

    Unique contribution is Zobel's (SIGIR 1998): documents in the pool by this run alone. Runs called
    ``<system>.<condition>`` are one system's.
    """
    systems: Holdings = {}
    for run, bits in held.items():
        systems[system_of(run)] = systems.get(system_of(run), 0) | bits
    by_run, by_system = _by_several(held), _by_several(systems)
    return [
        Share(run, system_of(run), bits.bit_count(), (bits & ~by_run).bit_count(), (bits & ~by_system).bit_count())
        for run, bits in held.items()
    ]


def _by_several(held: Holdings) -> int:
    once = several = 0
    for bits in held.values():
        several |= once & bits
        once |= bits
    return several


def overlaps(held: Holdings) -> list[Overlap]:
    """Every run against every run, itself too; a run without a pooled document shares 0."""
    found = []
    for run, bits in held.items():
        for other, others in held.items():
            both, either, mine = (bits & others).bit_count(), (bits | others).bit_count(), bits.bit_count()
            found.append(Overlap(run, other, both / mine if mine else 0.0, both / either if either else 0.0))
    return found


def hours(documents: int, seconds: float) -> float:
    """The expected judging time in hours at ``seconds`` a document."""
    return documents * seconds / 3600

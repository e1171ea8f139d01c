"""Statistics of a pool: its sizes, shares and overlap of runs, judging time, how deep it reaches into the lists."""

from collections.abc import Collection, Mapping, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heed.addons.judging.pools.pool_inputs import RunList, system_of
from heed.formats.pools import Pool

Lists = Mapping[str, Sequence[RunList]]  # topic -> lists

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


Retrieved = dict[str, NDArray[np.bool_]]  # run -> whether it retrieved each document of the pool, in the pool's order


def sizes(pooled: Pool) -> Sizes:
    """Return the sizes of ``pooled``, which holds at least one topic."""
    counts = [len(docids) for docids in pooled.values()]
    return Sizes(len(counts), sum(counts), min(counts), float(median(counts)), max(counts))


def retrieved_documents(pooled: Pool, topics: Lists, runs: Sequence[str]) -> Retrieved:
    """Return which documents of ``pooled`` each of ``runs`` retrieved; shares and overlaps are counted from it."""
    retrieved = {run: np.zeros(sum(map(len, pooled.values())), dtype=np.bool_) for run in runs}
    start = 0
    for topic, docids in pooled.items():
        positions = {docid: position for position, docid in enumerate(docids, start)}
        start += len(docids)
        for ranking in topics.get(topic, ()):
            retrieved[ranking.run][[positions[docid] for docid in ranking.docids if docid in positions]] = True
    return retrieved


def shares(retrieved: Retrieved) -> list[Share]:
    """Return each run's share of the pool.

    Unique contribution is Zobel's (SIGIR 1998): documents in the pool by this run alone. Runs called
    ``<system>.<condition>`` belong to one system.
    """
    systems: Retrieved = {}
    for run, documents in retrieved.items():
        systems[system_of(run)] = systems.get(system_of(run), False) | documents
    of_one_run, of_one_system = (sum(several.values()) == 1 for several in (retrieved, systems))
    return [
        Share(run, system_of(run), *(int(part.sum()) for part in (pooled, pooled & of_one_run, pooled & of_one_system)))
        for run, pooled in retrieved.items()
    ]


def overlaps(retrieved: Retrieved) -> dict[str, dict[str, float]]:
    """Return ``run -> other run -> share of the run's pooled documents that the other retrieved too``, 0 of none."""
    return {
        run: {other: float((pooled & others).sum() / max(pooled.sum(), 1)) for other, others in retrieved.items()}
        for run, pooled in retrieved.items()
    }


class Reach(NamedTuple):
    """The best rank of the deepest document ``taken`` from a topic's lists, and the depth to which all are in it."""

    taken: int
    whole: int


def lists_reached(pooled: Pool, judged: Mapping[str, Collection[str]], topics: Lists) -> dict[str, list[RunList]]:
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

"""How deep a pool reaches into the lists that it was made from, whichever settings made it."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from heed.formats.pools import Pool
from heed.judging.pools.inputs import RankedList


class Reach(NamedTuple):
    """The best rank of the deepest document ``taken`` from a topic's lists, and the depth to which all are in it."""

    taken: int
    whole: int


def lists_reached(
    pooled: Pool, judged: Mapping[str, Collection[str]], topics: Mapping[str, Sequence[RankedList]]
) -> dict[str, list[RankedList]]:
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


def is_union(documents: Mapping[str, set[str]], topics: Mapping[str, Sequence[RankedList]]) -> bool:
    """Whether the ``documents`` of every topic are the union of its lists."""
    return all(
        documents.get(topic, set()) == {docid for ranking in lists for docid in ranking.docids}
        for topic, lists in topics.items()
    )


def depths(reached: Mapping[str, Sequence[RankedList]]) -> dict[str, int]:
    """Return the depth reached in each topic, that of its longest list."""
    return {topic: max((len(ranking.docids) for ranking in lists), default=0) for topic, lists in reached.items()}

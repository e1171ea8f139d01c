"""From the lists of runs to a pool: who may be judged, who is, in which order."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from heed.errors import HeedError, fail
from heed.io.pairs import stem
from heed.io.pools import Pool
from heed.pooling.budgets import ALL, Candidates, cut, spend_all
from heed.pooling.fusion import Standing, standings
from heed.pooling.judged import by_topic, merged, relevant, settled, tell_strangers
from heed.pooling.orders import Part, ordered
from heed.pooling.runs import Listing, base_topics, listings
from heed.pooling.samples import Sample, Stratum, draw, in_strata
from heed.progress import brief, log
from heed.ranking import in_order
from heed.types import Qrels, Run


@dataclass(frozen=True)
class Wish:
    """How a pool is made; ``sizes`` by topic and ``budgets`` by language, ``""`` being the key for all."""

    depth: int
    order: str
    seed: int
    by_base: bool = False
    only_topics: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    budgets: Mapping[str, int] = field(default_factory=dict)
    strata: tuple[Stratum, ...] = ()


class Known(NamedTuple):
    """Judgements that were read: documents to leave out, the only ones to take, those that guide the order."""

    excluded: Qrels
    only: Qrels
    judged: Qrels


class Inputs(NamedTuple):
    """The lists by topic of the pool, the topic that every qid belongs to, and what is known under these topics."""

    topics: dict[str, list[Listing]]
    base_of: dict[str, str]
    settled: dict[str, set[str]]
    only: dict[str, set[str]]
    grades: Qrels

    def guided(self, topic: str) -> dict[str, int]:
        """What is judged of a topic, for the orders that learn from it."""
        return self.grades.get(topic, {})


class Made(NamedTuple):
    """A pool, and if it is a sample the documents of each topic's strata and those that were drawn."""

    pooled: Pool
    layers: tuple[Stratum, ...]
    strata: dict[str, list[list[str]]]
    sample: Sample


def bring_together(
    runs: Mapping[str, Run], known: Known, wish: Wish, further: Collection[str], languages: Mapping[str, str]
) -> Inputs:
    """Runs and judgements under the topics of the pool.

    ``further`` are other qids whose topics are asked for later. Raises :class:`HeedError` for judgements of none of
    the runs' topics and for topics that are asked for and are in no run.
    """
    in_runs = {qid for run in runs.values() for qid in run}
    base_of = _bases(in_runs, in_runs.union(further, *known), wish.by_base)
    topics = listings(runs, wish.depth, {qid: base_of[qid] for qid in in_runs}, languages)
    only = relevant(by_topic(known.only, base_of))
    if known.only:
        topics = _read_again(topics, only)
    topics = _selected(topics, wish.only_topics)
    tell_strangers("--exclude-judged", known.excluded, topics, base_of)
    tell_strangers("--judged", known.judged, topics, base_of)
    return Inputs(topics, base_of, _settled(topics, known, base_of), only, by_topic(known.judged, base_of))


def _bases(in_runs: set[str], qids: set[str], by_base: bool) -> dict[str, str]:
    if not by_base:
        if len({stem(qid) for qid in in_runs}) < len(in_runs):
            log.info("some topics are narratives of one query, by their ids; --by-base makes one pool of each query's")
        return {qid: qid for qid in qids}
    base_of = base_topics(qids)
    log.info(f"--by-base: {len(in_runs)} topics make {len({base_of[qid] for qid in in_runs})} pools")
    return base_of


def _read_again(topics: Mapping[str, list[Listing]], only: Mapping[str, set[str]]) -> dict[str, list[Listing]]:
    """The topics with relevant documents; runs may know others, or none of them."""
    if topics:
        tell_strangers("--only-relevant", {topic: {} for topic in only}, topics, {})
        left = [topic for topic in topics if topic not in only]
        if left:
            log.info(f"--only-relevant: {len(left)} topics of the runs have no relevant document: {brief(left)}")
    return {topic: topics.get(topic, []) for topic in in_order(only)}


def _selected(topics: dict[str, list[Listing]], wanted: Collection[str]) -> dict[str, list[Listing]]:
    fail(
        f"--topic {topic}: not pooled; expected one of {brief(list(topics))}" for topic in wanted if topic not in topics
    )
    return {topic: lists for topic, lists in topics.items() if topic in wanted or not wanted}


def _settled(topics: Mapping[str, list[Listing]], known: Known, base_of: Mapping[str, str]) -> dict[str, set[str]]:
    """What needs no judgement; where relevant documents are read again, all that was read so far."""
    judged = merged([known.excluded, known.judged])
    if known.only:
        again = by_topic(judged, base_of)
        return {topic: set(again.get(topic, {})) for topic in topics}
    return settled(judged, {topic: {one.qid for one in lists} for topic, lists in topics.items()})


def make(inputs: Inputs, wish: Wish, language_of: Callable[[str, str], str]) -> Made:
    """The pool that ``wish`` describes; a topic for which no document is left is left out and told.

    Documents that are settled are taken out after ranking, so that the lists are read as deep as
    without them. Raises :class:`HeedError` for sizes of unknown topics and for an empty pool.
    """
    fail(f"--size {topic}=…: not pooled" for topic in wish.sizes if topic not in (ALL, *inputs.topics))
    found = {topic: standings(one.docids for one in lists) for topic, lists in inputs.topics.items()}
    chosen = _open(found, inputs)
    strata: dict[str, list[list[str]]] = {}
    sample: Sample = {}
    if wish.strata:
        strata = in_strata(chosen, wish.strata)
        sample = draw(strata, wish.strata, wish.seed)
        chosen = {topic: {docid: chosen[topic][docid] for docid in drawn} for topic, drawn in sample.items()}
    chosen = spend_all(cut(chosen, wish.sizes), wish.budgets, language_of)
    pooled = {topic: _ordered(topic, chosen[topic], found[topic], inputs, wish) for topic in chosen if chosen[topic]}
    lost = [topic for topic in inputs.topics if topic not in pooled]
    if not pooled:
        raise HeedError("the pool is empty: all that the runs hold is judged already")
    if lost:
        log.info(f"{len(lost)} topics have no document left to judge and are left out: {brief(lost)}")
    return Made(pooled, wish.strata, strata, sample)


def _open(found: Candidates, inputs: Inputs) -> Candidates:
    """Who may be judged: what the lists hold, or the relevant documents whether in a list or not, less the settled."""
    if inputs.only:
        nowhere = Standing(0, 0.0)
        found = {
            topic: {docid: found[topic].get(docid, nowhere) for docid in inputs.only[topic]} for topic in inputs.topics
        }
    return {
        topic: {docid: one for docid, one in mine.items() if docid not in inputs.settled[topic]}
        for topic, mine in found.items()
    }


def _ordered(
    topic: str, chosen: Mapping[str, Standing], found: Mapping[str, Standing], inputs: Inputs, wish: Wish
) -> list[str]:
    lists = [one.docids for one in inputs.topics[topic]]
    return ordered(wish.order, Part(topic, chosen.keys(), found, lists, inputs.guided(topic)), wish.seed)

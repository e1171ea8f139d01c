"""From the runs' lists to a pool: which documents may be judged, which are, and in which order."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from heed.addons.judging.pools.pool_inputs import (
    RunList,
    base_topics,
    check_topics,
    first_documents,
    fully_judged,
    merge_qrels,
    qrels_by_topic,
    ranked_lists,
    relevant_documents,
)
from heed.addons.judging.pools.selection import (
    ALL,
    Candidates,
    Sample,
    Stratum,
    TopicPool,
    cut,
    draw_sample,
    order_documents,
    spend_by_language,
)
from heed.errors import DataError, UsageError, fail
from heed.formats.pairs import stem
from heed.formats.pools import Pool
from heed.measures.comparison import warn_of_missing_topics
from heed.progress import brief, log, number_of
from heed.ranking import Fused, fuse, in_order
from heed.types import Qrels, Run

DEPTH = 100  # of each list; TREC's classic pools (Voorhees and Harman, TREC-8 overview, 1999)


@dataclass(frozen=True)
class PoolSettings:
    """How a pool is built; ``sizes`` are by topic and ``budgets`` by language, with the key ``""`` for all."""

    depth: int = DEPTH
    order: str = "hidden"
    seed: int = 0
    by_base: bool = False
    topics: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    budgets: Mapping[str, int] = field(default_factory=dict)
    strata: tuple[Stratum, ...] = ()


class PoolQrels(NamedTuple):
    """Judgements that shape a pool: documents to leave out, the only ones to take, those that guide the order."""

    excluded: Qrels
    only: Qrels
    judged: Qrels


class PoolInputs(NamedTuple):
    """The whole lists by topic of the pool, and what is known under these topics.

    ``base_of`` has the topic of every qid, ``judged`` the documents that need no judgement, ``only`` those to
    take if it is not empty, ``grades`` what guides the order. ``languages`` are the documents' languages, if given.
    """

    topics: dict[str, list[RunList]]
    base_of: dict[str, str]
    judged: dict[str, set[str]]
    only: dict[str, set[str]]
    grades: Qrels
    languages: Mapping[str, str]


class BuiltPool(NamedTuple):
    """A pool, the settings that it was built by, and its sample, if it is one."""

    documents: Pool
    settings: PoolSettings
    sample: Sample


def poolable(runs: Mapping[str, Run], only: Qrels) -> set[str]:
    """Return every document of ``runs``, and the relevant ones of ``only``."""
    docids = {docid for run in runs.values() for scores in run.values() for docid in scores}
    return docids.union(*relevant_documents(only).values())


def pool_inputs(
    runs: Mapping[str, Run],
    qrels: PoolQrels,
    settings: PoolSettings,
    further_qids: Collection[str],
    languages: Mapping[str, str],
) -> PoolInputs:
    """Return runs and judgements under the topics of the pool.

    ``further_qids`` are other qids whose topics are needed later. Warns of topics that only some runs have. Raises
    :class:`DataError` for judgements of none of the runs' topics and :class:`UsageError` for requested topics that
    are in no run.
    """
    in_runs = {qid for run in runs.values() for qid in run}
    base_of = _bases(in_runs, in_runs.union(further_qids, *qrels), settings.by_base)
    warn_of_missing_topics(runs, base_of)
    topics = ranked_lists(runs, {qid: base_of[qid] for qid in in_runs}, languages)
    only = relevant_documents(qrels_by_topic(qrels.only, base_of))
    if qrels.only:
        topics = _topics_of_relevant(topics, only)
    topics = _selected(topics, settings.topics)
    check_topics("exclude_judged", qrels.excluded, topics, base_of)
    check_topics("judged", qrels.judged, topics, base_of)
    judged = _judged(topics, qrels, base_of)
    return PoolInputs(topics, base_of, judged, only, qrels_by_topic(qrels.judged, base_of), languages)


def _bases(in_runs: set[str], qids: set[str], by_base: bool) -> dict[str, str]:
    if not by_base:
        if len({stem(qid) for qid in in_runs}) < len(in_runs):
            log.info("some topics are narratives of one query, by their ids; pooled by base each query has one pool")
        return {qid: qid for qid in qids}
    base_of = base_topics(qids)
    log.info(f"by base: {len(in_runs)} topics make {len({base_of[qid] for qid in in_runs})} pools")
    return base_of


def _topics_of_relevant(topics: Mapping[str, list[RunList]], only: Mapping[str, set[str]]) -> dict[str, list[RunList]]:
    """Return the topics with relevant documents; runs may have others, or none of them."""
    if topics:
        check_topics("only_relevant", {topic: {} for topic in only}, topics, {})
        without = [topic for topic in topics if topic not in only]
        if without:
            topics_without = number_of(len(without), "topic")
            log.info(f"only_relevant: {topics_without} of the runs without a relevant document: {brief(without)}")
    return {topic: topics.get(topic, []) for topic in in_order(only)}


def _selected(topics: dict[str, list[RunList]], chosen: Collection[str]) -> dict[str, list[RunList]]:
    unknown = [topic for topic in chosen if topic not in topics]
    fail([f"topic: {topic} is not pooled; expected one of {brief(list(topics))}" for topic in unknown], UsageError)
    return {topic: lists for topic, lists in topics.items() if topic in chosen or not chosen}


def _judged(topics: Mapping[str, list[RunList]], qrels: PoolQrels, base_of: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the documents that need no judgement; where relevant ones are judged again, all judged so far."""
    judged = merge_qrels([qrels.excluded, qrels.judged])
    if qrels.only:
        by_topic = qrels_by_topic(judged, base_of)
        return {topic: set(by_topic.get(topic, {})) for topic in topics}
    return fully_judged(judged, {topic: {ranking.qid for ranking in lists} for topic, lists in topics.items()})


def build_pool(inputs: PoolInputs, settings: PoolSettings) -> BuiltPool:
    """Return the pool that ``settings`` describe; topics without a document to judge are logged and left out.

    Documents that are judged are removed after ranking, so that the lists are read as deep as without them. Raises
    :class:`UsageError` for sizes of unknown topics and :class:`DataError` for an empty pool.
    """
    unknown = [topic for topic in settings.sizes if topic not in (ALL, *inputs.topics)]
    fail([f"size: {topic} is not pooled" for topic in unknown], UsageError)
    inputs = inputs._replace(topics=first_documents(inputs.topics, settings.depth))
    fused = {topic: fuse(ranking.docids for ranking in lists) for topic, lists in inputs.topics.items()}
    _check_languages(fused, inputs, settings)
    documents, sample = choose(fused, inputs, settings)
    pool = {
        topic: _ordered(topic, chosen, fused[topic], inputs, settings) for topic, chosen in documents.items() if chosen
    }
    empty = [topic for topic in inputs.topics if topic not in pool]
    if not pool:
        raise DataError("the pool is empty: all documents of the runs are judged already")
    if empty:
        log.info(f"{number_of(len(empty), 'topic')} without a document left to judge, left out: {brief(empty)}")
    return BuiltPool(pool, settings, sample)


def _check_languages(fused: Candidates, inputs: PoolInputs, settings: PoolSettings) -> None:
    """Raise :class:`UsageError` for the budget of a language that no document is in."""
    budgeted = settings.budgets.keys() - {ALL}
    if not budgeted:
        return
    languages = {inputs.languages[docid] for documents in fused.values() for docid in documents}
    known, absent = ", ".join(sorted(languages)), sorted(budgeted - languages)
    fail([f"budget: no pooled document is in {language}; expected one of {known}" for language in absent], UsageError)


def choose(fused: Candidates, inputs: PoolInputs, settings: PoolSettings) -> tuple[Candidates, Sample]:
    """Return which of the ``fused`` documents ``settings`` take (:func:`build_pool`), and the sample, if it is one."""
    chosen = _unjudged(fused, inputs)
    sample = draw_sample(chosen, settings.strata, settings.seed) if settings.strata else {}
    if sample:
        chosen = {
            topic: {docid: chosen[topic][docid] for layer in layers for docid in layer.drawn}
            for topic, layers in sample.items()
        }
    return spend_by_language(cut(chosen, settings.sizes), settings.budgets, inputs.languages), sample


def _unjudged(fused: Candidates, inputs: PoolInputs) -> Candidates:
    """Return the documents to judge: those of the lists or, retrieved or not, the relevant ones, less the judged."""
    if inputs.only:
        missing = Fused(0, 0.0)
        fused = {
            topic: {docid: fused[topic].get(docid, missing) for docid in inputs.only[topic]} for topic in inputs.topics
        }
    if not any(inputs.judged.values()):
        return fused
    return {
        topic: {docid: value for docid, value in documents.items() if docid not in inputs.judged[topic]}
        for topic, documents in fused.items()
    }


def _ordered(
    topic: str, chosen: Mapping[str, Fused], fused: Mapping[str, Fused], inputs: PoolInputs, settings: PoolSettings
) -> list[str]:
    lists = [ranking.docids for ranking in inputs.topics[topic]]
    topic_pool = TopicPool(topic, chosen.keys(), fused, lists, inputs.grades.get(topic, {}))
    return order_documents(settings.order, topic_pool, settings.seed)

"""Statistics of a pool: sizes, shares and overlap of runs, the depth it reaches, and what it lacks without a system."""

import logging
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heed.addons.judging.agreement import ORDER_MEASURES, kendall
from heed.addons.judging.pools.build import (
    DEPTH,
    BuiltPool,
    PoolInputs,
    PoolSettings,
    RunList,
    choose,
    first_documents,
    system_of,
)
from heed.addons.judging.pools.selection import ALL
from heed.formats.trec_files import Pool
from heed.measures.per_topic import PerTopic, mean
from heed.measures.registry import standard
from heed.progress import bar, log, logging_only
from heed.ranking import fuse
from heed.types import Qrels, Run

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


Documents = dict[str, set[str]]  # topic -> docids
Absent = dict[str, Documents]  # system -> the documents that the pool lacks without it
Values = dict[str, dict[str, PerTopic]]  # run -> measure -> qid -> value


def pooled_or_judged(built: BuiltPool, inputs: PoolInputs, reached: Lists) -> Documents:
    """Return the documents of the pool, and those of its lists that it leaves out because they are judged already."""
    return {
        topic: {docid for ranking in reached[topic] for docid in ranking.docids if docid in inputs.judged[topic]}
        | set(docids)
        for topic, docids in built.documents.items()
    }


def absent_at_depth(documents: Documents, reached: Lists) -> Absent:
    """Return which of ``documents`` only one system brought: without it the others' lists are read no deeper.

    So Zobel (SIGIR 1998) left runs out; the pool is smaller then.
    """
    absent: Absent = {}
    for topic, lists in reached.items():
        systems: dict[str, str] = {}
        for ranking in lists:
            system = system_of(ranking.run)
            for docid in ranking.docids:
                if systems.setdefault(docid, system) != system:
                    systems[docid] = ""
        for docid in documents[topic] & systems.keys():
            absent.setdefault(systems[docid], {}).setdefault(topic, set()).add(docid)
    return absent


def absent_rebuilt(documents: Documents, built: BuiltPool, inputs: PoolInputs, reached: Lists) -> Absent:
    """Return which of ``documents`` the pool would lack if it had been made without a system, under the same budget.

    The budget is the number of documents: of all topics together (in each language, with budgets for languages),
    for which the others' lists are read deeper; of each topic, if sizes cut the pool; a sample is drawn again from the
    same strata. What a depth alone makes can be had by a budget too and is made again by the number of its documents,
    so that the same pool gives the same result however it was asked for. Nothing is absent where the documents
    were given by judgements.
    """
    if inputs.only:
        return {}
    by_depth = _is_union(documents, reached)
    resampled = bool(built.settings.strata) and not by_depth
    settings = built.settings if resampled else _as_large(documents, built, inputs, by_depth)
    if not resampled:  # a sample leaves out what was judged before
        inputs = inputs._replace(judged={topic: set() for topic in inputs.topics})
    inputs = inputs._replace(topics=first_documents(inputs.topics, settings.depth))
    if _is_union(documents, inputs.topics):  # the other lists hold no more
        return absent_at_depth(documents, inputs.topics)
    systems = sorted({system_of(ranking.run) for lists in inputs.topics.values() for ranking in lists})
    absent = {}
    for system in bar(systems, len(systems), "pool without", "systems"):
        others = {
            topic: fuse(ranking.docids for ranking in lists if system_of(ranking.run) != system)
            for topic, lists in inputs.topics.items()
        }
        with logging_only(log.name, logging.WARNING):
            rebuilt, _ = choose(others, inputs, settings)
        absent[system] = {topic: docids.difference(rebuilt.get(topic, ())) for topic, docids in documents.items()}
    return absent


def _as_large(documents: Documents, built: BuiltPool, inputs: PoolInputs, by_depth: bool) -> PoolSettings:
    """Return settings that give as many documents as ``documents`` are."""
    settings = replace(built.settings, strata=(), sizes={}, budgets={})
    if built.settings.sizes and not by_depth:
        return replace(settings, sizes={topic: len(docids) for topic, docids in documents.items()})
    counts = Counter(ALL for docids in documents.values() for _ in docids)
    if built.settings.budgets.keys() - {ALL}:
        counts = Counter(inputs.languages[docid] for docids in documents.values() for docid in docids)
    return replace(settings, depth=max(settings.depth, DEPTH), budgets=counts)


def _is_union(documents: Documents, lists: Lists) -> bool:
    """Whether the ``documents`` of every topic are the union of its lists."""
    return all(
        documents.get(topic, set()) == {docid for ranking in of_topic for docid in ranking.docids}
        for topic, of_topic in lists.items()
    )


class Effect(NamedTuple):
    """The effect of leaving a system out on one measure.

    ``tau`` is Kendall's τ-b between the rankings of all runs before and after; ``drop`` by how many
    ranks a run of the system dropped at most (negative if all rose), ``loss`` the largest relative loss of its mean.
    """

    measure: str
    tau: float
    drop: int
    loss: float


class LeftOut(NamedTuple):
    """A system, the judged documents that the pool lacks without it, the relevant ones of them, the effects."""

    system: str
    judgements: int
    relevant: int
    effects: list[Effect]


def leave_out(runs: Mapping[str, Run], qrels: Qrels, base_of: Mapping[str, str], absent: Absent) -> list[LeftOut]:
    """Return the effect of each system's absence from the pool on the ranking of all ``runs``, by system.

    ``base_of`` has the topic of the pool for each qid of ``qrels``.

    Zobel, SIGIR 1998, and Voorhees, "The Philosophy of Information Retrieval Evaluation", CLEF 2001,
    who leaves out all runs of a group, since these resemble each other; here all runs of a system.
    Judgements of documents that the pool lacks without the system are dropped: these documents are
    unjudged then, and so not relevant. Judgements of documents that are not pooled are kept.
    """
    relevant = {qid: _relevant(grades) for qid, grades in qrels.items()}
    scored = {name: {qid: scores for qid, scores in run.items() if qid in relevant} for name, run in runs.items()}
    before = {name: _measured(run, relevant) for name, run in scored.items()}
    systems = sorted({system_of(name) for name in runs})
    left_out = []
    for system in bar(systems, len(systems), "left out", "systems"):
        names = [name for name in runs if system_of(name) == system]
        documents = absent.get(system, {})
        dropped = {
            qid: {docid: grades[docid] for docid in documents.get(base_of[qid], set()) & grades.keys()}
            for qid, grades in qrels.items()
        }
        lost = {qid: grades for qid, all_grades in dropped.items() if (grades := _relevant(all_grades))}
        after = _after(scored, before, relevant, lost)
        effects = [_effect(measure, before, after, names) for measure in ORDER_MEASURES]
        left_out.append(LeftOut(system, sum(map(len, dropped.values())), sum(map(len, lost.values())), effects))
    return left_out


def _after(scored: Mapping[str, Run], before: Values, relevant: Qrels, lost: Qrels) -> Values:
    """Return the measures without the relevant documents ``lost``; topics that lose none keep their values."""
    fewer = {
        qid: {docid: grade for docid, grade in relevant[qid].items() if docid not in docids}
        for qid, docids in lost.items()
    }
    return {
        name: {measure: before[name][measure] | values for measure, values in _measured(run, fewer).items()}
        for name, run in scored.items()
    }


def _relevant(grades: Mapping[str, int]) -> dict[str, int]:
    return {docid: grade for docid, grade in grades.items() if grade > 0}


def _measured(run: Run, relevant: Qrels) -> dict[str, PerTopic]:
    """Return the measures per topic; AP and nDCG need relevant documents only, and a topic without any scores 0."""
    judged = {qid: grades for qid, grades in relevant.items() if grades}
    values = standard(run, judged, ORDER_MEASURES) if judged else {measure: {} for measure in ORDER_MEASURES}
    return {measure: dict.fromkeys(relevant, 0.0) | values[measure] for measure in ORDER_MEASURES}


def _effect(measure: str, before: Values, after: Values, names: Sequence[str]) -> Effect:
    old, new = _means(measure, before), _means(measure, after)
    drops = [_rank(name, new) - _rank(name, old) for name in names]
    losses = [1 - new[name] / old[name] for name in names if old[name]]
    return Effect(measure, kendall(list(old.values()), list(new.values())), max(drops), max(losses, default=0.0))


def _means(measure: str, values: Values) -> dict[str, float]:
    return {name: mean(of_run[measure]) for name, of_run in values.items()}


def _rank(name: str, means: Mapping[str, float]) -> int:
    return 1 + sum(value > means[name] for value in means.values())

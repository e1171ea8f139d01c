"""Statistics of a pool: sizes, shares and overlap of runs, the depth it reaches, and what it lacks without a system.

As tables for people, and as JSON.
"""

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heed.addons.judging.agreement import ORDER_MEASURES, kendall
from heed.addons.judging.pools.build import (
    DEPTH,
    BuiltPool,
    PoolInputs,
    PoolSettings,
    RunList,
    check_topics,
    choose,
    first_documents,
    qrels_by_topic,
    relevant_documents,
    system_of,
)
from heed.addons.judging.pools.selection import ALL, StratumCounts, count_strata
from heed.errors import DataError
from heed.formats.trec_files import Pool
from heed.measures.comparison import warn_of_foreign_ids
from heed.measures.per_topic import PerTopic, mean
from heed.measures.registry import standard
from heed.measures.summary import aligned
from heed.progress import bar, brief, counted, log, logging_only, number_of, warn
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
    for (_, language), (taken, _) in reaches.items():
        deepest[language] = max(taken, deepest.get(language, 0))
    depths = {key: max(taken, min(whole, deepest[key[1]])) for key, (taken, whole) in reaches.items()}
    return {
        topic: [
            ranking._replace(docids=ranking.docids[: depths[topic, ranking.language]])
            for ranking in topics.get(topic, ())
        ]
        for topic in pooled
    }


def _reach(lists: Sequence[Sequence[str]], pooled: Collection[str], judged: Collection[str]) -> tuple[int, int]:
    """Return the best rank of the deepest document taken from a topic's lists, and the depth to which all are taken."""
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
    return max(ranks.values(), default=0), whole


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
    old, new = ({name: mean(of_run[measure]) for name, of_run in values.items()} for values in (before, after))
    drops = [_rank(name, new) - _rank(name, old) for name in names]
    losses = [1 - new[name] / old[name] for name in names if old[name]]
    return Effect(measure, kendall(list(old.values()), list(new.values())), max(drops), max(losses, default=0.0))


def _rank(name: str, means: Mapping[str, float]) -> int:
    return 1 + sum(value > means[name] for value in means.values())


class PoolReport(NamedTuple):
    """All statistics of a pool; ``strata``, ``left_out`` and so on are empty where nothing was sampled or judged.

    ``depths`` are those that the pool reached by topic, ``run_depths`` the smallest and the greatest over a run's
    lists (:func:`.statistics.lists_reached`). ``left_out`` has the effects of rebuilding the pool
    without a system under the same budget, ``left_out_at_depth`` those of reading the others' lists no deeper.
    ``gaps`` says how far pool and judgements differ, empty where they do not or no system is left out.
    ``seconds`` is the judging time of a document, None if it is to be assumed.
    """

    documents: Pool
    per_language: dict[str, int]
    depths: dict[str, int]
    run_depths: dict[str, tuple[int, int]]
    retrieved: Retrieved
    strata: list[StratumCounts]
    left_out: list[LeftOut]
    left_out_at_depth: list[LeftOut]
    gaps: str = ""
    seconds: float | None = None

    @property
    def hours(self) -> float:
        """The expected judging time in hours."""
        return sizes(self.documents).documents * (self.seconds or SECONDS) / 3600


def pool_report(
    built: BuiltPool, inputs: PoolInputs, runs: Mapping[str, Run], qrels: Qrels, seconds: float | None = None
) -> PoolReport:
    """Return the statistics of a pool; ``qrels`` (may be empty) show whether judgements can be reused.

    Warns where systems are left out of a pool that lacks relevant documents, or has unjudged ones. Raises
    :class:`DataError` for judgements of none of the runs' topics.
    """
    check_topics("qrels", qrels, inputs.topics, inputs.base_of)
    pooled = {qid: grades for qid, grades in qrels.items() if inputs.base_of[qid] in inputs.topics}
    grades = qrels_by_topic(pooled, inputs.base_of)
    reached = lists_reached(built.documents, inputs.judged, inputs.topics)
    retrieved = {
        topic: {docid: 0.0 for ranking in lists for docid in ranking.docids} for topic, lists in inputs.topics.items()
    }
    warn_of_foreign_ids({"pooled": retrieved}, [grades])
    scorable = _scorable(runs, pooled)
    documents = pooled_or_judged(built, inputs, reached) if scorable else {}
    gaps = _gaps(built.documents, documents, grades) if documents else ""
    left_out = partial(leave_out, runs, scorable, inputs.base_of)
    rankings = [ranking for lists in reached.values() for ranking in lists]
    run_lengths = {run: [len(each.docids) for each in rankings if each.run == run] or [0] for run in runs}
    if gaps:
        warn(f"qrels: {gaps}; the effects of leaving a system out are those of the judgements that there are")
    return PoolReport(
        documents=built.documents,
        per_language=_languages(built, inputs),
        depths=depths(reached),
        run_depths={run: (min(lengths), max(lengths)) for run, lengths in run_lengths.items()},
        retrieved=retrieved_documents(built.documents, reached, list(runs)),
        strata=count_strata(built.settings.strata, built.sample, grades),
        left_out=left_out(absent_rebuilt(documents, built, inputs, reached)) if documents else [],
        left_out_at_depth=left_out(absent_at_depth(documents, reached)) if documents else [],
        gaps=gaps,
        seconds=seconds,
    )


def _gaps(pooled: Pool, documents: Documents, grades: Qrels) -> str:
    """Return how many relevant documents are not among ``documents``, and how many pooled ones have no grade."""
    relevant = relevant_documents(grades)
    outside = sum(len(docids - documents.get(topic, set())) for topic, docids in relevant.items())
    unjudged = sum(grades.get(topic, {}).get(docid, -1) < 0 for topic, docids in pooled.items() for docid in docids)
    counts = {"not in this pool": (outside, "relevant document"), "not judged": (unjudged, "pooled document")}
    return "; ".join(f"{counted(number, noun)} {fault}" for fault, (number, noun) in counts.items() if number)


def _languages(built: BuiltPool, inputs: PoolInputs) -> dict[str, int]:
    """Return the number of pooled documents by language, where lists are split by language."""
    counts: Counter[str] = Counter()
    for topic, docids in built.documents.items():
        languages = {docid: lst.language for lst in inputs.topics[topic] for docid in lst.docids if lst.language}
        counts.update(languages[docid] for docid in docids if docid in languages)
    return dict(sorted(counts.items()))


def _scorable(runs: Mapping[str, Run], qrels: Qrels) -> Qrels:
    """Return the judgements by which systems can be left out, under the qids of the runs; none for a single system."""
    known = {qid for run in runs.values() for qid in run}
    scorable = {qid: grades for qid, grades in qrels.items() if qid in known}
    if qrels and not scorable:
        raise DataError(
            f"qrels: its topics ({brief(sorted(qrels))}) are those of the pool, not those of the runs "
            f"({brief(sorted(known))}), which cannot be scored by them; give judgements under the runs' ids"
        )
    if scorable and len({system_of(name) for name in runs}) < 2:
        log.info("qrels: all runs are of one system, so none is left out")
        return {}
    return scorable


def as_data(report: PoolReport) -> dict[str, Any]:
    """Return the report as JSON data; shares and coefficients are on the scale to 1, times in hours."""
    counts, per_topic = sizes(report.documents), {topic: len(docids) for topic, docids in report.documents.items()}
    return {
        "topics": counts.topics,
        "documents": counts.documents,
        "depth_reached": max(report.depths.values()),
        "per_topic": {**counts._asdict(), "sizes": per_topic, "depths": report.depths},
        "per_language": report.per_language,
        "judging": {"seconds_per_document": report.seconds or SECONDS, "hours": report.hours},
        "runs": [
            {**share._asdict(), "depth_reached": report.run_depths[share.run][1]} for share in shares(report.retrieved)
        ],
        "overlap": overlaps(report.retrieved),
        "strata": [counts._asdict() for counts in report.strata],
        "left_out": list(map(_left_out_as_data, report.left_out)),
        "left_out_at_depth": list(map(_left_out_as_data, report.left_out_at_depth)),
    }


def _left_out_as_data(left_out: LeftOut) -> dict[str, Any]:
    return {**left_out._asdict(), "effects": {effect.measure: effect._asdict() for effect in left_out.effects}}


REBUILT = (
    "each system left out, and the pool made again with as many documents: the judgements that are then missing, τ "
    "between the rankings of all runs, the system's drop in rank, and its loss"
)
AT_DEPTH = (
    "each system left out, and the other lists read no deeper: without the judgements of documents that only it brought"
)


def as_text(report: PoolReport, name: str) -> str:
    """Return the report as tables, separated by empty lines."""
    parts = ["\n".join(_summary(report, name))]
    if report.retrieved:
        parts += [_runs_table(report), _overlap_table(report.retrieved)]
    if report.strata:
        parts.append(_strata_table(report.strata))
    if report.left_out:
        parts.append(f"{REBUILT}\n{_left_out_table(report.left_out)}")
        parts.append(f"{AT_DEPTH}\n{_left_out_table(report.left_out_at_depth)}")
    if report.gaps:
        parts.append(f"{report.gaps}; both tables are of the judgements that there are")
    return "\n\n".join(parts)


def _summary(report: PoolReport, name: str) -> Iterator[str]:
    topics, documents, smallest, median, largest = sizes(report.documents)
    yield f"{name}: {number_of(documents, 'document')} of {number_of(topics, 'topic')}"
    yield f"a topic: {smallest} to {largest} documents, median {median:g}"
    if report.retrieved:
        depths = _range(min(report.depths.values()), max(report.depths.values()))
        rule = "the rank at which a topic's lists brought the last new document; overlaps are counted to this rank"
        yield f"depth reached: {depths}, {rule}"
    if report.per_language:
        yield "by language: " + ", ".join(f"{language} {number}" for language, number in report.per_language.items())
    source = "as given" if report.seconds else "assumed; give your seconds per document"
    yield f"expected judging: {report.hours:.1f} hours at {report.seconds or SECONDS:g} s a document ({source})"


def _runs_table(report: PoolReport) -> str:
    rows = [["", "run", "depth", "documents", "unique", "unique to system"]]
    for number, share in enumerate(shares(report.retrieved), 1):
        counts = (share.documents, share.unique, share.system_unique)
        rows.append([str(number), share.run, _range(*report.run_depths[share.run]), *map(str, counts)])
    if all(system_of(run) == run for run in report.retrieved):
        rows = [row[:-1] for row in rows]  # every run is a system
    return aligned(rows, left=2)


def _range(smallest: int, largest: int) -> str:
    return str(largest) if smallest == largest else f"{smallest}–{largest}"


def _overlap_table(retrieved: Retrieved) -> str:
    rows = [["", "", *(str(number) for number in range(1, len(retrieved) + 1))]]
    for number, (run, of_run) in enumerate(overlaps(retrieved).items(), 1):
        rows.append([str(number), run, *(f"{100 * share:.0f}" for share in of_run.values())])
    return f"% of the row's pooled documents that the column's run also retrieved\n{aligned(rows, left=2)}"


def _strata_table(strata: Sequence[StratumCounts]) -> str:
    rows = [["stratum", "documents", "drawn", "judged", "relevant", "estimated relevant"]]
    for stratum, *counts, estimated in strata:
        rows.append([stratum, *map(str, counts), "-" if estimated is None else f"{estimated:.1f}"])
    return aligned(rows, left=1)


def _left_out_table(systems: Sequence[LeftOut]) -> str:
    rows = [["left out", "judged", "relevant"]]
    rows[0] += [f"{measure} {name}" for measure in ORDER_MEASURES for name in ("τ", "drop", "loss")]
    for system in systems:
        rows.append([system.system, str(system.judgements), str(system.relevant)])
        for effect in system.effects:
            rows[-1] += [f"{effect.tau:.3f}", str(effect.drop), f"{effect.loss:z.1%}"]
    largest = []
    for index, measure in enumerate(ORDER_MEASURES):
        drop = max(system.effects[index].drop for system in systems)
        loss = max(system.effects[index].loss for system in systems)
        largest.append(f"{measure} {drop} ranks, {loss:z.1%}")
    return f"{aligned(rows, left=1)}\nlargest drop and loss of a system left out: {'; '.join(largest)}"

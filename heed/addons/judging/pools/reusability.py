"""Can judgements be used for another system? What they lack without a system or a team, and how reliably they rank."""

import logging
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heed.addons.judging.agreement import ORDER_MEASURES, kendall
from heed.addons.judging.pools.build import (
    DEPTH,
    BuiltPool,
    PoolInputs,
    PoolSettings,
    RunList,
    choose,
    first_documents,
    ranked_lists,
    system_of,
)
from heed.addons.judging.pools.selection import ALL
from heed.errors import fail
from heed.files import read_lines
from heed.formats.trec_files import Pool
from heed.measures.pairwise import P_MRR, SELECTIVITY, irs, p_mrr, selectivity
from heed.measures.per_topic import (
    Array,
    Judged,
    PerTopic,
    RankedRun,
    mean,
    no_longer_relevant,
    still_relevant,
)
from heed.measures.registry import standard
from heed.measures.summary import aligned
from heed.progress import bar, brief, log, logging_only
from heed.ranking import fuse
from heed.types import Qrels, Run

Lists = Mapping[str, Sequence[RunList]]  # topic -> lists
Group = Callable[[str], str]  # the system of a run, or its team

Documents = dict[str, set[str]]  # topic -> docids
Absent = dict[str, Documents]  # system -> the documents that the pool lacks without it


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


def pooled_or_judged(built: BuiltPool, inputs: PoolInputs, reached: Lists) -> Documents:
    """Return the documents of the pool, and those of its lists that it leaves out because they are judged already."""
    return {
        topic: {docid for ranking in reached[topic] for docid in ranking.docids if docid in inputs.judged[topic]}
        | set(docids)
        for topic, docids in built.documents.items()
    }


def absent_at_depth(documents: Documents, reached: Lists, group_of: Group = system_of) -> Absent:
    """Return which of ``documents`` only one group of runs brought: without it the others' lists are read no deeper.

    So Zobel (SIGIR 1998) left runs out; the pool is smaller then.
    """
    absent: Absent = {}
    for topic, lists in reached.items():
        groups: dict[str, str] = {}
        for ranking in lists:
            group = group_of(ranking.run)
            for docid in ranking.docids:
                if groups.setdefault(docid, group) != group:
                    groups[docid] = ""
        for docid in documents[topic] & groups.keys():
            absent.setdefault(groups[docid], {}).setdefault(topic, set()).add(docid)
    return absent


def absent_rebuilt(
    documents: Documents, built: BuiltPool, inputs: PoolInputs, reached: Lists, group_of: Group = system_of
) -> Absent:
    """Return which of ``documents`` the pool would lack if it had been made without a group, under the same budget.

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
        return absent_at_depth(documents, inputs.topics, group_of)
    systems = sorted({group_of(ranking.run) for lists in inputs.topics.values() for ranking in lists})
    absent = {}
    for system in bar(systems, len(systems), "pool without", "systems"):
        others = {
            topic: fuse(ranking.docids for ranking in lists if group_of(ranking.run) != system)
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


IRS = "IRS"
SIGNED = (P_MRR, SELECTIVITY, IRS)  # around 0: a loss is a difference
HALVES = 20  # times that the judgements are halved; topics, which cost less to halve, are ten times as often
DEPENDABLE = 0.95  # share of the differences between systems in those of their means


class Judgements(NamedTuple):
    """Judgements under the original and the changed narratives, if there are any, and what else reuse is checked by.

    ``corpus_size`` is needed for IRS, 0 if it is not known; ``teams`` are by system, empty where none is left out.
    """

    original: Qrels
    changed: Qrels = {}  # noqa: RUF012 (of a NamedTuple, which nobody changes)
    corpus_size: int = 0
    teams: Mapping[str, str] = {}


def read_teams(path: Path, runs: Iterable[str]) -> dict[str, str]:
    """Return the team of each system from lines ``system<TAB>team``; :class:`DataError` naming every other line.

    A system without a line is a team of its own.
    """
    systems, teams, problems = {*map(system_of, runs)}, {}, []
    for line_no, line in read_lines(path):
        system, tab, team = line.strip().partition("\t")
        if line.strip() and not (tab and system in systems):
            expected = f"expected a system ({brief(sorted(systems))}), a tab, and its team"
            problems.append(f"{path}, line {line_no}: found {line.strip()!r}, {expected}")
        elif line.strip():
            teams[system] = team
    fail(problems or ([] if teams else [f"{path}: empty; expected lines of a system, a tab, and its team"]))
    return teams


def team_of(teams: Mapping[str, str]) -> Group:
    """Return the function from a run to its team."""
    return lambda run: teams.get(system_of(run), system_of(run))


class Relevance(NamedTuple):
    """The relevant documents under both narratives with their grades, and those that the change rules out and keeps.

    A topic that is judged without any is there, empty.
    """

    original: Qrels
    changed: Qrels
    ruled_out: Judged
    still_relevant: Judged
    corpus_size: int

    def of(self, run: str) -> Qrels:
        """Return the relevant documents of a run by its condition."""
        return self.changed if self.changed and run.endswith(".changed") else self.original

    def without(self, lost: Documents) -> "Relevance":
        """Return the same without the documents ``lost``, by qid."""

        def fewer(qrels: Qrels) -> Qrels:
            return {
                qid: {docid: grade for docid, grade in grades.items() if docid not in lost.get(qid, ())}
                for qid, grades in qrels.items()
            }

        def rest(documents: Judged) -> Judged:
            return {qid: {*docids} - lost.get(qid, set()) for qid, docids in documents.items()}

        sets = rest(self.ruled_out), rest(self.still_relevant)
        return Relevance(fewer(self.original), fewer(self.changed), *sets, self.corpus_size)

    def only(self, qids: Collection[str]) -> "Relevance":
        """Return those of the topics ``qids``."""
        original, changed = (
            {qid: grades for qid, grades in qrels.items() if qid in qids} for qrels in (self.original, self.changed)
        )
        ruled_out, relevant = (
            {qid: docids for qid, docids in documents.items() if qid in qids}
            for documents in (self.ruled_out, self.still_relevant)
        )
        return Relevance(original, changed, ruled_out, relevant, self.corpus_size)


def relevance_of(judgements: Judgements) -> Relevance:
    """Return the relevant documents, for the topics that are judged."""
    original, changed = judgements.original, judgements.changed
    relevant, relevant_again = (
        {qid: _relevant(grades) for qid, grades in qrels.items()} for qrels in (original, changed)
    )
    sets = no_longer_relevant(original, changed), still_relevant(original, changed)
    return Relevance(relevant, relevant_again, *sets, judgements.corpus_size)


def _relevant(grades: Mapping[str, int]) -> dict[str, int]:
    return {docid: grade for docid, grade in grades.items() if grade > 0}


Values = dict[str, dict[str, PerTopic]]  # measure -> run, or system with both conditions -> qid -> value


def measured(runs: Mapping[str, Run], relevance: Relevance) -> Values:
    """Return nDCG and AP of each run, and the measures of each system that has runs of both narratives.

    nDCG and AP need relevant documents only, and a topic without any scores 0.
    """
    values: Values = {}
    for name, run in runs.items():
        relevant = relevance.of(name)
        of_run = (
            standard(run, with_any, ORDER_MEASURES) if (with_any := {q: r for q, r in relevant.items() if r}) else {}
        )
        for measure in ORDER_MEASURES:
            values.setdefault(measure, {})[name] = dict.fromkeys(relevant, 0.0) | of_run.get(measure, {})
    for system, (base, new) in _pairs(runs).items() if relevance.ruled_out else ():
        values.setdefault(P_MRR, {})[system] = p_mrr(base, new, relevance.ruled_out)
        values.setdefault(SELECTIVITY, {})[system] = selectivity(
            base, new, relevance.ruled_out, relevance.still_relevant
        )
        if relevance.corpus_size:
            arguments = relevance.still_relevant, relevance.ruled_out, relevance.corpus_size
            values.setdefault(IRS, {})[system] = irs(base, new, *arguments)
    return values


def _pairs(runs: Mapping[str, Run]) -> dict[str, tuple[Run, Run]]:
    systems = dict.fromkeys(map(system_of, runs))
    names = {system: (f"{system}.original", f"{system}.changed") for system in systems}
    return {system: (runs[base], runs[new]) for system, (base, new) in names.items() if base in runs and new in runs}


class Effect(NamedTuple):
    """The effect of leaving a group of runs out on one measure.

    ``tau`` is Kendall's τ-b between the rankings of all runs, or systems, before and after; ``drop`` by how many
    ranks one of the group dropped at most (negative if all rose), ``loss`` the largest relative loss of its mean, of
    p-MRR, selectivity and IRS the largest difference.
    """

    measure: str
    tau: float
    drop: int
    loss: float


class LeftOut(NamedTuple):
    """A system or team, the judged documents that the pool lacks without it, the relevant ones of them, the effects."""

    system: str
    judgements: int
    relevant: int
    effects: list[Effect]


def leave_out(
    runs: Mapping[str, Run],
    judgements: Judgements,
    base_of: Mapping[str, str],
    absent: Absent,
    group_of: Group = system_of,
) -> list[LeftOut]:
    """Return the effect of each group's absence from the pool on the ranking of all ``runs``, by group.

    ``base_of`` has the topic of the pool for each judged qid.

    Zobel, SIGIR 1998, and Voorhees, "The Philosophy of Information Retrieval Evaluation", CLEF 2001,
    who leaves out all runs of a team, since these resemble each other; here all runs of a system or of a team.
    Judgements of documents that the pool lacks without the group are dropped, under both narratives: these documents
    are unjudged then, and so not relevant. Judgements of documents that are not pooled are kept.
    """
    relevance = relevance_of(judgements)
    runs = {name: RankedRun({qid: run[qid] for qid in run if qid in relevance.of(name)}) for name, run in runs.items()}
    before, left_out = measured(runs, relevance), []
    groups = sorted(set(map(group_of, runs)))
    for group in bar(groups, len(groups), "left out", "systems"):
        documents = absent.get(group, {})
        dropped = {
            qid: documents.get(base_of[qid], set()) & (grades.keys() | judgements.changed.get(qid, {}).keys())
            for qid, grades in judgements.original.items()
        }
        lost = {
            qid: docids & (relevance.original[qid].keys() | relevance.changed.get(qid, {}).keys())
            for qid, docids in dropped.items()
        }
        after = _after(runs, before, relevance, {qid: docids for qid, docids in lost.items() if docids})
        effects = [_effect(measure, before, after, group, group_of) for measure in before]
        left_out.append(LeftOut(group, sum(map(len, dropped.values())), sum(map(len, lost.values())), effects))
    return left_out


def _after(runs: Mapping[str, Run], before: Values, relevance: Relevance, lost: Documents) -> Values:
    """Return the measures without the relevant documents ``lost``; topics that lose none keep their values."""
    values = measured(runs, relevance.without(lost).only([*lost]))
    return {
        measure: {
            name: {qid: value for qid, value in topics.items() if qid not in lost}
            | values.get(measure, {}).get(name, {})
            for name, topics in by_name.items()
        }
        for measure, by_name in before.items()
    }


def _effect(measure: str, before: Values, after: Values, group: str, group_of: Group) -> Effect:
    names = [name for name, values in before[measure].items() if values and after[measure][name]]
    old, new = ({name: mean(values[measure][name]) for name in names} for values in (before, after))
    members = [name for name in names if group_of(name) == group]
    drops = [_rank(name, new) - _rank(name, old) for name in members]
    losses = [
        old[name] - new[name] if measure in SIGNED else 1 - new[name] / old[name] for name in members if old[name]
    ]
    tau = kendall(list(old.values()), list(new.values()))
    return Effect(measure, tau, max(drops, default=0), max(losses, default=0.0))


def _rank(name: str, means: Mapping[str, float]) -> int:
    return 1 + sum(value > means[name] for value in means.values())


REBUILT = (
    "each {} left out, and the pool made again with as many documents: the judgements that are then missing, τ "
    "between the rankings of all runs, the drop in rank, and the loss (of p-MRR, selectivity and IRS in points)"
)
AT_DEPTH = (
    "each {} left out, and the other lists read no deeper: without the judgements of documents that only it brought"
)


def left_out_text(groups: Sequence[LeftOut], heading: str, kind: str) -> str:
    """Return the effects as a table below its ``heading``, which has a place for the ``kind`` of group."""
    measures = [effect.measure for effect in groups[0].effects]
    parts = [[m for m in measures if m not in SIGNED], [m for m in measures if m in SIGNED]]
    tables = "\n\n".join(_left_out_table(groups, part) for part in parts if part)
    by_measure = zip(measures, zip(*(group.effects for group in groups), strict=True), strict=True)
    largest = [
        f"{name} {max(effect.drop for effect in each)} ranks, {_loss(name, max(effect.loss for effect in each))}"
        for name, each in by_measure
    ]
    return f"{heading.format(kind)}\n{tables}\nlargest drop and loss of a {kind} left out: {'; '.join(largest)}"


def _left_out_table(groups: Sequence[LeftOut], measures: Sequence[str]) -> str:
    rows = [
        ["left out", "judged", "relevant", *(f"{name} {part}" for name in measures for part in ("τ", "drop", "loss"))]
    ]
    for group in groups:
        rows.append([group.system, str(group.judgements), str(group.relevant)])
        for effect in (effect for effect in group.effects if effect.measure in measures):
            rows[-1] += [f"{effect.tau:.3f}", str(effect.drop), _loss(effect.measure, effect.loss)]
    return aligned(rows, left=1)


def _loss(measure: str, loss: float) -> str:
    return f"{100 * loss:z.1f}" if measure in SIGNED else f"{loss:z.1%}"


class Spread(NamedTuple):
    """The mean over random halves, and the range of 95 % of them."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        """Return mean and range."""
        return f"{self.mean:.2f} ({self.low:.2f} to {self.high:.2f})"


class Reliability(NamedTuple):
    """How reliably a measure ranks the systems under a condition, which is empty for measures of both.

    ``half_topics`` and ``half_pools`` are τ-b between the rankings by two random halves of the topics, and of each
    topic's judgements. ``dependability`` is the share of the systems in the variance of the means, ``needed`` how many
    topics make it ``DEPENDABLE``, both None where the systems differ no more than chance makes them.
    """

    measure: str
    condition: str
    systems: int
    topics: int
    half_topics: Spread | None
    half_pools: Spread | None
    dependability: float | None
    needed: int | None


def reliabilities(runs: Mapping[str, Run], judgements: Judgements) -> list[Reliability]:
    """Return how reliably each measure ranks the runs of a condition, or the systems that have both."""
    relevance = relevance_of(judgements)
    runs = {name: RankedRun({qid: run[qid] for qid in run if qid in relevance.of(name)}) for name, run in runs.items()}
    random = np.random.default_rng(0)
    halves = []
    for _ in bar(range(HALVES), HALVES, "half pools", "halves"):
        first, second = _halved(relevance, random)
        parts = relevance.without(second), relevance.without(first)
        halves.append([_by_condition(measured(runs, part)) for part in parts])
    return [
        _reliability(measure, condition, values, [(a[measure, condition], b[measure, condition]) for a, b in halves])
        for (measure, condition), values in _by_condition(measured(runs, relevance)).items()
        if len(values) > 1
    ]


def _by_condition(values: Values) -> dict[tuple[str, str], dict[str, PerTopic]]:
    parts: dict[tuple[str, str], dict[str, PerTopic]] = {}
    for measure, by_name in values.items():
        for name, topics in by_name.items():
            condition = name.removeprefix(system_of(name)).removeprefix(".")
            parts.setdefault((measure, condition), {})[name] = topics
    return parts


def _halved(relevance: Relevance, random: np.random.Generator) -> tuple[Documents, Documents]:
    """Return two random halves of each topic's relevant documents; chance decides which is larger by one."""
    first, second = Documents(), Documents()
    for qid, grades in relevance.original.items():
        docids = sorted(grades.keys() | relevance.changed.get(qid, {}).keys())
        order = random.permutation(len(docids)).tolist()
        half = (len(docids) + int(random.integers(2))) // 2
        first[qid], second[qid] = ({docids[place] for place in places} for places in (order[:half], order[half:]))
    return first, second


def _reliability(
    measure: str,
    condition: str,
    values: Mapping[str, PerTopic],
    halves: Sequence[tuple[Mapping[str, PerTopic], Mapping[str, PerTopic]]],
) -> Reliability:
    qids = sorted(set[str].intersection(*(set(topics) for topics in values.values())))
    table = np.array([[topics[qid] for qid in qids] for topics in values.values()])
    random, half = np.random.default_rng(0), len(qids) // 2
    orders = (random.permutation(len(qids)) for _ in range(10 * HALVES if half else 0))
    by_topics = [kendall(table[:, order[:half]].mean(1), table[:, order[half:]].mean(1)) for order in orders]
    by_pools = [tau for first, second in halves if (tau := _tau(first, second)) is not None]
    spreads = _spread(by_topics), _spread(by_pools)
    return Reliability(measure, condition, len(values), len(qids), *spreads, *dependability(table))


def _tau(first: Mapping[str, PerTopic], second: Mapping[str, PerTopic]) -> float | None:
    names = [name for name in first if first[name] and second[name]]
    sides = [[mean(values[name]) for name in names] for values in (first, second)]
    return kendall(*sides) if len(names) > 1 else None


def _spread(values: Sequence[float]) -> Spread | None:
    return Spread(float(np.mean(values)), *np.percentile(values, (2.5, 97.5)).tolist()) if values else None


def dependability(table: Array) -> tuple[float | None, int | None]:
    """Return the share of the systems in the variance of their means, and the number of topics for ``DEPENDABLE``.

    Of ``table``, shape ``(systems, topics)``, by the mean squares of the analysis of variance: σ² of systems is
    ``(MS systems − MS residual) / topics``, and the share over n topics ``σ² / (σ² + MS residual / n)``. It is Eρ² of
    generalizability theory (Bodoff and Li, Test Theory for Assessing IR Test Collections, SIGIR 2007), and over the
    topics that there are Cronbach's α. None where the systems differ no more than chance makes them.
    """
    systems, topics = table.shape
    if min(systems, topics) < 2:
        return None, None
    residual = table - table.mean(1, keepdims=True) - table.mean(0) + table.mean()
    of_systems = topics * float(table.mean(1).var(ddof=1))
    of_chance = float((residual**2).sum()) / ((systems - 1) * (topics - 1))
    if of_systems <= of_chance:
        return None, None
    needed = DEPENDABLE / (1 - DEPENDABLE) * of_chance * topics / (of_systems - of_chance)
    return 1 - of_chance / of_systems, max(math.ceil(round(needed, 9)), 1)


RELIABLE = (
    "how reliably the measures rank these systems: τ between the rankings by two random halves of the topics, and of "
    "the judgements (mean, 95 % of the halves); the share of the systems in the variance of the means, Eρ², which is 1 "
    f"where chance plays no part, and the topics for {DEPENDABLE:g}; - where systems differ no more than by chance"
)


def reliability_text(rows: Sequence[Reliability]) -> str:
    """Return a table of ``rows`` with its explanation above."""
    table = [
        ["measure", "condition", "systems", "topics", "τ half topics", "τ half judgements", "Eρ²", "topics needed"]
    ]
    for measure, condition, *values in rows:
        shown = (
            "-" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value) for value in values
        )
        table.append([measure, condition, *shown])
    return f"{RELIABLE}\n{aligned(table, left=2)}"


def left_out_data(groups: Sequence[LeftOut]) -> list[dict[str, object]]:
    """Return the effects as JSON data."""
    return [
        {**group._asdict(), "effects": {effect.measure: effect._asdict() for effect in group.effects}}
        for group in groups
    ]


def reusable_text(runs: Mapping[str, Run], pool: Pool, judged: Judgements) -> str:
    """Return whether judgements of a finished ``pool`` of ``runs`` suit another system, as tables."""
    base_of = {qid: qid for qid in pool}
    lists = ranked_lists(runs, base_of, {})
    reached = lists_reached(pool, {}, {qid: lists.get(qid, []) for qid in pool})
    documents = {qid: set(docids) for qid, docids in pool.items()}
    judged = judged._replace(original={qid: grades for qid, grades in judged.original.items() if qid in pool})
    groups: dict[str, Group] = {"system": system_of} | ({"team": team_of(judged.teams)} if judged.teams else {})
    tables = [
        left_out_text(leave_out(runs, judged, base_of, absent_at_depth(documents, reached, by), by), AT_DEPTH, kind)
        for kind, by in groups.items()
    ]
    return "\n\n".join([*tables, reliability_text(reliabilities(runs, judged))])

"""Can judgements be used for another system? What they lack without a system or a team, and how reliably they rank."""

import logging
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from textwrap import fill
from typing import NamedTuple

import numpy as np

from heed.addons.judging.agreement import ORDER_MEASURES, kendall
from heed.addons.judging.annotate.task import tabbed_lines
from heed.addons.judging.pools.build import (
    DEPTH,
    BuiltPool,
    PoolInputs,
    PoolSettings,
    RunList,
    choose,
    first_documents,
    merge_qrels,
    ranked_lists,
    relevant_documents,
    system_of,
)
from heed.addons.judging.pools.selection import ALL
from heed.errors import DataError, fail
from heed.formats.trec_files import Pool
from heed.measures.comparison import compare_pair, warn_of_foreign_ids
from heed.measures.pairwise import P_MRR, SELECTIVITY
from heed.measures.per_topic import Array, Inputs, PerTopic, RankedRun, mean, not_judged
from heed.measures.registry import standard
from heed.measures.significance import residual_variance
from heed.measures.summary import WIDTH, aligned
from heed.progress import bar, brief, log, logging_only
from heed.ranking import fuse
from heed.types import UNJUDGED, Qrels, Run

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
    ranks = {docid: fused.rank for docid, fused in fuse(lists).items()}
    missing = (rank for docid, rank in ranks.items() if docid not in pooled and docid not in judged)
    whole = min((rank - 1 for rank in missing), default=max(map(len, lists)))
    return max((rank for docid, rank in ranks.items() if docid in pooled), default=0), whole


def _listed(lists: Iterable[RunList]) -> set[str]:
    return set(chain.from_iterable(ranking.docids for ranking in lists))


def pooled_or_judged(built: BuiltPool, inputs: PoolInputs, reached: Lists) -> Documents:
    """Return the documents of the pool, and those of its lists that it leaves out because they are judged already."""
    judged = {topic: _listed(reached[topic]) & inputs.judged[topic] for topic in built.documents}
    return {topic: judged[topic].union(docids) for topic, docids in built.documents.items()}


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
    settings = built.settings
    if by_depth or not settings.strata:  # a sample leaves out what was judged before
        settings = _as_large(documents, built, inputs, by_depth)
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
        counts = languages_of(documents, inputs)
    return replace(settings, depth=max(settings.depth, DEPTH), budgets=counts)


def languages_of(documents: Mapping[str, Iterable[str]], inputs: PoolInputs) -> Counter[str]:
    """Return the number of ``documents`` by language, which every document has."""
    return Counter(inputs.languages[docid] for docids in documents.values() for docid in docids)


def _is_union(documents: Documents, lists: Lists) -> bool:
    """Whether the ``documents`` of every topic are the union of its lists."""
    return all(documents.get(topic, set()) == _listed(of_topic) for topic, of_topic in lists.items())


SIGNED = (P_MRR, SELECTIVITY, "IRS")  # around 0: a loss is a difference
HALVES = 20  # times that the judgements are halved; topics, which cost less to halve, are ten times as often
DEPENDABLE = 0.95  # share of the differences between systems in those of their means


class Judgements(NamedTuple):
    """Judgements under the original and the changed narratives, if there are any, and what else reuse is checked by.

    ``corpus_size`` is needed for IRS, 0 if it is not known; ``teams`` are by system, empty where none is left out.
    """

    original: Qrels
    changed: Qrels | None = None
    corpus_size: int = 0
    teams: Mapping[str, str] = {}

    def of(self, run: str) -> Qrels:
        """Return the judgements of a run by its condition."""
        return self.original if self.changed is None or not run.endswith(".changed") else self.changed

    def without(self, lost: Documents) -> "Judgements":
        """Return the judgements of the topics of ``lost``, without these documents; what is not judged stays so."""
        changed = self.changed or {}
        unknown = {qid: dict.fromkeys(docids, UNJUDGED) for qid, docids in not_judged(self.original, changed).items()}
        original, changed = (
            {qid: {d: grade for d, grade in qrels[qid].items() if d not in lost[qid]} for qid in lost if qid in qrels}
            for qrels in (self.original, {qid: unknown.get(qid, {}) | grades for qid, grades in changed.items()})
        )
        return self._replace(original=original, changed=None if self.changed is None else changed)

    def of_topics(self, qids: Collection[str]) -> "Judgements":
        """Return the judgements of the topics ``qids``."""
        known = {**self.original, **(self.changed or {})}
        return self.without({qid: set() for qid in known if qid in qids})

    @property
    def relevant(self) -> Documents:
        """The documents, by topic, that are relevant under one of the narratives."""
        return relevant_documents(merge_qrels([self.original, self.changed or {}]))


def read_teams(path: Path, runs: Iterable[str]) -> dict[str, str]:
    """Return the team of each system from lines ``system<TAB>team``; :class:`DataError` naming every other line.

    A system without a line is a team of its own.
    """
    systems, teams, problems = {*map(system_of, runs)}, {}, []
    for place, system, team in tabbed_lines(path):
        if not team or system not in systems:
            expected = f"expected a system ({brief(sorted(systems))}), a tab, and its team"
            problems.append(f"{place}: found {system!r}, {expected}")
        teams[system] = team
    fail(problems or ([] if teams else [f"{path}: empty; expected lines of a system, a tab, and its team"]))
    return teams


def team_of(teams: Mapping[str, str]) -> Group:
    """Return the function from a run to its team."""
    return lambda run: teams.get(system_of(run), system_of(run))


def scorable(runs: Mapping[str, Run], judgements: Judgements) -> Judgements:
    """Return the judgements by which systems can be left out, of topics of the runs; none for a single system.

    Raises :class:`DataError` for judgements of other topics alone.
    """
    qrels, known = judgements.original, {qid for run in runs.values() for qid in run}
    if qrels and known.isdisjoint(qrels):
        raise DataError(
            f"qrels: its topics ({brief(sorted(qrels))}) are those of the pool, not those of the runs "
            f"({brief(sorted(known))}), which cannot be scored by them; give judgements under the runs' ids"
        )
    if qrels and len(set(map(system_of, runs))) < 2:
        log.info("qrels: all runs are of one system, so none is left out")
        return judgements.of_topics(())
    return judgements.of_topics(known)


Values = dict[str, dict[str, PerTopic]]  # measure -> run, or system with both conditions -> qid -> value


def measured(runs: Mapping[str, Run], judgements: Judgements) -> Values:
    """Return nDCG and AP of each run, and the measures of each system that has runs of both narratives."""
    values: Values = {measure: {} for measure in ORDER_MEASURES}
    for name, run in runs.items():
        for measure, topics in standard(run, judgements.of(name), ORDER_MEASURES).items():
            values[measure][name] = topics
    for system in dict.fromkeys(map(system_of, runs)) if judgements.changed else ():
        base, new = (runs.get(f"{system}.{condition}") for condition in ("original", "changed"))
        if base is not None and new is not None:
            inputs = Inputs(
                base, new, judgements.original, judgements.changed or {}, {}, corpus_size=judgements.corpus_size
            )
            for measure, topics in compare_pair(inputs, SIGNED).items():
                values.setdefault(measure, {})[system] = topics
    return values


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
    runs = {name: RankedRun(run) for name, run in runs.items()}
    before, relevant, left_out = measured(runs, judgements), judgements.relevant, []
    groups = sorted(set(map(group_of, runs)))
    for group in bar(groups, len(groups), "left out", "systems"):
        documents = absent.get(group, {})
        dropped = {
            qid: documents.get(base_of[qid], set()) & grades.keys() for qid, grades in judgements.original.items()
        }
        lost = {qid: docids & relevant[qid] for qid, docids in dropped.items() if docids & relevant.get(qid, set())}
        after = _after(runs, before, judgements, lost)
        effects = [_effect(measure, before, after, group, group_of) for measure in before]
        left_out.append(LeftOut(group, sum(map(len, dropped.values())), sum(map(len, lost.values())), effects))
    return left_out


def _after(runs: Mapping[str, Run], before: Values, judgements: Judgements, lost: Documents) -> Values:
    """Return the measures without the relevant documents ``lost``; topics that lose none keep their values."""
    values = measured(runs, judgements.without(lost)) if lost else {}
    return {
        measure: {
            name: {qid: topics[qid] for qid in topics.keys() - lost.keys()} | values.get(measure, {}).get(name, {})
            for name, topics in by_name.items()
        }
        for measure, by_name in before.items()
    }


def _effect(measure: str, before: Values, after: Values, group: str, group_of: Group) -> Effect:
    names = [name for name, values in before[measure].items() if values and after[measure][name]]
    old, new = ([mean(values[measure][name]) for name in names] for values in (before, after))
    members = [place for place, name in enumerate(names) if group_of(name) == group]
    drops = [sum(value > new[place] for value in new) - sum(value > old[place] for value in old) for place in members]
    if measure in SIGNED:
        losses = [old[place] - new[place] for place in members]
    else:
        losses = [1 - new[place] / old[place] for place in members if old[place]]
    return Effect(measure, kendall(old, new), max(drops, default=0), max(losses, default=0.0))


REBUILT = (
    "each {} left out, and as large a pool made of the others: how many judgements that pool lacks, τ "
    "between the rankings of all runs, the drop in rank, and the loss (of p-MRR, selectivity and IRS in points)"
)
AT_DEPTH = (
    "each {} left out, and the other lists read no deeper: without the judgements of documents that only it brought"
)
HEADINGS = {
    "left_out": (REBUILT, "system"),
    "left_out_at_depth": (AT_DEPTH, "system"),
    "teams_left_out": (REBUILT, "team"),
}


def left_out_text(groups: Sequence[LeftOut], heading: str, kind: str) -> str:
    """Return the effects as tables below their ``heading``, which has a place for the ``kind`` of group."""
    counts = [["left out", *(group.system for group in groups), "largest drop, loss"]]
    counts.append(["judged", *(str(group.judgements) for group in groups), ""])
    counts.append(["relevant", *(str(group.relevant) for group in groups), ""])
    tables = {False: counts, True: counts[:1]}  # of single runs, and of both runs of a system
    for effects in zip(*(group.effects for group in groups), strict=True):
        (measure, *_), _, drops, losses = zip(*effects, strict=True)
        tables[measure in SIGNED] += [
            [f"{measure} τ", *(f"{effect.tau:.3f}" for effect in effects), ""],
            ["drop", *map(str, (*drops, max(drops)))],
            ["loss", *(_loss(measure, loss) for loss in (*losses, max(losses)))],
        ]
    texts = (aligned([*map(list, zip(*columns, strict=True))], left=1) for columns in tables.values() if columns[1:])
    return f"{fill(heading.format(kind), WIDTH)}\n" + "\n\n".join(texts)


def _loss(measure: str, loss: float) -> str:
    return f"{100 * loss:z.1f}" if measure in SIGNED else f"{loss:z.1%}"


Spread = tuple[float, float, float]  # the mean over random halves, and the range of 95 % of them


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
    runs = {name: RankedRun(run) for name, run in runs.items()}
    whole, random = _by_condition(measured(runs, judgements)), np.random.default_rng(0)
    by_pools: dict[tuple[str, str], list[float]] = {key: [] for key in whole}
    for _ in bar(range(HALVES), HALVES, "half pools", "halves"):
        halves = [_by_condition(measured(runs, judgements.without(lost))) for lost in _halved(judgements, random)]
        for key, of_both in by_pools.items():
            names = [name for name in whole[key] if all(name in half.get(key, {}) for half in halves)]
            if len(names) > 1:
                of_both.append(kendall(*([mean(half[key][name]) for name in names] for half in halves)))
    rows = []
    for (measure, condition), values in whole.items():
        qids = sorted(set[str].intersection(*map(set, values.values())))
        table = np.array([[topics[qid] for qid in qids] for topics in values.values()])
        if len(values) > 1:
            taus = _spread(_taus_of_halves(table)), _spread(by_pools[measure, condition])
            rows.append(Reliability(measure, condition, len(values), len(qids), *taus, *dependability(table)))
    return rows


def _by_condition(values: Values) -> dict[tuple[str, str], dict[str, PerTopic]]:
    parts: dict[tuple[str, str], dict[str, PerTopic]] = {}
    for measure, by_name in values.items():
        for name, topics in by_name.items():
            condition = name.removeprefix(system_of(name)).removeprefix(".")
            parts.setdefault((measure, condition), {})[name] = topics
    return parts


def _halved(judgements: Judgements, random: np.random.Generator) -> tuple[Documents, Documents]:
    """Return two random halves of each topic's relevant documents; chance decides which is larger by one."""
    first, second = Documents(), Documents()
    relevant = judgements.relevant
    for qid in judgements.original:
        docids = random.permutation(sorted(relevant.get(qid, ()))).tolist()
        half = (len(docids) + int(random.integers(2))) // 2
        first[qid], second[qid] = set(docids[:half]), set(docids[half:])
    return first, second


def _taus_of_halves(table: Array) -> list[float]:
    """Return τ between the orders of the rows by two random halves of the columns, many times; nothing for one."""
    random, half = np.random.default_rng(0), table.shape[1] // 2
    orders = (random.permutation(table.shape[1]) for _ in range(10 * HALVES if half else 0))
    return [kendall(table[:, order[:half]].mean(1), table[:, order[half:]].mean(1)) for order in orders]


def _spread(values: Sequence[float]) -> Spread | None:
    return (float(np.mean(values)), *np.percentile(values, (2.5, 97.5)).tolist()) if values else None


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
    of_systems, of_chance = topics * float(table.mean(1).var(ddof=1)), residual_variance(table)
    if of_systems <= of_chance:
        return None, None
    needed = DEPENDABLE / (1 - DEPENDABLE) * of_chance * topics / (of_systems - of_chance)
    return 1 - of_chance / of_systems, max(math.ceil(round(needed, 9)), 1)


RELIABLE = (
    "how reliably the measures rank these systems: τ between the rankings by two random halves of the topics, and of "
    "the judgements (mean, 95 % of the halves); the share of the systems in the variance of the means, Eρ², which is 1 "
    f"where chance plays no part, and the topics needed for {DEPENDABLE:g}; - where systems differ no more than by "
    "chance"
)


def reliability_text(rows: Sequence[Reliability]) -> str:
    """Return a table of ``rows`` with its explanation above."""
    table = [["measure", "condition", "systems", "topics", "τ half topics", "τ half judgements", "Eρ²", "needed"]]
    for row in rows:
        taus = ("-" if tau is None else "{:.2f} ({:.2f} to {:.2f})".format(*tau) for tau in row[4:6])
        share = "-" if row.dependability is None else f"{row.dependability:.2f}"
        table.append([*map(str, row[:4]), *taus, share, str(row.needed or "-")])
    return f"{fill(RELIABLE, WIDTH)}\n{aligned(table, left=2)}"


def left_out_data(groups: Sequence[LeftOut]) -> list[dict[str, object]]:
    """Return the effects as JSON data."""
    return [
        {**group._asdict(), "effects": {effect.measure: effect._asdict() for effect in group.effects}}
        for group in groups
    ]


def reusable_text(runs: Mapping[str, Run], pool: Pool, judged: Judgements) -> str:
    """Return as tables whether judgements of a finished ``pool`` suit another system; empty for ``runs`` of one alone.

    Warns of runs whose lists have no judged document.
    """
    judged = scorable(runs, judged.of_topics(pool))
    if not judged.original:
        return ""
    warn_of_foreign_ids(runs, [judged.original])
    base_of = {qid: qid for qid in pool}
    lists = ranked_lists(runs, base_of, {})
    reached = lists_reached(pool, {}, {qid: lists.get(qid, []) for qid in pool})
    documents = {qid: set(docids) for qid, docids in pool.items()}
    groups: dict[str, Group] = {"system": system_of} | ({"team": team_of(judged.teams)} if judged.teams else {})
    tables = [
        left_out_text(leave_out(runs, judged, base_of, absent_at_depth(documents, reached, by), by), AT_DEPTH, kind)
        for kind, by in groups.items()
    ]
    return "\n\n".join([*tables, reliability_text(reliabilities(runs, judged))])

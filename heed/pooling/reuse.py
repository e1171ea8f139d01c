"""Can the judgements be used for systems that were not pooled? Each system is left out and all are ranked again."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from math import sqrt
from typing import NamedTuple

from heed.measures.judged import PerTopic
from heed.measures.standard import standard
from heed.pooling.runs import Listing, system_of
from heed.progress import bar
from heed.types import Qrels, Run

MEASURES = ("nDCG@20", "AP")  # NeuCLIR's main measure, and the one of Zobel's and Voorhees's studies

Means = dict[str, float]  # run -> mean over the judged topics
Values = dict[str, dict[str, PerTopic]]  # run -> measure -> qid -> value


class Effect(NamedTuple):
    """What leaving a system out does to one measure.

    ``tau`` is Kendall's τ-b between the rankings of all runs before and after; ``drop`` by how many
    ranks a run of the system fell at most (negative if all rose), ``loss`` the largest relative loss of its mean.
    """

    measure: str
    tau: float
    drop: int
    loss: float


class LeftOut(NamedTuple):
    """A system, the judgements that nobody else's runs would have brought, the relevant ones of them, the effects."""

    system: str
    judgements: int
    relevant: int
    effects: list[Effect]


Owners = dict[str, dict[str, str]]  # topic -> docid -> the one system that holds it, "" where several do


class Judging(NamedTuple):
    """Judgements, the topic of the pool that each of their qids belongs to, and whose the pooled documents are."""

    qrels: Qrels
    base_of: Mapping[str, str]
    owners: Owners

    def only_of(self, system: str) -> Qrels:
        """The judgements of documents that no other system holds."""
        found: Qrels = {}
        for qid, grades in self.qrels.items():
            owner = self.owners.get(self.base_of.get(qid, qid), {})
            mine = {docid: grade for docid, grade in grades.items() if owner.get(docid) == system}
            if mine:
                found[qid] = mine
        return found


def owners(topics: Mapping[str, Sequence[Listing]]) -> Owners:
    """Whose each document of the lists is."""
    found: Owners = {}
    for topic, lists in topics.items():
        mine = found.setdefault(topic, {})
        for one in lists:
            system = system_of(one.run)
            for docid in one.docids:
                if mine.setdefault(docid, system) != system:
                    mine[docid] = ""
    return found


def leave_out(runs: Mapping[str, Run], judging: Judging) -> list[LeftOut]:
    """The effect of each system's absence from the pool on the ranking of all ``runs``.

    Zobel, SIGIR 1998, and Voorhees, "The Philosophy of Information Retrieval Evaluation", CLEF 2001,
    who leaves out all runs of a group, since these resemble each other; here all runs of a system.
    Judgements of documents that only this system's lists (as deep as the pool) hold are dropped,
    unjudged then and so not relevant. Judgements that no run brought stay.
    """
    scored = {name: {qid: scores for qid, scores in run.items() if qid in judging.qrels} for name, run in runs.items()}
    relevant = {qid: _relevant(grades) for qid, grades in judging.qrels.items()}
    before = {name: _measured(run, relevant) for name, run in scored.items()}
    found = []
    systems = sorted({system_of(name) for name in runs})
    for system in bar(systems, len(systems), "left out", "systems"):
        dropped = judging.only_of(system)
        lost = {qid: _relevant(grades) for qid, grades in dropped.items() if _relevant(grades)}
        # topics whose relevant documents stay keep their values; most do
        fewer = {
            qid: {docid: grade for docid, grade in relevant[qid].items() if docid not in gone}
            for qid, gone in lost.items()
        }
        after = {name: _updated(before[name], _measured(run, fewer)) for name, run in scored.items()}
        own = [name for name in runs if system_of(name) == system]
        effects = [_effect(measure, before, after, own) for measure in MEASURES]
        found.append(LeftOut(system, sum(map(len, dropped.values())), sum(map(len, lost.values())), effects))
    return found


def _relevant(grades: Mapping[str, int]) -> dict[str, int]:
    return {docid: grade for docid, grade in grades.items() if grade > 0}


def _measured(run: Run, relevant: Qrels) -> dict[str, PerTopic]:
    """AP and nDCG see relevant documents only, so the others are not handed over; a topic without any scores 0."""
    judged = {qid: grades for qid, grades in relevant.items() if grades}
    values = standard(run, judged, MEASURES) if judged else {measure: {} for measure in MEASURES}
    return {measure: dict.fromkeys(relevant, 0.0) | values[measure] for measure in MEASURES}


def _updated(before: dict[str, PerTopic], after: dict[str, PerTopic]) -> dict[str, PerTopic]:
    return {measure: before[measure] | after[measure] for measure in before}


def _effect(measure: str, before: Values, after: Values, own: Sequence[str]) -> Effect:
    old, new = _means(measure, before), _means(measure, after)
    drops = [_rank(name, new) - _rank(name, old) for name in own]
    losses = [1 - new[name] / old[name] for name in own if old[name]]
    return Effect(measure, kendall(list(old.values()), list(new.values())), max(drops), max(losses, default=0.0))


def _means(measure: str, values: Values) -> Means:
    return {name: math.fsum(one[measure].values()) / len(one[measure]) for name, one in values.items()}


def _rank(name: str, means: Means) -> int:
    return 1 + sum(value > means[name] for value in means.values())


def kendall(one: Sequence[float], other: Sequence[float]) -> float:
    """Kendall's τ-b of two equally long sequences: concordant minus discordant pairs, corrected for ties.

    1 where both have nothing but ties, 0 where only one has. Kendall, Biometrika 1945; scipy's
    ``kendalltau`` gives the same, but its import alone takes a second.
    """
    score = untied_one = untied_other = 0
    for (a, b), (c, d) in combinations(zip(one, other, strict=True), 2):
        first, second = (a > c) - (a < c), (b > d) - (b < d)
        score += first * second
        untied_one += first * first
        untied_other += second * second
    if not untied_one or not untied_other:
        return 1.0 if untied_one == untied_other else 0.0
    return score / sqrt(untied_one * untied_other)

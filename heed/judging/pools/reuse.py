"""Whether a pool's judgements can be reused: what leaving a system out of the pool does to the ranking of all runs."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from heed.judging.pools.inputs import system_of
from heed.judging.pools.rebuild import Absent, Documents
from heed.measures.agreement import ORDER_MEASURES, kendall
from heed.measures.per_topic import PerTopic
from heed.measures.standard import standard
from heed.progress import bar
from heed.types import Qrels, Run

Values = dict[str, dict[str, PerTopic]]  # run -> measure -> qid -> value


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


class PooledJudgements(NamedTuple):
    """Judgements, and the topic of the pool for each of their qids."""

    qrels: Qrels
    base_of: Mapping[str, str]

    def of(self, documents: Documents) -> Qrels:
        """Return the judgements of ``documents``, which are those of the pool's topics."""
        judged: Qrels = {}
        for qid, grades in self.qrels.items():
            docids = documents.get(self.base_of.get(qid, qid), set())
            if chosen := {docid: grades[docid] for docid in docids & grades.keys()}:
                judged[qid] = chosen
        return judged


def leave_out(runs: Mapping[str, Run], judgements: PooledJudgements, absents: Sequence[Absent]) -> list[list[LeftOut]]:
    """Return, for each of ``absents``, the effect of each system's absence on the ranking of all ``runs``.

    Zobel, SIGIR 1998, and Voorhees, "The Philosophy of Information Retrieval Evaluation", CLEF 2001,
    who leaves out all runs of a group, since these resemble each other; here all runs of a system.
    Judgements of documents that the pool lacks without the system are dropped: these documents are
    unjudged then, and so not relevant. Judgements of documents that are not pooled are kept.
    """
    relevant = {qid: _relevant(grades) for qid, grades in judgements.qrels.items()}
    scored = {name: {qid: scores for qid, scores in run.items() if qid in relevant} for name, run in runs.items()}
    before = {name: _measured(run, relevant) for name, run in scored.items()}
    systems = sorted({system_of(name) for name in runs})
    left_out: list[list[LeftOut]] = [[] for _ in absents]
    for system in bar(systems, len(systems), "left out", "systems"):
        names = [name for name in runs if system_of(name) == system]
        known: list[tuple[Qrels, list[Effect]]] = []  # measuring takes long, and the ways of leaving out often agree
        for absent, systems_left_out in zip(absents, left_out, strict=True):
            dropped = judgements.of(absent.get(system, {}))
            lost = {qid: _relevant(grades) for qid, grades in dropped.items() if _relevant(grades)}
            effects = next((effects for same, effects in known if same == lost), None)
            if effects is None:
                after = _after(scored, before, relevant, lost)
                effects = [_effect(measure, before, after, names) for measure in ORDER_MEASURES]
                known.append((lost, effects))
            counts = sum(map(len, dropped.values())), sum(map(len, lost.values()))
            systems_left_out.append(LeftOut(system, *counts, effects))
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
    return {name: math.fsum(of_run[measure].values()) / len(of_run[measure]) for name, of_run in values.items()}


def _rank(name: str, means: Mapping[str, float]) -> int:
    return 1 + sum(value > means[name] for value in means.values())

"""Statistics of a pool: sizes, shares and overlap of runs, judging time, and whether its judgements can be reused."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import median
from typing import NamedTuple

from heed.io.pools import Pool
from heed.measures.judged import PerTopic
from heed.measures.standard import standard
from heed.pooling.inputs import RankedList, system_of
from heed.progress import bar
from heed.types import Qrels, Run

SECONDS = 30.0  # to judge a document; an assumption, not a measurement: measure your own assessors

MEASURES = ("nDCG@20", "AP")  # NeuCLIR's main measure, and the one of Zobel's and Voorhees's studies

Values = dict[str, dict[str, PerTopic]]  # run -> measure -> qid -> value


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


class Overlap(NamedTuple):
    """The share of ``run``'s pooled documents that ``other`` retrieved too, and Jaccard's coefficient of both."""

    run: str
    other: str
    share: float
    jaccard: float


Retrieved = dict[str, int]  # run -> the pooled documents that it retrieved, as the bits of one number


def sizes(pooled: Pool) -> Sizes:
    """Return the sizes of ``pooled``, which holds at least one topic."""
    counts = [len(docids) for docids in pooled.values()]
    return Sizes(len(counts), sum(counts), min(counts), float(median(counts)), max(counts))


def retrieved_documents(pooled: Pool, topics: Mapping[str, Sequence[RankedList]], runs: Sequence[str]) -> Retrieved:
    """Return which documents of ``pooled`` each of ``runs`` retrieved; shares and overlaps are counted from it."""
    bits_of = {run: bytearray(sum(map(len, pooled.values())) // 8 + 1) for run in runs}
    start = 0
    for topic, docids in pooled.items():
        positions = {docid: position for position, docid in enumerate(docids, start)}
        start += len(docids)
        for ranking in topics.get(topic, ()):
            bits = bits_of[ranking.run]
            for position in (positions[docid] for docid in ranking.docids if docid in positions):
                bits[position >> 3] |= 1 << (position & 7)
    return {run: int.from_bytes(bits, "little") for run, bits in bits_of.items()}


def shares(retrieved: Retrieved) -> list[Share]:
    """Return each run's share of the pool.

    Unique contribution is Zobel's (SIGIR 1998): documents in the pool by this run alone. Runs called
    ``<system>.<condition>`` belong to one system.
    """
    systems: Retrieved = {}
    for run, bits in retrieved.items():
        systems[system_of(run)] = systems.get(system_of(run), 0) | bits
    by_runs, by_systems = _by_several(retrieved), _by_several(systems)
    return [
        Share(run, system_of(run), bits.bit_count(), (bits & ~by_runs).bit_count(), (bits & ~by_systems).bit_count())
        for run, bits in retrieved.items()
    ]


def _by_several(retrieved: Retrieved) -> int:
    once = several = 0
    for bits in retrieved.values():
        several |= once & bits
        once |= bits
    return several


def overlaps(retrieved: Retrieved) -> list[Overlap]:
    """Return the overlap of every run with every run, itself too; a run without a pooled document shares 0."""
    pairs = []
    for run, bits in retrieved.items():
        for other, other_bits in retrieved.items():
            both, either, own = (bits & other_bits).bit_count(), (bits | other_bits).bit_count(), bits.bit_count()
            pairs.append(Overlap(run, other, both / own if own else 0.0, both / either if either else 0.0))
    return pairs


def hours(documents: int, seconds: float) -> float:
    """Return the expected judging time in hours at ``seconds`` a document."""
    return documents * seconds / 3600


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
    """A system, the judged documents that only its runs contribute, the relevant ones of them, the effects."""

    system: str
    judgements: int
    relevant: int
    effects: list[Effect]


Systems = dict[str, dict[str, str]]  # topic -> docid -> the one system that retrieved it, "" where several did


class PooledJudgements(NamedTuple):
    """Judgements, the topic of the pool for each of their qids, and the system that contributed each document."""

    qrels: Qrels
    base_of: Mapping[str, str]
    systems: Systems

    def only_of(self, system: str) -> Qrels:
        """Return the judgements of documents that no other system retrieved."""
        only: Qrels = {}
        for qid, grades in self.qrels.items():
            contributed = self.systems.get(self.base_of.get(qid, qid), {})
            unique = {docid: grade for docid, grade in grades.items() if contributed.get(docid) == system}
            if unique:
                only[qid] = unique
        return only


def contributing_systems(topics: Mapping[str, Sequence[RankedList]]) -> Systems:
    """Return which system contributed each document of the lists."""
    systems: Systems = {}
    for topic, lists in topics.items():
        of_topic = systems.setdefault(topic, {})
        for ranking in lists:
            system = system_of(ranking.run)
            for docid in ranking.docids:
                if of_topic.setdefault(docid, system) != system:
                    of_topic[docid] = ""
    return systems


def leave_out(runs: Mapping[str, Run], judgements: PooledJudgements) -> list[LeftOut]:
    """Return the effect of each system's absence from the pool on the ranking of all ``runs``.

    Zobel, SIGIR 1998, and Voorhees, "The Philosophy of Information Retrieval Evaluation", CLEF 2001,
    who leaves out all runs of a group, since these resemble each other; here all runs of a system.
    Judgements of documents that only this system's lists (as deep as the pool) hold are dropped: these
    documents are unjudged then, and so not relevant. Judgements of documents of no run are kept.
    """
    scored = {
        name: {qid: scores for qid, scores in run.items() if qid in judgements.qrels} for name, run in runs.items()
    }
    relevant = {qid: _relevant(grades) for qid, grades in judgements.qrels.items()}
    before = {name: _measured(run, relevant) for name, run in scored.items()}
    left_out = []
    systems = sorted({system_of(name) for name in runs})
    for system in bar(systems, len(systems), "left out", "systems"):
        dropped = judgements.only_of(system)
        lost = {qid: _relevant(grades) for qid, grades in dropped.items() if _relevant(grades)}
        # topics that keep their relevant documents keep their values; most do
        fewer = {
            qid: {docid: grade for docid, grade in relevant[qid].items() if docid not in docids}
            for qid, docids in lost.items()
        }
        after = {
            name: {measure: before[name][measure] | values for measure, values in _measured(run, fewer).items()}
            for name, run in scored.items()
        }
        own = [name for name in runs if system_of(name) == system]
        effects = [_effect(measure, before, after, own) for measure in MEASURES]
        left_out.append(LeftOut(system, sum(map(len, dropped.values())), sum(map(len, lost.values())), effects))
    return left_out


def _relevant(grades: Mapping[str, int]) -> dict[str, int]:
    return {docid: grade for docid, grade in grades.items() if grade > 0}


def _measured(run: Run, relevant: Qrels) -> dict[str, PerTopic]:
    """Return the measures per topic; AP and nDCG need relevant documents only, and a topic without any scores 0."""
    judged = {qid: grades for qid, grades in relevant.items() if grades}
    values = standard(run, judged, MEASURES) if judged else {measure: {} for measure in MEASURES}
    return {measure: dict.fromkeys(relevant, 0.0) | values[measure] for measure in MEASURES}


def _effect(measure: str, before: Values, after: Values, own: Sequence[str]) -> Effect:
    old, new = _means(measure, before), _means(measure, after)
    drops = [_rank(name, new) - _rank(name, old) for name in own]
    losses = [1 - new[name] / old[name] for name in own if old[name]]
    return Effect(measure, kendall(list(old.values()), list(new.values())), max(drops), max(losses, default=0.0))


def _means(measure: str, values: Values) -> dict[str, float]:
    return {name: math.fsum(of_run[measure].values()) / len(of_run[measure]) for name, of_run in values.items()}


def _rank(name: str, means: Mapping[str, float]) -> int:
    return 1 + sum(value > means[name] for value in means.values())


def kendall(first: Sequence[float], second: Sequence[float]) -> float:
    """Return Kendall's τ-b of two equally long sequences: concordant minus discordant pairs, corrected for ties.

    1 where both have nothing but ties, 0 where only one has. Kendall, Biometrika 1945; scipy's
    ``kendalltau`` gives the same, but its import alone takes a second.
    """
    score = untied_first = untied_second = 0
    for (a, b), (c, d) in combinations(zip(first, second, strict=True), 2):
        sign_first, sign_second = (a > c) - (a < c), (b > d) - (b < d)
        score += sign_first * sign_second
        untied_first += sign_first * sign_first
        untied_second += sign_second * sign_second
    if not untied_first or not untied_second:
        return 1.0 if untied_first == untied_second else 0.0
    return score / math.sqrt(untied_first * untied_second)

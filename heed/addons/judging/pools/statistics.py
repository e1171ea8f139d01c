"""Statistics of a pool: sizes, shares and overlap of runs, the depth it reaches, and what it lacks without a system.

As tables for people, and as JSON.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heed.addons.judging.pools.build import (
    BuiltPool,
    PoolInputs,
    check_topics,
    qrels_by_topic,
    relevant_documents,
    system_of,
)
from heed.addons.judging.pools.reusability import (
    HEADINGS,
    Documents,
    Judgements,
    LeftOut,
    Lists,
    Reliability,
    absent_at_depth,
    absent_rebuilt,
    languages_of,
    leave_out,
    left_out_data,
    left_out_text,
    lists_reached,
    pooled_or_judged,
    reliabilities,
    reliability_text,
    scorable,
    team_of,
)
from heed.addons.judging.pools.selection import StratumCounts, count_strata
from heed.formats.trec_files import Pool
from heed.measures.comparison import warn_of_foreign_ids
from heed.measures.summary import aligned
from heed.progress import counted, number_of, warn
from heed.types import Qrels, Run

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


def depths(reached: Lists) -> dict[str, int]:
    """Return the depth reached in each topic, that of its longest list."""
    return {topic: max((len(ranking.docids) for ranking in lists), default=0) for topic, lists in reached.items()}


class PoolReport(NamedTuple):
    """All statistics of a pool; ``strata``, ``reliability`` and so on are empty where nothing was sampled or judged.

    ``depths`` are those that the pool reached by topic, ``run_depths`` the smallest and the greatest over a run's
    lists (:func:`.reusability.lists_reached`). ``left_out`` has the effects of leaving systems or teams out, by the
    names of :data:`.reusability.HEADINGS`; ``reliability`` is that of each measure. ``gaps`` says how far pool and
    judgements differ, empty where they do not or no system is left out. ``seconds`` is the judging time of a document,
    None if it is to be assumed.
    """

    documents: Pool
    per_language: dict[str, int]
    depths: dict[str, int]
    run_depths: dict[str, tuple[int, int]]
    retrieved: Retrieved
    strata: list[StratumCounts]
    left_out: dict[str, list[LeftOut]]
    reliability: list[Reliability]
    gaps: str = ""
    seconds: float | None = None

    @property
    def hours(self) -> float:
        """The expected judging time in hours."""
        return sizes(self.documents).documents * (self.seconds or SECONDS) / 3600


def pool_report(
    built: BuiltPool, inputs: PoolInputs, runs: Mapping[str, Run], judged: Judgements, seconds: float | None = None
) -> PoolReport:
    """Return the statistics of a pool; ``judged`` (may be empty) shows whether judgements can be reused.

    Warns where systems are left out of a pool that lacks relevant documents, or has unjudged ones. Raises
    :class:`DataError` for judgements of none of the runs' topics.
    """
    qrels = judged.original
    check_topics("qrels", qrels, inputs.topics, inputs.base_of)
    pooled = {qid: grades for qid, grades in qrels.items() if inputs.base_of[qid] in inputs.topics}
    grades = qrels_by_topic(pooled, inputs.base_of)
    reached = lists_reached(built.documents, inputs.judged, inputs.topics)
    retrieved = {
        topic: {docid: 0.0 for ranking in lists for docid in ranking.docids} for topic, lists in inputs.topics.items()
    }
    warn_of_foreign_ids({"pooled": retrieved}, [grades])
    judged = scorable(runs, judged.of_topics(pooled))
    documents = pooled_or_judged(built, inputs, reached) if judged.original else {}
    gaps = _gaps(built.documents, documents, grades) if documents else ""
    left_out: dict[str, list[LeftOut]] = {name: [] for name in HEADINGS}
    if documents:
        leave, by_team = partial(leave_out, runs, judged, inputs.base_of), team_of(judged.teams)
        left_out["left_out"] = leave(absent_rebuilt(documents, built, inputs, reached))
        left_out["left_out_at_depth"] = leave(absent_at_depth(documents, reached))
        if judged.teams:
            left_out["teams_left_out"] = leave(absent_rebuilt(documents, built, inputs, reached, by_team), by_team)
    rankings = [ranking for lists in reached.values() for ranking in lists]
    run_lengths = {run: [len(each.docids) for each in rankings if each.run == run] or [0] for run in runs}
    if gaps:
        warn(f"qrels: {gaps}; the effects of leaving a system out are those of the judgements that there are")
    return PoolReport(
        documents=built.documents,
        per_language=dict(sorted(languages_of(built.documents, inputs).items())) if inputs.languages else {},
        depths=depths(reached),
        run_depths={run: (min(lengths), max(lengths)) for run, lengths in run_lengths.items()},
        retrieved=retrieved_documents(built.documents, reached, list(runs)),
        strata=count_strata(built.settings.strata, built.sample, grades),
        left_out=left_out,
        reliability=reliabilities(runs, judged) if documents else [],
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
        **{name: left_out_data(groups) for name, groups in report.left_out.items()},
        "reliability": [row._asdict() for row in report.reliability],
    }


def as_text(report: PoolReport, name: str) -> str:
    """Return the report as tables, separated by empty lines."""
    parts = ["\n".join(_summary(report, name))]
    if report.retrieved:
        parts += [_runs_table(report), _overlap_table(report.retrieved)]
    if report.strata:
        parts.append(_strata_table(report.strata))
    parts += [left_out_text(groups, *HEADINGS[name]) for name, groups in report.left_out.items() if groups]
    if report.reliability:
        parts.append(reliability_text(report.reliability))
    if report.gaps:
        parts.append(f"{report.gaps}; these tables are of the judgements that there are")
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

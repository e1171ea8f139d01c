"""The statistics of a pool as tables and as JSON."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from heed.addons.judging.agreement import ORDER_MEASURES
from heed.addons.judging.pools.build import (
    BuiltPool,
    PoolInputs,
    check_topics,
    qrels_by_topic,
    relevant_documents,
    system_of,
)
from heed.addons.judging.pools.selection import StratumCounts, count_strata
from heed.addons.judging.pools.statistics import (
    SECONDS,
    Documents,
    LeftOut,
    Lists,
    Retrieved,
    Sizes,
    absent_at_depth,
    absent_rebuilt,
    depths,
    leave_out,
    lists_reached,
    overlaps,
    pooled_or_judged,
    retrieved_documents,
    shares,
    sizes,
)
from heed.errors import DataError
from heed.formats.trec_files import Pool
from heed.measures.comparison import warn_of_foreign_ids
from heed.measures.summary import aligned
from heed.progress import brief, counted, log, warn
from heed.types import Qrels, Run

EFFECTS = ("τ", "drop", "loss")
DEPTH_RULE = "the rank of the deepest document taken from a topic's lists; overlaps are counted to this rank"
REBUILT = (
    "each system left out, and the pool made again with as many documents: the judgements that are then missing, τ "
    "between the rankings of all runs, the system's drop in rank, and its loss"
)
AT_DEPTH = (
    "each system left out, and the other lists read no deeper: without the judgements of documents that only it brought"
)


class PoolReport(NamedTuple):
    """All statistics of a pool; ``strata``, ``left_out`` and so on are empty where nothing was sampled or judged.

    ``depths`` are those that the pool reached by topic, ``run_depths`` the smallest and the greatest over a run's
    lists (:func:`.statistics.lists_reached`). ``left_out`` has the effects of rebuilding the pool
    without a system under the same budget, ``left_out_at_depth`` those of reading the others' lists no deeper.
    ``gaps`` says how far pool and judgements differ, empty where they do not or no system is left out.
    ``seconds`` is the judging time of a document, None if it is to be assumed.
    """

    sizes: Sizes
    per_topic: dict[str, int]
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
        return self.sizes.documents * (self.seconds or SECONDS) / 3600


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
    warn_of_foreign_ids({"pooled": _retrieved(inputs)}, [grades])
    scorable = _scorable(runs, pooled)
    documents = pooled_or_judged(built, inputs, reached) if scorable else {}
    gaps = _gaps(built.documents, documents, grades) if documents else ""
    left_out = partial(leave_out, runs, scorable, inputs.base_of)
    if gaps:
        warn(f"qrels: {gaps}; the effects of leaving a system out are those of the judgements that there are")
    return PoolReport(
        sizes=sizes(built.documents),
        per_topic={topic: len(docids) for topic, docids in built.documents.items()},
        per_language=_languages(built, inputs),
        depths=depths(reached),
        run_depths={run: _run_depths(run, reached) for run in runs},
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


def _retrieved(inputs: PoolInputs) -> Run:
    return {
        topic: dict.fromkeys((docid for ranking in lists for docid in ranking.docids), 0.0)
        for topic, lists in inputs.topics.items()
    }


def _run_depths(run: str, reached: Lists) -> tuple[int, int]:
    lengths = [len(ranking.docids) for lists in reached.values() for ranking in lists if ranking.run == run]
    return min(lengths, default=0), max(lengths, default=0)


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
    return {
        "topics": report.sizes.topics,
        "documents": report.sizes.documents,
        "depth_reached": max(report.depths.values()),
        "per_topic": {**report.sizes._asdict(), "sizes": report.per_topic, "depths": report.depths},
        "per_language": report.per_language,
        "judging": {"seconds_per_document": report.seconds or SECONDS, "hours": report.hours},
        "runs": [
            {**share._asdict(), "depth_reached": report.run_depths[share.run][1]} for share in shares(report.retrieved)
        ],
        "overlap": overlaps(report.retrieved),
        "strata": [counts._asdict() for counts in report.strata],
        "left_out": [_left_out_as_data(left_out) for left_out in report.left_out],
        "left_out_at_depth": [_left_out_as_data(left_out) for left_out in report.left_out_at_depth],
    }


def _left_out_as_data(left_out: LeftOut) -> dict[str, Any]:
    return {**left_out._asdict(), "effects": {effect.measure: effect._asdict() for effect in left_out.effects}}


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
    topics, documents, smallest, median, largest = report.sizes
    yield f"{name}: {documents} documents of {topics} topics"
    yield f"a topic: {smallest} to {largest} documents, median {median:g}"
    if report.retrieved:
        yield f"depth reached: {_range(min(report.depths.values()), max(report.depths.values()))}, {DEPTH_RULE}"
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
    rows = [
        ["left out", "judged", "relevant", *(f"{measure} {name}" for measure in ORDER_MEASURES for name in EFFECTS)]
    ]
    for system in systems:
        cells = [(f"{effect.tau:.3f}", str(effect.drop), f"{effect.loss:z.1%}") for effect in system.effects]
        effects = [cell for of_measure in cells for cell in of_measure]
        rows.append([system.system, str(system.judgements), str(system.relevant), *effects])
    largest = []
    for index, measure in enumerate(ORDER_MEASURES):
        drop = max(system.effects[index].drop for system in systems)
        loss = max(system.effects[index].loss for system in systems)
        largest.append(f"{measure} {drop} ranks, {loss:z.1%}")
    return f"{aligned(rows, left=1)}\nlargest drop and loss of a system left out: {'; '.join(largest)}"

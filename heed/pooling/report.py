"""The statistics of a pool as tables and as JSON."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from heed.errors import DataError
from heed.evaluation.summary import aligned
from heed.pooling.build import BuiltPool, PoolInputs
from heed.pooling.inputs import check_topics, qrels_by_topic, system_of
from heed.pooling.samples import StratumCounts, count_strata
from heed.pooling.statistics import (
    MEASURES,
    SECONDS,
    LeftOut,
    PooledJudgements,
    Retrieved,
    Sizes,
    contributing_systems,
    hours,
    leave_out,
    overlaps,
    retrieved_documents,
    shares,
    sizes,
)
from heed.progress import brief, log
from heed.types import Qrels, Run

EFFECTS = ("τ", "drop", "loss")


class PoolReport(NamedTuple):
    """All statistics of a pool; ``strata`` and ``left_out`` are empty where nothing was sampled or judged.

    ``seconds`` is the judging time of a document, None if it is to be assumed.
    """

    sizes: Sizes
    per_topic: dict[str, int]
    per_language: dict[str, int]
    retrieved: Retrieved
    strata: list[StratumCounts]
    left_out: list[LeftOut]
    seconds: float | None = None

    @property
    def hours(self) -> float:
        """The expected judging time."""
        return hours(self.sizes.documents, self.seconds or SECONDS)


def pool_report(
    built: BuiltPool, inputs: PoolInputs, runs: Mapping[str, Run], qrels: Qrels, seconds: float | None = None
) -> PoolReport:
    """Return the statistics of a pool; ``qrels`` (may be empty) show whether judgements can be reused.

    Raises :class:`DataError` for judgements of none of the runs' topics.
    """
    check_topics("--qrels", qrels, inputs.topics, inputs.base_of)
    pooled = {qid: grades for qid, grades in qrels.items() if inputs.base_of[qid] in inputs.topics}
    grades = qrels_by_topic(pooled, inputs.base_of)
    return PoolReport(
        sizes=sizes(built.documents),
        per_topic={topic: len(docids) for topic, docids in built.documents.items()},
        per_language=_languages(built, inputs),
        retrieved=retrieved_documents(built.documents, inputs.topics, list(runs)),
        strata=count_strata(built.by_stratum, built.strata, built.sample, grades),
        left_out=_reusability(inputs, runs, pooled),
        seconds=seconds,
    )


def _languages(built: BuiltPool, inputs: PoolInputs) -> dict[str, int]:
    """Return the number of pooled documents by language, where lists are split by language."""
    counts: Counter[str] = Counter()
    for topic, docids in built.documents.items():
        languages = {docid: lst.language for lst in inputs.topics[topic] for docid in lst.docids if lst.language}
        counts.update(languages[docid] for docid in docids if docid in languages)
    return dict(sorted(counts.items()))


def _reusability(inputs: PoolInputs, runs: Mapping[str, Run], qrels: Qrels) -> list[LeftOut]:
    """Return the effects of leaving systems out, over the qids of the runs; nothing for a single system."""
    known = {qid for run in runs.values() for qid in run}
    scorable = {qid: grades for qid, grades in qrels.items() if qid in known}
    if qrels and not scorable:
        raise DataError(
            f"--qrels: its topics ({brief(sorted(qrels))}) are those of the pool, not those of the runs "
            f"({brief(sorted(known))}), which cannot be scored by them; give judgements under the runs' ids"
        )
    if scorable and len({system_of(name) for name in runs}) < 2:
        log.info("--qrels: all runs are of one system, so none is left out")
        return []
    judgements = PooledJudgements(scorable, inputs.base_of, contributing_systems(inputs.topics))
    return leave_out(runs, judgements) if scorable else []


def as_data(report: PoolReport) -> dict[str, Any]:
    """Return the report as JSON data; shares and coefficients are on the scale to 1, times in hours."""
    pairs, runs = overlaps(report.retrieved), report.retrieved
    return {
        "topics": report.sizes.topics,
        "documents": report.sizes.documents,
        "per_topic": {**report.sizes._asdict(), "sizes": report.per_topic},
        "per_language": report.per_language,
        "judging": {"seconds_per_document": report.seconds or SECONDS, "hours": report.hours},
        "runs": [share._asdict() for share in shares(runs)],
        "overlap": {run: {pair.other: pair.share for pair in pairs if pair.run == run} for run in runs},
        "jaccard": {run: {pair.other: pair.jaccard for pair in pairs if pair.run == run} for run in runs},
        "strata": [counts._asdict() for counts in report.strata],
        "left_out": [
            {**left_out._asdict(), "effects": {effect.measure: effect._asdict() for effect in left_out.effects}}
            for left_out in report.left_out
        ],
    }


def as_text(report: PoolReport, name: str) -> str:
    """Return the report as tables, separated by empty lines."""
    parts = ["\n".join(_summary(report, name))]
    if report.retrieved:
        parts += [_runs_table(report), *_matrices(report.retrieved)]
    if report.strata:
        parts.append(_strata_table(report.strata))
    if report.left_out:
        parts.append(_left_out_table(report.left_out))
    return "\n\n".join(parts)


def _summary(report: PoolReport, name: str) -> Iterator[str]:
    topics, documents, smallest, median, largest = report.sizes
    yield f"{name}: {documents} documents of {topics} topics"
    yield f"a topic: {smallest} to {largest} documents, median {median:g}"
    if report.per_language:
        yield "by language: " + ", ".join(f"{language} {number}" for language, number in report.per_language.items())
    source = "as given" if report.seconds else "assumed; give yours with --seconds-per-document"
    yield f"expected judging: {report.hours:.1f} hours at {report.seconds or SECONDS:g} s a document ({source})"


def _runs_table(report: PoolReport) -> str:
    rows = [["", "run", "documents", "unique", "unique to system"]]
    for number, share in enumerate(shares(report.retrieved), 1):
        counts = (share.documents, share.unique, share.system_unique)
        rows.append([str(number), share.run, *map(str, counts)])
    if all(system_of(run) == run for run in report.retrieved):
        rows = [row[:-1] for row in rows]  # every run is a system
    return aligned(rows, left=2)


def _matrices(retrieved: Retrieved) -> Iterator[str]:
    pairs, runs = overlaps(retrieved), list(retrieved)
    head = "of the row's pooled documents, those that the column's run retrieved too, %"
    yield f"{head}\n{_matrix(runs, [pair.share for pair in pairs])}"
    yield f"Jaccard's coefficient ×100\n{_matrix(runs, [pair.jaccard for pair in pairs])}"


def _matrix(runs: Sequence[str], values: Sequence[float]) -> str:
    rows = [["", "", *(str(number) for number in range(1, len(runs) + 1))]]
    for index, run in enumerate(runs):
        row = values[index * len(runs) : (index + 1) * len(runs)]
        rows.append([str(index + 1), run, *(f"{100 * value:.0f}" for value in row)])
    return aligned(rows, left=2)


def _strata_table(strata: Sequence[StratumCounts]) -> str:
    rows = [["stratum", "documents", "drawn", "judged", "relevant", "estimated relevant"]]
    for stratum, *counts, estimated in strata:
        rows.append([stratum, *map(str, counts), "-" if estimated is None else f"{estimated:.1f}"])
    return aligned(rows, left=1)


def _left_out_table(systems: Sequence[LeftOut]) -> str:
    rows = [["left out", "judged", "relevant", *(f"{measure} {name}" for measure in MEASURES for name in EFFECTS)]]
    for system in systems:
        cells = [(f"{effect.tau:.3f}", str(effect.drop), f"{effect.loss:z.1%}") for effect in system.effects]
        effects = [cell for of_measure in cells for cell in of_measure]
        rows.append([system.system, str(system.judgements), str(system.relevant), *effects])
    largest = []
    for index, measure in enumerate(MEASURES):
        drop = max(system.effects[index].drop for system in systems)
        loss = max(system.effects[index].loss for system in systems)
        largest.append(f"{measure} {drop} ranks, {loss:z.1%}")
    head = (
        "without the judgements of documents that only this system retrieved: τ between the rankings of all runs, "
        "the system's drop in rank and its loss"
    )
    return f"{head}\n{aligned(rows, left=1)}\nlargest drop and loss of a system left out: {'; '.join(largest)}"

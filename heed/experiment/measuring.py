"""The systems of a results folder measured: figures by topic, their means, the report of both, and the manifest."""

import json
import logging
import math
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from heed import __version__
from heed.datasets.collection import Collection
from heed.errors import BusyError
from heed.experiment.ledger import Ledger, runs_in, settle, warn_of_mixtures
from heed.experiment.results import Results
from heed.experiment.run_files import SystemRuns
from heed.extras import installed_version
from heed.files import digest_json, locked, read_bytes, write_bytes, write_json
from heed.formats.trec_files import doubtful_names
from heed.measures.evaluate import Judging, against_query, evaluate, shifts, values_as_seen
from heed.measures.per_topic import Measure, PerTopic
from heed.measures.summary import (
    ON_REQUEST,
    Detail,
    Row,
    SystemEntry,
    cutoff_of,
    ends_before,
    is_merit,
    list_depths,
    own_directions,
)
from heed.progress import brief, gathering, log, logging_only, timed, warn
from heed.report.results import read_manifest
from heed.report.topics_file import TopicsFile, read_topics_file, write_topics_file
from heed.retrieval.lucene.jvm import anserini_version
from heed.reuse import RESULTS, Note, Recipe, read_note, write_note
from heed.types import subtopics_of

SCHEMA = "0.1"  # irgroup/ir_metadata
LIBRARIES = ("pyserini", "faiss-cpu", "torch", "transformers", "sentence-transformers", "scipy", "ir-measures")
SHALLOW = 100  # however few documents there are, tables have measures that look no deeper
VALUES = RESULTS.with_name("values.json")  # by measures of the user's own


def manifest(
    command: str, collection: Collection, documents: str, systems: Sequence[SystemRuns], settings: Recipe
) -> Recipe:
    """Return how ``command`` made the runs of ``systems``; without times, so that it never differs by itself.

    ``documents`` is the digest of the collection's documents; ``settings`` are those of the experiment.
    """
    data = {
        "name": f"{collection.name}/{collection.subset}",
        "documents": documents,
        "query and instruction": collection.join,
        "topics": digest_json([topic if topic.readings else topic[:-1] for topic in collection.topics]),
        "qrels": {condition: digest_json(qrels) for condition, qrels in collection.judging.qrels.items()},
    }
    manifest = {
        "schema-version": SCHEMA,
        "run-version": __version__,
        "platform": _platform(),
        "implementation": {"executable": {"cmd": command}, "source": {"lang": "python"}},
        "method": {
            "automatic": True,
            "score ties": "score descending, then docid descending (trec_eval)",
        },
        "data": {"test collection": data},
        "settings": settings,
    }
    return of_systems(manifest, systems)


def of_systems(manifest: Recipe, systems: Sequence[SystemRuns]) -> Recipe:
    """Return a manifest with ``systems`` as those that made its runs."""
    methods = [
        {"name": each.name, "depth": each.entry["depth"], "parameters": each.config}
        for each in systems
        if each.config is not None
    ]
    elsewhere = {"made elsewhere": [each.name for each in systems if each.config is None]}
    method, settings = manifest.get("method") or {}, manifest.get("settings") or {}
    return {**manifest, "method": {**method, "retrieval": methods}, "settings": {**settings, **elsewhere}}


def write_manifest(path: Path, manifest: Recipe) -> None:
    """Write what :func:`manifest` returned, without settings that are None."""
    import yaml

    plain = json.loads(json.dumps(manifest))  # as notes have it: without parts that are one object in memory
    text = yaml.safe_dump(_without_none(plain), sort_keys=False, allow_unicode=True, width=100)
    write_bytes(path, text.encode())


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(inner) for key, inner in value.items() if inner is not None}
    return [*map(_without_none, value)] if isinstance(value, list) else value


def _platform() -> dict[str, Any]:
    return {
        "hardware": {"cpu": {"architecture": platform.machine(), "number of cores": os.cpu_count()}},
        "operating system": {"kernel": platform.release()},
        "software": {
            "python": platform.python_version(),
            "libraries": {name: installed_version(name) for name in LIBRARIES},
            "retrieval toolkit": [f"Anserini {anserini_version()}"],
        },
    }


def results_of(
    folder: Path,
    inputs: TopicsFile,
    judging: Judging,
    systems: Sequence[SystemRuns],
    made_by: Recipe,
    earlier_rows: Sequence[Detail] = (),
) -> Results:
    """Write the measures of ``systems`` into ``folder``, with their ``inputs``, manifest and report; return them.

    ``made_by`` is the manifest; ``earlier_rows`` are figures by measures that cannot be computed here.
    """
    from heed.report.page import write_page
    from heed.report.results import read_summary, read_tree

    before = read_summary(folder)
    write_note(folder / RESULTS, Note({}, {}, finished=False))  # what a process that is killed from here on leaves
    write_topics_file(folder, inputs)
    write_manifest(folder / "manifest.yml", made_by)  # the report reads it
    topics = [topic.topic() for topic in inputs.topics]
    judged = {qid for qrels in judging.qrels.values() for qid in qrels}
    if judged and (without := [topic.qid for topic in topics if topic.qid not in judged]):
        log.info(f"{len(without)} of {len(topics)} topics have no judgements, and are in no mean: {brief(without)}")
    runs = {(system.name, condition): run for system in systems for condition, run in system.contents().items()}
    of_runs = warnings_of(systems)
    for warning in of_runs:
        warn(warning)
    earlier, used = read_note(folder / VALUES), dict[str, PerTopic]()
    entries = [_of_lists(system.entry, inputs.size or 0) for system in systems]
    depths = list_depths(entries)
    with timed("measures"), gathering([]) as warnings:
        warn_of_mixtures(systems)
        moved = shifts(runs, judging, topics)
        remembering = _remembering(judging, earlier.recipe if earlier else {}, used)
        measured = [*evaluate(runs, remembering, topics, inputs.size or 0), *earlier_rows]
        details = [each for each in measured if not ends_before(each["system"], each["measure"], depths)]
        _warn_of_depths(depths, measured)
        _say_what_is_gone(before.rows, measured, {condition for _, condition in runs})
        against = against_query(runs, judging, topics, measured)
        seen = values_as_seen(runs, judging, topics, details)
    if used:
        write_note(folder / VALUES, Note(used, {}))
    results = Results(
        inputs.collection,
        inputs.subset,
        details,
        [*inputs.warnings, *of_runs, *warnings],
        own_directions(judging.all_measures),
        entries,
        shifts=moved,
        against_query=against,
        as_seen=seen,
        path=folder,
        depth=max(inputs.size or math.inf, SHALLOW),
        baseline=before.baseline if before.baseline in {system.name for system in systems} else "",
    )
    write_json(folder / "per_topic.json", {"rows": details, "shifts": moved, "against_query": against, "as_seen": seen})
    write_json(folder / "summary.json", results.summary())
    if results.rows:
        with timed("report"):
            write_page(read_tree(folder, replace(results, runs=runs)), folder, folder / "report.html")
    else:
        (folder / "report.html").unlink(missing_ok=True)  # of earlier judgements
    write_note(folder / RESULTS, Note({"runs": {system.name: system.digests() for system in systems}}, {}))
    return results


def _of_lists(entry: SystemEntry, size: int) -> SystemEntry:
    """Return the entry of a system that searched ``size`` documents, 0 where not known: no list has more."""
    if entry.get("first_stages") or not (size and entry["depth"]):
        return entry
    return {**entry, "depth": min(entry["depth"], size)}


def _warn_of_depths(depths: Mapping[str, int], measured: Sequence[Detail]) -> None:
    """Warn where systems have lists of different depth: which measures have no value, and which are of whole lists."""
    *shorter, _ = sorted({*depths.values()}) or [0]
    if not shorter:
        return
    measures = dict.fromkeys(each["measure"] for each in measured if is_merit(each["measure"]))
    beyond = sorted((name for name in measures if cutoff_of(name) > shorter[0]), key=cutoff_of)
    parts = [f"no {brief(beyond)} where lists end before, at {' or '.join(map(str, shorter))}"] if beyond else []
    whole = [name for name in measures if not cutoff_of(name) and name not in ON_REQUEST]
    parts += [f"{brief(whole)}: of whole lists, whose length alone can make a difference"] if whole else []
    known = brief([f"{name} {depth}" for name, depth in depths.items()])
    warn(f"lists of different depth ({known}): {'; '.join(parts)}")


def _say_what_is_gone(before: Sequence[Row], now: Sequence[Detail], conditions: set[str]) -> None:
    """Log a warning of the conditions that had figures ``before`` and still have runs, but no judgements ``now``."""
    had = {row["condition"] for row in now}
    gone = [row for row in before if row["condition"] not in had and conditions.issuperset(row["condition"].split(">"))]
    if gone:
        there = {*(row["measure"] for row in now), *ON_REQUEST}
        measures = ", ".join(dict.fromkeys(row["measure"] for row in gone if row["measure"] not in there))
        log.warning(
            f"the figures under {brief([*dict.fromkeys(row['condition'] for row in gone)])} are gone"
            f"{f', also {measures}' if measures else ''}: no judgements of them were given; give them all in "
            "each command"
        )


def warnings_of(systems: Sequence[SystemRuns]) -> list[str]:
    """Return the warnings in the notes of the runs of ``systems``, and of runs that look exchanged."""
    warnings = list[str]()
    for files in ([*system.files.values()] for system in systems):
        warnings += [warning for file in files for warning in file.note.facts.get("warnings", ())]
        warnings += doubtful_names({file.path.name: file.note.facts.get("called", ()) for file in files})
    return list(dict.fromkeys(warnings))


def refresh(runs: Path) -> None:
    """Measure the systems of results folders at and below ``runs`` again where they are not those that were measured.

    So a system whose files were deleted is gone, and one whose files were moved back is there. Folders without any run,
    and those of version 0.3.0, whose ``topics.json`` says too little, stay as they are; so does one in which another
    process works, with a warning. What is doubtful is in the results, whose readers say it. Raises :class:`BusyError`
    while another process writes its figures.
    """
    for path in sorted(runs.rglob(str(RESULTS))):
        folder = path.parent.parent
        note, inputs = read_note(path), read_topics_file(folder)
        there = {name: {each: file.sha256 for each, file in files.items()} for name, files in runs_in(folder).items()}
        if not (note and inputs and inputs.size is not None and there):
            continue
        if not note.finished or note.recipe.get("runs") != there:
            try:
                with locked(folder):
                    log.info(f"{folder}: its runs are not those that were measured; measured again")
                    settle(folder)
                    _measure_again(folder, inputs, note.recipe.get("runs", {}))
            except BusyError:
                if not note.finished:
                    raise
                log.warning(
                    f"{folder}: another process works there; its figures are of the runs that were there before"
                )


def _measure_again(folder: Path, inputs: TopicsFile, measured: Recipe) -> None:
    """Write the results of the runs in ``folder``; ``measured`` are the digests of those that its figures are of."""
    systems = Ledger(folder, inputs.documents, inputs.queries).systems()
    judging, missing = inputs.judging()
    same = {system.name for system in systems if system.digests() == measured.get(system.name)}
    others = [system.name for system in systems if missing and system.name not in same]
    if others:
        warn(f"{brief(missing)}: cannot be imported here, so that {brief(others)} have no values; run their command")
    manifest = of_systems(read_manifest(folder), systems)
    with logging_only(log.name, logging.ERROR):  # the results carry its warnings: whoever reads these says them
        results_of(folder, inputs, judging, systems, manifest, [*_earlier_rows(folder, missing, same)])


def _earlier_rows(folder: Path, missing: Sequence[str], systems: set[str]) -> Iterator[Detail]:
    """Yield the figures of ``systems`` by the ``missing`` measures, as they were computed."""
    path = folder / "per_topic.json"
    for row in json.loads(read_bytes(path))["rows"] if missing and path.exists() else ():
        if row["measure"] in missing and row["system"] in systems:
            yield row


def _remembering(judging: Judging, earlier: Mapping[str, PerTopic], used: dict[str, PerTopic]) -> Judging:
    """Return ``judging`` whose measures of the user's own with a ``config`` take their values from an ``earlier`` time.

    These are by a digest of ``config``, runs and judgements; those that were asked for are added to ``used``.
    """

    def remembering(measure: str | Measure) -> str | Measure:
        if isinstance(measure, str) or not measure.is_own or measure.config is None:
            return measure

        def function(*inputs: Any) -> PerTopic:
            subtopics = [subtopics_of(grades) for each in inputs for grades in each.values()]
            key = digest_json([measure.name, measure.config, inputs, subtopics])
            values = earlier[key] if key in earlier else measure.function(*inputs)
            with suppress(TypeError, ValueError, AttributeError):  # what is no number is an error of who asked
                used[key] = {str(qid): float(value) for qid, value in values.items()}
            return values

        return replace(measure, function=function)

    pairs = (pair._replace(measures=tuple(map(remembering, pair.measures))) for pair in judging.pairs)
    return judging._replace(measures=tuple(map(remembering, judging.measures)), pairs=tuple(pairs))

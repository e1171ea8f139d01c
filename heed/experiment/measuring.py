"""The systems of an experiment measured: figures by topic, their means, and the report of both.

Files of results are used again where they come from the same inputs, down to the last file. Measures and pages take
seconds, and change with the program: their recipe holds :func:`heed.reuse.program`, so that nothing of an older program
is ever shown.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from heed.datasets.collection import Collection
from heed.experiment.manifest import write_manifest
from heed.experiment.results import Results
from heed.experiment.run_files import SystemRuns, digests_of
from heed.files import digest, read_bytes, write_json
from heed.measures import Measure
from heed.measures.evaluate import Judging, Runs, against_query, evaluate, shifts
from heed.measures.summary import AgainstQuery, Detail, Shift, own_directions
from heed.progress import log, timed, warn
from heed.reuse import RESULTS, Note, Recipe, program, read_note, rebuild_reason, write_note
from heed.types import subtopics_of

FILES = ("summary.json", "per_topic.json", "topics.json", "report.html", "manifest.yml")
OF_RESULTS = ("summary.json", "per_topic.json")  # in folders below too, which the report shows


class Scope(NamedTuple):
    """What is measured, and where: the collection, how it is judged, and the folders of results and of the index.

    ``documents`` is the digest of the collection's documents, ``size`` their number with those that are missing here;
    ``warnings`` grows while systems are measured.
    """

    collection: Collection
    judging: Judging
    folder: Path
    index_folder: Path
    documents: str
    size: int
    warnings: list[str]
    unanswered: dict[str, int]  # of :class:`heed.experiment.results.Results`

    def results(self, details: Sequence[Detail]) -> Results:
        """Return figures by topic as results, with the warnings so far."""
        directions = own_directions(self.judging.all_measures)
        about = self.collection.name, self.collection.subset, details, tuple(self.warnings)
        return Results(*about, directions, self.unanswered)


def results_of(scope: Scope, systems: Sequence[SystemRuns], made_by: Recipe) -> Results:
    """Return the measures of ``systems``, whose manifest is ``made_by``: those of an earlier process, or new ones.

    New ones are written, with the manifest and the report.
    """
    note_path, recipe = scope.folder / RESULTS, _recipe(scope, systems, made_by)
    earlier = _earlier_figures(scope.folder, recipe) if recipe else None
    if earlier is not None:
        return scope.results(earlier)
    write_note(note_path, Note({}, {}, finished=False))  # what a process that is killed from here on leaves
    write_manifest(scope.folder / "manifest.yml", made_by)  # the report reads it
    results = _measured(scope, systems)
    if recipe:
        write_note(note_path, Note(recipe, _digests(scope.folder), {"warnings": scope.warnings}))
    else:
        note_path.unlink()
    return results


def _recipe(scope: Scope, systems: Sequence[SystemRuns], made_by: Recipe) -> Recipe | None:
    """Return the inputs and settings that decide the files of results.

    None where runs may be other than their files, and where a measure of the user's own has no ``config``.
    """
    runs = digests_of(systems)
    if any(isinstance(measure, Measure) and measure.config is None for measure in scope.judging.all_measures):
        return None
    return runs and {
        "program": program(),
        "runs": runs,
        "judging": _judging_digest(scope.judging),
        "documents": scope.size,
        "index": os.path.relpath(scope.index_folder, scope.folder),
        "language": scope.collection.language.code,
        "manifest": made_by,
        "warnings": list(scope.warnings),
    }


def _judging_digest(judging: Judging) -> str:
    """Return a digest of all that decides measures apart from the runs; the order of judgements is part of it.

    A measure of the user's own is known by its ``config``.
    """

    def plain(value: Any) -> list[Any] | dict[Any, Any]:
        if isinstance(value, Measure):
            return [value.name, value.of, value.lower_is_better, value.config]
        return dict(value) if isinstance(value, Mapping) else sorted(value)  # a set of documents

    subtopics = {
        condition: {qid: subtopics_of(grades) for qid, grades in qrels.items()}
        for condition, qrels in judging.qrels.items()
    }
    text = json.dumps([judging, subtopics], ensure_ascii=False, default=plain)
    return hashlib.sha256(text.encode()).hexdigest()


def _earlier_figures(folder: Path, recipe: Recipe) -> list[Detail] | None:
    """Return the figures by topic in ``folder``, and warn as they did; None unless all files are those of ``recipe``.

    A file that was changed since is not.
    """
    path = folder / RESULTS
    reason, note = rebuild_reason(path, recipe, lambda: _digests(folder)), read_note(path)
    if reason is not None or note is None:
        if path.exists():
            log.info(f"{folder}/summary.json, report.html and more: {reason}")
        return None
    log.info(f"{folder}/summary.json, report.html and more: used again, runs and judgements are the same")
    for warning in note.facts["warnings"]:
        warn(warning)
    details: list[Detail] = json.loads(read_bytes(folder / "per_topic.json"))["rows"]
    return details


def _digests(folder: Path) -> dict[str, str]:
    paths = {folder / name for name in FILES}.union(*(folder.rglob(name) for name in OF_RESULTS))
    return {str(path.relative_to(folder)): digest(path) for path in sorted(paths) if path.exists()}


def _measured(scope: Scope, systems: Sequence[SystemRuns]) -> Results:
    """Return the measures of ``systems``, written to ``summary.json``, ``per_topic.json`` and ``report.html``."""
    from heed.report.page import write_page
    from heed.report.results import read_tree
    from heed.report.topics.topics_file import write_topics_file

    collection, folder = scope.collection, scope.folder
    write_topics_file(folder, collection, scope.index_folder / "documents", scope.documents)
    runs = {(system.name, condition): run for system in systems for condition, run in system.contents().items()}
    results, moved, against = _evaluated(scope, runs)
    write_json(folder / "summary.json", results.summary())
    if results.rows:
        with timed("report"):
            measured = results.as_folder(folder, moved)._replace(against_query=against)
            write_page(read_tree(folder, measured), folder, folder / "report.html")
    else:
        (folder / "report.html").unlink(missing_ok=True)  # of earlier judgements
    return results


def _evaluated(scope: Scope, runs: Runs) -> tuple[Results, list[Shift], list[AgainstQuery]]:
    topics = scope.collection.topics
    with timed("measures"):
        moved = shifts(runs, scope.judging, topics)
        details = evaluate(runs, scope.judging, topics, scope.size)
        against = against_query(runs, scope.judging, topics, details)
        write_json(scope.folder / "per_topic.json", {"rows": details, "shifts": moved, "against_query": against})
        return scope.results(details), moved, against

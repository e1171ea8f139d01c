"""The systems of an experiment measured: figures by topic, their means, and the report of both."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from heed.datasets.collection import Collection
from heed.experiment.manifest import write_manifest
from heed.experiment.result_files import begin_results, earlier_results, judging_recipe, note_results
from heed.experiment.results import Results, SystemRuns
from heed.experiment.run_files import contents, digests_of
from heed.files import write_json
from heed.measures import Measure
from heed.measures.evaluate import Judging, Runs, evaluate, shifts
from heed.measures.summary import Detail, Shift, own_directions
from heed.progress import timed
from heed.reuse import Recipe, program


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

    def results(self, details: Sequence[Detail]) -> Results:
        """Return figures by topic as results, with the warnings so far."""
        directions = own_directions(self.judging.all_measures)
        return Results(self.collection.name, self.collection.subset, details, tuple(self.warnings), directions)


def results_of(scope: Scope, systems: Sequence[SystemRuns], made_by: Recipe) -> Results:
    """Return the measures of ``systems``, whose manifest is ``made_by``: those of an earlier process, or new ones.

    New ones are written, with the manifest and the report.
    """
    recipe = _recipe(scope, systems, made_by)
    earlier = earlier_results(scope.folder, recipe) if recipe else None
    if earlier:
        return scope.results(earlier.details)
    begin_results(scope.folder)
    write_manifest(scope.folder / "manifest.yml", made_by)  # the report reads it
    results = _measured(scope, systems)
    note_results(scope.folder, recipe, scope.warnings)
    return results


def _recipe(scope: Scope, systems: Sequence[SystemRuns], made_by: Recipe) -> Recipe | None:
    """Return the inputs and settings that decide the files of results.

    None where runs may be other than their files, and where a measure of the user's own has no ``config``.
    """
    runs = digests_of({system.name: system.runs for system in systems})
    if any(isinstance(measure, Measure) and measure.config is None for measure in scope.judging.all_measures):
        return None
    return runs and {
        "program": program(),
        "runs": runs,
        "judging": judging_recipe(scope.judging),
        "documents": scope.size,
        "index": os.path.relpath(scope.index_folder, scope.folder),
        "language": scope.collection.language.code,
        "manifest": made_by,
        "warnings": list(scope.warnings),
    }


def _measured(scope: Scope, systems: Sequence[SystemRuns]) -> Results:
    """Return the measures of ``systems``, written to ``summary.json``, ``per_topic.json`` and ``report.html``."""
    from heed.report import results as results_folders
    from heed.report.page import write_page
    from heed.report.topics.topics_file import write_topics_file

    collection, folder = scope.collection, scope.folder
    write_topics_file(folder, collection, scope.index_folder / "documents", scope.documents)
    runs = {(system.name, name): run for system in systems for name, run in contents(system.runs).items()}
    results, moved = _evaluated(scope, runs)
    write_json(folder / "summary.json", results.summary())
    if results.rows:
        about = (".", collection.name, collection.subset, results.rows, [*results.details], moved)
        figures = results_folders.Results(*about, [*results.warnings], folder, lower_is_better=results.lower_is_better)
        with timed("report"):
            write_page(results_folders.read_tree(folder, figures), folder, folder / "report.html")
    else:
        (folder / "report.html").unlink(missing_ok=True)  # of earlier judgements
    return results


def _evaluated(scope: Scope, runs: Runs) -> tuple[Results, list[Shift]]:
    topics = scope.collection.topics
    with timed("measures"):
        moved = shifts(runs, scope.judging, topics)
        details = evaluate(runs, scope.judging, topics, scope.size)
        write_json(scope.folder / "per_topic.json", {"rows": details, "shifts": moved})
        return scope.results(details), moved

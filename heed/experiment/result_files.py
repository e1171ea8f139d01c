"""Results files: what was measured and drawn from the same inputs is used again, down to the last file.

Measures and pages take seconds, and change with the program: their recipe holds :func:`heed.reuse.program`, so that
nothing of an older program is ever shown.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from heed.files import digest, read_bytes
from heed.measures import Measure
from heed.measures.evaluate import Judging
from heed.measures.summary import Detail
from heed.progress import log, warn
from heed.reuse import RESULTS, Note, Recipe, read_note, rebuild_reason, write_note
from heed.types import subtopics_of

FILES = ("summary.json", "per_topic.json", "topics.json", "report.html", "manifest.yml")
OF_RESULTS = ("summary.json", "per_topic.json")  # in folders below too, which the report shows


class EarlierResults(NamedTuple):
    """Earlier results: each figure with its topics, and all warnings."""

    details: list[Detail]
    warnings: list[str]


def earlier_results(folder: Path, recipe: Recipe) -> EarlierResults | None:
    """Return the results in ``folder`` if they are those of ``recipe`` and nobody has changed a file of them."""
    path = folder / RESULTS
    reason, note = rebuild_reason(path, recipe, lambda: _digests(folder)), read_note(path)
    if reason is not None or note is None:
        if path.exists():
            log.info(f"{folder}/summary.json, report.html and more: {reason}")
        return None
    log.info(f"{folder}/summary.json, report.html and more: used again, runs and judgements are the same")
    warnings: list[str] = note.facts["warnings"]
    for warning in warnings:
        warn(warning)
    return EarlierResults(json.loads(read_bytes(folder / "per_topic.json"))["rows"], warnings)


def begin_results(folder: Path) -> None:
    """Note that the files in ``folder`` are being written: a process that is killed while it does leaves this note."""
    write_note(folder / RESULTS, Note({}, {}, finished=False))


def note_results(folder: Path, recipe: Recipe | None, warnings: list[str]) -> None:
    """Note that the files in ``folder`` are those of ``recipe``, with these warnings in all; nothing without one."""
    if recipe:
        write_note(folder / RESULTS, Note(recipe, _digests(folder), {"warnings": warnings}))
    else:
        (folder / RESULTS).unlink()


def _digests(folder: Path) -> dict[str, str]:
    paths = {folder / name for name in FILES}.union(*(folder.rglob(name) for name in OF_RESULTS))
    return {str(path.relative_to(folder)): digest(path) for path in sorted(paths) if path.exists()}


def judging_recipe(judging: Judging) -> str:
    """Return a digest of all that decides measures apart from the runs; the order of judgements is part of it.

    A measure of the user's own is known by its ``config``.
    """
    subtopics = {
        condition: {qid: subtopics_of(grades) for qid, grades in qrels.items()}
        for condition, qrels in judging.qrels.items()
    }
    sets = [
        {qid: sorted(docids) for qid, docids in of_topics.items()} for of_topics in (judging.traps, judging.excluded)
    ]
    settings = judging._replace(traps={}, excluded={})
    text = json.dumps([settings, subtopics, sets], ensure_ascii=False, default=_measure_recipe)
    return hashlib.sha256(text.encode()).hexdigest()


def _measure_recipe(measure: Measure) -> list[Any]:
    return [measure.name, measure.of, measure.lower_is_better, measure.config]

"""Results files: what was measured and drawn from the same inputs is used again, down to the last file.

Measures and pages take seconds, and change with the program: their recipe holds the digest of Heed's own files and
the versions of all packages, so that nothing of an older program is ever shown.
"""

import hashlib
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from heed.files import digest, digest_json, read_bytes, write_json
from heed.measures import Measure
from heed.measures.evaluate import Judging
from heed.measures.summary import Detail
from heed.progress import log, warn
from heed.report.results import NOTE, UNFINISHED
from heed.reuse import Recipe, rebuild_reason
from heed.types import subtopics_of

FILES = ("summary.json", "per_topic.json", "topics.json", "report.html", "manifest.yml")
OF_RESULTS = ("summary.json", "per_topic.json")  # in folders below too, which the report shows


class Earlier(NamedTuple):
    """Earlier results: each figure with its topics, and all warnings."""

    details: list[Detail]
    warnings: list[str]


def earlier_results(folder: Path, recipe: Recipe) -> Earlier | None:
    """Return the results in ``folder`` if they are those of ``recipe`` and nobody has changed a file of them."""
    note = folder / NOTE
    if rebuild_reason(note, recipe, lambda noted: noted["files"] == _digests(folder)) is not None:
        return None
    log.info(f"{folder}/summary.json, report.html and more: used again, runs and judgements are the same")
    warnings = json.loads(read_bytes(note))["warnings"]
    for warning in warnings:
        warn(warning)
    return Earlier(json.loads(read_bytes(folder / "per_topic.json"))["rows"], warnings)


def forget_results(folder: Path) -> None:
    """Let the files in ``folder`` be written again: a process that is killed while it does leaves this note."""
    write_json(folder / NOTE, UNFINISHED)


def note_results(folder: Path, recipe: Recipe | None, warnings: list[str]) -> None:
    """Note that the files in ``folder`` are those of ``recipe``, with these warnings in all; nothing without one."""
    if recipe:
        write_json(folder / NOTE, {"recipe": recipe, "files": _digests(folder), "warnings": warnings})
    else:
        (folder / NOTE).unlink()


def _digests(folder: Path) -> dict[str, str]:
    paths = {folder / name for name in FILES}.union(*(folder.rglob(name) for name in OF_RESULTS))
    return {str(path.relative_to(folder)): digest(path) for path in sorted(paths) if path.exists()}


def judging_recipe(judging: Judging) -> str:
    """Return a digest of all that decides measures beside the runs; the order of judgements is part of it.

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


@cache
def program() -> str:
    """Return a digest of Heed's files, Python's version and the names and versions of the installed packages."""
    root = Path(__file__).parents[1]
    own = {str(path.relative_to(root)): digest(path) for path in root.rglob("*") if _is_source(path)}
    packages = sorted(path.name for place in sys.path for path in Path(place or ".").glob("*-info"))
    return digest_json([own, packages, sys.version])


def _is_source(path: Path) -> bool:
    return path.suffix != ".pyc" and path.is_file()

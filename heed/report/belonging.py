"""Whether the figures of a results folder are those of its runs: a command may have been killed between the two."""

import json
from pathlib import Path

from heed.errors import HeedError
from heed.files import digest, read_bytes
from heed.progress import brief

NOTE = Path(".made") / "results.json"
UNFINISHED = {"unfinished": True}  # in place of the note while figures are written
AGAIN = "run the command that made them once more (what is complete is used again)"


def doubt(folder: Path) -> str:
    """Return what is doubtful about the figures in ``folder``; empty if nothing is, or nothing is noted of them.

    The note has the digests of the runs that were measured (:func:`heed.experiment.result_files.note_results`).
    """
    note = folder / NOTE
    if not note.exists():
        return ""
    try:
        noted = json.loads(read_bytes(note))
        if noted == UNFINISHED:
            return f"The writing of these figures was stopped, so that they may be those of earlier runs; {AGAIN}."
        by_system = noted["recipe"]["runs"].items()
        measured = {f"{name}.{condition}.run": sha for name, runs in by_system for condition, sha in runs.items()}
    except (ValueError, KeyError, TypeError, AttributeError, HeedError):  # another version's, or damaged
        return f"It is not known whether these figures are those of the runs: {NOTE} cannot be read; {AGAIN}."
    runs = [path for path in sorted(folder.glob("*.run")) if path.name in measured]
    other = [path.name for path in runs if digest(path) != measured[path.name]]
    return f"These figures are not those of the runs: {brief(other)} changed since; {AGAIN}." if other else ""

"""How an artifact was made, kept beside it, so that a second run knows whether it may be used again.

A *recipe* is plain JSON data: settings, versions and the digests of the inputs. An artifact is
used again only if its recipe is the same and its files are as they were left.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipelines.errors import HeedError
from pipelines.files import digest, finished_folder, read_bytes, write_json
from pipelines.progress import say

Recipe = dict[str, Any]
NOTE = "made.json"


def folder_as_made(folder: Path, recipe: Recipe, build: Callable[[Path], None]) -> Path:
    """``folder`` as ``build`` leaves it for ``recipe``: used again if it is the same, else built anew.

    ``build`` fills an empty folder; a failure leaves what stood there before.
    """
    reason = difference(folder / NOTE, recipe, lambda note: sizes(folder) == note["files"])
    if reason is None:
        say(f"{folder}: used again, inputs and settings are the same")
        return folder
    say(f"{folder}: {reason}")
    with finished_folder(folder) as part:
        build(part)
        write_json(part / NOTE, {"recipe": recipe, "files": sizes(part)})
    return folder


def file_as_made(path: Path, recipe: Recipe, build: Callable[[], None]) -> bool:
    """Make sure that ``path`` is what ``build`` writes for ``recipe``; True if it was used again.

    The note lies in ``.made/`` beside it and carries the file's digest.
    """
    note = path.parent / ".made" / f"{path.name}.json"
    reason = difference(note, recipe, lambda made: path.exists() and digest(path) == made["sha256"])
    if reason is None:
        return True
    if note.exists():
        say(f"{path}: {reason}")
    note.unlink(missing_ok=True)
    build()
    write_json(note, {"recipe": recipe, "sha256": digest(path)})
    return False


def difference(note: Path, recipe: Recipe, intact: Callable[[dict[str, Any]], bool]) -> str | None:
    """None when the artifact of ``note`` can be used again, else why it is built."""
    if not note.exists():
        return "building"
    try:
        made = json.loads(read_bytes(note))
        changes = _changes(made["recipe"], json.loads(json.dumps(recipe)))
        if changes:
            return "rebuilding, " + "; ".join(changes)
        return None if intact(made) else "rebuilding, its files are not as they were left"
    except (ValueError, KeyError, TypeError, HeedError):
        return "rebuilding, its note cannot be read"


def _changes(old: Recipe, new: Recipe, prefix: str = "") -> list[str]:
    told = []
    for key in sorted(old.keys() | new.keys()):
        before, after = old.get(key), new.get(key)
        if isinstance(before, dict) and isinstance(after, dict):
            told += _changes(before, after, f"{prefix}{key}.")
        elif before != after:
            told.append(f"{prefix}{key} was {_brief(before)} and is now {_brief(after)}")
    return told


def _brief(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:37]}…"


def sizes(folder: Path) -> dict[str, int]:
    """Size in bytes of every file under ``folder`` but the note; a cut or missing file shows at once."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != NOTE)
    return {str(path.relative_to(folder)): path.stat().st_size for path in sorted(found)}

"""How an artifact was made, kept beside it, so that a second run knows whether it may be used again.

A *recipe* is plain JSON data: settings, versions and the digests of the inputs. An artifact is
used again only if its recipe is the same and its files are as they were left.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from heed.errors import HeedError
from heed.io.files import digest, finished_folder, read_bytes, write_json
from heed.progress import log

Recipe = dict[str, Any]
NOTE = "made.json"
Signature = dict[str, tuple[int, int]]
_read: dict[Path, tuple[Signature, dict[str, str]]] = {}  # folders whose digests were found right


def folder_as_made(folder: Path, recipe: Recipe, build: Callable[[Path], None]) -> Path:
    """``folder`` as ``build`` leaves it for ``recipe``: used again if it is the same, else built anew.

    ``build`` fills an empty folder; a failure leaves what stood there before.
    """
    reason = difference(folder / NOTE, recipe, lambda note: as_left(folder, note["files"]))
    if reason is None:
        log.info(f"{folder}: used again, inputs and settings are the same")
        return folder
    log.info(f"{folder}: {reason}")
    with finished_folder(folder) as part:
        build(part)
        write_json(part / NOTE, {"recipe": recipe, "files": digests(part)})
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
        log.info(f"{path}: {reason}")
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


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of every file under ``folder`` but the note."""
    return {name: digest(folder / name) for name in _signature(folder)}


def as_left(folder: Path, files: Mapping[str, str]) -> bool:
    """Whether the files under ``folder`` are those of ``files``, name -> SHA-256, and no other.

    What this process has read once, and nobody has touched since, is not read again.
    """
    signature = _signature(folder)
    if signature.keys() != files.keys():
        return False
    if _read.get(folder) != (signature, files):
        if digests(folder) != files:
            return False
        _read[folder] = signature, dict(files)
    return True


def _signature(folder: Path) -> Signature:
    """Size in bytes and time of change in nanoseconds of every file under ``folder`` but the note."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != NOTE)
    return {str(path.relative_to(folder)): ((stat := path.stat()).st_size, stat.st_mtime_ns) for path in paths}

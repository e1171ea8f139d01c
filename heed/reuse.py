"""Files and folders that are built once: a note beside each says from what, so that a second run can reuse it.

A *recipe* is plain JSON data: settings, versions and the digests of the inputs. A file or folder is
reused only if its recipe is the same and nobody has changed it.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

from heed.errors import HeedError
from heed.files import digest, finished_folder, read_bytes, write_json
from heed.progress import log

Recipe = dict[str, Any]
NOTE = "made.json"
Signature = dict[str, tuple[int, int]]


class Made(NamedTuple):
    """A file of :func:`ensure_file`: whether it was reused, its SHA-256, and what ``build`` noted about it."""

    reused: bool
    sha256: str
    about: Recipe


_read: dict[Path, tuple[Signature, dict[str, str]]] = {}  # folders whose digests were checked
_logged: ContextVar[set[Path] | None] = ContextVar("logged", default=None)


@contextmanager
def logged_once() -> Iterator[None]:
    """Log inside the block of each folder once that it is used again, and not after it was built there."""
    token = _logged.set(set())
    try:
        yield
    finally:
        _logged.reset(token)


def ensure_folder(folder: Path, recipe: Recipe, build: Callable[[Path], None]) -> Path:
    """Return ``folder`` as ``build`` fills it for ``recipe``: reused if it is the same, else built again.

    ``build`` gets an empty folder; if it fails, the earlier folder stays.
    """
    reason = rebuild_reason(folder / NOTE, recipe, lambda note: unchanged(folder, note["files"]))
    logged = _logged.get()
    if reason or logged is None or folder not in logged:
        log.info(f"{folder}: {reason or 'used again, inputs and settings are the same'}")
    if logged is not None:
        logged.add(folder)
    if reason is None:
        return folder
    build_folder(folder, recipe, build)
    return folder


def build_folder(folder: Path, recipe: Recipe, build: Callable[[Path], None]) -> None:
    """Make ``folder`` as :func:`ensure_folder` does where it is not there."""
    with finished_folder(folder) as part:
        build(part)
        write_json(part / NOTE, {"recipe": recipe, "files": digests(part)})


def ensure_file(path: Path, recipe: Recipe, build: Callable[[], Recipe], reuse: bool = True) -> Made:
    """Make sure that ``path`` is what ``build`` writes for ``recipe``.

    Without ``reuse`` it is always built. The note is in ``.made/`` beside it and holds the file's digest, and what
    ``build`` returns: facts about the file that are needed without reading it.
    """
    note = path.parent / ".made" / f"{path.name}.json"
    reason = rebuild_reason(note, recipe, lambda noted: path.exists() and digest(path) == noted["sha256"])
    if reason is None and reuse:
        noted = json.loads(read_bytes(note))
        return Made(True, noted["sha256"], noted.get("about", {}))
    if note.exists() and reason:
        log.info(f"{path}: {reason}")
    note.unlink(missing_ok=True)
    about = build()
    sha256 = digest(path)
    write_json(note, {"recipe": recipe, "sha256": sha256, "about": about})
    return Made(False, sha256, about)


def rebuild_reason(note: Path, recipe: Recipe, intact: Callable[[dict[str, Any]], bool]) -> str | None:
    """Return why the artifact of ``note`` must be built; None if it can be reused."""
    if not note.exists():
        return "building"
    try:
        noted = json.loads(read_bytes(note))
        changes = _changes(noted["recipe"], json.loads(json.dumps(recipe)))
        if changes:
            return "rebuilding, " + "; ".join(changes)
        return None if intact(noted) else "rebuilding, its files are not as they were left"
    except (ValueError, KeyError, TypeError, HeedError):
        return "rebuilding, its note cannot be read"


def _changes(old: Recipe, new: Recipe, prefix: str = "") -> list[str]:
    changes = []
    for key in sorted(old.keys() | new.keys()):
        before, after = old.get(key), new.get(key)
        if isinstance(before, dict) and isinstance(after, dict):
            changes += _changes(before, after, f"{prefix}{key}.")
        elif before != after:
            changes.append(f"{prefix}{key} was {_brief(before)} and is now {_brief(after)}")
    return changes


def _brief(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:37]}…"


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file under ``folder`` but the note."""
    return {name: digest(folder / name) for name in _signature(folder)}


def unchanged(folder: Path, files: Mapping[str, str]) -> bool:
    """Return whether the files under ``folder`` are exactly those of ``files``, name -> SHA-256.

    Files that this process has checked before, and that have not changed since, are not read again.
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
    """Return size in bytes and time of change in nanoseconds of every file under ``folder`` but the note."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != NOTE)
    return {str(path.relative_to(folder)): ((stat := path.stat()).st_size, stat.st_mtime_ns) for path in paths}

"""Why something is made again, or used again: notes of what was made from what, and the version of each way of making.

A *recipe* is plain JSON data: settings, versions and the digests of inputs. A *note* holds the recipe of files, and
their digests; a file or folder is used again only where its recipe is the same and nobody has changed it. There is one
form of note, in four places: ``made.json`` in a folder that is made as a whole, ``.made/<file>.json`` beside a file,
``.made/results.json`` in a folder of results, and ``.made/source.json`` in one of indexes.
"""

import json
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from heed.errors import DataError, HeedError
from heed.files import OPENED, digest, digest_json, finished_folder, part_and_old, read_bytes, write_json
from heed.progress import brief, log
from heed.types import Query

Recipe = dict[str, Any]
NOTE = "made.json"
RESULTS = Path(".made") / "results.json"  # in a folder of results
SOURCE = Path(".made") / "source.json"  # in a folder of indexes: where its documents are from
DIGEST = re.compile(r'"([0-9a-f]{32}|[0-9a-f]{64})"')  # a SHA-256, or the random text of a system without a config


# by the key that a recipe has; raise one when the thing is made in another way, so that nothing older is used again
VERSIONS = {
    # documents, indexes and vectors
    "store": 6,
    "tables": 3,
    "index": 2,
    "postings": 3,
    "index made elsewhere": 3,
    "vectors": 1,
    "vectors made elsewhere": 3,
    "faiss": 1,
    "lsa": 3,
    # runs, and the scores of systems
    "run": 4,
    "polarity": 11,
    "passages": 2,
    "decompose": 3,
    "similarity": 2,
    "fusion": 1,
    "fused": 1,
    "cross-encoder": 2,
    "yes-no": 1,
    "block": 1,
    "reasoning": 3,
    "listwise": 4,
    "vllm": 1,
    "late": 2,
    "sparse": 1,
    "maxsim": 1,
    "api": 1,
    "rerank": 1,
    "answer": 1,
    # spans of instructions, for pages
    "readings": 1,
    # what is written for good
    "train": 1,
    "annotations": 2,
}
CHANGED = {  # how the log calls an input whose digest is in a recipe
    "documents": "the documents have changed",
    "topics": "the topics have changed",
    "pool": "the pool has changed",
    "scores": "its scores have changed",
    "encoder": "the encoder has changed",
    "data": "the examples have changed",
    "reader": "the reader of instructions has changed",
}


def queries_digest(queries: Iterable[Query]) -> str:
    """Return the digest of queries; how a person has read an instruction is a part of it where one has."""
    return digest_json([tuple(query) if query.reading else tuple(query)[:-1] for query in queries])


def recipe_version(key: str) -> int:
    """Return the version of what a recipe calls ``key``."""
    return VERSIONS[key]


class Note(NamedTuple):
    """What files were made from: the recipe, the SHA-256 of each file, and facts that are needed without reading them.

    One that is not ``finished`` is of files that are being made: those it lists are complete.
    """

    recipe: Recipe
    files: Mapping[str, str]
    facts: Recipe = {}  # noqa: RUF012 (of a NamedTuple, which nobody changes)
    finished: bool = True


def note_of(path: Path) -> Path:
    """Return where the note of the file ``path`` is."""
    return path.parent / ".made" / f"{path.name}.json"


def write_note(path: Path, note: Note) -> None:
    """Write ``note`` to ``path``."""
    content: Recipe = {"recipe": note.recipe} if note.recipe else {}
    state = {} if note.finished else {"unfinished": True}
    write_json(path, {**content, **note.facts, "files": note.files, **state})


def read_note(path: Path) -> Note | None:
    """Return the note in ``path``; None where there is none that can be read."""
    try:
        content = json.loads(read_bytes(path))
        recipe, files = dict(content.pop("recipe", {})), dict(content.pop("files", {}))
        return Note(recipe, files, finished=not content.pop("unfinished", False), facts=content)
    except (ValueError, KeyError, TypeError, AttributeError, HeedError):
        return None


def rebuild_reason(path: Path, recipe: Recipe, digests: Callable[[], Mapping[str, str]]) -> str | None:
    """Return in words why what the note in ``path`` is about must be made; None if it can be used again.

    ``digests`` returns the files that are there, with their SHA-256.
    """
    if not path.exists():
        return "building"
    note = read_note(path)
    if note is None:
        return "rebuilding, its note cannot be read"
    changes = differences(note.recipe, recipe)
    if changes:
        return f"rebuilding, {'; '.join(changes)}"
    if not note.finished:
        return "building, it was stopped before its end"
    present = digests()
    if note.files == present:
        return None
    other = sorted(name for name in note.files.keys() | present.keys() if note.files.get(name) != present.get(name))
    return f"rebuilding, not as it was left: {brief(other)}"


def differences(old: Recipe, new: Recipe, parents: str = "") -> list[str]:
    """Return in words each input and setting that differs between two recipes.

    ``parents`` are the keys, each with a dot, of the recipe that these are part of.
    """
    changes, new = [], json.loads(json.dumps(new))
    for key in sorted(old.keys() | new.keys()):
        before, after = old.get(key), new.get(key)
        if isinstance(before, dict) and isinstance(after, dict):
            changes += differences(before, after, f"{parents}{key}.")
        elif before != after:
            changes.append(_in_words(key, f"{parents.partition('.')[2]}{key}", before, after))
    return list(dict.fromkeys(changes))


def _in_words(key: str, label: str, before: Any, after: Any) -> str:
    if key in VERSIONS and _version_in(before) != _version_in(after):
        return f"Heed has another way of making this ({key})"
    if not (_has_digest(before) or _has_digest(after)):
        return f"{label} was {_brief(before)} and is now {_brief(after)}"
    if before is None or after is None:
        return f"{label} is {'new' if before is None else 'gone'}"
    return CHANGED.get(key, f"{label} has changed")


def _version_in(value: Any) -> int | None:
    """Return the version that a recipe holds as ``value``, or as the first item of it."""
    first = value[0] if isinstance(value, list) and value else value
    return first if type(first) is int else None


def _has_digest(value: Any) -> bool:
    return DIGEST.search(json.dumps(value)) is not None


def _brief(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:37]}…"


def folder_reason(folder: Path, recipe: Recipe) -> str | None:
    """Return in words why ``folder`` must be made, as :func:`rebuild_reason` does."""
    return rebuild_reason(folder / NOTE, recipe, lambda: digests(folder))


def unchanged_note(folder: Path) -> Note | None:
    """Return the note in a finished folder whose files are as they were left; None for another."""
    note = read_note(folder / NOTE)
    return note if note and note.finished and note.files == digests(folder) else None


def is_begun(folder: Path, recipe: Recipe) -> bool:
    """Return whether ``folder`` was begun for ``recipe``, or is finished and unchanged."""
    note = read_note(folder / NOTE)
    begun = note is not None and not note.finished and note.recipe == json.loads(json.dumps(recipe))
    return begun or folder_reason(folder, recipe) is None


def ensure_folder(folder: Path, recipe: Recipe, build: Callable[[Path], Recipe | None], goes_on: bool = False) -> Path:
    """Build ``folder`` for ``recipe``, unless it is there by the same recipe and unchanged; return it.

    ``build`` gets an empty folder, and may return facts for the note; if it fails, the earlier folder stays. One that
    ``goes_on`` gets what it had made for the same recipe when it was stopped.
    """
    reason = folder_reason(folder, recipe)
    opened = OPENED.get()
    if reason or opened is None or folder.absolute() not in opened:
        log.info(f"{folder}: {reason or 'used again, inputs and settings are the same'}")
    if opened is not None:
        opened.add(folder.absolute())
    if reason is None:
        for left in part_and_old(folder):  # begun for another recipe, or left by a kill
            shutil.rmtree(left, ignore_errors=True)
    else:
        with finished_folder(folder, partial(is_begun, recipe=recipe) if goes_on else None) as part:
            if folder_reason(part, recipe) is None:
                return folder  # finished by a process that was killed before its renaming
            if goes_on and not (part / NOTE).exists():
                write_note(part / NOTE, Note(recipe, {}, finished=False))
            facts = build(part)
            write_note(part / NOTE, Note(recipe, digests(part), facts or {}))
    return folder


def folder_note(folder: Path) -> Note:
    """Return the note in a folder of :func:`ensure_folder`; raises :class:`DataError` where there is none."""
    note = read_note(folder / NOTE)
    if note is None:
        raise DataError(f"{folder / NOTE}: no note that can be read; remove the folder, it is made again")
    return note


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file under ``folder`` but the note."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != NOTE)
    return {str(path.relative_to(folder)): digest(path) for path in paths}

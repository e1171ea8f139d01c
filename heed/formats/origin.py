"""Where the documents of a folder of results or indexes are from: no other collection of its name overwrites it.

Documents that were edited in place are built again; other documents from another place are another collection.
"""

import os
from dataclasses import asdict, dataclass
from pathlib import Path

from msgspec import ValidationError, convert

from heed.errors import DataError
from heed.files import digest_json
from heed.formats.document_store import DocumentStore, open_store
from heed.formats.documents import Source
from heed.reuse import SOURCE, Note, read_note, write_note


@dataclass(frozen=True)
class Origin:
    """The digest of a folder's documents, and the files, folders or data set that they are from."""

    documents: str
    places: list[str]


def open_documents(source: Source, index: Path, *others: Path) -> DocumentStore:
    """Return the documents of ``source``, stored below ``index``; it and ``others`` note where these are from.

    Raises :class:`DataError`, before anything is written, if one of these folders is of other documents from other
    places. Sources without ``places`` (files and folders, or the id of a data set), and folders that do not say, are
    taken as they come.
    """
    folders = (*others, index)
    for folder in folders:
        _check(folder, source)
    store = open_store(index / "documents", source)
    for folder in folders:
        _note(folder, source, store.digest)
    return store


def _check(folder: Path, source: Source) -> None:
    earlier, places = _origin(folder), _relative(source, folder)
    if not earlier or not places or _meet(earlier.places, places):
        return
    if digest_json(source.recipe) != earlier.documents:
        others = ", ".join(_shown(folder, path) for path in earlier.places)
        raise DataError(
            f"{folder}: is of another collection of this name, whose documents are {others}; asked for are those of "
            f"{source}; give this collection another name (--name) or other folders (--out and --indexes), or remove "
            "this one"
        )


def _note(folder: Path, source: Source, documents: str) -> None:
    """Write into ``folder`` where its documents, of digest ``documents``, are from."""
    earlier, places = _origin(folder), _relative(source, folder)
    if not places:
        return
    if earlier and earlier.documents == documents:
        places = sorted({*places, *earlier.places})
    if earlier != (origin := Origin(documents, places)):
        write_note(folder / SOURCE, Note(asdict(origin), {}))


def _origin(folder: Path) -> Origin | None:
    """Return where the documents of ``folder`` are from; None without a note that can be read."""
    note = read_note(folder / SOURCE)
    if note is None:
        return None
    try:
        return convert(note.recipe, Origin)
    except ValidationError:
        return None


def _relative(source: Source, folder: Path) -> list[str]:
    """Return the places as seen from ``folder``, so that a project can be moved as a whole; links stay links."""
    places: list[str] = getattr(source, "places", [])
    return sorted(os.path.relpath(path, folder) if Path(path).exists() else path for path in places)


def _shown(folder: Path, name: str) -> str:
    path = os.path.normpath(folder / name)
    return path if name.startswith(os.pardir) or Path(path).exists() else name


def _meet(before: list[str], now: list[str]) -> bool:
    """Whether a file or folder is among both, or in one of the other's."""
    pairs = [(Path(earlier), Path(path)) for earlier in before for path in now]
    return any(path.is_relative_to(earlier) or earlier.is_relative_to(path) for earlier, path in pairs)

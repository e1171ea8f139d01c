"""Where the documents of a folder of results or indexes are from: no other collection of its name overwrites it.

Documents that were edited in place are built again; other documents from another place are another collection.
"""

import json
import os
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from heed.errors import DataError, HeedError
from heed.files import digest_json, read_bytes, write_json
from heed.formats.document_store import DocumentStore, open_store
from heed.formats.documents import Source

NOTE = Path(".made") / "source.json"


@runtime_checkable
class Placed(Protocol):
    """A source that knows where its documents are."""

    @property
    def places(self) -> list[str]:
        """Files and folders, or the id of a data set."""


def noted_documents(source: Source, index: Path, *others: Path) -> DocumentStore:
    """Return the documents of ``source``, stored below ``index``; it and ``others`` note where these are from.

    Raises :class:`DataError` as :func:`check_origin` does, before anything is written.
    """
    folders = (*others, index)
    for folder in folders:
        check_origin(folder, source)
    store = open_store(index / "documents", source)
    for folder in folders:
        note_origin(folder, source, store.digest)
    return store


def check_origin(folder: Path, source: Source) -> None:
    """Raise :class:`DataError` if ``folder`` is of other documents than those of ``source``, from other places.

    Sources without places, and folders that do not say, are taken as they come.
    """
    noted = _noted(folder)
    if not noted or not isinstance(source, Placed) or _meet(noted["places"], _relative(source, folder)):
        return
    if digest_json(source.recipe) != noted["documents"]:
        others = ", ".join(_shown(folder, place) for place in noted["places"])
        raise DataError(
            f"{folder}: is of another collection of this name, whose documents are {others}; asked for are those of "
            f"{source}; give this collection another name (--name) or other folders (--out and --indexes), or remove "
            "this one"
        )


def note_origin(folder: Path, source: Source, documents: str) -> None:
    """Write into ``folder`` where its documents, of digest ``documents``, are from."""
    if not isinstance(source, Placed):
        return
    noted, places = _noted(folder), _relative(source, folder)
    if noted and noted["documents"] == documents:
        places = sorted({*places, *noted["places"]})
    if noted != (note := {"documents": documents, "places": places}):
        write_json(folder / NOTE, note)


def _noted(folder: Path) -> dict[str, Any]:
    """Return the note of ``folder``; empty without one that can be read."""
    try:
        noted = json.loads(read_bytes(folder / NOTE))
        return {"documents": str(noted["documents"]), "places": list(map(str, noted["places"]))}
    except (ValueError, KeyError, TypeError, HeedError):
        return {}


def _relative(source: Placed, folder: Path) -> list[str]:
    """Return the places as seen from ``folder``, so that a project can be moved as a whole; links stay links."""
    return sorted(os.path.relpath(place, folder) if Path(place).exists() else place for place in source.places)


def _shown(folder: Path, place: str) -> str:
    path = os.path.normpath(folder / place)
    return path if place.startswith(os.pardir) or Path(path).exists() else place


def _meet(before: list[str], now: list[str]) -> bool:
    """Whether a file or folder is among both, or in one of the other's."""
    paths = [(Path(one), Path(other)) for one in before for other in now]
    return any(one.is_relative_to(other) or other.is_relative_to(one) for one, other in paths)

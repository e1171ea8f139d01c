"""The ids of a collection in 8 bytes each, enough to test whether a docid is among millions."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from heed.errors import SHOWN, DataError, fail
from heed.io.document_store import FILE as DOCSTORE
from heed.io.files import read_lines
from heed.languages import LANGUAGES
from heed.progress import bar


class CollectionIds:
    """The ids of one or several collections, by language; the language is empty where it is not given.

    Holds 64 bits of each docid's hash: among ten million documents an unknown id is accepted
    with a probability of 5 in 10¹³.
    """

    def __init__(self) -> None:
        self._hashes: dict[str, array[int]] = {}

    def __len__(self) -> int:
        """Return the number of documents."""
        return sum(map(len, self._hashes.values()))

    def add(self, docids: Iterable[str], language: str = "") -> None:
        """Add documents of one language; each may be repeated."""
        import numpy as np

        hashes = array("q", map(hash, docids))
        hashes.extend(self._hashes.get(language, array("q")))
        self._hashes[language] = array("q", np.unique(np.frombuffer(hashes, dtype=np.int64)).tobytes())

    def language(self, docid: str) -> str | None:
        """Return the document's language, None for an unknown document."""
        wanted = hash(docid)
        for language, hashes in self._hashes.items():
            index = bisect_left(hashes, wanted)
            if index < len(hashes) and hashes[index] == wanted:
                return language
        return None


def read_collection_ids(docs: Sequence[str], lists: Sequence[str]) -> CollectionIds:
    """Read the ids of ``docs`` and ``lists``, each ``PATH`` or ``LANG=PATH``.

    ``docs`` are documents as for the collection commands: .jsonl, .parquet, folders of them, ids of
    ir_datasets (which have a language). ``lists`` are files of one docid a line, or a
    ``documents`` folder in the indexes of a collection command. Raises
    :class:`DataError` naming each bad line, and for an empty collection.
    """
    ids = CollectionIds()
    for text in lists:
        language, path = _split_language(text)
        ids.add(bar(_listed(Path(path)), 0, f"ids of {path}", "ids"), language)
    for text in docs:
        language, path = _split_language(text)
        if Path(path).exists():
            ids.add(bar(_documents(Path(path)), 0, f"ids of {path}", "documents"), language)
        else:
            _add_dataset(ids, language, path)
    if not len(ids):
        raise DataError(f"{', '.join([*docs, *lists])}: no document in it; expected a collection or a list of ids")
    return ids


def _split_language(text: str) -> tuple[str, str]:
    """Return language and path of ``zho=PATH``; the language is empty where none is given."""
    language, equals, path = text.partition("=")
    return (language, path) if equals and language in LANGUAGES and not Path(text).exists() else ("", text)


def _listed(path: Path) -> Iterator[str]:
    if path.is_dir():
        from heed.io.document_store import DocumentStore

        if not (path / DOCSTORE).is_file():
            raise DataError(f"{path}: no {DOCSTORE} in this folder; expected a file of ids, or indexes/…/documents")
        yield from DocumentStore(path, "").docids()
        return
    problems = []
    for line_no, line in read_lines(path):
        docid = line.strip()
        if len(docid.split()) > 1:
            problems.append(f"{path}, line {line_no}: found {docid[:60]!r}, expected one docid a line")
            if len(problems) > SHOWN:
                break
        elif docid:
            yield docid
    fail(problems)


def _documents(path: Path) -> Iterator[str]:
    from heed.io.documents import Files

    problems = []
    for line in Files([path]).lines():
        if line.document:
            yield line.document.docid
        else:
            problems.append(f"{line.path}, line {line.line_no}: {line.problem}")
            if len(problems) > SHOWN:
                break
    fail(problems)


def _add_dataset(ids: CollectionIds, language: str, name: str) -> None:
    """Add the documents of an ir_datasets id; NeuCLIR's and HC4's are read from the file itself."""
    from heed.datasets import neuclir_files as irds
    from heed.datasets.irds import IrDataset, language_of

    known = irds.parse_id(name)
    if known:
        path = irds.documents_file(known[0], known[1])
        ids.add(bar(_documents(path), 0, f"ids of {name}", "documents"), language or known[1])
        return
    lines = IrDataset(name).lines()
    short = language_of(name)
    code = next((entry.code for entry in LANGUAGES.values() if entry.short == short), "")
    ids.add((line.document.docid for line in bar(lines, 0, name, "documents") if line.document), language or code)

"""Which documents a collection holds, in 8 bytes each: enough to tell whether a docid is among millions."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from heed.errors import SHOWN, HeedError, fail
from heed.io.document_store import FILE as DOCSTORE
from heed.io.files import read_lines
from heed.languages import LANGUAGES
from heed.progress import bar


class Members:
    """The documents of one or several collections, by language; the language is empty where nobody told it.

    Holds 64 bits of each docid's hash: among ten million documents a foreign id passes
    with a chance of 5 in 10¹³.
    """

    def __init__(self) -> None:
        self._hashes: dict[str, array[int]] = {}

    def __len__(self) -> int:
        """How many documents there are."""
        return sum(map(len, self._hashes.values()))

    def add(self, docids: Iterable[str], language: str = "") -> None:
        """Take in documents of one language; each may come more than once."""
        import numpy as np

        found = array("q", map(hash, docids))
        found.extend(self._hashes.get(language, array("q")))
        self._hashes[language] = array("q", np.unique(np.frombuffer(found, dtype=np.int64)).tobytes())

    def language(self, docid: str) -> str | None:
        """The document's language, None for one that is not here."""
        wanted = hash(docid)
        for language, hashes in self._hashes.items():
            place = bisect_left(hashes, wanted)
            if place < len(hashes) and hashes[place] == wanted:
                return language
        return None


def read_members(docs: Sequence[str], lists: Sequence[str]) -> Members:
    """The documents that ``--docs`` and ``--docids`` name, each ``PATH`` or ``LANG=PATH``.

    ``docs`` are what the collection commands read: .jsonl, .parquet, folders of them, ids of
    ir_datasets (which tell their language). ``lists`` are files of one docid a line, or a
    ``documents`` folder that a collection command left in its indexes. Raises
    :class:`HeedError` naming each bad line, and for an empty collection.
    """
    members = Members()
    for text in lists:
        language, place = _told(text)
        members.add(bar(_listed(Path(place)), 0, f"ids of {place}", "ids"), language)
    for text in docs:
        language, place = _told(text)
        if Path(place).exists():
            members.add(bar(_documents(Path(place)), 0, f"ids of {place}", "documents"), language)
        else:
            _add_dataset(members, language, place)
    if not len(members):
        raise HeedError(f"{', '.join([*docs, *lists])}: no document in it; expected a collection or a list of ids")
    return members


def _told(text: str) -> tuple[str, str]:
    """``(language, path)`` of ``zho=PATH``; the language is empty where none is told."""
    language, equals, path = text.partition("=")
    return (language, path) if equals and language in LANGUAGES and not Path(text).exists() else ("", text)


def _listed(path: Path) -> Iterator[str]:
    if path.is_dir():
        from heed.io.document_store import DocumentStore

        if not (path / DOCSTORE).is_file():
            raise HeedError(f"{path}: no {DOCSTORE} in this folder; expected a file of ids, or indexes/…/documents")
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


def _add_dataset(members: Members, language: str, name: str) -> None:
    """The documents of an ir_datasets id; NeuCLIR's and HC4's are read from the file itself."""
    from heed.datasets import neuclir_files as irds
    from heed.datasets.irds import IrDataset, language_of

    known = irds.parse_id(name)
    if known:
        place = irds.documents_file(known[0], known[1])
        members.add(bar(_documents(place), 0, f"ids of {name}", "documents"), language or known[1])
        return
    lines = IrDataset(name).lines()
    short = language_of(name)
    code = next((one.code for one in LANGUAGES.values() if one.short == short), "")
    members.add((line.document.docid for line in bar(lines, 0, name, "documents") if line.document), language or code)

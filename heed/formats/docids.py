"""The ids of documents, from their files, from a store, or from a list."""

from collections.abc import Iterator
from pathlib import Path

from heed.errors import SHOWN, fail
from heed.files import read_lines, unpacked_name
from heed.formats.document_store import FILE as STORE
from heed.formats.document_store import DocumentStore
from heed.formats.documents import SUFFIXES, DocumentLine, Files
from heed.formats.trec_documents import is_trec_documents
from heed.types import Document

ANY = "latin-1"  # an encoding of files that are not UTF-8 and of which only the ids count, which are ASCII


def read_docids(path: Path) -> Iterator[str]:
    """Yield the ids of ``path``: documents, a folder of them, ``indexes/…/documents``, or a list of one docid a line.

    Raises :class:`heed.errors.DataError` naming each bad line.
    """
    if (path / STORE).is_file():
        yield from DocumentStore(path, "").docids()
        return
    problems = []
    for line in _listed(path) if _is_list(path) else Files([path], ANY).lines():
        if line.document:
            yield line.document.docid
        else:
            problems.append(f"{line.path}, line {line.line_no}: {line.problem}")
            if len(problems) > SHOWN:
                break
    fail(problems)


def _is_list(path: Path) -> bool:
    """Whether a file holds neither TREC's documents nor JSON, which documents may be whatever the file's suffix."""
    if not path.is_file() or unpacked_name(path).endswith(SUFFIXES) or is_trec_documents(path):
        return False
    first = next((text for _, text in read_lines(path) if text.strip()), "")
    return not (first.lstrip().startswith(("{", "[")) or "\t" in first.strip())


def _listed(path: Path) -> Iterator[DocumentLine]:
    for line_no, text in read_lines(path):
        words = text.split()
        if len(words) > 1:
            yield DocumentLine(path, line_no, None, f"found {text.strip()[:60]!r}, expected one docid a line")
        elif words:
            yield DocumentLine(path, line_no, Document(words[0], "", ""))

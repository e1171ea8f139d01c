"""The documents of a collection in one SQLite file: read by docid, and in docid order.

SQLite (standard library) gives crash-safe building, sorting beyond memory and random access in
microseconds. Lucene keeps no text: with stored text every hit would carry its whole document.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from pipelines.documents import Document, read_corpus
from pipelines.errors import SHOWN, HeedError, fail
from pipelines.files import digest, digest_json
from pipelines.made import Recipe, folder_as_made
from pipelines.progress import bar

VERSION = 1  # raise when the stored form changes
FILE = "documents.sqlite"
BATCH = 10_000


class Docstore:
    """An open document store; ``digest`` identifies its inputs."""

    def __init__(self, folder: Path, inputs: str) -> None:
        """Open the store in ``folder``; ``inputs`` is the digest that its users put in their recipes."""
        self.digest = inputs
        self._db = sqlite3.connect(f"file:{folder / FILE}?mode=ro", uri=True, check_same_thread=False)
        self.count: int = self._db.execute("SELECT COUNT(*) FROM documents").fetchone()[0]

    def __iter__(self) -> Iterator[Document]:
        """All documents by docid, so that the order of the input files never matters."""
        for row in self._db.execute("SELECT docid, title, text FROM documents ORDER BY docid"):
            yield Document(*row)

    def get(self, docids: Sequence[str]) -> list[Document]:
        """The documents of ``docids``, in that order; a :class:`HeedError` for one that is not here."""
        found: dict[str, Document] = {}
        for start in range(0, len(docids), 500):
            part = docids[start : start + 500]
            marks = ",".join("?" * len(part))
            wanted = f"SELECT docid, title, text FROM documents WHERE docid IN ({marks})"  # noqa: S608 (question marks)
            rows = self._db.execute(wanted, part)
            found.update((row[0], Document(*row)) for row in rows)
        fail(f"document {docid}: not in the collection" for docid in docids if docid not in found)
        return [found[docid] for docid in docids]

    def missing(self, docids: Sequence[str]) -> list[str]:
        """Those of ``docids`` that the collection does not hold."""
        here = self._db.execute
        return [docid for docid in docids if not here("SELECT 1 FROM documents WHERE docid = ?", (docid,)).fetchone()]


def open_docstore(folder: Path, files: list[Path]) -> Docstore:
    """The store of ``files`` in ``folder``, built unless it is there with the same inputs.

    Raises :class:`HeedError` naming file and line of every document without an id or text and of
    every docid that comes twice, and when there is no document at all.
    """
    inputs = sorted(digest(path) for path in files)
    recipe: Recipe = {"store": VERSION, "documents": inputs}
    folder_as_made(folder, recipe, lambda part: _build(part / FILE, files))
    return Docstore(folder, digest_json(inputs))


def _build(target: Path, files: list[Path]) -> None:
    with closing(sqlite3.connect(target, isolation_level=None)) as db:
        # the whole folder is renamed into place when complete: a journal would only cost time
        db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = FILE;")
        db.execute("CREATE TABLE staged (docid TEXT, title TEXT, text TEXT, file INT, line INT)")
        _stage(db, files)
        fail(_duplicates(db, files))
        db.execute("CREATE TABLE documents (docid TEXT PRIMARY KEY, title TEXT, text TEXT) WITHOUT ROWID")
        db.execute("INSERT INTO documents SELECT docid, title, text FROM staged ORDER BY docid")
        db.execute("DROP TABLE staged")
        db.execute("VACUUM")
        if not db.execute("SELECT EXISTS (SELECT 1 FROM documents)").fetchone()[0]:
            raise HeedError(f"{', '.join(map(str, files))}: no document in it; expected one JSON object a line")


def _stage(db: sqlite3.Connection, files: list[Path]) -> None:
    problems: list[str] = []
    rows: list[tuple[str, str, str, int, int]] = []
    number = {path: index for index, path in enumerate(files)}
    db.execute("BEGIN")
    for line in bar(read_corpus(files), 0, "documents", "documents"):
        if line.document is None:
            problems.append(f"{line.path}, line {line.line_no}: {line.problem}")
            if len(problems) > SHOWN:
                break
            continue
        rows.append((*line.document, number[line.path], line.line_no))
        if len(rows) == BATCH:
            db.executemany("INSERT INTO staged VALUES (?, ?, ?, ?, ?)", rows)
            rows.clear()
    db.executemany("INSERT INTO staged VALUES (?, ?, ?, ?, ?)", rows)
    db.execute("COMMIT")
    fail(problems)


def _duplicates(db: sqlite3.Connection, files: list[Path]) -> Iterator[str]:
    twice = db.execute(
        "SELECT docid, file, line FROM staged WHERE docid IN"
        " (SELECT docid FROM staged GROUP BY docid HAVING COUNT(*) > 1) ORDER BY docid, file, line"
    )
    first: tuple[str, int, int] = ("", 0, 0)
    for docid, file, line in twice:
        if docid == first[0]:
            place = f"{files[first[1]]}, line {first[2]}"
            yield f"{files[file]}, line {line}: document {docid} was already at {place}; keep one of them"
        else:
            first = (docid, file, line)

"""The documents of a collection in one SQLite file: read by docid, and in docid order.

SQLite (standard library) gives crash-safe building, sorting beyond memory and random access in
microseconds. Lucene keeps no text: with stored text every hit would carry its whole document.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from pipelines.documents import Document, Source
from pipelines.errors import SHOWN, HeedError, fail
from pipelines.files import digest_json
from pipelines.made import Recipe, folder_as_made
from pipelines.progress import bar

VERSION = 2  # raise when the stored form changes
FILE = "documents.sqlite"
BATCH = 10_000
COLUMNS = ", ".join(Document._fields)
TABLES = 1  # SQLite's user_version of a store of tables


class Docstore:
    """An open document store; ``digest`` identifies its inputs, ``tabular`` tells that it holds tables."""

    def __init__(self, folder: Path, inputs: str) -> None:
        """Open the store in ``folder``; ``inputs`` is the digest that its users put in their recipes."""
        self.digest = inputs
        self._db = sqlite3.connect(f"file:{folder / FILE}?mode=ro", uri=True, check_same_thread=False)
        self.count: int = self._db.execute("SELECT COUNT(*) FROM documents").fetchone()[0]
        self.tabular: bool = self._db.execute("PRAGMA user_version").fetchone()[0] == TABLES

    def __iter__(self) -> Iterator[Document]:
        """All documents by docid, so that the order of the input files never matters."""
        for row in self._db.execute(f"SELECT {COLUMNS} FROM documents ORDER BY docid"):  # noqa: S608 (our own names)
            yield Document(*row)

    def docids(self) -> Iterator[str]:
        """All docids, in their order."""
        return (row[0] for row in self._db.execute("SELECT docid FROM documents ORDER BY docid"))

    def get(self, docids: Sequence[str]) -> list[Document]:
        """The documents of ``docids``, in that order; a :class:`HeedError` for one that is not here."""
        found: dict[str, Document] = {}
        for start in range(0, len(docids), 500):
            part = docids[start : start + 500]
            marks = ",".join("?" * len(part))
            wanted = f"SELECT {COLUMNS} FROM documents WHERE docid IN ({marks})"  # noqa: S608 (question marks)
            rows = self._db.execute(wanted, part)
            found.update((row[0], Document(*row)) for row in rows)
        fail(f"document {docid}: not in the collection" for docid in docids if docid not in found)
        return [found[docid] for docid in docids]

    def missing(self, docids: Sequence[str]) -> list[str]:
        """Those of ``docids`` that the collection does not hold."""
        here = self._db.execute
        return [docid for docid in docids if not here("SELECT 1 FROM documents WHERE docid = ?", (docid,)).fetchone()]


def open_docstore(folder: Path, source: Source) -> Docstore:
    """The store of ``source`` in ``folder``, built unless it is there with the same inputs.

    Raises :class:`HeedError` naming file and line of every document without an id or text and of
    every docid that comes twice, and when there is no document at all.
    """
    inputs = source.recipe
    recipe: Recipe = {"store": VERSION, "documents": inputs}
    folder_as_made(folder, recipe, lambda part: _build(part / FILE, source))
    return Docstore(folder, digest_json(inputs))


def _build(target: Path, source: Source) -> None:
    with closing(sqlite3.connect(target, isolation_level=None)) as db:
        # the whole folder is renamed into place when complete: a journal would only cost time
        db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = FILE;")
        db.execute(f"CREATE TABLE staged ({COLUMNS}, file INT, line INT)")
        files = _stage(db, source)
        fail(_duplicates(db, files))
        db.execute("CREATE TABLE documents (docid TEXT PRIMARY KEY, title, text, caption, header, cells) WITHOUT ROWID")
        db.execute(f"INSERT INTO documents SELECT {COLUMNS} FROM staged ORDER BY docid")  # noqa: S608 (our own names)
        db.execute("DROP TABLE staged")
        db.execute("VACUUM")
        if not db.execute("SELECT EXISTS (SELECT 1 FROM documents)").fetchone()[0]:
            raise HeedError(f"{source}: no document in it; expected one JSON object a line")


def _stage(db: sqlite3.Connection, source: Source) -> list[Path]:
    """Write every document with its place; gives back the files that the places count."""
    problems: list[str] = []
    rows: list[tuple[str | int, ...]] = []
    number: dict[Path, int] = {}
    tabular = False
    insert = f"INSERT INTO staged VALUES ({', '.join('?' * (len(Document._fields) + 2))})"  # noqa: S608 (question marks)
    db.execute("BEGIN")
    for line in bar(source.lines(), 0, "documents", "documents"):
        if line.document is None:
            problems.append(f"{line.path}, line {line.line_no}: {line.problem}")
            if len(problems) > SHOWN:
                break
            continue
        tabular = tabular or line.document.is_table
        rows.append((*line.document, number.setdefault(line.path, len(number)), line.line_no))
        if len(rows) == BATCH:
            db.executemany(insert, rows)
            rows.clear()
    db.executemany(insert, rows)
    if tabular:
        db.execute(f"PRAGMA user_version = {TABLES}")
    db.execute("COMMIT")
    fail(problems)
    return list(number)


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

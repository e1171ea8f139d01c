"""The document store compared with plain SQLite: bytes on disk, building, and documents read in random order.

Without real collections the input is generated news, whose size says little about real text. Files of this size are
read from the system's memory.
"""

import gzip
import random
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from benchmarks.scale_input import write_documents
from benchmarks.timing import LIMIT, Measured, Row, Settings, in_turn
from heed.formats.document_store import FILE, DocumentStore, open_store
from heed.formats.documents import Files, Source
from heed.tables.documents import Tables
from heed.types import Document

READS = 20_000  # documents read, in requests of one or of REQUEST
REQUEST = 1000
RATE = 25_000  # documents a second
NEWS, TABLES = (
    ("hc4/cc-news-zho-1000.jsonl.gz",),
    ("followtable/WTR/corpus.jsonl.gz", "followtable/IndusTR/corpus.jsonl.gz"),
)
COLUMNS = ", ".join(Document._fields)


def measure(settings: Settings) -> Measured:
    """Measure each collection: the bytes of its stores, and times."""
    repeat, rows, sizes = settings.repetitions(5), list[Row](), list[str]()
    with tempfile.TemporaryDirectory() as work:
        for number, (name, source, paths) in enumerate(_sources(settings, Path(work) / "generated")):
            folder = Path(work) / str(number)
            folder.mkdir()
            of_source, bytes_of = _rows(name, source, folder, repeat)
            rows += of_source
            text = sum(map(_unpacked, paths))
            ours, theirs = (size / text for size in bytes_of)
            sizes.append(
                f"{name} {text / 1e6:.1f} MB of text, {ours:.2f} of it in Heed's store, {theirs:.2f} in SQLite's"
            )
    return Measured(
        f"The limit is {RATE:,} documents a second. Size on disk: {'; '.join(sizes)}. Repetitions: {repeat}.", rows
    )


def _sources(settings: Settings, folder: Path) -> list[tuple[str, Source, list[Path]]]:
    """Return names, readers and files of the collections that are there; else of generated news."""
    news, tables = ([settings.data / name for name in names] for names in (NEWS, TABLES))
    if settings.quick or not all(path.exists() for path in [*news, *tables]):
        files = write_documents(folder, 2_000 if settings.quick else 20_000)
        return [("generated news", Files(files), files)]
    return [
        *((path.name.partition(".")[0], Files([path]), [path]) for path in news),
        *((path.parent.name, Tables([path], "raw", titles=False), [path]) for path in tables),
    ]


def _rows(name: str, source: Source, folder: Path, repeat: int) -> tuple[list[Row], tuple[int, int]]:
    """Return the rows of a collection, and the bytes of both stores."""
    documents = [line.document for line in source.lines() if line.document]
    turn = iter(range(2 * repeat))
    build = in_turn(
        lambda: open_store(folder / f"heed{next(turn)}", source),
        lambda: _build_plain(folder / f"plain{next(turn)}", source),
        repeat,
    )
    ours, theirs = sorted(folder.glob("heed*"))[0], sorted(folder.glob("plain*"))[0]
    store, chance = DocumentStore(ours, ""), random.Random(0)
    rows = [Row(f"{name}: built", "plain SQLite", *build, None, "")]
    with closing(sqlite3.connect(theirs)) as plain:
        assert sorted(documents) == list(store) == _plain(plain, [one.docid for one in sorted(documents)])
        for size in (REQUEST, 1):
            docids = [chance.choice(documents).docid for _ in range(READS)]
            parts = [docids[start : start + size] for start in range(0, READS, size)]
            step = f"{name}: {READS:,} documents read, {size} a request"
            limit = READS / RATE, READS / RATE
            heed, peer = in_turn(
                lambda parts=parts: [store.get(part) for part in parts],
                lambda parts=parts: [_plain(plain, part) for part in parts],
                repeat,
            )
            best = min(one[0] for one in heed)
            compared = f"same documents; {READS / best:,.0f} a second"
            rows += [
                Row(step, "plain SQLite", heed, peer, None, compared),
                Row(step, LIMIT, heed, [limit] * len(heed), 1, ""),
            ]
    return rows, ((ours / FILE).stat().st_size, theirs.stat().st_size)


def _build_plain(path: Path, source: Source) -> None:
    """Write the documents uncompressed, with an index of docids."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = OFF")
        db.execute(f"CREATE TABLE documents ({COLUMNS})")
        marks = ", ".join("?" * len(Document._fields))
        rows = (line.document for line in source.lines() if line.document)
        db.executemany(f"INSERT INTO documents VALUES ({marks})", rows)  # noqa: S608 (question marks)
        db.execute("CREATE UNIQUE INDEX docids ON documents (docid)")
        db.commit()


def _plain(db: sqlite3.Connection, docids: Sequence[str]) -> list[Document]:
    found = {}
    for start in range(0, len(docids), 500):
        part = docids[start : start + 500]
        marks = ", ".join("?" * len(part))
        for row in db.execute(f"SELECT {COLUMNS} FROM documents WHERE docid IN ({marks})", part):  # noqa: S608 (ours)
            found[row[0]] = Document(*row)
    return [found[docid] for docid in docids]


def _unpacked(path: Path) -> int:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
        return sum(map(len, stream))

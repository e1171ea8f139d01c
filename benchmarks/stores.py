"""The document store beside plain SQLite: bytes on disk, building, and documents read by docid in random order.

``--docs FILE`` and ``--tables FILE`` name real collections; without them the input is generated news, whose size says
little about real text. Files of this size are read from the system's memory.
"""

import argparse
import gzip
import random
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from benchmarks.scale_input import write_documents
from benchmarks.table import Row, in_turn, text, write_rows
from heed.formats.document_store import FILE, DocumentStore, open_store
from heed.formats.documents import Files, Source
from heed.tables.documents import Tables
from heed.types import Document

READS = 20_000  # documents read, in requests of one or of REQUEST
REQUEST = 1000
RATE = 25_000  # documents a second
COLUMNS = ", ".join(Document._fields)


def main() -> None:
    """Measure each collection and print sizes and times."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stores", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2,000 generated documents, one repetition")
    parser.add_argument("--docs", type=Path, action="append", default=[], metavar="FILE", help="documents; repeatable")
    parser.add_argument("--tables", type=Path, action="append", default=[], metavar="FILE", help="tables; repeatable")
    parser.add_argument("--json", type=Path, help="write all timings to this file")
    options = parser.parse_args()
    repeat, rows, told = 1 if options.quick else 5, [], []
    with tempfile.TemporaryDirectory() as place:
        sources: list[tuple[str, Source, Sequence[Path]]] = [
            *((_name(path), Files([path]), [path]) for path in options.docs),
            *((_name(path), Tables([path], "raw", titles=False), [path]) for path in options.tables),
        ]
        if not sources:
            files = write_documents(Path(place) / "generated", 2_000 if options.quick else 20_000)
            sources = [("generated", Files(files), files)]
        for number, (name, source, paths) in enumerate(sources):
            folder = Path(place) / str(number)
            folder.mkdir()
            found, size = _rows(name, source, folder, repeat)
            given = sum(map(_unpacked, paths))
            rows += found
            told.append(
                f"{name}: {size[0] / given:.2f} of its {given / 1e6:.1f} MB, plain SQLite {size[1] / given:.2f}"
            )
    print("\n".join([*told, text(rows)]))
    if options.json:
        write_rows(options.json, rows, "; ".join(told))


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
            step = f"{name}: {READS} reads, {size} a request"
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
                Row(step, f"{RATE:,} a second", heed, [limit] * len(heed), 1, ""),
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


def _name(path: Path) -> str:
    return path.parent.name if path.name.startswith("corpus") else path.name.partition(".")[0]


def _unpacked(path: Path) -> int:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
        return sum(map(len, stream))


if __name__ == "__main__":
    main()

"""A document store made of an earlier one: lines that it holds are known by a hash, and not parsed or packed again."""

import sqlite3
from collections.abc import Iterator, Sequence
from hashlib import sha256
from heapq import merge
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

LINES = "lines.npy"  # in a store's folder: the hash of each document's line, in the order of docids
INSERT = "INSERT INTO documents (docid, body) VALUES (?, ?)"
COPY = (
    "INSERT INTO documents (docid, body) "
    "SELECT docid, body FROM earlier.documents WHERE place > ? AND place <= ? ORDER BY place"
)

Row = tuple[str, bytes, int]  # a document's id, its packed texts, the hash of its line


def hash_of(content: bytes) -> int:
    """Return 64 bits of a hash of a document's line, or of its texts where they are not from a line."""
    return int.from_bytes(sha256(content).digest()[:8], "little", signed=True)


class EarlierStore:
    """The documents of a store, and which of them were read again."""

    def __init__(self, path: Path, hashes: NDArray[np.int64]) -> None:
        """Take the store's file, whose documents' lines have these ``hashes``."""
        self.path, self._hashes = path, hashes
        self._order = np.argsort(hashes)
        self._sorted = hashes[self._order]
        self._kept = np.zeros(len(hashes), dtype=bool)
        self.is_doubtful = False  # whether a line came twice, which reading all lines names

    @property
    def is_used(self) -> bool:
        """Whether any document is kept."""
        return bool(self._kept.any())

    def holds(self, lines: Sequence[bytes]) -> NDArray[np.bool_]:
        """Return which of ``lines`` are here; their documents are kept then."""
        joined = b"".join([sha256(line.rstrip(b"\r\n")).digest()[:8] for line in lines])
        hashes = np.frombuffer(joined, dtype="<i8")
        index = np.minimum(np.searchsorted(self._sorted, hashes), len(self._sorted) - 1)
        is_here: NDArray[np.bool_] = self._sorted[index] == hashes
        places = self._order[index[is_here]]
        self.is_doubtful = self.is_doubtful or bool(self._kept[places].any()) or len(np.unique(places)) < len(places)
        self._kept[places] = True
        return is_here

    def copy_to(self, db: sqlite3.Connection, rows: Iterator[Row]) -> tuple[NDArray[np.int64], list[str]]:
        """Write the documents that are kept, and the new ``rows``, in the order of docids.

        ``db`` has this store attached as ``earlier``. Returns the hashes of all lines, and the docids of documents that
        are new, changed or gone.
        """
        gone = np.flatnonzero(~self._kept).tolist()
        select = "SELECT docid FROM earlier.documents WHERE place = ?"
        touched: list[str] = [db.execute(select, (place + 1,)).fetchone()[0] for place in gone]
        hashes, start = [self._hashes[:0]], 0
        row: Row | None
        changes = merge(((place, None) for place in gone), self._placed(db, rows), key=lambda change: change[0])
        for place, row in chain(changes, [(len(self._hashes), None)]):
            db.execute(COPY, (start, place))
            hashes.append(self._hashes[start:place])
            start = max(start, place)
            if row is None:
                start += 1
            else:
                db.execute(INSERT, row[:2])
                hashes.append(np.array([row[2]]))
                touched.append(row[0])
        return np.concatenate(hashes), sorted({*touched})

    def _placed(self, db: sqlite3.Connection, rows: Iterator[Row]) -> Iterator[tuple[int, Row]]:
        """Yield each row with the place of the document before which it comes."""
        following = "SELECT place - 1, docid FROM earlier.documents WHERE docid >= ? ORDER BY docid LIMIT 1"
        for row in rows:
            place, docid = db.execute(following, row[:1]).fetchone() or (len(self._hashes), "")
            self.is_doubtful = self.is_doubtful or (docid == row[0] and bool(self._kept[place]))
            yield place, row

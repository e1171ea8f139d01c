"""A document store made of an earlier one: lines that it holds are known by a hash, and not parsed or packed again."""

import sqlite3
from array import array
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

    def __init__(self, path: Path | None = None) -> None:
        """Take the file of a store, which has the hashes of its lines beside it; without one there are no documents."""
        self.path = path
        self._hashes = np.load(path.with_name(LINES)) if path else np.empty(0, dtype=np.int64)
        self._order = np.argsort(self._hashes)
        self._sorted = self._hashes[self._order]
        self._kept = np.zeros(len(self._hashes), dtype=bool)
        self.is_used = False  # whether any document is kept
        self.is_doubtful = False  # whether a document came twice, of which reading all lines names both

    def holds(self, lines: Sequence[bytes]) -> NDArray[np.bool_]:
        """Return which of ``lines`` are here; their documents are kept then."""
        joined = b"".join([sha256(line.rstrip(b"\r\n")).digest()[:8] for line in lines])
        hashes = np.frombuffer(joined, dtype="<i8")
        index = np.minimum(np.searchsorted(self._sorted, hashes), len(self._sorted) - 1)
        is_here: NDArray[np.bool_] = self._sorted[index] == hashes
        places = self._order[index[is_here]]
        self.is_doubtful = self.is_doubtful or bool(self._kept[places].any()) or len(np.unique(places)) < len(places)
        self._kept[places] = True
        self.is_used = self.is_used or len(places) > 0
        return is_here

    def copy_to(self, db: sqlite3.Connection, rows: Iterator[Row]) -> tuple[NDArray[np.int64], list[str]]:
        """Write the documents that are kept, and the new ``rows``, in the order of docids.

        ``db`` has this store attached as ``earlier``. Returns the hashes of all lines, and the docids of documents that
        are new, changed or gone, none where nothing is kept.
        """
        size = len(self._hashes) if self.is_used else 0
        gone = np.flatnonzero(~self._kept[:size]).tolist()
        select = "SELECT docid FROM earlier.documents WHERE place = ?"
        touched = {db.execute(select, (place + 1,)).fetchone()[0] for place in gone}
        hashes, start = array("q"), 0
        row: Row | None
        changes = merge(((place, None) for place in gone), self._placed(db, rows), key=lambda change: change[0])
        for place, row in chain(changes, [(size, None)]):
            if place > start:
                db.execute(COPY, (start, place))
                hashes.frombytes(self._hashes[start:place].tobytes())
                start = place
            if row is None:
                start += 1
            else:
                db.execute(INSERT, row[:2])
                hashes.append(row[2])
                touched.update(row[:1] if size else ())
        return np.frombuffer(hashes, dtype=np.int64), sorted(touched)

    def _placed(self, db: sqlite3.Connection, rows: Iterator[Row]) -> Iterator[tuple[int, Row]]:
        """Yield each row with the place of the document before which it comes."""
        following = "SELECT place - 1, docid FROM earlier.documents WHERE docid >= ? ORDER BY docid LIMIT 1"
        for row in rows:
            before = db.execute(following, row[:1]).fetchone() if self.is_used else (0, "")
            place, docid = before or (len(self._hashes), "")
            self.is_doubtful = self.is_doubtful or (docid == row[0] and bool(self._kept[place]))
            yield place, row

"""Paid answers of APIs in one SQLite file: each is written as soon as it arrives, so that none is paid twice."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from heed.errors import ServiceError

FILE = "answers.sqlite"
BUSY = 60  # seconds to wait for another process that is writing
PART = 500  # keys of one SQLite query


class Answers:
    """Answers by the digest of their request; they hold texts and vectors, never a key."""

    def __init__(self, folder: Path) -> None:
        """Keep them in ``folder``, which is created with the first answer."""
        self.path = folder / FILE

    def get(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the answers of those ``keys`` that have one."""
        if not self.path.exists():
            return {}
        answers: dict[str, bytes] = {}
        with self._open() as db:
            for start in range(0, len(keys), PART):
                part = keys[start : start + PART]
                marks = ",".join("?" * len(part))
                query = f"SELECT key, answer FROM answers WHERE key IN ({marks})"  # noqa: S608 (question marks)
                answers.update(db.execute(query, part))
        return answers

    def put(self, answers: Mapping[str, bytes]) -> None:
        """Keep answers; they are on disk, all or none, when this returns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._open() as db, db:
            db.executemany("INSERT OR IGNORE INTO answers VALUES (?, ?)", answers.items())

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=BUSY)) as db:
                db.execute("CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer BLOB NOT NULL)")
                yield db
        except sqlite3.Error as error:
            raise ServiceError(
                f"{self.path}: the cache of API answers cannot be used ({error}); free some disk space, or move the "
                "file away, which means paying for its answers again"
            ) from error

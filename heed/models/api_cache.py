"""Answers that were paid for, in one SQLite file: each is written when it comes, so that none is paid twice."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from heed.errors import HeedError

FILE = "answers.sqlite"
BUSY = 60  # seconds to wait for another process that is writing
PART = 500  # keys a question to SQLite

_folder = Path("indexes") / "api"


def set_cache(folder: Path) -> None:
    """Keep answers in ``folder`` from now on."""
    global _folder
    _folder = folder


class Answers:
    """Answers by the digest of what was asked; they hold texts and vectors, never a key."""

    def __init__(self) -> None:
        """Use the folder of :func:`set_cache`; it is made with the first answer."""
        self.path = _folder / FILE

    def get(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Those of the answers that are here."""
        if not self.path.exists():
            return {}
        found: dict[str, bytes] = {}
        with self._open() as db:
            for start in range(0, len(keys), PART):
                part = keys[start : start + PART]
                marks = ",".join("?" * len(part))
                wanted = f"SELECT key, answer FROM answers WHERE key IN ({marks})"  # noqa: S608 (question marks)
                found.update(db.execute(wanted, part))
        return found

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
            raise HeedError(
                f"{self.path}: the cache of API answers cannot be used ({error}); free some disk space, or move the "
                "file away, which means paying for its answers again"
            ) from error

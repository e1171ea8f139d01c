"""The SQLite file of an annotation: made once from a task and its documents, opened again with the same pool only.

It holds everything that is judged, so that a second start needs nothing but the pool. ``log`` only grows;
``judgements`` and ``narratives`` are what it amounts to.
"""

import os
import secrets
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from heed.annotation.documents import Shown
from heed.annotation.task import Task, dump_task
from heed.errors import HeedError

APPLICATION = 0x48656564  # "Heed", in SQLite's own field for what a file belongs to
VERSION = 1  # raise when the stored form changes
BATCH = 1000
WAIT = 10.0  # seconds for another process' transaction to end

SCHEMA = """
CREATE TABLE kept (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (docid TEXT PRIMARY KEY, title TEXT, date TEXT, text TEXT, tabular INTEGER);
CREATE TABLE log (
    id INTEGER PRIMARY KEY, client TEXT NOT NULL, part INTEGER NOT NULL, at TEXT NOT NULL, assessor TEXT NOT NULL,
    batch TEXT NOT NULL, kind TEXT NOT NULL, qid TEXT NOT NULL, condition TEXT NOT NULL, docid TEXT NOT NULL,
    before TEXT NOT NULL, after TEXT NOT NULL, undoes INTEGER, UNIQUE (client, part));
CREATE INDEX log_of_assessor ON log (assessor, id);
CREATE UNIQUE INDEX undone_once ON log (undoes) WHERE undoes IS NOT NULL;
CREATE TRIGGER log_stays BEFORE UPDATE ON log BEGIN SELECT RAISE(ABORT, 'the log is never changed'); END;
CREATE TRIGGER log_grows BEFORE DELETE ON log BEGIN SELECT RAISE(ABORT, 'the log is never cut'); END;
CREATE TABLE judgements (
    assessor TEXT, qid TEXT, condition TEXT, docid TEXT, grade INTEGER, note TEXT NOT NULL DEFAULT '',
    wording TEXT NOT NULL DEFAULT '', PRIMARY KEY (assessor, qid, condition, docid)) WITHOUT ROWID;
CREATE TABLE narratives (qid TEXT PRIMARY KEY, text TEXT NOT NULL, version INTEGER NOT NULL) WITHOUT ROWID;
"""


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Write in one piece: on disk when the block ends well, undone when it does not."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def create(path: Path, task: Task, documents: Iterable[Shown]) -> bool:
    """Make the database of ``task``, whole or empty; only its owner can read it, since it holds the page's token.

    False where another process has made it meanwhile.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    with closing(connect(path)) as db, transaction(db):
        if db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
            return False
        for statement in SCHEMA.replace(";\n", ";\0").split("\0"):
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute(f"PRAGMA user_version = {VERSION}")
        kept = {**dump_task(task), "token": secrets.token_urlsafe(32), "name": secrets.token_hex(8)}
        db.executemany("INSERT INTO kept VALUES (?, ?)", kept.items())
        db.executemany("INSERT INTO documents VALUES (?, ?, ?, ?, ?)", documents)
        narratives = ((qid, task.first_changed(qid)) for qid in task.pool)
        db.executemany("INSERT INTO narratives VALUES (?, ?, 0)", narratives)
    return True


def connect(path: Path) -> sqlite3.Connection:
    """A connection whose transactions are on disk when they end.

    Raises :class:`HeedError` for a file that is no SQLite database and a place that allows no write-ahead log.
    """
    db = sqlite3.connect(path, timeout=WAIT, isolation_level=None, check_same_thread=False)
    try:
        mode = db.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        db.execute("PRAGMA synchronous = FULL")
    except sqlite3.DatabaseError as error:
        db.close()
        raise HeedError(f"{path}: {error}; name another file with --database") from error
    if mode != "wal":
        db.close()
        raise HeedError(f"{path}: no write-ahead log is possible here; name a file on a local disk with --database")
    return db


def is_made(path: Path) -> bool:
    """Whether ``path`` holds an annotation; False where nothing is there or its making was cut short.

    Raises :class:`HeedError` for a file of anything else, or of another version.
    """
    if not path.exists() or not path.stat().st_size:
        return False
    with closing(connect(path)) as db:
        application = db.execute("PRAGMA application_id").fetchone()[0]
        version = db.execute("PRAGMA user_version").fetchone()[0]
        empty = not db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
    if empty:
        return False
    if application != APPLICATION:
        raise HeedError(f"{path}: a database of something else; name another file with --database")
    if version != VERSION:
        raise HeedError(f"{path}: made by another version of Heed (form {version}, expected {VERSION}); use that one")
    return True

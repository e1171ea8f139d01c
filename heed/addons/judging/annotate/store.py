"""Judgements and narratives in an SQLite file: its schema, its log of changes, how it is made, opened and written.

It holds everything that is judged, so that a second start needs nothing but a pool. ``log`` only grows;
``judgements`` and ``narratives`` are its current state. Every change is on disk before it is answered, and each can be
undone. Writing is serialised by a lock, with one transaction a request. A request carries an id that the page has made;
when it is sent again, because its answer was lost, it is answered again and changes nothing.
"""

import hashlib
import json
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from heed.addons.judging.annotate.task import ADJUDICATED, PooledDocument, Task, Withdrawn, dump_task, join_pools
from heed.errors import DataError, UsageError
from heed.formats.trec_files import Pool
from heed.reuse import recipe_version
from heed.types import Document

APPLICATION = 0x48656564  # "Heed", in SQLite's field for the application of a file
VERSION = recipe_version("annotations")
WAIT = 10.0  # seconds for another process's transaction to end
READ_ONLY = "attempt to write a readonly database"
UNWRITABLE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
LATE = 30.0  # seconds by which a change that did not wait may come later than one that was made after it

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
LATER = (  # made in older databases too
    # the digest of a link that is revoked is empty
    "CREATE TABLE IF NOT EXISTS people (name TEXT PRIMARY KEY, role TEXT NOT NULL, digest TEXT NOT NULL)",
    # of a whole topic without a docid
    "CREATE TABLE IF NOT EXISTS withdrawn (qid TEXT, docid TEXT, PRIMARY KEY (qid, docid)) WITHOUT ROWID",
    # the value is JSON, or empty
    "CREATE TABLE IF NOT EXISTS marks (qid TEXT, assessor TEXT, condition TEXT, docid TEXT, kind TEXT, "
    "value TEXT NOT NULL, PRIMARY KEY (qid, assessor, condition, docid, kind)) WITHOUT ROWID",
)


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Commit the block's changes when it ends, roll them back when it raises; within another it is a part of that."""
    if db.in_transaction:
        yield
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


@contextmanager
def writing(db: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Be a :func:`transaction`; :class:`DataError` that names ``path`` where its disk is full."""
    try:
        with transaction(db):
            yield
    except sqlite3.OperationalError as error:
        raise _unwritten(path, error) from error


def _unwritten(path: Path, error: sqlite3.OperationalError) -> DataError:
    advice = {"database is locked": "", READ_ONLY: "copy it to a folder of yours, then "}
    return DataError(
        f"{path}: {error}; nothing of it is changed; {advice.get(str(error), 'free disk space, then ')}run again"
    )


def create(path: Path, task: Task, documents: Iterable[PooledDocument]) -> bool:
    """Write the database of ``task``, complete or empty; False if another process has written it meanwhile.

    Only its owner can read the database, since it holds the page's token.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    with closing(connect(path)) as db, writing(db, path):
        if _is_empty(db):
            for statement in SCHEMA.replace(";\n", ";\0").split("\0"):
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {APPLICATION}")
            db.execute(f"PRAGMA user_version = {VERSION}")
            properties = dump_task(task)
            properties |= {"token": secrets.token_urlsafe(32), "name": secrets.token_hex(8)}
            db.executemany("INSERT INTO kept VALUES (?, ?)", properties.items())
            db.executemany("INSERT INTO documents VALUES (?, ?, ?, ?, ?)", documents)
            narratives = ((qid, task.first_changed(qid)) for qid in task.pool)
            db.executemany("INSERT INTO narratives VALUES (?, ?, 0)", narratives)
            return True
    return False


def extend(db: sqlite3.Connection, pool: Pool, documents: Iterable[PooledDocument]) -> None:
    """Add a later pool and its documents after those that are there; in a :func:`transaction` of the caller's."""
    joined = json.dumps(join_pools(json.loads(stored_properties(db)["pool"]), pool), ensure_ascii=False)
    db.execute("UPDATE kept SET value = ? WHERE name = 'pool'", (joined,))
    db.executemany("INSERT OR IGNORE INTO documents VALUES (?, ?, ?, ?, ?)", documents)


def stored_properties(db: sqlite3.Connection) -> dict[str, str]:
    """Return the properties of the whole annotation: task, token, port."""
    return dict(db.execute("SELECT name, value FROM kept").fetchall())


def _is_empty(db: sqlite3.Connection) -> bool:
    return not db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]


def _write_ahead(db: sqlite3.Connection) -> str:
    """Switch to a write-ahead log; return the mode. SQLite does not wait for a connection that switches as well."""
    end = time.monotonic() + WAIT
    while True:
        try:
            mode: str = db.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            return mode
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(0.01)


def _refuse_other_log(path: Path) -> None:
    """Raise :class:`DataError` for a backup beside the write-ahead log of another database, which SQLite would apply.

    The header of a database with a log says so (sqlite.org/fileformat, bytes 18 and 19); that of a backup does not.
    """
    log = path.with_name(f"{path.name}-wal")
    if not log.exists() or not log.stat().st_size:
        return
    with path.open("rb") as stream:
        header = stream.read(20)
    if header[18:] == b"\1\1":
        raise DataError(f"{path}: is a backup, and {log} is of the database before it; move {log} and {path}-shm away")


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection whose transactions are on disk when they end; where no file can be written it only reads.

    Raises :class:`DataError` for a file that is not an SQLite database, for a backup beside another database's log, and
    for a file system without write-ahead logs.
    """
    _refuse_other_log(path)
    db = sqlite3.connect(path, timeout=WAIT, isolation_level=None, check_same_thread=False)
    try:
        mode = _write_ahead(db)
        db.execute("PRAGMA synchronous = FULL")
    except sqlite3.DatabaseError as error:
        db.close()
        if error.sqlite_errorcode & 0xFF in UNWRITABLE and not path.with_name(f"{path.name}-wal").exists():
            uri = f"{path.resolve().as_uri()}?immutable=1"
            return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        raise DataError(f"{path}: {error}; name another file") from error
    if mode != "wal":
        db.close()
        raise DataError(f"{path}: no write-ahead log is possible here; name a file on a local disk")
    return db


def open_read_only(path: Path) -> sqlite3.Connection:
    """Return a connection that neither changes the annotation in ``path`` nor leaves files beside it.

    Raises :class:`DataError` for a file that is absent, damaged, or no annotation.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file; name a database of judgements")
    _refuse_other_log(path)
    # without a log beside it nobody has it open, and SQLite would leave an empty one there
    mode = "mode=ro" if path.with_name(f"{path.name}-wal").exists() else "immutable=1"
    db = sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True, timeout=WAIT, isolation_level=None)
    try:
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("BEGIN")  # all is read as it is now
        check_form(db, path)
        if (problem := db.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise DataError(f"{path}: damaged ({problem}); take a copy of it that is whole")
    except (sqlite3.DatabaseError, DataError) as error:
        db.close()
        raise DataError(str(error) if isinstance(error, DataError) else f"{path}: {error}") from error
    return db


def back_up(path: Path, copy: Path) -> None:
    """Copy the annotation in ``path``, which may be in use, as one whole file that only its owner can read.

    The copy has another token than the page. Raises :class:`UsageError` for a copy that is there already.
    """
    if copy.exists():
        raise UsageError(f"{copy}: is there already; name another file")
    part = copy.with_name(f".{copy.name}.part")
    part.unlink(missing_ok=True)  # of a process that was killed
    with closing(open_read_only(path)) as source:
        source.execute("COMMIT")  # a backup needs no transaction, and refuses to be in one
        os.close(os.open(part, os.O_CREAT | os.O_EXCL, 0o600))
        try:
            with closing(sqlite3.connect(part, isolation_level=None)) as db:
                source.backup(db)
                db.execute("PRAGMA journal_mode = DELETE")
                db.execute("PRAGMA secure_delete = ON")  # nothing of the token is left in free space
                db.execute("UPDATE kept SET value = ? WHERE name = 'token'", (secrets.token_urlsafe(32),))
            part.replace(copy)
        finally:
            part.unlink(missing_ok=True)


def is_annotation(path: Path) -> bool:
    """Whether ``path`` holds an annotation; False if there is no file or its creation was interrupted.

    Raises :class:`DataError` for a database of another application or another version.
    """
    if not path.exists() or not path.stat().st_size:
        return False
    with closing(connect(path)) as db:
        if _is_empty(db):
            return False
        check_form(db, path)
    return True


def check_form(db: sqlite3.Connection, path: Path) -> None:
    """Raise :class:`DataError` unless the database is an annotation of this version."""
    if _is_empty(db):
        raise DataError(f"{path}: nothing is in it, its creation was interrupted; run heed annotate again")
    if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise DataError(f"{path}: a database of another application; name another file")
    form = db.execute("PRAGMA user_version").fetchone()[0]
    if form != VERSION:
        raise DataError(f"{path}: made by another version of Heed (form {form}, expected {VERSION}); use that one")


NARRATIVE = "narrative"
SKIPPED, PASSAGE = "skipped", "passage"
MARKS = ("unsure", SKIPPED, PASSAGE)  # kinds of changes to what stands beside a grade, and counts for none
CORRECTION = "correction-"  # begins the request of entries by which grades are outdated
EARLIER = "earlier"  # no digest of a narrative, but of a grade that was given under other words or of another text
ADDED = "added-"  # begins the request of an entry that came from another database: its identity there
COLUMNS = "client, part, at, assessor, batch, kind, qid, condition, docid, before, after, undoes"

Key = tuple[str, str, str, str, str]  # kind, assessor, qid, condition, docid; of a narrative kind and qid alone
State = dict[str, Any]  # grade and wording, note, text and version, or a mark as JSON
Judged = tuple[str, str, str, str]  # assessor, qid, condition, docid


class Event(NamedTuple):
    """A line of the log; ``undoes`` is the number of another one."""

    request: str
    part: int
    time: str  # UTC, ISO 8601
    assessor: str
    batch: str
    kind: str
    qid: str
    condition: str
    docid: str
    before: State
    after: State
    undoes: int | None = None

    def identity(self) -> str:
        """Return a text that is the same in every database that has the entry, even if its assessor is renamed."""
        if self.request.startswith(ADDED):
            return self.request
        parts = (self.request, self.part, self.time, self.kind, self.qid, self.condition, self.docid)
        return ADDED + hashlib.sha256("\t".join(map(str, parts)).encode()).hexdigest()[:32]

    def origin(self) -> str:
        """Return the part of the identity that all states of an annotation of another tool share."""
        return self.identity().partition("@")[0]

    def key(self) -> Key:
        """Return the key of what the entry changes."""
        if self.kind == NARRATIVE:
            return (NARRATIVE, "", self.qid, "", "")
        return (self.kind, self.assessor, self.qid, self.condition, self.docid)


def read_log(db: sqlite3.Connection) -> list[Event]:
    """Return all entries, oldest first."""
    rows = db.execute(f"SELECT {COLUMNS} FROM log ORDER BY id")  # noqa: S608 (our names)
    return [Event._make((*row[:9], json.loads(row[9]), json.loads(row[10]), row[11])) for row in rows]


def current_entries(db: sqlite3.Connection) -> dict[Key, Event]:
    """Return the entry that the current value of each grade, note, mark and narrative is from, if it was changed."""
    return {
        entry.key(): entry
        for entry in read_log(db)
        # not simply the last: Heed 0.2 added entries of other databases whose values did not become current
        if read_state(db, *entry.key()).items() <= entry.after.items()
    }


def read_state(db: sqlite3.Connection, kind: str, assessor: str, qid: str, condition: str, docid: str) -> State:
    """Return the current grade, note, mark or narrative."""
    if kind == NARRATIVE:
        row = db.execute("SELECT text, version FROM narratives WHERE qid = ?", (qid,)).fetchone()
        return {"text": row[0], "version": row[1]}
    if kind in MARKS:
        query = "SELECT value FROM marks WHERE (qid, assessor, condition, docid, kind) = (?, ?, ?, ?, ?)"
        row = db.execute(query, (qid, assessor, condition, docid, kind)).fetchone()
        return {kind: row[0] if row else ""}
    query = "SELECT grade, note, wording FROM judgements WHERE (assessor, qid, condition, docid) = (?, ?, ?, ?)"
    grade, note, wording = db.execute(query, (assessor, qid, condition, docid)).fetchone() or (None, "", "")
    return {"note": note} if kind == "note" else {"grade": grade, "wording": wording}


def write_entry(db: sqlite3.Connection, entry: Event) -> None:
    """Write an entry to the log, and make its value the current one; a new narrative's version is its number."""
    after = entry.after
    if entry.kind == NARRATIVE and entry.undoes is None:
        after = {**after, "version": db.execute("SELECT COALESCE(MAX(id), 0) + 1 FROM log").fetchone()[0]}
    states = json.dumps(entry.before, ensure_ascii=False), json.dumps(after, ensure_ascii=False)
    query = f"INSERT INTO log ({COLUMNS}) VALUES ({', '.join('?' * 12)})"  # noqa: S608 (our names)
    db.execute(query, (*entry[:9], *states, entry.undoes))
    if entry.kind == NARRATIVE:
        values = (after["text"], after["version"], entry.qid)
        db.execute("UPDATE narratives SET text = ?, version = ? WHERE qid = ?", values)
        return
    if entry.kind in MARKS:
        mark = (entry.qid, entry.assessor, entry.condition, entry.docid, entry.kind, after[entry.kind])
        db.execute("REPLACE INTO marks VALUES (?, ?, ?, ?, ?, ?)", mark)
        return
    judged = (entry.assessor, entry.qid, entry.condition, entry.docid)
    db.execute("INSERT OR IGNORE INTO judgements (assessor, qid, condition, docid) VALUES (?, ?, ?, ?)", judged)
    for name in ("note",) if entry.kind == "note" else ("grade", "wording"):
        query = f"UPDATE judgements SET {name} = ? WHERE (assessor, qid, condition, docid) = (?, ?, ?, ?)"  # noqa: S608
        db.execute(query, (after[name], *judged))


# the assessor's last change that is not undone and whose result is the current one: a narrative may have been edited by
# another since, and of the changes that an added database brought, another one may be in force
LAST = """
SELECT id, batch, kind, qid, condition, docid, before, after FROM log AS entry
WHERE assessor = ? AND at < ? AND undoes IS NULL
  AND client NOT LIKE 'correction-%' AND NOT EXISTS (SELECT 1 FROM log WHERE undoes = entry.id)
  AND CASE
    WHEN kind = 'narrative' THEN EXISTS (SELECT 1 FROM narratives WHERE qid = entry.qid AND version = entry.id)
    WHEN kind NOT IN ('grade', 'note') THEN EXISTS (
      SELECT 1 FROM marks
      WHERE (qid, assessor, condition, docid, kind)
          = (entry.qid, entry.assessor, entry.condition, entry.docid, entry.kind)
        AND value = json_extract(entry.after, '$.' || entry.kind))
    ELSE EXISTS (
      SELECT 1 FROM judgements
      WHERE (assessor, qid, condition, docid) = (entry.assessor, entry.qid, entry.condition, entry.docid)
        AND CASE entry.kind
          WHEN 'note' THEN note = json_extract(entry.after, '$.note')
          ELSE grade IS json_extract(entry.after, '$.grade') AND wording = json_extract(entry.after, '$.wording')
        END)
  END
ORDER BY id DESC LIMIT 1"""
NEWER = "SELECT 1 FROM log WHERE at > ? AND (kind, assessor, qid, condition, docid) = (?, ?, ?, ?, ?)"


class Change(NamedTuple):
    """One change by an assessor: ``kind`` is grade, note, narrative or one of ``MARKS``.

    ``value`` is the grade (None takes it back), the note, the narrative, or a mark as JSON. ``wording`` is the
    narrative that a grade was given under; ``base`` the version of the narrative that was edited; ``by`` who made an
    adjudicator's decision; ``read`` the version of the document that was graded, empty where that is not known.
    """

    kind: str
    qid: str
    condition: str = ""
    docid: str = ""
    value: int | str | None = None
    wording: str = ""
    base: int = 0
    by: str = ""
    read: str = ""


class Judgement(NamedTuple):
    """One assessor's grade and note of a document; ``wording`` is a digest of the narrative that was judged by."""

    assessor: str
    qid: str
    condition: str
    docid: str
    grade: int | None
    note: str
    wording: str

    def is_stale(self, wording: str) -> bool:
        """Whether the grade was given before a correction, or under another changed narrative than the current one."""
        is_other = self.wording != wording if self.condition == "changed" else self.wording == EARLIER
        return self.grade is not None and is_other


class ConflictError(DataError):
    """A narrative was edited by somebody else meanwhile; ``text`` and ``version`` are theirs."""

    def __init__(self, qid: str, text: str, version: int) -> None:
        super().__init__(
            f"topic {qid}: the changed narrative was edited elsewhere meanwhile; take that text or keep yours"
        )
        self.text, self.version = text, version


Applied = list[dict[str, Any]]  # kind, qid, condition and docid of what changed, with its new values


def wording_of(narrative: str) -> str:
    """Return a short digest of a narrative's words, the same however it is broken into lines."""
    return hashlib.sha256(" ".join(narrative.split()).encode()).hexdigest()[:16]


class Store:
    """An open database; safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        """Open a database that :func:`heed.addons.judging.annotate.store.create` made."""
        self.path = path
        self._db = connect(path)
        for statement in LATER:
            self._db.execute(statement)
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the file; everything that was answered is in it already."""
        with self._lock:
            self._db.close()

    def hold(self) -> None:
        """Let all changes from now on wait for :meth:`commit`; without it none is made."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            raise _unwritten(self.path, error) from error

    def commit(self) -> None:
        """Make the changes that wait since :meth:`hold`, if there are any."""
        try:
            if self._db.in_transaction:
                self._db.execute("COMMIT")
        except sqlite3.OperationalError as error:
            raise _unwritten(self.path, error) from error

    @contextmanager
    def adding(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection in a :func:`transaction`, for the changes of others."""
        with self._lock, writing(self._db, self.path):
            yield self._db

    def properties(self) -> dict[str, str]:
        """Return the properties of the whole annotation: task, token, port."""
        with self._lock:
            return stored_properties(self._db)

    def set_property(self, name: str, value: str) -> None:
        """Set one of :meth:`properties`."""
        with self._lock, writing(self._db, self.path):
            self._db.execute("INSERT OR REPLACE INTO kept VALUES (?, ?)", (name, value))

    def people(self) -> dict[str, str]:
        """Return the roles of those who were given a link, by name."""
        return dict(self._rows("SELECT name, role FROM people ORDER BY name"))

    def person(self, digest: str) -> tuple[str, str] | None:
        """Return name and role by the digest of a link's token; None for one that nobody has."""
        return next(iter(self._rows("SELECT name, role FROM people WHERE digest = ?", (digest,))), None)

    def link_digests(self) -> set[str]:
        """Return the digests of the tokens by which people are let in."""
        return {digest for (digest,) in self._rows("SELECT digest FROM people") if digest}

    def set_person(self, name: str, role: str, digest: str | None) -> None:
        """Set a person's role, and the digest of the link unless it is None, which keeps it."""
        query = (
            "INSERT INTO people VALUES (?1, ?2, COALESCE(?3, '')) "
            "ON CONFLICT (name) DO UPDATE SET role = ?2, digest = COALESCE(?3, digest)"
        )
        with self._lock, transaction(self._db):
            self._db.execute(query, (name, role, digest))

    def set_topics(self, task: Task) -> None:
        """Set scale and topics to those of ``task``, and begin the changed narratives of new ones."""
        with self._lock, transaction(self._db):
            properties = dump_task(task)
            rows = [(name, properties[name]) for name in ("scale", "topics", "langs")]
            self._db.executemany("REPLACE INTO kept VALUES (?, ?)", rows)
            narratives = ((qid, task.first_changed(qid)) for qid in task.pool)
            self._db.executemany("INSERT OR IGNORE INTO narratives VALUES (?, ?, 0)", narratives)

    def replace_document(self, document: PooledDocument) -> int:
        """Replace a document, without the passages of its earlier text; return how many grades of it are outdated."""
        with self._lock, transaction(self._db):
            self._db.execute("REPLACE INTO documents VALUES (?, ?, ?, ?, ?)", document)
            self._db.execute("DELETE FROM marks WHERE kind = ? AND docid = ?", (PASSAGE, document.docid))
            return self._outdate("docid = ?", document.docid)

    def outdate_original(self, qid: str) -> int:
        """Let a topic's grades under the original narrative count as given before it; return how many they are."""
        with self._lock, transaction(self._db):
            return self._outdate("condition = 'original' AND qid = ?", qid)

    def _outdate(self, of: str, value: str) -> int:
        query = f"SELECT assessor, qid, condition, docid FROM judgements WHERE grade IS NOT NULL AND {of}"  # noqa: S608
        request, rows = f"{CORRECTION}{secrets.token_hex(8)}", self._db.execute(query, (value,)).fetchall()
        for part, (assessor, qid, condition, docid) in enumerate(rows):
            judged = ("grade", qid, condition, docid)
            before = read_state(self._db, "grade", assessor, qid, condition, docid)
            after = {**before, "wording": EARLIER}
            write_entry(self._db, Event(request, part, _now(), assessor, request, *judged, before, after))
        return len(rows)

    def withdrawn(self) -> Withdrawn:
        """Return topic and docid of what is withdrawn, the docid empty for a whole topic."""
        return set(self._rows("SELECT qid, docid FROM withdrawn"))

    def withdraw(self, withdrawn: Withdrawn) -> None:
        """Withdraw these topics and documents and no others; their judgements and the log stay."""
        with self._lock, transaction(self._db):
            self._db.execute("DELETE FROM withdrawn")
            self._db.executemany("INSERT INTO withdrawn VALUES (?, ?)", withdrawn)

    def add_pool(self, pool: Pool, documents: Sequence[PooledDocument]) -> None:
        """Add the documents of a later pool after those that are there."""
        with self._lock, transaction(self._db):
            extend(self._db, pool, documents)

    def record(self, request: str, assessor: str, batch: str, changes: Sequence[Change], waited: float = 0) -> Applied:
        """Apply all ``changes`` or none, and return them; one undo takes back all of a ``batch``.

        They have ``waited`` for so many seconds. Raises :class:`ConflictError` for an edit of a narrative that is no
        longer the current one, and :class:`DataError` for a change of what was changed after it was made.
        """
        with self._lock, transaction(self._db):
            if not self._was_answered(request):
                for part, change in enumerate(changes):
                    judged = (change.kind, change.qid, change.condition, change.docid)
                    self._apply(Event(request, part, _now(waited), assessor, batch, *judged, {}, {}), change, waited)
            return self._answer(request)

    def undo(self, request: str, assessor: str, waited: float = 0) -> Applied:
        """Undo the assessor's last batch that is not undone, of ``waited`` seconds ago; return it, empty for none."""
        with self._lock, transaction(self._db):
            if not self._was_answered(request):
                self._take_back(request, assessor, waited)
            return self._answer(request)

    def judgements(self, qid: str = "") -> list[Judgement]:
        """Return judgements with a grade or a note of what is not withdrawn, of one topic if it is given."""
        query = (
            "SELECT * FROM judgements AS one WHERE (grade IS NOT NULL OR note <> '') AND qid = COALESCE(?, qid) AND "
            "NOT EXISTS (SELECT 1 FROM withdrawn WHERE qid = one.qid AND docid IN ('', one.docid))"
        )
        return [Judgement(*row) for row in self._rows(query, (qid or None,))]

    def marks(self, qid: str = "") -> dict[Judged, dict[str, Any]]:
        """Return the marks beside grades by their kinds, of one topic if it is given."""
        columns, marks = "assessor, qid, condition, docid, kind, value", dict[Judged, dict[str, Any]]()
        query = f"SELECT {columns} FROM marks WHERE value <> '' AND qid = COALESCE(?, qid)"  # noqa: S608 (our names)
        for row in self._rows(query, (qid or None,)):
            marks.setdefault(row[:4], {})[row[4]] = json.loads(row[5])
        return marks

    def narratives(self) -> dict[str, tuple[str, int]]:
        """Return each topic's current changed narrative and its version; 0 is the text that editing started from."""
        return {qid: (text, version) for qid, text, version in self._rows("SELECT qid, text, version FROM narratives")}

    def edited_by(self, version: int) -> str:
        """Return who made this version of a narrative on the page; empty for that of a file, and for the first."""
        rows = self._rows("SELECT assessor FROM log WHERE id = ? AND assessor <> ?", (version, ADJUDICATED))
        return rows[0][0] if rows else ""

    def document(self, docid: str) -> PooledDocument | None:
        """Return a document of the pool; None for any other."""
        with self._lock:
            return self._document(docid)

    def _document(self, docid: str) -> PooledDocument | None:
        rows = self._db.execute("SELECT docid, title, date, text, tabular FROM documents WHERE docid = ?", (docid,))
        return next(map(PooledDocument._make, rows), None)

    def get(self, docids: Sequence[str]) -> list[Document]:
        """Return documents of the pool as exports read them."""
        documents = map(self.document, docids)
        return [Document(document.docid, document.title, document.text) for document in documents if document]

    def missing(self, docids: Sequence[str]) -> list[str]:
        """Return those of ``docids`` that are not there."""
        titles = self.titles(docids)
        return [docid for docid in docids if docid not in titles]

    def titles(self, docids: Sequence[str]) -> dict[str, str]:
        """Return titles by docid."""
        results = (self._rows("SELECT docid, title FROM documents WHERE docid = ?", (docid,)) for docid in docids)
        return {docid: title for rows in results for docid, title in rows}

    def times(self) -> dict[tuple[str, str, str, str], str]:
        """Return when each judgement was last changed (UTC, ISO 8601), by assessor, topic, condition and document."""
        rows = self._rows(
            "SELECT assessor, qid, condition, docid, MAX(at) FROM log WHERE kind <> 'narrative' GROUP BY 1, 2, 3, 4"
        )
        return {row[:4]: row[4] for row in rows}

    def first_grades(self, assessor: str = "") -> list[tuple[str, float]]:
        """Return assessor and time (seconds, since any moment) of each document's first grade, in the log's order."""
        by = " AND assessor = ?" if assessor else ""
        return self._rows(
            f"SELECT assessor, julianday(at) * 86400 AS first FROM log WHERE kind = 'grade'{by} "  # noqa: S608
            "GROUP BY assessor, qid, condition, docid HAVING first IS NOT NULL ORDER BY assessor, MIN(id)",
            (assessor,) if assessor else (),
        )

    def last(self, *assessors: str) -> int:
        """Return the number of the log's latest entry, of all or by ``assessors``; 0 if there is none."""
        by = f" WHERE assessor IN ({', '.join('?' * len(assessors))})" if assessors else ""
        number: int = self._rows(f"SELECT COALESCE(MAX(id), 0) FROM log{by}", assessors)[0][0]  # noqa: S608
        return number

    def assessors(self) -> set[str]:
        """Return the names of all who have a link, or have ever judged, decided or edited a narrative."""
        query = (
            "SELECT name FROM people UNION SELECT assessor FROM log "
            "UNION SELECT json_extract(after, '$.by') FROM log WHERE kind = 'grade'"
        )
        return {name for (name,) in self._rows(query) if name}

    def deciders(self) -> dict[tuple[str, str, str], str]:
        """Return who made each adjudicated decision, by topic, condition and docid, where that is known."""
        # by time, since an added database's entries come last and the later decision counts
        query = (
            "SELECT qid, condition, docid, json_extract(after, '$.by') FROM log WHERE assessor = ? AND kind = 'grade'"
        )
        last = {row[:3]: row[3] for row in self._rows(f"{query} ORDER BY at, id", (ADJUDICATED,))}
        return {key: name for key, name in last.items() if name}

    def _rows(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        with self._lock:
            return self._db.execute(query, values).fetchall()

    def _was_answered(self, request: str) -> bool:
        return bool(self._db.execute("SELECT 1 FROM log WHERE client = ? LIMIT 1", (request,)).fetchone())

    def _answer(self, request: str) -> Applied:
        rows = self._db.execute(
            "SELECT kind, qid, condition, docid, after FROM log WHERE client = ? ORDER BY part", (request,)
        )
        return [
            {"kind": kind, "qid": qid, "condition": condition, "docid": docid, **_shown(kind, json.loads(after))}
            for kind, qid, condition, docid, after in rows
        ]

    def _apply(self, entry: Event, change: Change, waited: float) -> None:
        before = read_state(self._db, *entry.key())
        after = _after(change, before)
        if change.read and change.value is not None:  # a grade, which may have waited while the text was corrected
            document = self._document(change.docid)
            after |= {"wording": EARLIER} if document and document.version != change.read else {}
        if after == before:
            return
        if change.kind == NARRATIVE and change.base != before["version"]:
            raise ConflictError(change.qid, before["text"], before["version"])
        if waited > LATE and self._db.execute(NEWER, (_now(waited - LATE), *entry.key())).fetchone():
            name = {"grade": f"grade {change.value}", "note": "note"}.get(change.kind, "mark")
            since = f"waited here since {entry.time[:16]} UTC; a later one given elsewhere stays"
            raise DataError(f"topic {change.qid}, document {change.docid}: {name} {since}")
        write_entry(self._db, entry._replace(before=before, after=after))

    def _take_back(self, request: str, assessor: str, waited: float) -> None:
        undone_batch, part = "", 0
        until = _now(waited - LATE) if waited > LATE else "9"  # whatever the clock says
        while row := self._db.execute(LAST, (assessor, until)).fetchone():
            number, batch, kind, qid, condition, docid, before, after = row
            if batch != (undone_batch or batch):
                break
            undone_batch = batch
            changed = (kind, qid, condition, docid, json.loads(after), json.loads(before))
            write_entry(self._db, Event(request, part, _now(waited), assessor, batch, *changed, undoes=number))
            part += 1


def _shown(kind: str, state: State) -> State:
    """Return a state as the page has it, with a mark's value."""
    return {kind: json.loads(state[kind] or "null")} if kind in MARKS else state


def _now(waited: float = 0) -> str:
    """Return the time (UTC, ISO 8601) of ``waited`` seconds ago."""
    return (datetime.now(UTC) - timedelta(seconds=waited)).isoformat(timespec="milliseconds")


def _after(change: Change, before: State) -> State:
    """Return the state ``before`` with ``change`` applied."""
    if change.kind == NARRATIVE:
        return {**before, "text": change.value}
    if change.kind == "note" or change.kind in MARKS:
        return {change.kind: change.value}
    grade = {"grade": change.value, "wording": "" if change.value is None else wording_of(change.wording)}
    return {**grade, "by": change.by} if change.by else grade

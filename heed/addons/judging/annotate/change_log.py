"""The log as values: what was changed, by whom and when, what is the same in two databases, and what is current."""

import hashlib
import json
import sqlite3
from typing import Any, NamedTuple

NARRATIVE = "narrative"
ADDED = "added-"  # begins the request of an entry that came from another database: its identity there
COLUMNS = "client, part, at, assessor, batch, kind, qid, condition, docid, before, after, undoes"

Key = tuple[str, str, str, str, str]  # kind, assessor, qid, condition, docid; of a narrative kind and qid alone
State = dict[str, Any]  # grade and wording, note, or text and version


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
        """Return the key of the grade, the note or the narrative that the entry changes."""
        if self.kind == NARRATIVE:
            return (NARRATIVE, "", self.qid, "", "")
        return (self.kind, self.assessor, self.qid, self.condition, self.docid)


def read_log(db: sqlite3.Connection) -> list[Event]:
    """Return all entries, oldest first."""
    rows = db.execute(f"SELECT {COLUMNS} FROM log ORDER BY id")  # noqa: S608 (our names)
    return [Event._make((*row[:9], json.loads(row[9]), json.loads(row[10]), row[11])) for row in rows]


def current_entries(db: sqlite3.Connection) -> dict[Key, Event]:
    """Return the entry that the current value of each grade, note and narrative is from, if it was ever changed."""
    return {
        entry.key(): entry
        for entry in read_log(db)
        # not simply the last: Heed 0.2 added entries of other databases whose values did not become current
        if read_state(db, *entry.key()).items() <= entry.after.items()
    }


def read_state(db: sqlite3.Connection, kind: str, assessor: str, qid: str, condition: str, docid: str) -> State:
    """Return the current grade, note or narrative."""
    if kind == NARRATIVE:
        row = db.execute("SELECT text, version FROM narratives WHERE qid = ?", (qid,)).fetchone()
        return {"text": row[0], "version": row[1]}
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
    judged = (entry.assessor, entry.qid, entry.condition, entry.docid)
    db.execute("INSERT OR IGNORE INTO judgements (assessor, qid, condition, docid) VALUES (?, ?, ?, ?)", judged)
    for name in ("note",) if entry.kind == "note" else ("grade", "wording"):
        query = f"UPDATE judgements SET {name} = ? WHERE (assessor, qid, condition, docid) = (?, ?, ?, ?)"  # noqa: S608
        db.execute(query, (after[name], *judged))

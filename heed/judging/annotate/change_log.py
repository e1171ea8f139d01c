"""The log's entries as values: what was changed, by whom and when, and what is the same entry in two databases."""

import json
import sqlite3
from collections.abc import Iterable
from typing import Any, NamedTuple

from heed.judging.annotate.store import NARRATIVE

RENAMED = "~"  # in no request's id: before the number of one whose id belongs to another request here
COLUMNS = "id, client, part, at, assessor, batch, kind, qid, condition, docid, before, after, undoes"

Identity = tuple[str, int, str, str, str, str, str]
Key = tuple[str, str, str, str, str]  # kind, assessor, qid, condition, docid; of a narrative kind and qid alone
State = dict[str, Any]  # grade and wording, note, or text and version


class Entry(NamedTuple):
    """A line of the log; ``undoes`` is another one's ``id``."""

    id: int
    client: str
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
    undoes: int | None

    def identity(self) -> Identity:
        """Return the part of the entry that is the same in every copy, even if its assessor is renamed."""
        request = self.client.partition(RENAMED)[0]
        return (request, self.part, self.time, self.kind, self.qid, self.condition, self.docid)

    def key(self) -> Key:
        """Return the key of the grade, the note or the narrative that the entry changes."""
        if self.kind == NARRATIVE:
            return (NARRATIVE, "", self.qid, "", "")
        return (self.kind, self.assessor, self.qid, self.condition, self.docid)


def read_log(db: sqlite3.Connection) -> list[Entry]:
    """Return all entries, oldest first."""
    rows = db.execute(f"SELECT {COLUMNS} FROM log ORDER BY id")  # noqa: S608 (our names)
    return [Entry._make((*row[:10], json.loads(row[10]), json.loads(row[11]), row[12])) for row in rows]


def append(db: sqlite3.Connection, entries: Iterable[Entry]) -> None:
    """Write entries with their own ids."""
    rows = ((*entry[:10], _json(entry.before), _json(entry.after), entry.undoes) for entry in entries)
    db.executemany(f"INSERT INTO log ({COLUMNS}) VALUES ({', '.join('?' * 13)})", rows)  # noqa: S608 (our names)


def _json(state: State) -> str:
    return json.dumps(state, ensure_ascii=False)


def read_states(db: sqlite3.Connection) -> dict[Key, State]:
    """Return the current grades, notes and narratives, changed or not."""
    states: dict[Key, State] = {}
    rows = db.execute("SELECT assessor, qid, condition, docid, grade, note, wording FROM judgements")
    for assessor, qid, condition, docid, grade, note, wording in rows:
        states["grade", assessor, qid, condition, docid] = {"grade": grade, "wording": wording}
        states["note", assessor, qid, condition, docid] = {"note": note}
    for qid, text, version in db.execute("SELECT qid, text, version FROM narratives"):
        states[NARRATIVE, "", qid, "", ""] = {"text": text, "version": version}
    return states

"""Judgements and narratives in SQLite: every change is on disk before it is answered, and each can be undone.

Writing is serialised by a lock, with one transaction a request. A request carries an id that the page has made; when
it is sent again, because its answer was lost, it is answered again and changes nothing.
"""

import hashlib
import json
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from heed.addons.judging.annotate.database import (
    NARRATIVE,
    Event,
    State,
    connect,
    extend,
    read_state,
    stored_properties,
    transaction,
    write_entry,
)
from heed.addons.judging.annotate.task import ADJUDICATED, PooledDocument
from heed.errors import DataError
from heed.formats.pools import Pool

# the assessor's last change that is not undone and whose result is the current one: a narrative may have been edited by
# another since, and of the changes that an added database brought, another one may be in force
LAST = """
SELECT id, batch, kind, qid, condition, docid, before, after FROM log AS entry
WHERE assessor = ? AND undoes IS NULL
  AND NOT EXISTS (SELECT 1 FROM log WHERE undoes = entry.id)
  AND CASE kind
    WHEN 'narrative' THEN EXISTS (SELECT 1 FROM narratives WHERE qid = entry.qid AND version = entry.id)
    ELSE EXISTS (
      SELECT 1 FROM judgements
      WHERE (assessor, qid, condition, docid) = (entry.assessor, entry.qid, entry.condition, entry.docid)
        AND CASE entry.kind
          WHEN 'note' THEN note = json_extract(entry.after, '$.note')
          ELSE grade IS json_extract(entry.after, '$.grade') AND wording = json_extract(entry.after, '$.wording')
        END)
  END
ORDER BY id DESC LIMIT 1"""


class Change(NamedTuple):
    """One change by an assessor: ``kind`` is grade, note or narrative.

    ``value`` is the grade (None takes it back), the note or the narrative. ``wording`` is the narrative that a grade
    was given under; ``base`` the version of the narrative that was edited; ``by`` who made an adjudicator's decision.
    """

    kind: str
    qid: str
    condition: str = ""
    docid: str = ""
    value: int | str | None = None
    wording: str = ""
    base: int = 0
    by: str = ""


class Judgement(NamedTuple):
    """One assessor's grade and note of a document; ``wording`` is :func:`wording_of` the narrative they are for."""

    assessor: str
    qid: str
    condition: str
    docid: str
    grade: int | None
    note: str
    wording: str

    def is_stale(self, wording: str) -> bool:
        """Whether the grade was given under another wording of the changed narrative than the current one."""
        return self.condition == "changed" and self.grade is not None and self.wording != wording


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
        """Open a database that :func:`heed.addons.judging.annotate.database.create` made."""
        self.path = path
        self._db = connect(path)
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the file; everything that was answered is in it already."""
        with self._lock:
            self._db.close()

    def properties(self) -> dict[str, str]:
        """Return the properties of the whole annotation: task, token, port."""
        with self._lock:
            return stored_properties(self._db)

    def set_property(self, name: str, value: str) -> None:
        """Set one of :meth:`properties`."""
        with self._lock, transaction(self._db):
            self._db.execute("INSERT OR REPLACE INTO kept VALUES (?, ?)", (name, value))

    def add_pool(self, pool: Pool, documents: Sequence[PooledDocument]) -> None:
        """Add the documents of a later pool after those that are there."""
        with self._lock, transaction(self._db):
            extend(self._db, pool, documents)

    def record(self, request_id: str, assessor: str, batch: str, changes: Sequence[Change]) -> Applied:
        """Apply all ``changes`` or none, and return them; one undo takes back all of a ``batch``.

        Raises :class:`ConflictError` for an edit of a narrative that is no longer the current one.
        """
        with self._lock, transaction(self._db):
            if not self._was_answered(request_id):
                for part, change in enumerate(changes):
                    self._apply(request_id, part, assessor, batch, change)
            return self._answer(request_id)

    def undo(self, request_id: str, assessor: str) -> Applied:
        """Undo the assessor's last batch of changes that is not undone, and return it; empty if none is left."""
        with self._lock, transaction(self._db):
            if not self._was_answered(request_id):
                self._take_back(request_id, assessor)
            return self._answer(request_id)

    def judgements(self, qid: str = "") -> list[Judgement]:
        """Return judgements with a grade or a note, of one topic if it is given."""
        query = "SELECT * FROM judgements WHERE (grade IS NOT NULL OR note <> '') AND qid = COALESCE(?, qid)"
        return [Judgement(*row) for row in self._rows(query, (qid or None,))]

    def narratives(self) -> dict[str, tuple[str, int]]:
        """Return each topic's current changed narrative and its version; 0 is the text that editing started from."""
        return {qid: (text, version) for qid, text, version in self._rows("SELECT qid, text, version FROM narratives")}

    def document(self, docid: str) -> PooledDocument | None:
        """Return a document of the pool; None for any other."""
        rows = self._rows("SELECT docid, title, date, text, tabular FROM documents WHERE docid = ?", (docid,))
        return PooledDocument(*rows[0])._replace(tabular=bool(rows[0][4])) if rows else None

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

    def last(self, assessor: str) -> int:
        """Return the number of the assessor's or the adjudicator's latest entry in the log; 0 if there is none."""
        query = "SELECT COALESCE(MAX(id), 0) FROM log WHERE assessor IN (?, ?)"
        number: int = self._rows(query, (assessor, ADJUDICATED))[0][0]
        return number

    def last_entry(self) -> int:
        """Return the number of the log's latest entry, which every change of judgements and narratives raises."""
        number: int = self._rows("SELECT COALESCE(MAX(id), 0) FROM log")[0][0]
        return number

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

    def _was_answered(self, request_id: str) -> bool:
        return bool(self._db.execute("SELECT 1 FROM log WHERE client = ? LIMIT 1", (request_id,)).fetchone())

    def _answer(self, request_id: str) -> Applied:
        rows = self._db.execute(
            "SELECT kind, qid, condition, docid, after FROM log WHERE client = ? ORDER BY part", (request_id,)
        )
        return [
            {"kind": kind, "qid": qid, "condition": condition, "docid": docid, **json.loads(after)}
            for kind, qid, condition, docid, after in rows
        ]

    def _apply(self, request_id: str, part: int, assessor: str, batch: str, change: Change) -> None:
        judged = (change.qid, change.condition, change.docid)
        before = read_state(self._db, change.kind, assessor, *judged)
        after = _after(change, before)
        if after == before:
            return
        if change.kind == NARRATIVE and change.base != before["version"]:
            raise ConflictError(change.qid, before["text"], before["version"])
        write_entry(self._db, Event(request_id, part, _now(), assessor, batch, change.kind, *judged, before, after))

    def _take_back(self, request_id: str, assessor: str) -> None:
        undone_batch, part = "", 0
        while row := self._db.execute(LAST, (assessor,)).fetchone():
            number, batch, kind, qid, condition, docid, before, after = row
            if batch != (undone_batch or batch):
                break
            undone_batch = batch
            changed = (kind, qid, condition, docid, json.loads(after), json.loads(before))
            write_entry(self._db, Event(request_id, part, _now(), assessor, batch, *changed, undoes=number))
            part += 1


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _after(change: Change, before: State) -> State:
    """Return the state ``before`` with ``change`` applied."""
    if change.kind == NARRATIVE:
        return {**before, "text": change.value}
    if change.kind == "note":
        return {"note": change.value}
    grade = {"grade": change.value, "wording": "" if change.value is None else wording_of(change.wording)}
    return {**grade, "by": change.by} if change.by else grade

"""Judgements and narratives in SQLite: every change is on disk before it is answered, and each can be undone.

All writing is in one place and order: a lock, and one transaction a request. A request carries an id of the page's
own making; one that comes again, because its answer was lost, is answered again and changes nothing.
"""

import hashlib
import json
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from heed.annotation.database import connect, transaction
from heed.annotation.documents import Shown
from heed.errors import HeedError

ADJUDICATED = "adjudicated"  # whose judgements decide where assessors differ
NARRATIVE = "narrative"

# what the assessor did last and has not undone; a narrative only while its text is the one in force
LAST = """
SELECT id, batch, kind, qid, condition, docid, before, after FROM log AS one
WHERE assessor = ? AND undoes IS NULL
  AND NOT EXISTS (SELECT 1 FROM log WHERE undoes = one.id)
  AND (kind <> 'narrative' OR EXISTS (SELECT 1 FROM narratives WHERE qid = one.qid AND version = one.id))
ORDER BY id DESC LIMIT 1"""


class Change(NamedTuple):
    """One change of an assessor's: ``kind`` is grade, note or narrative.

    ``value`` is the grade (None takes it back), the note or the narrative. ``wording`` is the narrative that a grade
    was given under; ``base`` the version of the narrative that was edited.
    """

    kind: str
    qid: str
    condition: str = ""
    docid: str = ""
    value: int | str | None = None
    wording: str = ""
    base: int = 0


class Judgement(NamedTuple):
    """What one assessor says of one document; ``wording`` is :func:`wording_of` the narrative it was said under."""

    assessor: str
    qid: str
    condition: str
    docid: str
    grade: int | None
    note: str
    wording: str


class ConflictError(HeedError):
    """A narrative was edited by somebody else meanwhile; ``text`` and ``version`` are theirs."""

    def __init__(self, qid: str, text: str, version: int) -> None:
        super().__init__(
            f"topic {qid}: the changed narrative was edited elsewhere meanwhile; take that text or keep yours"
        )
        self.text, self.version = text, version


Done = list[dict[str, Any]]  # kind, qid, condition and docid of what changed, with what holds now


def wording_of(narrative: str) -> str:
    """A short digest of a narrative's words, the same however it is broken into lines."""
    return hashlib.sha256(" ".join(narrative.split()).encode()).hexdigest()[:16]


class Store:
    """An open database; safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        """Open what :func:`heed.annotation.database.create` made."""
        self.path = path
        self._db = connect(path)
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the file; what was answered is in it already."""
        with self._lock:
            self._db.close()

    def kept(self) -> dict[str, str]:
        """What holds for the whole annotation, by name."""
        return dict(self._rows("SELECT name, value FROM kept"))

    def keep(self, name: str, value: str) -> None:
        """Set one of :meth:`kept`."""
        with self._lock, transaction(self._db):
            self._db.execute("INSERT OR REPLACE INTO kept VALUES (?, ?)", (name, value))

    def record(self, client: str, assessor: str, batch: str, changes: Sequence[Change]) -> Done:
        """Apply all ``changes`` or none; what one undo takes back has the same ``batch``.

        Raises :class:`ConflictError` for an edited narrative that is no longer the one in force.
        """
        with self._lock, transaction(self._db):
            if not self._answered(client):
                for part, change in enumerate(changes):
                    self._apply(client, part, assessor, batch, change)
            return self._answer(client)

    def undo(self, client: str, assessor: str) -> Done:
        """Take back the assessor's last batch that still stands; an empty list where nothing is left to undo."""
        with self._lock, transaction(self._db):
            if not self._answered(client):
                self._take_back(client, assessor)
            return self._answer(client)

    def judgements(self, assessor: str = "", qid: str = "") -> list[Judgement]:
        """Judgements with a grade or a note, of one assessor and one topic where these are named."""
        named = {name: value for name, value in (("assessor", assessor), ("qid", qid)) if value}
        where = " AND ".join(["(grade IS NOT NULL OR note <> '')", *(f"{name} = ?" for name in named)])
        rows = self._rows(f"SELECT * FROM judgements WHERE {where}", tuple(named.values()))  # noqa: S608 (our own names)
        return [Judgement(*row) for row in rows]

    def assessors(self) -> list[str]:
        """Who has judged anything, by name; without the adjudicator."""
        rows = self._rows("SELECT DISTINCT assessor FROM judgements WHERE assessor <> ? ORDER BY 1", (ADJUDICATED,))
        return [name for (name,) in rows]

    def narratives(self) -> dict[str, tuple[str, int]]:
        """The changed narrative in force and its version, by topic; version 0 is the text editing started from."""
        return {qid: (text, version) for qid, text, version in self._rows("SELECT qid, text, version FROM narratives")}

    def document(self, docid: str) -> Shown | None:
        """A document of the pool."""
        rows = self._rows("SELECT docid, title, date, text, tabular FROM documents WHERE docid = ?", (docid,))
        return Shown(*rows[0])._replace(tabular=bool(rows[0][4])) if rows else None

    def titles(self, docids: Sequence[str]) -> dict[str, str]:
        """Titles by docid."""
        found = (self._rows("SELECT docid, title FROM documents WHERE docid = ?", (docid,)) for docid in docids)
        return {docid: title for rows in found for docid, title in rows}

    def times(self) -> dict[tuple[str, str, str, str], str]:
        """When each judgement was last changed (UTC, ISO 8601), by assessor, topic, condition and document."""
        rows = self._rows(
            "SELECT assessor, qid, condition, docid, MAX(at) FROM log WHERE kind <> 'narrative' GROUP BY 1, 2, 3, 4"
        )
        return {row[:4]: row[4] for row in rows}

    def last(self, assessor: str) -> int:
        """The number of the assessor's latest entry in the log; 0 without one."""
        found: int = self._rows("SELECT COALESCE(MAX(id), 0) FROM log WHERE assessor = ?", (assessor,))[0][0]
        return found

    def _rows(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        with self._lock:
            return self._db.execute(query, values).fetchall()

    def _answered(self, client: str) -> bool:
        return bool(self._db.execute("SELECT 1 FROM log WHERE client = ? LIMIT 1", (client,)).fetchone())

    def _answer(self, client: str) -> Done:
        rows = self._db.execute(
            "SELECT kind, qid, condition, docid, after FROM log WHERE client = ? ORDER BY part", (client,)
        )
        return [
            {"kind": kind, "qid": qid, "condition": condition, "docid": docid, **json.loads(after)}
            for kind, qid, condition, docid, after in rows
        ]

    def _apply(self, client: str, part: int, assessor: str, batch: str, change: Change) -> None:
        place = (assessor, change.qid, change.condition, change.docid)
        before = self._get(change.kind, place)
        after = _after(change, before)
        if after == before:
            return
        if change.kind == NARRATIVE and change.base != before["version"]:
            raise ConflictError(change.qid, before["text"], before["version"])
        if change.kind == NARRATIVE:
            after["version"] = self._db.execute("SELECT COALESCE(MAX(id), 0) + 1 FROM log").fetchone()[0]
        self._set(change.kind, place, after)
        _, qid, condition, docid = place
        states = json.dumps(before, ensure_ascii=False), json.dumps(after, ensure_ascii=False)
        self._log((client, part, assessor, batch, change.kind, qid, condition, docid, *states, None))

    def _take_back(self, client: str, assessor: str) -> None:
        first, part = "", 0
        while row := self._db.execute(LAST, (assessor,)).fetchone():
            done, batch, kind, qid, condition, docid, before, after = row
            if batch != (first or batch):
                break
            first = batch
            self._set(kind, (assessor, qid, condition, docid), json.loads(before))
            self._log((client, part, assessor, batch, kind, qid, condition, docid, after, before, done))
            part += 1

    def _log(self, row: tuple[Any, ...]) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._db.execute(
            "INSERT INTO log (client, part, assessor, batch, kind, qid, condition, docid, before, after, undoes, at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*row, now),
        )

    def _get(self, kind: str, place: tuple[str, str, str, str]) -> dict[str, Any]:
        if kind == NARRATIVE:
            row = self._db.execute("SELECT text, version FROM narratives WHERE qid = ?", (place[1],)).fetchone()
            return {"text": row[0], "version": row[1]}
        row = self._db.execute(
            "SELECT grade, note, wording FROM judgements WHERE (assessor, qid, condition, docid) = (?, ?, ?, ?)", place
        ).fetchone()
        grade, note, wording = row or (None, "", "")
        return {"note": note} if kind == "note" else {"grade": grade, "wording": wording}

    def _set(self, kind: str, place: tuple[str, str, str, str], state: dict[str, Any]) -> None:
        if kind == NARRATIVE:
            self._db.execute(
                "UPDATE narratives SET text = ?, version = ? WHERE qid = ?", (state["text"], state["version"], place[1])
            )
            return
        names = ("note",) if kind == "note" else ("grade", "wording")
        values = [state[name] for name in names]
        self._db.execute(
            "INSERT OR IGNORE INTO judgements (assessor, qid, condition, docid) VALUES (?, ?, ?, ?)", place
        )
        self._db.execute(
            f"UPDATE judgements SET ({', '.join(names)}) = ({', '.join('?' * len(names))})"  # noqa: S608 (our own names)
            " WHERE (assessor, qid, condition, docid) = (?, ?, ?, ?)",
            (*values, *place),
        )


def _after(change: Change, before: dict[str, Any]) -> dict[str, Any]:
    """What holds once ``change`` is applied to ``before``."""
    if change.kind == NARRATIVE:
        return {**before, "text": change.value}
    if change.kind == "note":
        return {"note": change.value}
    return {"grade": change.value, "wording": "" if change.value is None else wording_of(change.wording)}

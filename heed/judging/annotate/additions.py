"""What is added to an annotation: another assessor's database, read without changing it."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from heed.errors import DataError, fail
from heed.formats.pools import Pool
from heed.judging.annotate.database import DIGEST_ONLY, stored_properties, version_of
from heed.judging.annotate.documents import PooledDocument
from heed.judging.annotate.entries import Entry, Place, State, read_log, read_states
from heed.judging.annotate.payloads import check_name
from heed.judging.annotate.store import NARRATIVE
from heed.judging.annotate.task import CONDITIONS, Task, load_task
from heed.progress import log


class Addition(NamedTuple):
    """What ``path`` adds: its task, its log, the current states of what was judged, and the pooled documents.

    A snapshot's log has only the last change of each grade and note.
    """

    path: Path
    task: Task
    entries: list[Entry]
    states: dict[Place, State]
    documents: Iterator[PooledDocument]
    is_snapshot: bool = False


def read_addition(path: Path, db: sqlite3.Connection) -> Addition:
    """Read an annotation that :func:`heed.judging.annotate.database.open_read_only` opened.

    Of the version that stored no pool, the pool is what was judged. Raises :class:`DataError` for a damaged database.
    """
    try:
        entries = read_log(db)
        stored = stored_properties(db)
        if version_of(db) == DIGEST_ONLY:
            log.info(f"{path}: made by an earlier version of Heed, which stored no pool; what is judged there is added")
            stored["pool"] = json.dumps(judged_pool(entries))
        task = load_task(stored, False)
        fail(f"{path}: damaged (log entry {entry.id} does not fit)" for entry in entries if not fits(entry, task))
        return Addition(path, task, entries, read_states(db), _documents(db))
    except (sqlite3.DatabaseError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: damaged ({error}); take a copy of it that is whole") from error


def fits(entry: Entry, task: Task) -> bool:
    """Whether the page could have made the entry: what is added goes to other assessors' pages."""
    check_name(entry.assessor)
    if entry.kind != NARRATIVE and entry.docid not in task.pool.get(entry.qid, ()):
        return False
    states = (entry.before, entry.after)
    if entry.kind == NARRATIVE:
        return entry.qid in task.pool and all(isinstance(state["text"], str) for state in states)
    if entry.kind == "note":
        return entry.condition in CONDITIONS and all(isinstance(state["note"], str) for state in states)
    grades = (None, *task.grades())
    return entry.kind == "grade" and entry.condition in CONDITIONS and all(state["grade"] in grades for state in states)


def judged_pool(entries: Sequence[Entry]) -> Pool:
    """Return the documents that were judged, by topic and in the order of the log."""
    pool: dict[str, dict[str, None]] = {}
    for entry in entries:
        if entry.docid:
            pool.setdefault(entry.qid, {})[entry.docid] = None
    return {qid: [*docids] for qid, docids in pool.items()}


def _documents(db: sqlite3.Connection) -> Iterator[PooledDocument]:
    for docid, title, date, text, tabular in db.execute("SELECT docid, title, date, text, tabular FROM documents"):
        yield PooledDocument(docid, title, date, text, bool(tabular))

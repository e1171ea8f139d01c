"""Add other assessors' annotations to one: every judgement once, with its assessor, condition, time and note.

The current values are added, each as a change here. One that both have, since one database is a copy of the other or
was added before, is one: so adding can be interrupted, repeated, and done again when the other assessor has gone on.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from heed.addons.judging.annotate.additions import Addition, open_addition
from heed.addons.judging.annotate.assessors import names_here
from heed.addons.judging.annotate.change_log import (
    NARRATIVE,
    Event,
    State,
    current_entries,
    read_log,
    read_state,
    write_entry,
)
from heed.addons.judging.annotate.database import connect, extend, stored_properties, transaction
from heed.addons.judging.annotate.pooled_documents import PooledDocument
from heed.addons.judging.annotate.store import wording_of
from heed.addons.judging.annotate.task import Task, dump_task, load_task, new_in, task_differences
from heed.errors import SHOWN, UsageError, fail
from heed.formats.pools import Pool
from heed.progress import brief, log, warn


def add_annotations(path: Path, others: Sequence[Path], names: Mapping[str, str], encoding: str | None = None) -> None:
    """Add the annotations ``others``, databases or folders of exports, to that in ``path``, all or none.

    ``names`` says what assessors of the others are called here; a name that both sides have must be in it, as itself if
    it is one person's, unless they have judgements in common. Where an assessor has changed a grade or a note on both
    sides the later one is kept, where a narrative was edited on both sides the one here. ``encoding`` is that of result
    files that are not UTF-8.

    Raises :class:`DataError` for other topics, documents, grades or given judgements, and :class:`UsageError` for names
    that need a decision.
    """
    assessors: set[str] = set()
    reports: list[tuple[str, list[str]]] = []
    with closing(connect(path)) as db, transaction(db):
        for other_path in others:
            task = load_task(stored_properties(db))
            with open_addition(other_path, task, encoding) as addition:
                if path.samefile(other_path):
                    raise UsageError(f"{other_path}: is the database itself; name another one to add")
                assessors |= {entry.assessor for entry in addition.entries}
                reports.append(_add(db, path, task, addition, names))
        unknown = [name for name in names if name not in assessors]
        judges = brief(sorted(assessors))
        fail([f"--as: {name} has judged nothing there; who has: {judges}" for name in unknown], UsageError)
    for summary, warnings in reports:
        log.info(summary)
        for warning in warnings:
            warn(warning)


def _add(
    db: sqlite3.Connection, path: Path, task: Task, addition: Addition, names: Mapping[str, str]
) -> tuple[str, list[str]]:
    """Add one annotation in the caller's transaction; return a summary and warnings, to be logged after it."""
    log_here = read_log(db)
    edits: dict[str, list[str]] = defaultdict(list)
    for entry in log_here:
        if entry.kind == NARRATIVE:
            edits[entry.qid].append(entry.after["text"])
    differences = task_differences(task, addition.task, edits)
    fail(f"{addition.path}: {difference}" for difference in differences)
    here = {entry.origin(): entry.assessor for entry in log_here}
    before: dict[str, str | None] = {entry.assessor: None for entry in addition.entries}  # their names here
    before |= {entry.assessor: here[entry.origin()] for entry in addition.entries if entry.origin() in here}
    new_names = names_here(addition.path, before, {entry.assessor for entry in log_here}, names)
    new_documents = new_in(addition.task.pool, task.pool)
    _add_documents(db, path, addition, new_documents)
    if addition.task.qrels and not task.qrels:
        db.execute("UPDATE kept SET value = ? WHERE name = 'given'", (dump_task(addition.task)["given"],))
    warnings = _other_narratives(db, addition)
    count, conflicts = _add_values(db, addition, new_names)
    warnings += _conflict_warnings(addition.path, conflicts)
    judged = sum(entry.kind == "grade" and entry.after["grade"] is not None for entry in addition.current)
    summary = (
        f"{addition.path}: {judged} judgements of {brief(sorted({*new_names.values()}))}, {count} of them new here; "
        f"{sum(map(len, new_documents.values()))} documents new in the pool"
    )
    return summary, warnings


def _add_documents(db: sqlite3.Connection, path: Path, addition: Addition, pool: Pool) -> None:
    """Add the documents of ``pool``; those that are here must have the same text, those of an export must be here."""
    problems: list[str] = []
    extend(db, pool, _new_documents(db, path, addition, problems))
    docids = dict.fromkeys(chain.from_iterable(pool.values()))
    absent = [
        docid for docid in docids if not db.execute("SELECT 1 FROM documents WHERE docid = ?", (docid,)).fetchone()
    ]
    if absent:
        problems.append(
            f"{addition.path}: documents {brief(absent)} are not in {path}; add the pool they are from first"
        )
    fail(problems)


def _new_documents(
    db: sqlite3.Connection, path: Path, addition: Addition, problems: list[str]
) -> Iterator[PooledDocument]:
    pooled = {*addition.task.docids()}
    for document in addition.documents:
        stored = db.execute("SELECT title, text FROM documents WHERE docid = ?", (document.docid,)).fetchone()
        if stored is None and document.docid in pooled:
            yield document
        elif stored not in (None, (document.title, document.text)):
            problems.append(f"{addition.path}: document {document.docid} has another text than in {path}")


def _other_narratives(db: sqlite3.Connection, addition: Addition) -> list[str]:
    """Return a warning of the topics whose changed narrative is another one in an export."""
    topics = [
        qid
        for qid, text in addition.narratives.items()
        if qid in addition.task.pool
        and wording_of(text) != wording_of(read_state(db, NARRATIVE, "", qid, "", "")["text"])
    ]
    warning = (
        f"{addition.path}: topics {brief(topics)} have another changed narrative there; the text here is kept, "
        "grades under the other one count as given before an edit"
    )
    return [warning] if topics else []


class Conflict(NamedTuple):
    """A grade, note or narrative that was changed on both sides; ``is_later`` where the added one becomes current."""

    added: Event
    before: State
    is_later: bool

    def line(self) -> str:
        """Return the judged document with the value that is kept, and the other one."""
        value, dropped = self.added.after[self.added.kind], self.before[self.added.kind]
        value, dropped = (value, dropped) if self.is_later else (dropped, value)
        _, assessor, qid, condition, docid = self.added.key()
        return f"{assessor}, topic {qid}, {docid}, {condition}: {value!r}, not {dropped!r}"


def _add_values(db: sqlite3.Connection, addition: Addition, names: Mapping[str, str]) -> tuple[int, list[Conflict]]:
    """Write the current grades, notes and narratives that are new here; return the number of grades, and conflicts.

    Of grades and notes that were changed on both sides the later one is kept, of narratives the one here.
    """
    known_here, known_there = ({entry.identity() for entry in log} for log in (read_log(db), addition.entries))
    current_here = current_entries(db)
    new_grades, conflicts = 0, []
    for entry in sorted(addition.current, key=lambda entry: entry.time):
        identity = entry.identity()
        added = entry._replace(request=identity, part=0, batch=identity, assessor=names[entry.assessor], undoes=None)
        before = read_state(db, *added.key())
        is_same = all(added.after[name] == value for name, value in before.items() if name != "version")
        if identity in known_here or is_same:
            continue
        here = current_here.get(added.key())
        is_later = True
        if here and here.identity() not in known_there:
            is_later = added.kind != NARRATIVE and added.time > here.time
            conflicts += [Conflict(added, before, is_later)] if here.origin() != added.origin() else []
        if is_later:
            write_entry(db, added._replace(before=before))
            new_grades += added.kind == "grade" and added.after["grade"] is not None
    return new_grades, conflicts


def _conflict_warnings(path: Path, conflicts: Sequence[Conflict]) -> Iterator[str]:
    topics = sorted(conflict.added.qid for conflict in conflicts if conflict.added.kind == NARRATIVE)
    if topics:
        yield (
            f"{path}: topics {brief(topics)}: the changed narrative was edited on both sides; the text here is kept, "
            "grades under the other one count as given before an edit"
        )
    judged = [
        conflict.line()
        for conflict in conflicts
        if conflict.added.kind != NARRATIVE
        and conflict.before[conflict.added.kind] != conflict.added.after[conflict.added.kind]
    ]
    if judged:
        yield (
            f"{path}: {len(judged)} grades or notes that one assessor has changed on both sides, the later is kept: "
            f"{'; '.join(sorted(judged)[:SHOWN])}{'; …' if len(judged) > SHOWN else ''}"
        )

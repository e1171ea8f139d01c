"""Add other assessors' annotations to one: every judgement once, with its assessor, condition, time and note.

The logs are joined. An entry that both have, since one database is a copy of the other or was added before, is one: so
adding can be interrupted, repeated, and done again when the other assessor has gone on.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from heed.errors import SHOWN, UsageError, fail
from heed.formats.pools import Pool
from heed.judging.annotate.additions import Addition, open_addition
from heed.judging.annotate.assessors import names_here
from heed.judging.annotate.change_log import RENAMED, Entry, Key, State, append, read_log, read_states
from heed.judging.annotate.database import connect, extend, stored_properties, transaction
from heed.judging.annotate.pooled_documents import PooledDocument
from heed.judging.annotate.store import NARRATIVE, set_state, wording_of
from heed.judging.annotate.task import Task, dump_task, load_task, new_in, topic_differences
from heed.progress import brief, log, warn


class Side(NamedTuple):
    """A log, and the current states of what was judged."""

    entries: list[Entry]
    states: dict[Key, State]

    def by_key(self) -> dict[Key, list[Entry]]:
        """Return the entries of each grade, note and narrative."""
        entries: dict[Key, list[Entry]] = defaultdict(list)
        for entry in self.entries:
            entries[entry.key()].append(entry)
        return entries


def add_annotations(path: Path, others: Sequence[Path], names: Mapping[str, str]) -> None:
    """Add the annotations ``others``, databases or folders of exports, to that in ``path``, all or none.

    ``names`` says what assessors of the others are called here; a name that both sides have must be in it, as itself if
    it is one person's, unless they have judgements in common. Where an assessor has changed a grade or a note on both
    sides the later one is kept, where a narrative was edited on both sides the one here; the log has them all.

    Raises :class:`DataError` for other topics, documents, grades or given judgements, and :class:`UsageError` for names
    that need a decision.
    """
    assessors: set[str] = set()
    reports: list[tuple[str, list[str]]] = []
    with closing(connect(path)) as db, transaction(db):
        for other_path in others:
            task = load_task(stored_properties(db))
            with open_addition(other_path, task) as addition:
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
    here = Side(read_log(db), read_states(db))
    fail(_task_differences(path, task, addition, here.entries))
    names_before = _names_before(addition.entries, here.entries)
    here_names = {entry.assessor for entry in here.entries}
    new_names = names_here(addition.path, names_before, here_names, names)
    new_documents = new_in(addition.task.pool, task.pool)
    _add_documents(db, path, addition, new_documents)
    if addition.task.qrels and not task.qrels:
        db.execute("UPDATE kept SET value = ? WHERE name = 'given'", (dump_task(addition.task)["given"],))
    theirs = _renamed(addition, new_names)
    warnings = []
    if addition.is_export:
        theirs = theirs._replace(entries=_unknown(theirs.entries, here))
        warnings += _other_narratives(addition, here)
    ids = _ids_here(here.entries, theirs.entries)
    new_entries = [entry for entry in theirs.entries if ids[entry.id] > _last_id(here.entries)]
    append(db, _renumbered(new_entries, here.entries, ids))
    count, conflicts = _join(db, here, theirs, {entry.key() for entry in new_entries}, ids)
    judged = sum(key[0] == "grade" and state["grade"] is not None for key, state in theirs.states.items())
    summary = (
        f"{addition.path}: {judged} judgements of {brief(sorted({*new_names.values()}))}, {count} of them new here; "
        f"{sum(map(len, new_documents.values()))} documents new in the pool"
    )
    return summary, [*warnings, *_conflict_warnings(addition.path, conflicts)]


def _task_differences(path: Path, task: Task, addition: Addition, here: Sequence[Entry]) -> list[str]:
    """Return the differences of the two tasks that keep their judgements from being added."""
    other, name = addition.task, addition.path
    problems = []
    unknown = [qid for qid in other.pool if qid not in task.pool]
    if unknown:
        problems.append(f"{name}: topics {brief(unknown)} are not in {path}, which has {brief([*task.pool])}")
    for qid in (qid for qid in other.topics if qid in task.topics):
        edits = [entry.after["text"] for entry in here if (entry.kind, entry.qid) == (NARRATIVE, qid)]
        differing = topic_differences(task.topics[qid], other.topics[qid], edits)
        problems += [f"{name}: topic {qid} has {', '.join(differing)}"] if differing else []
    if other.lang != task.lang:
        problems.append(f"{name}: documents in {other.lang}, not {task.lang}")
    if other.scale != task.scale:
        scales = (", ".join(f"{grade}={label}" for grade, label in scale) for scale in (other.scale, task.scale))
        problems.append(f"{name}: grades {', not '.join(scales)}")
    judged = [qid for qid in other.qrels if task.qrels and other.qrels[qid] != task.qrels.get(qid)]
    if judged:
        problems.append(f"{name}: other given judgements of topics {brief(judged)} than {path} was made with")
    return problems


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


def _names_before(theirs: Sequence[Entry], here: Sequence[Entry]) -> dict[str, str | None]:
    """Return each assessor of a log with the name of his entries that are here already, None without any."""
    names = {entry.identity(): entry.assessor for entry in here}
    before: dict[str, str | None] = {entry.assessor: None for entry in theirs}
    return before | {entry.assessor: names[entry.identity()] for entry in theirs if entry.identity() in names}


def _renamed(addition: Addition, names: Mapping[str, str]) -> Side:
    """Return the other's log and states with its assessors' names here."""
    entries = [entry._replace(assessor=names[entry.assessor]) for entry in addition.entries]
    states = {
        (kind, names.get(assessor, assessor), qid, condition, docid): state
        for (kind, assessor, qid, condition, docid), state in addition.states.items()
    }
    return Side(entries, states)


def _unknown(entries: Sequence[Entry], here: Side) -> list[Entry]:
    """Return the entries of an export whose grade or note the log here has never held: the others came another way."""
    values = {(entry.key(), _value(entry.after)) for entry in here.entries}
    identities = {entry.identity() for entry in here.entries}
    return [
        entry for entry in entries if entry.identity() in identities or (entry.key(), _value(entry.after)) not in values
    ]


def _other_narratives(addition: Addition, here: Side) -> list[str]:
    """Return a warning of the topics whose changed narrative is another one in an export."""
    topics = [
        key[2]
        for key, state in addition.states.items()
        if key[0] == NARRATIVE
        and key in here.states
        and wording_of(state["text"]) != wording_of(here.states[key]["text"])
    ]
    warning = (
        f"{addition.path}: topics {brief(topics)} have another changed narrative there; the text here is kept, "
        "grades under the other one count as given before an edit"
    )
    return [warning] if topics else []


def _last_id(entries: Sequence[Entry]) -> int:
    return entries[-1].id if entries else 0


def _ids_here(here: Sequence[Entry], theirs: Sequence[Entry]) -> dict[int, int]:
    """Return the ids here of the other log's entries: those of the same entries, else the next ones."""
    known = {entry.identity(): entry.id for entry in here}
    ids, last = {0: 0}, _last_id(here)
    for entry in theirs:
        number = known.get(entry.identity())
        if number is None:
            last = number = last + 1
        ids[entry.id] = number
    return ids


def _renumbered(new: Sequence[Entry], here: Sequence[Entry], ids: Mapping[int, int]) -> Iterator[Entry]:
    """Yield entries of the other log as they are stored here, with ids of their own wherever ids are named."""
    requests = {(entry.client, entry.part) for entry in here}
    undone = {entry.undoes for entry in here}
    for entry in new:
        client, copies = entry.client, 0
        while (client, entry.part) in requests:  # a script's, that counts its requests; those of the page are unique
            copies += 1
            client = f"{entry.client.partition(RENAMED)[0]}{RENAMED}{copies}"
        requests.add((client, entry.part))
        undoes = ids[entry.undoes] if entry.undoes else None
        yield entry._replace(
            id=ids[entry.id],
            client=client,
            before=_with_version(entry.before, ids),
            after=_with_version(entry.after, ids),
            undoes=None if undoes in undone else undoes,  # undone on both sides: once is enough
        )


def _with_version(state: State, ids: Mapping[int, int]) -> State:
    return {**state, "version": ids[state["version"]]} if "version" in state else state


class Conflict(NamedTuple):
    """A grade, note or narrative that was changed on both sides: the value that stays, and the one that is dropped."""

    key: Key
    value: object
    dropped: object


def _join(
    db: sqlite3.Connection, here: Side, theirs: Side, keys: set[Key], ids: Mapping[int, int]
) -> tuple[int, list[Conflict]]:
    """Set the states that the other log has changed at ``keys``; return the number of new grades, and the conflicts."""
    entries_here, entries_there = here.by_key(), theirs.by_key()
    known = {entry.identity() for entry in theirs.entries}
    grades, conflicts = 0, []
    for key in sorted(keys):
        state, before = theirs.states[key], here.states.get(key)
        if before is not None and any(entry.identity() not in known for entry in entries_here[key]):
            is_later = key[0] != NARRATIVE and _time(state, entries_there[key]) > _time(before, entries_here[key])
            values = (_value(state), _value(before)) if is_later else (_value(before), _value(state))
            if values[0] != values[1]:
                conflicts.append(Conflict(key, *values))
            if not is_later:
                continue
        set_state(db, key[0], key[1:], _with_version(state, ids))
        grades += key[0] == "grade" and state["grade"] is not None
    return grades, conflicts


def _value(state: State) -> object:
    """Return the grade, note or narrative of a state, without the wording or version that goes with it."""
    return next(iter(state.values()))


def _time(state: State, entries: Sequence[Entry]) -> str:
    """Return when the state came about; entries of an added log need not be in the order of their times."""
    return max((entry.time for entry in entries if state.items() <= entry.after.items()), default="")


def _conflict_warnings(path: Path, conflicts: Sequence[Conflict]) -> Iterator[str]:
    topics = [conflict.key[2] for conflict in conflicts if conflict.key[0] == NARRATIVE]
    if topics:
        yield (
            f"{path}: topics {brief(topics)}: the changed narrative was edited on both sides; the text here is kept, "
            "grades under the other one count as given before an edit"
        )
    judged = [
        f"{assessor}, topic {qid}, {docid}, {condition}: {value!r}, not {dropped!r}"
        for (kind, assessor, qid, condition, docid), value, dropped in conflicts
        if kind != NARRATIVE
    ]
    if judged:
        yield (
            f"{path}: {len(judged)} grades or notes that one assessor has changed on both sides, the later is kept: "
            f"{'; '.join(judged[:SHOWN])}{'; …' if len(judged) > SHOWN else ''}"
        )

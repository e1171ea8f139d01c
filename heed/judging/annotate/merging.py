"""Add other assessors' databases to one: every judgement once, with its assessor, condition, time and note.

The logs are joined. An entry that both have, since one database is a copy of the other or was added before, is one: so
adding can be interrupted, repeated, and done again when the other assessor has gone on.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from heed.errors import SHOWN, UsageError, fail
from heed.judging.annotate.added_export import read_export
from heed.judging.annotate.additions import Addition, read_addition
from heed.judging.annotate.assessors import names_here
from heed.judging.annotate.database import connect, extend, open_read_only, stored_properties, transaction
from heed.judging.annotate.documents import PooledDocument
from heed.judging.annotate.entries import RENAMED, Entry, Place, State, append, read_log, read_states
from heed.judging.annotate.store import NARRATIVE, set_state, wording_of
from heed.judging.annotate.task import Task, dump_task, load_task, new_in, topic_differences
from heed.progress import brief, log, warn

Message = tuple[Callable[[str], None], str]  # how it is told, and the text


class Side(NamedTuple):
    """A log, and the current states of what was judged."""

    entries: list[Entry]
    states: dict[Place, State]

    def by_place(self) -> dict[Place, list[Entry]]:
        """Return the entries of each grade, note and narrative."""
        places: dict[Place, list[Entry]] = defaultdict(list)
        for entry in self.entries:
            places[entry.place()].append(entry)
        return places


def add_databases(path: Path, others: Sequence[Path], names: Mapping[str, str]) -> None:
    """Add the annotations ``others``, databases or folders of exports, to that in ``path``, all or none.

    ``names`` says what assessors of the others are called here; a name that both sides have must be in it, as itself if
    it is one person's, unless they have judgements in common. Where an assessor has changed a grade or a note on both
    sides the later one is kept, where a narrative was edited on both sides the one here; the log has them all.

    Raises :class:`DataError` for other topics, documents, grades or given judgements, and :class:`UsageError` for names
    that need a decision.
    """
    found: set[str] = set()
    messages: list[Message] = []
    with closing(connect(path)) as db, transaction(db):
        for other_path in others:
            with _opened(db, path, other_path) as addition:
                found |= {entry.assessor for entry in addition.entries}
                messages += _add(db, path, addition, names)
        lost = [name for name in names if name not in found]
        fail([f"--as: {name} has judged nothing there; who has: {brief(sorted(found))}" for name in lost], UsageError)
    for tell, message in messages:
        tell(message)


@contextmanager
def _opened(db: sqlite3.Connection, path: Path, other_path: Path) -> Iterator[Addition]:
    """Yield what is to be added, a database or the folder of an export, open as long as its documents are read."""
    if other_path.is_dir():
        yield read_export(other_path, load_task(stored_properties(db), only_relevant=False))
        return
    with closing(open_read_only(other_path)) as other_db:
        if path.samefile(other_path):
            raise UsageError(f"{other_path}: is the database itself; name another one to add")
        yield read_addition(other_path, other_db)


def _add(db: sqlite3.Connection, path: Path, addition: Addition, names: Mapping[str, str]) -> list[Message]:
    """Add one annotation in the caller's transaction and return what to tell once that is committed."""
    task = load_task(stored_properties(db), only_relevant=False)
    here = Side(read_log(db), read_states(db))
    fail(_differences(path, task, addition, here.entries))
    called = names_here(addition.path, addition.entries, here.entries, names)
    new = new_in(addition.task.pool, task.pool)
    problems: list[str] = []
    extend(db, new, _new_documents(db, path, addition, problems))
    absent = [docid for docid in dict.fromkeys(chain.from_iterable(new.values())) if not _has(db, docid)]
    if absent:
        problems.append(
            f"{addition.path}: documents {brief(absent)} are not in {path}; add the pool they are from first"
        )
    fail(problems)
    if addition.task.given and not task.given:
        db.execute("UPDATE kept SET value = ? WHERE name = 'given'", (dump_task(addition.task)["given"],))
    theirs = _renamed(addition, called)
    if addition.is_snapshot:
        theirs = theirs._replace(entries=_unknown(theirs.entries, here))
    numbers = _numbers(here.entries, theirs.entries)
    fresh = [entry for entry in theirs.entries if numbers[entry.id] > _last(here.entries)]
    append(db, _renumbered(fresh, here.entries, numbers))
    taken, messages = _join(db, addition.path, here, theirs, {entry.place() for entry in fresh}, numbers)
    judged = sum(place[0] == "grade" and state["grade"] is not None for place, state in theirs.states.items())
    if addition.is_snapshot:
        messages = [*_narrative_warning(addition, here), *messages]
    line = (
        f"{addition.path}: {judged} judgements of {brief(sorted({*called.values()}))}, {taken} of them new here; "
        f"{sum(map(len, new.values()))} documents new in the pool"
    )
    return [(log.info, line), *((warn, message) for message in messages)]


def _differences(path: Path, task: Task, addition: Addition, here: Sequence[Entry]) -> list[str]:
    """Return what makes the other annotation one of another task."""
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
    given = [qid for qid in other.given if task.given and other.given[qid] != task.given.get(qid)]
    if given:
        problems.append(f"{name}: other given judgements of topics {brief(given)} than {path} was made with")
    return problems


def _new_documents(
    db: sqlite3.Connection, path: Path, addition: Addition, problems: list[str]
) -> Iterator[PooledDocument]:
    """Yield the pooled documents that are not here; those that are must have the same text, else it is a problem."""
    wanted = {*addition.task.docids()}
    for document in addition.documents:
        here = db.execute("SELECT title, text FROM documents WHERE docid = ?", (document.docid,)).fetchone()
        if here is None and document.docid in wanted:
            yield document
        elif here not in (None, (document.title, document.text)):
            problems.append(f"{addition.path}: document {document.docid} has another text than in {path}")


def _renamed(addition: Addition, called: Mapping[str, str]) -> Side:
    """Return the other's log and states with its assessors' names here."""
    entries = [entry._replace(assessor=called[entry.assessor]) for entry in addition.entries]
    states = {
        (kind, called.get(assessor, assessor), qid, condition, docid): state
        for (kind, assessor, qid, condition, docid), state in addition.states.items()
    }
    return Side(entries, states)


def _has(db: sqlite3.Connection, docid: str) -> bool:
    return bool(db.execute("SELECT 1 FROM documents WHERE docid = ?", (docid,)).fetchone())


def _unknown(entries: Sequence[Entry], here: Side) -> list[Entry]:
    """Return the entries of an export whose grade or note the log here has never held: the others came another way."""
    held = {(place, _value(entry.after)) for place, known in here.by_place().items() for entry in known}
    identities = {entry.identity() for entry in here.entries}
    return [
        entry for entry in entries if entry.identity() in identities or (entry.place(), _value(entry.after)) not in held
    ]


def _narrative_warning(addition: Addition, here: Side) -> Iterator[str]:
    """Yield the topics whose changed narrative is another one than the export's."""
    other = {place: state for place, state in addition.states.items() if place[0] == NARRATIVE}
    topics = [
        place[2] for place, state in other.items() if place in here.states and _differs(state, here.states[place])
    ]
    if topics:
        yield (
            f"{addition.path}: topics {brief(topics)} have another changed narrative there; the text here is kept, "
            "grades under the other one count as given before an edit"
        )


def _differs(state: State, other: State) -> bool:
    return wording_of(state["text"]) != wording_of(other["text"])


def _last(entries: Sequence[Entry]) -> int:
    return entries[-1].id if entries else 0


def _numbers(here: Sequence[Entry], theirs: Sequence[Entry]) -> dict[int, int]:
    """Return the ids here of the other log's entries: those of the same entries, else the next ones."""
    known = {entry.identity(): entry.id for entry in here}
    numbers, last = {0: 0}, _last(here)
    for entry in theirs:
        number = known.get(entry.identity())
        if number is None:
            last = number = last + 1
        numbers[entry.id] = number
    return numbers


def _renumbered(fresh: Sequence[Entry], here: Sequence[Entry], numbers: Mapping[int, int]) -> Iterator[Entry]:
    """Yield entries of the other log as they are stored here, with ids of their own wherever ids are named."""
    requests = {(entry.client, entry.part) for entry in here}
    undone = {entry.undoes for entry in here}
    for entry in fresh:
        client, copies = entry.client, 0
        while (client, entry.part) in requests:  # a script's, that counts its requests; those of the page are unique
            copies += 1
            client = f"{entry.client.partition(RENAMED)[0]}{RENAMED}{copies}"
        requests.add((client, entry.part))
        undoes = numbers[entry.undoes] if entry.undoes else None
        yield entry._replace(
            id=numbers[entry.id],
            client=client,
            before=_with_version(entry.before, numbers),
            after=_with_version(entry.after, numbers),
            undoes=None if undoes in undone else undoes,  # undone on both sides: once is enough
        )


def _with_version(state: State, numbers: Mapping[int, int]) -> State:
    return {**state, "version": numbers[state["version"]]} if "version" in state else state


def _join(
    db: sqlite3.Connection, path: Path, here: Side, theirs: Side, places: set[Place], numbers: Mapping[int, int]
) -> tuple[int, list[str]]:
    """Set what the other log has changed at ``places``; return how many grades are new, and where both have changed."""
    mine, others = here.by_place(), theirs.by_place()
    known = {entry.identity() for entry in theirs.entries}
    grades, differing = 0, []
    for place in sorted(places):
        kind, assessor, qid, condition, docid = place
        state, before = theirs.states[place], here.states.get(place)
        if before is not None and any(entry.identity() not in known for entry in mine[place]):
            is_later = kind != NARRATIVE and _time(state, others[place]) > _time(before, mine[place])
            if _value(state) != _value(before):
                kept, lost = (state, before) if is_later else (before, state)
                differing.append((place, _value(kept), _value(lost)))
            if not is_later:
                continue
        set_state(db, kind, (assessor, qid, condition, docid), _with_version(state, numbers))
        grades += kind == "grade" and state["grade"] is not None
    return grades, [*_warnings(path, differing)]


def _value(state: State) -> object:
    """Return the grade, note or narrative of a state, without the wording or version that goes with it."""
    return next(iter(state.values()))


def _time(state: State, entries: Sequence[Entry]) -> str:
    """Return when the state came about; entries of an added log need not be in the order of their times."""
    return max((entry.at for entry in entries if entry.after == state), default="")


def _warnings(path: Path, differing: Sequence[tuple[Place, object, object]]) -> Iterator[str]:
    """Yield what was changed on both sides and had to be decided."""
    topics = [place[2] for place, _, _ in differing if place[0] == NARRATIVE]
    if topics:
        yield (
            f"{path}: topics {brief(topics)}: the changed narrative was edited on both sides; the text here is kept, "
            "grades under the other one count as given before an edit"
        )
    twice = [
        f"{assessor}, topic {qid}, {docid}, {condition}: {kept!r}, not {lost!r}"
        for (kind, assessor, qid, condition, docid), kept, lost in differing
        if kind != NARRATIVE
    ]
    if twice:
        yield (
            f"{path}: {len(twice)} grades or notes that one assessor has changed on both sides, the later is kept: "
            f"{'; '.join(twice[:SHOWN])}{'; …' if len(twice) > SHOWN else ''}"
        )

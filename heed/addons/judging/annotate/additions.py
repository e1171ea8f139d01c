"""What is added to an annotation: another assessor's database, an exported annotation, or a result file of a tool."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from heed.addons.judging.annotate.assessors import check_name
from heed.addons.judging.annotate.change_log import ADDED, NARRATIVE, Event, State, current_entries, read_log
from heed.addons.judging.annotate.database import open_read_only, stored_properties
from heed.addons.judging.annotate.pooled_documents import PooledDocument
from heed.addons.judging.annotate.store import wording_of
from heed.addons.judging.annotate.task import CONDITIONS, Task, load_task
from heed.addons.judging.exchange.judgements import READERS, read_judgements, suffix
from heed.errors import DataError, fail
from heed.files import read_objects
from heed.formats.topics import read_topics
from heed.formats.trec_files import parse_score
from heed.types import Topic

EARLIER = "earlier"  # no digest of a narrative: what it was when the grade was given is not in an export


class ExportedJudgement(msgspec.Struct):
    """A line of an export's ``judgements.jsonl``."""

    qid: str
    docid: str
    condition: str
    assessor: str
    grade: int | None
    note: str
    time: str = msgspec.field(name="at")
    reworded: bool
    decided_by: str = ""


class Addition(NamedTuple):
    """The task of ``path``, its log, the current entries of what was judged, and the pooled documents.

    An export has no documents, of its log only the last change of each grade and note, and its narratives (by topic)
    apart, since nothing says who edited them.
    """

    path: Path
    task: Task
    entries: list[Event]
    current: list[Event]
    documents: Iterator[PooledDocument] = iter(())
    narratives: Mapping[str, str] = MappingProxyType({})


@contextmanager
def open_addition(path: Path, task: Task, encoding: str | None = None) -> Iterator[Addition]:
    """Yield what ``path`` adds to the annotation of ``task``: a database, the folder of an export, or a result file.

    It is only read. Raises :class:`DataError` for a damaged database, and naming every bad line of other files.
    """
    if path.is_dir():
        yield _read_export(path, task)
    elif suffix(path) in READERS:
        yield _read_results(path, task, encoding or task.lang)
    else:
        with closing(open_read_only(path)) as db:
            yield _read_database(path, db)


def _read_database(path: Path, db: sqlite3.Connection) -> Addition:
    try:
        logs, task = (read_log(db), current_entries(db).values()), load_task(stored_properties(db))
        entries, current = ([entry._replace(assessor=check_name(entry.assessor)) for entry in log] for log in logs)
        fail(f"{path}: damaged ({_name(entry)} does not fit)" for entry in entries if not _fits(entry, task))
        rows = db.execute("SELECT docid, title, date, text, tabular FROM documents")
        documents = (
            PooledDocument(docid, title, date, text, bool(tabular)) for docid, title, date, text, tabular in rows
        )
        return Addition(path, task, entries, current, documents)
    except (sqlite3.DatabaseError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: damaged ({error}); take a copy of it that is whole") from error


def _fits(entry: Event, task: Task) -> bool:
    """Whether the page could have made the entry: what is added goes to other assessors' pages."""
    if entry.kind == NARRATIVE:
        return entry.qid in task.pool and isinstance(entry.after["text"], str)
    if entry.condition not in CONDITIONS or entry.docid not in task.pool.get(entry.qid, ()):
        return False
    if entry.kind == "note":
        return isinstance(entry.after["note"], str)
    return entry.kind == "grade" and entry.after["grade"] in (None, *task.grades())


def _name(entry: Event) -> str:
    return f"{entry.kind} of {entry.docid or 'the topic'} for topic {entry.qid}"


def _read_export(folder: Path, task: Task) -> Addition:
    """Read ``judgements.jsonl`` and ``topics.jsonl``; language and grades, which they lack, are those of ``task``."""
    lang = next(topic.lang for topic in task.topics.values())
    topics = {topic.qid: topic for topic in read_topics(folder / "topics.jsonl", lang, "title", "heed")}
    narratives = {qid: _narrative(topic) for qid, topic in topics.items()}
    path, problems = folder / "judgements.jsonl", []
    entries: list[Event] = []
    for line_no, record in read_objects(path):
        try:
            judgement = msgspec.convert(record, ExportedJudgement)
        except msgspec.ValidationError as error:
            problems.append(f"{path}, line {line_no}: not a judgement as annotate --export writes it ({error})")
            continue
        if judgement.qid in narratives:
            entries += _entries(judgement, narratives[judgement.qid])
        else:
            problems.append(
                f"{path}, line {line_no}: topic {judgement.qid} is not in {folder / 'topics.jsonl'} in {lang}"
            )
    fail(problems)
    topics = {qid: _with_changed(topic, task.topics.get(qid, topic)) for qid, topic in topics.items()}
    return _added_entries(path, replace(task, topics=topics), entries)._replace(path=folder, narratives=narratives)


def _read_results(path: Path, task: Task, encoding: str) -> Addition:
    """Read the grades and notes in a result file of an annotation tool; all else is that of ``task``.

    Labels are grades of the scale or its words. They are of the file's time, where the tool tells none; those that
    name no condition of the page are under the original narrative, others under that of their record, if it has one.
    """
    time = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="milliseconds")
    words = {grade.label.casefold(): grade.grade for grade in task.scale}
    entries: list[Event] = []
    problems: list[str] = []
    for label in read_judgements([path], together=CONDITIONS, encoding=encoding):
        number = words.get(label.text.casefold(), parse_score(label.text))
        if not label.text or (number is not None and number < 0):
            number = None  # not judged, at most noted
        elif number not in task.grades():
            scale = ", ".join(f"{grade.grade} {grade.label}" for grade in task.scale)
            problems.append(f"{label.source}: label {label.text!r}, expected one of {scale}")
            continue
        condition = label.condition if label.condition in CONDITIONS else "original"
        assessor = label.assessor.replace(str(path), path.name.partition(".")[0])
        grade, moment = None if number is None else int(number), label.time or time
        judgement = ExportedJudgement(label.qid, label.docid, condition, assessor, grade, label.note, moment, False)
        narrative = _narrative(task.topics[label.qid]) if label.qid in task.topics else ""
        for entry in _entries(judgement, label.instruction or narrative):
            state = f"{ADDED}{label.annotation}@{moment}{entry.kind}"  # of one annotation in files of all names
            entries.append(entry._replace(request=state) if label.annotation else entry)
    fail(problems)
    return _added_entries(path, task, entries)


def _narrative(topic: Topic) -> str:
    return topic.instructions.get("changed") or topic.instructions.get("original", "")


def _added_entries(path: Path, task: Task, entries: list[Event]) -> Addition:
    """Return ``entries`` as an addition without documents; :class:`DataError` for those that do not fit ``task``."""
    pool: dict[str, dict[str, None]] = {}
    for entry in entries:
        if entry.docid:
            pool.setdefault(entry.qid, {})[entry.docid] = None
    judged = replace(task, pool={qid: [*docids] for qid, docids in pool.items()}, qrels={})
    fail(f"{path}: {_name(entry)} does not fit the grades here" for entry in entries if not _fits(entry, judged))
    return Addition(path, judged, entries, entries)


def _with_changed(topic: Topic, here: Topic) -> Topic:
    """Return ``topic`` with the changed narrative of ``here``: an export's is compared as an edit, not as a source."""
    changed = here.instructions.get("changed")
    instructions = {name: text for name, text in topic.instructions.items() if name != "changed"}
    return topic._replace(instructions=instructions | ({"changed": changed} if changed is not None else {}))


def _entries(judgement: ExportedJudgement, narrative: str) -> Iterator[Event]:
    """Yield entries for a line's grade and note; the same line gives the same ones whenever it is read."""
    judged = (judgement.qid, judgement.condition, judgement.docid)
    line = "\t".join([judgement.assessor, *judged, judgement.time, str(judgement.grade), judgement.note])

    def entry(kind: str, after: State) -> Event:
        return Event(line, 0, judgement.time, check_name(judgement.assessor), line, kind, *judged, {}, after)

    if judgement.grade is not None:
        wording = EARLIER if judgement.reworded else wording_of(narrative)
        after = {"grade": judgement.grade, "wording": wording if judgement.condition == "changed" else ""}
        if judgement.decided_by:
            after["by"] = check_name(judgement.decided_by)
        yield entry("grade", after)
    if judgement.note:
        yield entry("note", {"note": judgement.note})

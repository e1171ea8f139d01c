"""What is added to an annotation: another assessor's database, an exported annotation, or a result file of a tool."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from heed.errors import DataError, fail
from heed.files import read_objects
from heed.formats.pools import Pool
from heed.formats.trec_files import parse_score
from heed.judging.annotate.assessors import check_name
from heed.judging.annotate.change_log import NARRATIVE, Entry, State, current_entries, read_log
from heed.judging.annotate.database import open_read_only, stored_properties
from heed.judging.annotate.pooled_documents import PooledDocument
from heed.judging.annotate.store import wording_of
from heed.judging.annotate.task import CONDITIONS, Task, load_task
from heed.judging.exchange.judgements import SUFFIXES, read_judgements
from heed.types import Topic

# of a line of an exported judgements.jsonl, beside its grade
FIELDS = {"qid": str, "docid": str, "condition": str, "assessor": str, "note": str, "at": str, "reworded": bool}
EARLIER = "earlier"  # no digest of a narrative: what it was when the grade was given is not in an export


class Addition(NamedTuple):
    """The task of ``path``, its log, the current entries of what was judged, and the pooled documents.

    An export has no documents, of its log only the last change of each grade and note, and its narratives (by topic)
    apart, since nothing says who edited them.
    """

    path: Path
    task: Task
    entries: list[Entry]
    current: list[Entry]
    documents: Iterator[PooledDocument] = iter(())
    narratives: Mapping[str, str] = MappingProxyType({})


@contextmanager
def open_addition(path: Path, task: Task) -> Iterator[Addition]:
    """Yield what ``path`` adds to the annotation of ``task``: a database, the folder of an export, or a result file.

    It is only read. Raises :class:`DataError` for a damaged database, and naming every bad line of other files.
    """
    if path.is_dir():
        yield _read_export(path, task)
    elif Path(path.name.removesuffix(".gz")).suffix in SUFFIXES:
        yield _read_results(path, task)
    else:
        with closing(open_read_only(path)) as db:
            yield _read_database(path, db)


def _read_database(path: Path, db: sqlite3.Connection) -> Addition:
    try:
        entries, task = read_log(db), load_task(stored_properties(db))
        fail(f"{path}: damaged ({_name(entry)} does not fit)" for entry in entries if not _fits(entry, task))
        return Addition(path, task, entries, [*current_entries(db).values()], _documents(db))
    except (sqlite3.DatabaseError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: damaged ({error}); take a copy of it that is whole") from error


def _documents(db: sqlite3.Connection) -> Iterator[PooledDocument]:
    for docid, title, date, text, tabular in db.execute("SELECT docid, title, date, text, tabular FROM documents"):
        yield PooledDocument(docid, title, date, text, bool(tabular))


def _fits(entry: Entry, task: Task) -> bool:
    """Whether the page could have made the entry: what is added goes to other assessors' pages."""
    check_name(entry.assessor)
    if entry.kind == NARRATIVE:
        return entry.qid in task.pool and isinstance(entry.after["text"], str)
    if entry.condition not in CONDITIONS or entry.docid not in task.pool.get(entry.qid, ()):
        return False
    if entry.kind == "note":
        return isinstance(entry.after["note"], str)
    return entry.kind == "grade" and entry.after["grade"] in (None, *task.grades())


def _name(entry: Entry) -> str:
    return f"{entry.kind} of {entry.docid or 'the topic'} for topic {entry.qid}"


def _judged_pool(entries: Sequence[Entry]) -> Pool:
    """Return the documents that were judged, by topic and in the order of the log."""
    pool: dict[str, dict[str, None]] = {}
    for entry in entries:
        if entry.docid:
            pool.setdefault(entry.qid, {})[entry.docid] = None
    return {qid: [*docids] for qid, docids in pool.items()}


def _read_export(folder: Path, task: Task) -> Addition:
    """Read ``judgements.jsonl`` and ``topics.jsonl``; language and grades, which they lack, are those of ``task``."""
    topics = {topic.qid: topic for topic in _exported_topics(folder / "topics.jsonl")}
    narratives = {
        qid: topic.instructions.get("changed") or topic.instructions.get("original", "")
        for qid, topic in topics.items()
    }
    path, problems = folder / "judgements.jsonl", []
    entries: list[Entry] = []
    for line_no, record in read_objects(path):
        if _is_judgement(record) and record["qid"] in topics:
            entries += _exported_entries(record, narratives[record["qid"]])
        else:
            problems.append(f"{path}, line {line_no}: not a judgement as annotate --export writes it")
    fail(problems)
    topics = {qid: _with_changed(topic, task.topics.get(qid, topic)) for qid, topic in topics.items()}
    return _added_entries(path, replace(task, topics=topics), entries)._replace(path=folder, narratives=narratives)


def _read_results(path: Path, task: Task) -> Addition:
    """Read the grades in a result file of an annotation tool; all else, narratives too, is that of ``task``.

    Labels are grades of the scale or its words. They are of the file's time, since most tools tell none; those that
    name no condition of the page are under the original narrative.
    """
    time = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="milliseconds")
    words = {grade.label.casefold(): grade.grade for grade in task.scale}
    entries: list[Entry] = []
    problems: list[str] = []
    for label in read_judgements([path]):
        number = words.get(label.text.casefold(), parse_score(label.text))
        if (number is not None and number < 0) or not label.text:
            continue  # not judged
        if number not in task.grades():
            scale = ", ".join(f"{grade.grade} {grade.label}" for grade in task.scale)
            problems.append(f"{label.source}: label {label.text!r}, expected one of {scale}")
            continue
        record = {
            "qid": label.qid,
            "docid": label.docid,
            "grade": int(number),
            "note": "",
            "at": time,
            "reworded": False,
        }
        record["condition"] = label.condition if label.condition in CONDITIONS else "original"
        record["assessor"] = label.assessor.replace(str(path), path.name.partition(".")[0])
        instructions = task.topics[label.qid].instructions if label.qid in task.topics else {}
        narrative = instructions.get("changed") or instructions.get("original", "")
        entries += _exported_entries(record, narrative)
    fail(problems)
    return _added_entries(path, task, entries)


def _added_entries(path: Path, task: Task, entries: list[Entry]) -> Addition:
    """Return ``entries`` as an addition without documents; :class:`DataError` for those that do not fit ``task``."""
    judged = replace(task, pool=_judged_pool(entries), qrels={})
    fail(f"{path}: {_name(entry)} does not fit the grades here" for entry in entries if not _fits(entry, judged))
    return Addition(path, judged, entries, entries)


def _exported_topics(path: Path) -> Iterator[Topic]:
    for line_no, record in read_objects(path):
        topic = Topic(record.get("qid"), record.get("lang"), record.get("query"), record.get("instructions", {}))  # type: ignore[arg-type]
        texts = [*topic[:3], *topic.instructions.values()] if isinstance(topic.instructions, dict) else [None]
        if not all(isinstance(text, str) for text in texts):
            raise DataError(f"{path}, line {line_no}: not a topic as annotate --export writes it")
        yield topic


def _with_changed(topic: Topic, here: Topic) -> Topic:
    """Return ``topic`` with the changed narrative of ``here``: an export's is compared as an edit, not as a source."""
    changed = here.instructions.get("changed")
    instructions = {name: text for name, text in topic.instructions.items() if name != "changed"}
    return topic._replace(instructions=instructions | ({"changed": changed} if changed is not None else {}))


def _is_judgement(record: dict[str, Any]) -> bool:
    grade = record.get("grade")
    has_fields = all(isinstance(record.get(name), expected) for name, expected in FIELDS.items())
    return has_fields and (grade is None or (isinstance(grade, int) and not isinstance(grade, bool)))


def _exported_entries(record: dict[str, Any], narrative: str) -> Iterator[Entry]:
    """Yield entries for a line's grade and note; the same line gives the same ones whenever it is read."""
    judged = (record["qid"], record["condition"], record["docid"])
    line = "\t".join([record["assessor"], *judged, record["at"], str(record["grade"]), record["note"]])

    def entry(kind: str, after: State) -> Entry:
        return Entry(line, 0, record["at"], record["assessor"], line, kind, *judged, {}, after)

    if record["grade"] is not None:
        wording = EARLIER if record["reworded"] else wording_of(narrative)
        after = {"grade": record["grade"], "wording": wording if record["condition"] == "changed" else ""}
        if isinstance(record.get("decided_by"), str):
            after["by"] = check_name(record["decided_by"])
        yield entry("grade", after)
    if record["note"]:
        yield entry("note", {"note": record["note"]})

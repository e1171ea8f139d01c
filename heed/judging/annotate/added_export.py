"""What is added to an annotation: the folder that another annotation was exported to."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from heed.errors import DataError, fail
from heed.formats.topics import read_objects
from heed.judging.annotate.additions import Addition, fits, judged_pool
from heed.judging.annotate.entries import Entry, Place, State
from heed.judging.annotate.store import NARRATIVE, wording_of
from heed.judging.annotate.task import Task
from heed.types import Topic

FIELDS = {"qid": str, "docid": str, "condition": str, "assessor": str, "note": str, "at": str, "reworded": bool}
EARLIER = "earlier"  # no digest of a narrative: what it was when the grade was given is not in an export


def read_export(folder: Path, task: Task) -> Addition:
    """Read ``judgements.jsonl`` and ``topics.jsonl``, which hold the last state of each judgement and no documents.

    ``task`` is that of the annotation that it is added to. Raises :class:`DataError` naming every bad line.
    """
    topics = {topic.qid: topic for topic in _topics(folder / "topics.jsonl")}
    path, problems = folder / "judgements.jsonl", []
    entries: list[Entry] = []
    for line_no, record in read_objects(path):
        if not _is_judgement(record) or record["qid"] not in topics:
            problems.append(f"{path}, line {line_no}: not a judgement as annotate --export writes it")
            continue
        entries += _entries(record, topics[record["qid"]], len(entries))
    fail(problems)
    pool = judged_pool(entries)
    misfits = [entry for entry in entries if not fits(entry, replace(task, pool=pool))]
    fail(
        f"{path}: {entry.kind} of {entry.docid} for topic {entry.qid} does not fit the grades here" for entry in misfits
    )
    states: dict[Place, State] = {entry.place(): entry.after for entry in entries}
    narratives = {
        qid: topic.instructions.get("changed") or topic.instructions.get("original", "")
        for qid, topic in topics.items()
    }
    states |= {(NARRATIVE, "", qid, "", ""): {"text": text} for qid, text in narratives.items()}
    same = {qid: _with_changed(topic, task.topics.get(qid, topic)) for qid, topic in topics.items()}
    other = replace(task, pool=pool, topics=same, given={})
    return Addition(folder, other, entries, states, iter(()), is_snapshot=True)


def _topics(path: Path) -> Iterator[Topic]:
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


def _entries(record: dict[str, Any], topic: Topic, last: int) -> Iterator[Entry]:
    """Yield entries for a line's grade and note; the same line gives the same ones whenever it is read."""
    narrative = topic.instructions.get("changed") or topic.instructions.get("original", "")
    wording = EARLIER if record["reworded"] else wording_of(narrative)
    grade = {"grade": record["grade"], "wording": wording if record["condition"] == "changed" else ""}
    states: list[tuple[str, State, State]] = []
    if record["grade"] is not None:
        states.append(("grade", {"grade": None, "wording": ""}, grade))
    if record["note"]:
        states.append(("note", {"note": ""}, {"note": record["note"]}))
    place = (record["qid"], record["condition"], record["docid"])
    text = "\t".join([record["assessor"], *place, record["at"], str(record["grade"]), record["note"]])
    request = f"export-{hashlib.sha256(text.encode()).hexdigest()[:32]}"
    for part, (kind, before, after) in enumerate(states):
        number = last + part + 1
        yield Entry(number, request, part, record["at"], record["assessor"], request, kind, *place, before, after, None)

"""What the page sends, checked: nothing reaches the database that the task does not know."""

import re
from typing import Any, NamedTuple

from heed.annotation.store import ADJUDICATED, NARRATIVE, Change
from heed.annotation.task import Task
from heed.errors import HeedError, fail

CLIENT = re.compile(r"[\w-]{8,64}")
LONGEST_NAME, LONGEST_NOTE, LONGEST_NARRATIVE = 40, 4_000, 20_000  # characters
JOINERS = dict.fromkeys((0x200C, 0x200D))  # parts of Persian names, though Python calls them not printable
MOST_CHANGES = 2_000  # of one request: a topic's documents, when judgements are kept for a new wording


class Sent(NamedTuple):
    """A request to change something; ``client`` is its id, ``batch`` what is undone together."""

    client: str
    assessor: str
    batch: str
    changes: list[Change]


def read_sent(body: Any, task: Task) -> Sent:
    """The request in ``body``; :class:`HeedError` naming what in it does not fit the task."""
    if not isinstance(body, dict) or not isinstance(body.get("changes", []), list):
        raise HeedError("expected an object with id, assessor, batch and changes")
    client = _word(body.get("id"))
    batch = _word(body.get("batch", client))
    changes = body.get("changes", [])
    if len(changes) > MOST_CHANGES:
        raise HeedError(f"{len(changes)} changes at once, expected at most {MOST_CHANGES}")
    wording = _text(body, "wording", LONGEST_NARRATIVE) if "wording" in body else ""
    return Sent(client, check_name(body.get("assessor")), batch, [_change(one, task, wording) for one in changes])


def _word(value: Any) -> str:
    if not isinstance(value, str) or not CLIENT.fullmatch(value):
        raise HeedError(f"id or batch is {value!r}, expected 8 to 64 letters and digits")
    return value


def check_name(name: Any) -> str:
    """An assessor's name without white space at its ends; :class:`HeedError` for none or one too long."""
    stripped = " ".join(name.split()) if isinstance(name, str) else ""
    if not stripped or len(stripped) > LONGEST_NAME or not stripped.translate(JOINERS).isprintable():
        raise HeedError(f"assessor is {name!r}, expected a name of at most {LONGEST_NAME} characters")
    return stripped


def refuse_reserved(name: str) -> str:
    """``name`` unless it is the adjudicator's, whose judgements are made on the agreement page."""
    if name.casefold() == ADJUDICATED:
        raise HeedError(f"--assessor {name}: this name stands for decisions where assessors differ; choose another")
    return name


def _change(sent: Any, task: Task, wording: str) -> Change:
    qid = sent.get("qid") if isinstance(sent, dict) else None
    if not isinstance(qid, str) or qid not in task.pool:
        raise HeedError(f"topic is {qid!r}, expected one of the pool")
    kind = sent.get("kind")
    if kind == NARRATIVE:
        text = _text(sent, "text", LONGEST_NARRATIVE)
        base = sent.get("base")
        if not isinstance(base, int) or isinstance(base, bool):
            raise HeedError(f"base is {base!r}, expected the version of the narrative that was edited")
        return Change(NARRATIVE, qid, value=text, base=base)
    if kind not in ("grade", "note"):
        raise HeedError(f"kind is {kind!r}, expected grade, note or narrative")
    _check_place(sent, task)
    if kind == "note":
        return Change("note", qid, sent["condition"], sent["docid"], _text(sent, "note", LONGEST_NOTE))
    grade = sent.get("grade")
    grades = [one.grade for one in task.scale]
    if grade is not None and (type(grade) is not int or grade not in grades):
        raise HeedError(f"grade is {grade!r}, expected one of {', '.join(map(str, grades))}")
    under = wording if sent["condition"] == "changed" else ""
    return Change("grade", qid, sent["condition"], sent["docid"], grade, under)


def _check_place(sent: dict[str, Any], task: Task) -> None:
    problems = []
    if sent.get("condition") not in task.judged_under():
        problems.append(f"condition is {sent.get('condition')!r}, expected {' or '.join(task.judged_under())}")
    if sent.get("docid") not in task.shown(sent["qid"]):
        problems.append(f"document {sent.get('docid')!r} is not to be judged for topic {sent['qid']}")
    fail(problems)


def _text(sent: dict[str, Any], name: str, longest: int) -> str:
    text = sent.get(name)
    if not isinstance(text, str) or len(text) > longest:
        raise HeedError(f"{name}: expected text of at most {longest} characters")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise HeedError(f"{name}: holds half of a surrogate pair; delete that character") from error
    return text

"""Validate what the page sends: nothing reaches the database that does not fit the task."""

from collections.abc import Iterator
from typing import Annotated, NamedTuple

import msgspec

from heed.annotation.store import ADJUDICATED, NARRATIVE, Change
from heed.annotation.task import Task
from heed.errors import DataError, UsageError, fail

LONGEST_NAME, LONGEST_NOTE, LONGEST_NARRATIVE = 40, 4_000, 20_000  # characters
JOINERS = dict.fromkeys((0x200C, 0x200D))  # parts of Persian names, though Python calls them not printable
MOST_CHANGES = 2_000  # of one request: a topic's documents, when judgements are kept for a new wording

Id = Annotated[str, msgspec.Meta(pattern=r"\A[\w-]{8,64}\Z")]
Narrative = Annotated[str, msgspec.Meta(max_length=LONGEST_NARRATIVE)]


class NarrativeChange(msgspec.Struct, tag_field="kind", tag=NARRATIVE, frozen=True):
    """An edit of the changed narrative; ``base`` is the version that was edited."""

    qid: str
    text: Narrative
    base: int


class NoteChange(msgspec.Struct, tag_field="kind", tag="note", frozen=True):
    """A new text of a note."""

    qid: str
    condition: str
    docid: str
    note: Annotated[str, msgspec.Meta(max_length=LONGEST_NOTE)]


class GradeChange(msgspec.Struct, tag_field="kind", tag="grade", frozen=True):
    """A new grade; None takes it back."""

    qid: str
    condition: str
    docid: str
    grade: int | None = None


class Body(msgspec.Struct, frozen=True):
    """The body of a request: ``batch`` is what one undo takes back, ``wording`` the narrative judged under."""

    id: Id
    assessor: str
    batch: Id = ""
    wording: Narrative = ""
    changes: Annotated[list[NarrativeChange | NoteChange | GradeChange], msgspec.Meta(max_length=MOST_CHANGES)] = (
        msgspec.field(default_factory=list)
    )


class ChangeRequest(NamedTuple):
    """A valid request; one that is sent twice has the same ``request_id``."""

    request_id: str
    assessor: str
    batch: str
    changes: list[Change]


def read_request(body: object, task: Task) -> ChangeRequest:
    """Return the request in ``body``, parsed JSON; :class:`DataError` naming what does not fit the task."""
    try:
        request = msgspec.convert(body, Body)
    except (msgspec.ValidationError, UnicodeError) as error:
        raise DataError(f"request: {error}") from error
    assessor = check_name(request.assessor)
    problems = [*_surrogates("wording", request.wording)]
    for change in request.changes:
        problems += _problems(change, task)
    fail(problems)
    changes = [_change(change, request.wording) for change in request.changes]
    return ChangeRequest(request.id, assessor, request.batch or request.id, changes)


def check_name(name: str | None) -> str:
    """Return an assessor's name with single spaces; :class:`UsageError` if it is empty, too long or not printable."""
    stripped = " ".join((name or "").split())
    if not stripped or len(stripped) > LONGEST_NAME or not stripped.translate(JOINERS).isprintable():
        raise UsageError(f"assessor is {name!r}, expected a name of at most {LONGEST_NAME} characters")
    return stripped


def refuse_reserved(name: str) -> str:
    """Return ``name``; :class:`UsageError` if it is the adjudicator's, who decides on the agreement page."""
    if name.casefold() == ADJUDICATED:
        raise UsageError(
            f"--assessor {name}: this name is reserved for decisions where assessors differ; choose another"
        )
    return name


def _problems(change: NarrativeChange | NoteChange | GradeChange, task: Task) -> Iterator[str]:
    if change.qid not in task.pool:
        yield f"topic is {change.qid!r}, expected one of the pool"
        return
    if isinstance(change, NarrativeChange):
        yield from _surrogates("text", change.text)
        return
    if change.condition not in task.conditions():
        yield f"condition is {change.condition!r}, expected {' or '.join(task.conditions())}"
    if change.docid not in task.to_judge(change.qid):
        yield f"document {change.docid!r} is not to be judged for topic {change.qid}"
    if isinstance(change, NoteChange):
        yield from _surrogates("note", change.note)
    elif change.grade not in (None, *task.grades()):
        yield f"grade is {change.grade!r}, expected one of {', '.join(map(str, task.grades()))}"


def _surrogates(name: str, text: str) -> Iterator[str]:
    """Yield a problem if ``text`` cannot be stored as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        yield f"{name}: holds half of a surrogate pair; delete that character"


def _change(change: NarrativeChange | NoteChange | GradeChange, wording: str) -> Change:
    if isinstance(change, NarrativeChange):
        return Change(NARRATIVE, change.qid, value=change.text, base=change.base)
    if isinstance(change, NoteChange):
        return Change("note", change.qid, change.condition, change.docid, change.note)
    under = wording if change.condition == "changed" else ""
    return Change("grade", change.qid, change.condition, change.docid, change.grade, under)

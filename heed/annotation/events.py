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
NarrativeText = Annotated[str, msgspec.Meta(max_length=LONGEST_NARRATIVE)]


class _NarrativeChange(msgspec.Struct, tag_field="kind", tag=NARRATIVE):
    qid: str
    text: NarrativeText
    base: int

    def problems(self, task: Task) -> Iterator[str]:
        return _surrogates("text", self.text)

    def change(self, wording: str) -> Change:
        return Change(NARRATIVE, self.qid, value=self.text, base=self.base)


class _NoteChange(msgspec.Struct, tag_field="kind", tag="note"):
    qid: str
    condition: str
    docid: str
    note: Annotated[str, msgspec.Meta(max_length=LONGEST_NOTE)]

    def problems(self, task: Task) -> Iterator[str]:
        yield from _misplaced(self, task)
        yield from _surrogates("note", self.note)

    def change(self, wording: str) -> Change:
        return Change("note", self.qid, self.condition, self.docid, self.note)


class _GradeChange(msgspec.Struct, tag_field="kind", tag="grade"):
    qid: str
    condition: str
    docid: str
    grade: int | None = None

    def problems(self, task: Task) -> Iterator[str]:
        yield from _misplaced(self, task)
        if self.grade not in (None, *task.grades()):
            yield f"grade is {self.grade!r}, expected one of {', '.join(map(str, task.grades()))}"

    def change(self, wording: str) -> Change:
        under = wording if self.condition == "changed" else ""
        return Change("grade", self.qid, self.condition, self.docid, self.grade, under)


class _Body(msgspec.Struct):
    id: Id
    assessor: str
    batch: Id = ""
    wording: NarrativeText = ""  # that grades under the condition changed are given for
    changes: Annotated[list[_NarrativeChange | _NoteChange | _GradeChange], msgspec.Meta(max_length=MOST_CHANGES)] = []


class ChangeRequest(NamedTuple):
    """A valid request: ``request_id`` is the same when it is sent twice, ``batch`` what one undo takes back."""

    request_id: str
    assessor: str
    batch: str
    changes: list[Change]


def read_request(body: object, task: Task) -> ChangeRequest:
    """Return the request in ``body``, parsed JSON; :class:`DataError` naming what does not fit the task."""
    try:
        request = msgspec.convert(body, _Body)
    except (msgspec.ValidationError, UnicodeError) as error:
        raise DataError(f"request: {error}") from error
    assessor = check_name(request.assessor)
    problems = [*_surrogates("wording", request.wording)]
    for change in request.changes:
        if change.qid in task.pool:
            problems += change.problems(task)
        else:
            problems.append(f"topic is {change.qid!r}, expected one of the pool")
    fail(problems)
    changes = [change.change(request.wording) for change in request.changes]
    return ChangeRequest(request.id, assessor, request.batch or request.id, changes)


def _misplaced(change: _NoteChange | _GradeChange, task: Task) -> Iterator[str]:
    if change.condition not in task.conditions():
        yield f"condition is {change.condition!r}, expected {' or '.join(task.conditions())}"
    if change.docid not in task.to_judge(change.qid):
        yield f"document {change.docid!r} is not to be judged for topic {change.qid}"


def _surrogates(name: str, text: str) -> Iterator[str]:
    """Yield a problem if ``text`` cannot be stored as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        yield f"{name}: holds half of a surrogate pair; delete that character"


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

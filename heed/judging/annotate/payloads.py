"""The JSON between page and server: requests are validated against the task, answers are made from the database.

Judgements of other assessors are only in the answer for the agreement page.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec

from heed.errors import DataError, fail
from heed.judging.annotate.assessors import check_name
from heed.judging.annotate.grades import disagreements, final_grade, grades_by_document, pair_agreements
from heed.judging.annotate.pooled_documents import PooledDocument
from heed.judging.annotate.store import NARRATIVE, Change, Judgement, Store, wording_of
from heed.judging.annotate.task import Task
from heed.languages import RIGHT_TO_LEFT, language
from heed.tables.recognition import as_table

LONGEST_NOTE, LONGEST_NARRATIVE = 4_000, 20_000  # characters
MOST_TEXTS = 10  # of one request: query, narratives and documents
MOST_CHANGES = 2_000  # of one request: a topic's documents, when judgements are kept for a new wording

Id = Annotated[str, msgspec.Meta(pattern=r"\A[\w-]{8,64}\Z")]
NarrativeText = Annotated[str, msgspec.Meta(max_length=LONGEST_NARRATIVE)]

MOST_SHOWN = 500  # disagreements on the page; the export has them all

Data = dict[str, Any]


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
    """A valid request: ``request_id`` is the same when it is sent twice; one undo takes back a ``batch``."""

    request_id: str
    assessor: str
    batch: str
    changes: list[Change]


def read_request(body: object, task: Task) -> ChangeRequest:
    """Return the request in ``body``, parsed JSON; :class:`DataError` naming every part that does not fit the task."""
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


class _Texts(msgspec.Struct):
    texts: Annotated[list[str], msgspec.Meta(max_length=MOST_TEXTS)]


def read_texts(body: object) -> list[str]:
    """Return the texts in ``body``, parsed JSON, whose terms are requested; :class:`DataError` for anything else."""
    try:
        texts = msgspec.convert(body, _Texts).texts
    except (msgspec.ValidationError, UnicodeError) as error:
        raise DataError(f"request: {error}") from error
    fail(problem for text in texts for problem in _surrogates("texts", text))
    return texts


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


def task_data(task: Task, store: Store, assessor: str) -> Data:
    """Return the task for the whole page; ``assessor`` is the name given to the command, or empty."""
    return {
        "name": store.properties()["name"],
        "pool": f"{store.path.resolve().parent.name}/{store.path.stem}",
        "scale": [grade._asdict() for grade in task.scale],
        "judged": list(task.conditions()),
        "onlyRelevant": task.only_relevant,
        "assessor": assessor,
        "assessors": store.assessors(),
        "documents": language_data(task.lang),
        "topics": [
            {
                "qid": qid,
                "query": task.topics[qid].query,
                "language": language_data(task.topics[qid].lang),
                "documents": len(task.to_judge(qid)),
            }
            for qid in task.pool
        ],
    }


def language_data(code: str) -> Data:
    """Return a language's tag in HTML, and its direction."""
    return {"code": code, "tag": language(code).short, "dir": "rtl" if code in RIGHT_TO_LEFT else "ltr"}


def progress_data(task: Task, store: Store, assessor: str) -> Data:
    """Return of each topic how many documents are judged, and the number of the last change.

    ``again`` are those that an edit of the narrative concerns, ``read`` those read again since the last one.
    """
    by_topic: dict[str, list[Judgement]] = {qid: [] for qid in task.pool}
    for judgement in store.judgements(assessor):
        by_topic[judgement.qid].append(judgement)
    topics = {
        qid: {**_counts(task, qid, assessor, by_topic[qid], wording_of(text)), "version": version}
        for qid, (text, version) in store.narratives().items()
    }
    return {"last": store.last(assessor), "topics": topics}


def _counts(task: Task, qid: str, assessor: str, judgements: Sequence[Judgement], wording: str) -> dict[str, int]:
    """Return the numbers of documents graded, to read again (relevant before, or graded after an edit), and read."""
    docids, earlier = task.to_judge(qid), task.qrels.get(qid, {})
    by_document = grades_by_document(judgements)
    grades = {docid: final_grade(by_document.get((qid, "original", docid), {}), assessor) for docid in docids}
    changed = {each.docid: each for each in judgements if each.condition == "changed" and each.grade is not None}
    relevant = {docid for docid, grade in grades.items() if (earlier.get(docid, 0) if grade is None else grade) > 0}
    return {
        "original": sum(grade is not None for grade in grades.values()),
        "again": sum(docid in changed or docid in relevant for docid in docids),
        "read": sum(docid in changed and not changed[docid].is_stale(wording) for docid in docids),
    }


def topic_data(task: Task, store: Store, assessor: str, qid: str) -> Data:
    """Return a topic's narratives, and its documents in the pool's order with this assessor's judgements."""
    text, version = store.narratives()[qid]
    wording = wording_of(text)
    judgements: dict[str, Data] = {}
    for judgement in store.judgements(assessor, qid):
        state = {"grade": judgement.grade, "note": judgement.note, "stale": judgement.is_stale(wording)}
        judgements.setdefault(judgement.docid, {})[judgement.condition] = state
    earlier = task.qrels.get(qid, {})
    return {
        "qid": qid,
        "original": task.original(qid),
        "changed": text,
        "version": version,
        "documents": [
            {"docid": docid, "given": earlier.get(docid), **judgements.get(docid, {})} for docid in task.to_judge(qid)
        ],
    }


def document_data(document: PooledDocument) -> Data:
    """Return a document; ``table`` is None unless it is displayed as one."""
    table = as_table(document.text, known=True) if document.tabular else None
    return {**document._asdict(), "table": table._asdict() if table else None}


def agreement_data(task: Task, store: Store, assessor: str) -> Data:
    """Return κ of every two assessors, and the disagreements about documents that ``assessor`` has graded.

    An assessor without any grade, such as an organiser, gets all disagreements.
    """
    judgements = store.judgements()
    graded = {
        (judgement.qid, judgement.condition, judgement.docid)
        for judgement in judgements
        if judgement.assessor == assessor and judgement.grade is not None
    }
    notes: dict[tuple[str, str, str], dict[str, str]] = {}
    for judgement in judgements:
        if judgement.note:
            key = judgement.qid, judgement.condition, judgement.docid
            notes.setdefault(key, {})[judgement.assessor] = judgement.note
    keyed = {(item["qid"], item["condition"], item["docid"]): item for item in disagreements(judgements)}
    differing = {key: item for key, item in keyed.items() if not graded or key in graded}
    shown = [*differing.items()][:MOST_SHOWN]
    titles = store.titles([item["docid"] for _, item in shown])
    return {
        "pairs": pair_agreements(judgements, task.grades()),
        "count": len(differing),
        "open": sum(item["decision"] is None for item in differing.values()),
        "disagreements": [
            {**item, "notes": notes.get(key, {}), "title": titles.get(item["docid"], "")} for key, item in shown
        ],
    }

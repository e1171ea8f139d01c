"""The annotation page's server: its routes, and the JSON between page and server.

Requests are validated against the task, answers are made from the database. Judgements of other assessors are only in
the answer for the agreement page.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from heed.addons.judging.annotate.grades import (
    DocumentKey,
    current,
    disagreements,
    final_grades,
    grade_before_edit,
    grades_by_document,
    is_changed,
    is_open,
    missing_for_export,
    original_grades,
    pair_agreements,
    progress_by_topic,
    progress_lines,
    seconds_a_document,
)
from heed.addons.judging.annotate.people import ADJUDICATOR, person_of
from heed.addons.judging.annotate.store import (
    MARKS,
    NARRATIVE,
    PASSAGE,
    Change,
    ConflictError,
    Judgement,
    Store,
    wording_of,
)
from heed.addons.judging.annotate.task import ADJUDICATED, Passage, Task, check_name, dump_task
from heed.errors import DataError, HeedError, JavaError, fail
from heed.files import digest_json
from heed.instructions.reader import reader_at
from heed.languages import language_data
from heed.progress import warn
from heed.tables.markup import as_table
from heed.web import TYPES, Person, converted, cookie_of, json_route, read_body

LONGEST_NOTE, LONGEST_NARRATIVE = 4_000, 20_000  # characters
MOST_TEXTS = 10  # of one request: query, narratives and documents
LONGEST_WAIT = 100_000_000_000  # ms, some years: a clock may have been set
MOST_CHANGES = 2_000  # of one request: a topic's documents, when judgements are kept for a new wording

Id = Annotated[str, msgspec.Meta(pattern=r"\A[\w-]{8,64}\Z")]
NarrativeText = Annotated[str, msgspec.Meta(max_length=LONGEST_NARRATIVE)]

MOST_SHOWN = 500  # disagreements on the page; the export has them all

Payload = dict[str, Any]


class _Sent(msgspec.Struct):
    """A change as the page sends it: the text of a narrative with the version it is based on, a note, grade or mark.

    ``read`` is the version of the document that was graded.
    """

    kind: Literal["narrative", "note", "grade", "unsure", "skipped", "passage"]
    qid: str
    condition: str = ""
    docid: str = ""
    grade: int | None = None
    note: Annotated[str, msgspec.Meta(max_length=LONGEST_NOTE)] = ""
    text: NarrativeText = ""
    base: int = 0
    unsure: bool = False
    skipped: bool = False
    passage: Passage | None = None
    read: str = ""

    def problems(self, task: Task, wording: str) -> Iterator[str]:
        """Yield what the page of this task would not send."""
        if self.kind == NARRATIVE:
            return
        if self.condition not in task.conditions():
            yield f"condition is {self.condition!r}, expected {' or '.join(task.conditions())}"
        if self.docid not in task.to_judge(self.qid):
            yield f"document {self.docid!r} is not to be judged for topic {self.qid}"
        if self.grade not in (None, *task.grades()):
            yield f"grade is {self.grade!r}, expected one of {', '.join(map(str, task.grades()))}"
        if self.condition == "changed" and self.grade is not None and not is_changed(task, self.qid, wording):
            yield f"topic {self.qid}: its narrative is not edited; edit it before a grade under the changed one"

    def change(self, wording: str, by: str) -> Change:
        """Return the change; a grade under a changed narrative is for its ``wording``, a decision made ``by`` one."""
        if self.kind == NARRATIVE:
            return Change(NARRATIVE, self.qid, value=self.text, base=self.base)
        judged = (self.kind, self.qid, self.condition, self.docid)
        if self.kind == "note":
            return Change(*judged, self.note)
        if self.kind in MARKS:
            value = getattr(self, self.kind)
            return Change(*judged, msgspec.json.encode(value).decode() if value else "")
        return Change(*judged, self.grade, wording if self.condition == "changed" else "", by=by, read=self.read)


class _Body(msgspec.Struct):
    id: Id
    assessor: str
    batch: Id = ""
    wording: NarrativeText = ""  # that grades under the condition changed are given for
    by: str = ""  # who makes an adjudicator's decisions
    waited: int = 0  # ms since the changes were made
    changes: Annotated[list[_Sent], msgspec.Meta(max_length=MOST_CHANGES)] = []


class _Entering(msgspec.Struct):
    token: str


class _Narrative(msgspec.Struct):
    text: NarrativeText


class _Marked(msgspec.Struct):
    texts: Annotated[list[str], msgspec.Meta(max_length=MOST_TEXTS)]
    qid: str = ""  # of the topic in whose documents' language the texts are analysed


def read_request(body: object, task: Task) -> tuple[str, str, str, list[Change], float]:
    """Return id, assessor, batch, changes and seconds of waiting of a request, from parsed JSON.

    Raises :class:`DataError` naming every part that does not fit the task.
    """
    request = converted(body, _Body)
    assessor, by = check_name(request.assessor), check_name(request.by) if request.by else ""
    problems: list[str] = []
    for change in request.changes:
        if change.qid in task.pool:
            problems += [*_unassigned(change.qid, task, assessor, by), *change.problems(task, request.wording)]
        else:
            problems.append(f"topic is {change.qid!r}, expected one of the pool")
    fail(problems)
    changes = [each.change(request.wording, by) for each in request.changes]
    waited = min(max(request.waited, 0), LONGEST_WAIT) / 1000
    return request.id, assessor, request.batch or request.id, changes, waited


def _unassigned(qid: str, task: Task, assessor: str, by: str) -> Iterator[str]:
    """Yield a problem if a topic is another's, or is to be decided by one who judges it."""
    if assessor != ADJUDICATED and qid not in task.topics_of(assessor):
        yield f"topic {qid} is assigned to {', '.join(task.assigned.get(qid, ())) or 'nobody'}, not to {assessor}"
    if by in task.assigned.get(qid, ()):
        yield f"topic {qid} is judged by {by}; another one decides it"


def check_person(person: Person | None, assessor: str, by: str = "") -> None:
    """Refuse with 403 what a person of a link of his own sends as another; :class:`DataError` for others' decisions."""
    if person is None or assessor == person.name:
        return
    if assessor != ADJUDICATED:
        raise HTTPException(403, f"this browser has opened the link of {person.name}; open the one of {assessor}")
    if person.role != ADJUDICATOR or by != person.name:
        raise DataError(f"{person.name} does not decide here; an adjudicator does")  # not now, so it need not wait


def task_data(task: Task, store: Store, assessor: str, person: Person | None = None) -> Payload:
    """Return scale, topics and assessors of a task for the page.

    ``assessor`` is the command's, or empty; a ``person`` is known by a link, and learns of no other one.
    """
    judges = {judgement.assessor for judgement in store.judgements()} - {ADJUDICATED}
    properties = store.properties()
    return {
        "name": properties["name"],
        "guidelines": properties.get("guidelines", ""),
        "pool": f"{store.path.resolve().parent.name}/{store.path.stem}",
        "scale": [grade._asdict() for grade in task.scale],
        "judged": list(task.conditions()),
        "onlyRelevant": task.only_relevant,
        "assessor": person.name if person else assessor,
        "known": person is not None,
        "adjudicates": person is None or person.role == ADJUDICATOR,
        "assessors": [] if person else sorted({*judges, *chain.from_iterable(task.assigned.values())}),
        "topics": [
            {
                "qid": qid,
                "query": task.topics[qid].query,
                "description": task.topics[qid].description,
                "language": language_data(task.topics[qid].lang),
                "documentLanguage": language_data(task.lang_of(qid)),
                "documents": len(task.to_judge(qid)),
            }
            for qid in task.pool
        ],
    }


def progress_data(task: Task, store: Store, assessor: str, adjudicates: bool = True) -> Payload:
    """Return an assessor's progress and pace, the last change's number, and what the export would lack.

    What it would lack is None while something is left for the assessor. Who has topics assigned, or does not
    adjudicate, learns of the others' work only that it is not finished.
    """
    judgements, versions = store.judgements(), store.narratives()
    narratives = {qid: text for qid, (text, _) in versions.items()}
    topics = progress_by_topic(task, judgements, narratives, assessor)
    missing = None
    if not any(is_open(task, qid, progress) for qid, progress in topics.items()):
        missing = missing_for_export(task, final_grades(task, judgements, narratives))
    is_blind = not adjudicates or bool(task.assigned and topics)
    return {
        "last": store.last(assessor, ADJUDICATED),
        "missing": "Others still judge or decide." if missing and is_blind else missing,
        "pace": seconds_a_document(store, assessor).get(assessor),
        "topics": {qid: {**progress, "version": versions[qid][1]} for qid, progress in topics.items()},
    }


def topic_data(task: Task, store: Store, assessor: str, qid: str) -> Payload:
    """Return a topic's narratives, and its documents in the pool's order with this assessor's judgements."""
    text, version = store.narratives()[qid]
    wording = wording_of(text)
    judgements: dict[str, Payload] = {}
    everybodys = store.judgements(qid=qid)
    for (_, condition, docid), grades in grades_by_document(current(everybodys, {qid: text})).items():
        before = grade_before_edit(task, qid, grades, assessor) if condition == "original" else None
        if before is not None and before != grades.get(assessor):
            judgements.setdefault(docid, {})["decided"] = before
    for judgement in (each for each in everybodys if each.assessor == assessor):
        state = {"grade": judgement.grade, "note": judgement.note, "stale": judgement.is_stale(wording)}
        judgements.setdefault(judgement.docid, {})[judgement.condition] = state
    for (name, _, condition, docid), marks in store.marks(qid).items():
        if name == assessor:
            state = judgements.setdefault(docid, {}).setdefault(condition, {"grade": None, "note": ""})
            state.update(marks)
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


def agreement_data(task: Task, store: Store, assessor: str, models: Sequence[Judgement] = ()) -> Payload:
    """Return progress, κ of every two assessors, and the disagreements about documents that ``assessor`` has graded.

    An assessor without any grade, such as an organiser, gets all disagreements. One who has topics assigned gets no κ
    and only what is decided. With the disagreements come the narratives that they are decided by, the original grades
    of those under the changed narrative unless ``assessor`` has still to give one, and the grades of ``models``, which
    are taken for those of its current words.
    """
    judgements, narratives = store.judgements(), store.narratives()
    texts = {qid: text for qid, (text, _) in narratives.items()}
    is_blind = bool(task.assigned and task.topics_of(assessor))
    marks = store.marks()
    graded = {each[1:4] for each in judgements if each.assessor == assessor and each.grade is not None}
    notes: dict[DocumentKey, dict[str, str]] = {}
    for judgement in judgements:
        if judgement.note:
            notes.setdefault(judgement[1:4], {})[judgement.assessor] = judgement.note
    differing = {
        key: item
        for item in disagreements(current(judgements, texts), store.deciders())
        if (key := (item["qid"], item["condition"], item["docid"])) in graded or not (graded or is_blind)
        if item["decision"] is not None or not is_blind
    }
    shown = [*differing.items()][:MOST_SHOWN]
    votes = grades_by_document(current(judgements, texts))
    by_models = [
        grade._replace(wording=wording_of(texts[grade.qid]) if grade.condition == "changed" else "") for grade in models
    ]
    grades_of_models = grades_by_document([] if is_blind else by_models)
    titles = store.titles([item["docid"] for _, item in shown])
    has_all = task.only_relevant or not graded
    known = {key for key in differing if not is_blind and (has_all or (key[0], "original", key[2]) in graded)}
    return {
        "blind": is_blind,
        "progress": progress_lines(task, store, judgements, texts),
        "pairs": [] if is_blind else pair_agreements([*judgements, *by_models], task.grades()),
        "count": len(differing),
        "open": sum(item["decision"] is None for item in differing.values()),
        "narratives": {qid: {"original": task.original(qid), "changed": texts[qid]} for (qid, _, _), _ in shown},
        "disagreements": [
            {
                **item,
                "notes": notes.get(key, {}),
                "original": original_grades(task, votes, *key[::2]) if key[1] == "changed" and key in known else None,
                "models": grades_of_models.get(key, {}),
                "marks": {name: marks[judged] for name in item["grades"] if (judged := (name, *key)) in marks},
                "title": titles.get(item["docid"], ""),
            }
            for key, item in shown
        ],
    }


# of each term of a text in a language its first character and the one after its last, in UTF-16 units, and itself
Analyse = Callable[[str, Sequence[str]], Sequence[Sequence[tuple[int, int, str]]]]

HEED = Path(__file__).parents[3]
MOST_ASSESSORS = 100  # whose progress is remembered
PAGES = (Path(__file__).with_name("page"), HEED / "report" / "page" / "shared")  # its own, and the explorer's too


def page_files() -> list[Path]:
    """Return the files that the page consists of; their names are those under ``/static/``."""
    return [path for folder in PAGES for path in sorted(folder.iterdir()) if path.suffix in TYPES]


class AnnotationServer:
    """The routes over one task and its database; nothing between requests decides an answer but the database."""

    def __init__(
        self, task: Task, store: Store, assessor: str, analyse: Analyse, models: Sequence[Judgement] = ()
    ) -> None:
        """``assessor`` is the name that the page starts with; if empty, the page asks for it.

        The grades of ``models`` are shown to those who decide.

        ``analyse`` returns the terms of texts as the documents' index has them, by which the page marks words; where it
        raises :class:`JavaError`, it is not asked again.
        """
        self._task, self._store, self._assessor, self._models = task, store, assessor, models
        self._analyse: Analyse | None = analyse
        self._analysis = ThreadPoolExecutor(1, "analysis")  # threads that end would have to be detached from Java
        # open pages ask every few seconds, and all judgements are read for an answer: once for each change of the log
        self._progress_at = lru_cache(MOST_ASSESSORS)(
            lambda assessor, adjudicates, entry: progress_data(task, store, assessor, adjudicates)
        )
        # an open page is loaded again when the task or the guidelines have changed
        stored = [store.properties().get(name, "") for name in ("documents", "guidelines")]
        self._state = digest_json([dump_task(task), task.assigned, task.only_relevant, *stored])
        self._files = {path.name: path.read_bytes() for path in page_files()}

    def application(self) -> Starlette:
        """Return the routes with the handlers of errors."""
        return Starlette(
            routes=[
                Route("/", self._file),
                Route("/static/{name}", self._file),
                Route("/api/enter", self._enter, methods=["POST"]),
                Route("/api/task", json_route(self._task_data)),
                Route("/api/progress", json_route(self._progress)),
                Route("/api/topic", json_route(self._topic)),
                Route("/api/document", json_route(self._document)),
                Route("/api/agreement", json_route(self._agreement)),
                Route("/api/changes", self._changes, methods=["POST"]),
                Route("/api/undo", self._undo, methods=["POST"]),
                Route("/api/reading", self._reading, methods=["POST"]),
                Route("/api/terms", self._terms_of_texts, methods=["POST"]),
            ],
            exception_handlers={HeedError: _bad_request, sqlite3.Error: _database_error},
        )

    async def _file(self, request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        if name not in self._files:
            raise HTTPException(404)
        return Response(self._files[name], media_type=TYPES[Path(name).suffix])

    def _of(self, request: Request) -> tuple[Task, Store, str]:
        """Return task, database and the assessor who requests."""
        assessor = check_name(request.query_params.get("assessor"))
        check_person(_person(request), assessor)
        return self._task, self._store, assessor

    async def _enter(self, request: Request) -> Response:
        """Answer a person's token with the cookie that holds it from now on."""
        token = (await read_body(request, _Entering)).token
        if await run_in_threadpool(person_of, self._store, token) is None:
            raise HTTPException(403, "this link is not valid any more; ask who sent it for a new one")
        return JSONResponse({}, headers={"set-cookie": cookie_of(request, token)})

    def _task_data(self, request: Request) -> object:
        data = task_data(self._task, self._store, self._assessor, _person(request))
        return {**data, "state": self._state}

    def _agreement(self, request: Request) -> object:
        task, store, assessor = self._of(request)
        if not _adjudicates(request):
            raise HTTPException(403, "agreement is shown to adjudicators")
        return agreement_data(task, store, assessor, self._models)

    def _progress(self, request: Request) -> object:
        _, store, assessor = self._of(request)
        progress = self._progress_at(assessor, _adjudicates(request), store.last())
        return {**progress, "state": self._state}

    def _topic(self, request: Request) -> object:
        task, store, assessor = self._of(request)
        qid = request.query_params.get("qid", "")
        if qid not in task.topics_of(assessor):
            raise HTTPException(404)
        return topic_data(task, store, assessor, qid)

    def _document(self, request: Request) -> object:
        document = self._store.document(request.query_params.get("docid", ""))
        if document is None:
            raise HTTPException(404)
        table = as_table(document.text, known=True) if document.tabular else None
        shown = table and {"caption": table.caption, "header": table.header, "body": table.body}
        return {**document._asdict(), "version": document.version, "table": shown}  # None unless it is displayed as one

    async def _changes(self, request: Request) -> Response:
        sent = self._sent(request, await read_body(request, object))
        return JSONResponse({"done": await run_in_threadpool(self._record, *sent)})

    def _record(self, request_id: str, assessor: str, batch: str, changes: Sequence[Change], waited: float) -> object:
        marked = ((each.docid, each.value) for each in changes if each.kind == PASSAGE and each.value)
        fail(
            f"document {docid}: its text is another one where the passage is marked; load the page again"
            for docid, passage in marked
            if not msgspec.json.decode(str(passage), type=Passage).is_of(self._store.document(docid))
        )
        return self._store.record(request_id, assessor, batch, changes, waited)

    def _sent(self, request: Request, body: object) -> tuple[str, str, str, list[Change], float]:
        request_id, assessor, batch, changes, waited = read_request(body, self._task)
        by = {change.by for change in changes if change.kind == "grade"}
        check_person(_person(request), assessor, by.pop() if len(by) == 1 else "")
        return request_id, assessor, batch, changes, waited

    async def _undo(self, request: Request) -> Response:
        request_id, assessor, *_, waited = self._sent(request, await read_body(request, object))
        return JSONResponse({"done": await run_in_threadpool(self._store.undo, request_id, assessor, waited)})

    async def _reading(self, request: Request) -> Response:
        """Return the spans of a narrative, ``[start, end, kind]`` in characters."""
        text = (await read_body(request, _Narrative)).text
        spans = await run_in_threadpool(lambda: reader_at().as_given(text))
        return JSONResponse({"spans": [span[:3] for span in spans]})

    async def _terms_of_texts(self, request: Request) -> Response:
        sent = await read_body(request, _Marked)
        terms = asyncio.get_running_loop().run_in_executor(self._analysis, self._terms, sent)
        return JSONResponse(await terms)

    def _terms(self, sent: _Marked) -> dict[str, object]:
        """Return the terms of each of ``texts``; None, after one warning, without Java."""
        try:
            lang = self._task.lang_of(sent.qid)
            return {"terms": self._analyse(lang, sent.texts) if self._analyse else None}
        except JavaError as error:
            self._analyse = None
            warn(f"words are marked by their endings, not as BM25 matches them: {error}")
            return {"terms": None}


def _person(request: Request) -> Person | None:
    """Return whose link the browser has opened; None where one link is for all."""
    person: Person | None = request.scope.get("person")
    return person


def _adjudicates(request: Request) -> bool:
    person = _person(request)
    return person is None or person.role == ADJUDICATOR


async def _bad_request(request: Request, error: Exception) -> Response:
    if isinstance(error, ConflictError):
        return JSONResponse({"error": str(error), "text": error.text, "version": error.version}, 409)
    return JSONResponse({"error": str(error)}, 400)


async def _database_error(request: Request, error: Exception) -> Response:
    """Answer 503 when the disk is full or another process holds the file: the page keeps its changes and retries."""
    return JSONResponse({"error": f"the database cannot be used: {error}"}, 503)

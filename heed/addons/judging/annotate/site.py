"""The annotation page's server: its routes."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from heed.addons.judging.annotate.assessors import check_name
from heed.addons.judging.annotate.payloads import (
    ChangeRequest,
    agreement_data,
    document_data,
    progress_data,
    read_request,
    read_texts,
    task_data,
    topic_data,
)
from heed.addons.judging.annotate.store import ConflictError, Store
from heed.addons.judging.annotate.task import Task
from heed.errors import HeedError, JavaError
from heed.progress import warn
from heed.web.json_answers import TYPES, json_route, read_json

# of each term of a text its first character and the one after its last, in UTF-16 units, and itself
Analyse = Callable[[Sequence[str]], Sequence[Sequence[tuple[int, int, str]]]]

HEED = Path(__file__).parents[3]
MOST_ASSESSORS = 100  # whose progress is remembered
PAGES = (Path(__file__).with_name("page"), HEED / "report" / "page" / "shared")  # its own, and the explorer's too


def page_files() -> list[Path]:
    """Return the files that the page consists of; their names are those under ``/static/``."""
    return [path for folder in PAGES for path in sorted(folder.iterdir()) if path.suffix in TYPES]


class AnnotationServer:
    """The routes over one task and its database; nothing between requests decides an answer but the database."""

    def __init__(self, task: Task, store: Store, assessor: str, analyse: Analyse) -> None:
        """``assessor`` is the name that the page starts with; if empty, the page asks for it.

        ``analyse`` returns the terms of texts as the documents' index has them, by which the page marks words; where it
        raises :class:`JavaError`, it is not asked again.
        """
        self._task, self._store, self._assessor = task, store, assessor
        self._analyse: Analyse | None = analyse
        self._analysis = ThreadPoolExecutor(1, "analysis")  # threads that end would have to be detached from Java
        # open pages ask every few seconds, and all judgements are read for an answer: once for each change of the log
        self._progress_at = lru_cache(MOST_ASSESSORS)(lambda assessor, entry: progress_data(task, store, assessor))
        self._files = {path.name: path.read_bytes() for path in page_files()}

    def application(self) -> Starlette:
        """Return the routes with the handlers of errors."""
        return Starlette(
            routes=[
                Route("/", self._file),
                Route("/static/{name}", self._file),
                Route("/api/task", json_route(lambda _: task_data(self._task, self._store, self._assessor))),
                Route("/api/progress", json_route(self._progress)),
                Route("/api/topic", json_route(self._topic)),
                Route("/api/document", json_route(self._document)),
                Route("/api/agreement", json_route(lambda request: agreement_data(*self._of(request)))),
                Route("/api/changes", self._changes, methods=["POST"]),
                Route("/api/undo", self._undo, methods=["POST"]),
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
        return self._task, self._store, check_name(request.query_params.get("assessor"))

    def _progress(self, request: Request) -> object:
        _, store, assessor = self._of(request)
        return self._progress_at(assessor, store.last_entry())

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
        return document_data(document)

    async def _changes(self, request: Request) -> Response:
        sent = await self._read(request)
        done = await run_in_threadpool(self._store.record, sent.request_id, sent.assessor, sent.batch, sent.changes)
        return JSONResponse({"done": done})

    async def _undo(self, request: Request) -> Response:
        sent = await self._read(request)
        done = await run_in_threadpool(self._store.undo, sent.request_id, sent.assessor)
        return JSONResponse({"done": done})

    async def _terms_of_texts(self, request: Request) -> Response:
        texts = read_texts(await read_json(request))
        return JSONResponse(await asyncio.get_running_loop().run_in_executor(self._analysis, self._terms, texts))

    def _terms(self, texts: Sequence[str]) -> dict[str, object]:
        """Return the terms of each of ``texts``; None, after one warning, without Java."""
        try:
            return {"terms": self._analyse(texts) if self._analyse else None}
        except JavaError as error:
            self._analyse = None
            warn(f"words are marked by their endings, not as BM25 matches them: {error}")
            return {"terms": None}

    async def _read(self, request: Request) -> ChangeRequest:
        return read_request(await read_json(request), self._task)


async def _bad_request(request: Request, error: Exception) -> Response:
    if isinstance(error, ConflictError):
        return JSONResponse({"error": str(error), "text": error.text, "version": error.version}, 409)
    return JSONResponse({"error": str(error)}, 400)


async def _database_error(request: Request, error: Exception) -> Response:
    """Answer 503 when the disk is full or another process holds the file: the page keeps its changes and retries."""
    return JSONResponse({"error": f"the database cannot be used: {error}"}, 503)

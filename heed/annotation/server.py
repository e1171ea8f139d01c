"""The annotation page's server: its routes, and how it listens on this machine alone."""

import socket
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from heed.annotation.events import check_name, read_sent
from heed.annotation.guard import Guard
from heed.annotation.store import ConflictError, Store
from heed.annotation.task import Task
from heed.annotation.views import agreement_data, document_data, progress_data, task_data, topic_data
from heed.errors import HeedError

PAGE = Path(__file__).with_name("page")
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
LOCAL = "127.0.0.1"
IDLE = 600  # seconds that a connection may rest: browsers close theirs sooner, so that none is cut under a request


class Server:
    """The routes over one task and its database; nothing is remembered between requests."""

    def __init__(self, task: Task, store: Store, assessor: str) -> None:
        """``assessor`` is the name that the page starts with; empty if it is to ask."""
        self._task, self._store, self._assessor = task, store, assessor
        self._files = {path.name: path.read_bytes() for path in PAGE.iterdir() if path.suffix in TYPES}

    def application(self) -> Starlette:
        """The routes, and how errors are told."""
        return Starlette(
            routes=[
                Route("/", self._page),
                Route("/static/{name}", self._file),
                Route("/api/task", self._told(self._get_task)),
                Route("/api/progress", self._told(self._get_progress)),
                Route("/api/topic", self._told(self._get_topic)),
                Route("/api/document", self._told(self._get_document)),
                Route("/api/agreement", self._told(self._get_agreement)),
                Route("/api/changes", self._changes, methods=["POST"]),
                Route("/api/undo", self._undo, methods=["POST"]),
            ],
            exception_handlers={ConflictError: _conflict, HeedError: _bad, sqlite3.Error: _unsaved},
        )

    async def _page(self, request: Request) -> Response:
        return self._sent("index.html")

    async def _file(self, request: Request) -> Response:
        return self._sent(request.path_params["name"])

    def _sent(self, name: str) -> Response:
        if name not in self._files:
            raise HTTPException(404)
        return Response(self._files[name], media_type=TYPES[Path(name).suffix])

    @staticmethod
    def _told(answer: Callable[[Request], object]) -> Callable[[Request], Awaitable[Response]]:
        """A route that answers with JSON, made in another thread since it waits for the database."""

        async def route(request: Request) -> Response:
            return JSONResponse(await run_in_threadpool(answer, request))

        return route

    def _get_task(self, request: Request) -> object:
        return task_data(self._task, self._store, self._assessor)

    def _get_progress(self, request: Request) -> object:
        return progress_data(self._task, self._store, check_name(request.query_params.get("assessor")))

    def _get_topic(self, request: Request) -> object:
        qid = request.query_params.get("qid", "")
        if qid not in self._task.pool:
            raise HTTPException(404)
        return topic_data(self._task, self._store, check_name(request.query_params.get("assessor")), qid)

    def _get_document(self, request: Request) -> object:
        shown = self._store.document(request.query_params.get("docid", ""))
        if shown is None:
            raise HTTPException(404)
        return document_data(shown)

    def _get_agreement(self, request: Request) -> object:
        return agreement_data(self._task, self._store, check_name(request.query_params.get("assessor")))

    async def _changes(self, request: Request) -> Response:
        sent = read_sent(await _json(request), self._task)
        done = await run_in_threadpool(self._store.record, sent.client, sent.assessor, sent.batch, sent.changes)
        return JSONResponse({"done": done})

    async def _undo(self, request: Request) -> Response:
        sent = read_sent(await _json(request), self._task)
        done = await run_in_threadpool(self._store.undo, sent.client, sent.assessor)
        return JSONResponse({"done": done})


async def _json(request: Request) -> object:
    try:
        return await request.json()
    except (ValueError, RecursionError) as error:
        raise HeedError(f"not JSON ({error})") from error


async def _conflict(request: Request, error: Exception) -> Response:
    theirs = {"text": error.text, "version": error.version} if isinstance(error, ConflictError) else {}
    return JSONResponse({"error": str(error), **theirs}, 409)


async def _bad(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 400)


async def _unsaved(request: Request, error: Exception) -> Response:
    """The disk is full, or another process holds the file: the page keeps what it has and tries again."""
    return JSONResponse({"error": f"the database cannot be used: {error}"}, 503)


def listen(port: int, before: int) -> socket.socket:
    """A socket on this machine alone: on ``port``, or with 0 the one of ``before`` if it is free, else any.

    Raises :class:`HeedError` for a port that is taken or not allowed.
    """
    try:
        return _bound(port or before)
    except OSError as error:
        if port or not before:
            raise HeedError(f"--port {port}: {error.strerror}; choose another, or 0 for any") from error
        return _bound(0)


def _bound(port: int) -> socket.socket:
    # named as TCP, else asyncio leaves Nagle's delay on: 40 ms an answer
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port is free again at once after its server
        made.bind((LOCAL, port))
        made.listen(128)
    except OSError:
        made.close()
        raise
    return made


def serve(server: Server, sock: socket.socket, token: str) -> None:
    """Answer until the process is interrupted."""
    guarded = Guard(server.application(), token, sock.getsockname()[1])
    config = uvicorn.Config(
        guarded,
        log_level="warning",
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=2,
    )
    uvicorn.Server(config).run(sockets=[sock])

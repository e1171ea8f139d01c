"""The annotation page's server: its routes, and its socket on this machine alone."""

import socket
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from heed.annotation.guard import LOCAL, Guard
from heed.annotation.payloads import (
    ChangeRequest,
    agreement_data,
    check_name,
    document_data,
    progress_data,
    read_request,
    read_texts,
    task_data,
    topic_data,
)
from heed.annotation.store import ConflictError, Store
from heed.annotation.task import Task
from heed.annotation.terms import Analyse, Terms
from heed.errors import DataError, HeedError, UsageError

PAGE = Path(__file__).with_name("page")
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
LOWEST_PORT = 1024  # those below are the system's, and browsers leave 80 out of the names of hosts
# those that browsers refuse to open: the Fetch standard, "port blocking"
BLOCKED = {1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, *range(6665, 6670), 6679, 6697, 10080}
IDLE = 600  # seconds before an idle connection is closed: browsers close theirs sooner, so none is cut under a request


class Server:
    """The routes over one task and its database; it keeps no state between requests."""

    def __init__(self, task: Task, store: Store, assessor: str, analyse: Analyse) -> None:
        """``assessor`` is the name that the page starts with; if empty, the page asks for it.

        ``analyse`` returns the terms of texts as the documents' index has them.
        """
        self._task, self._store, self._assessor = task, store, assessor
        self._terms = Terms(analyse)
        self._files = {path.name: path.read_bytes() for path in PAGE.iterdir() if path.suffix in TYPES}

    def application(self) -> Starlette:
        """Return the routes with the handlers of errors."""
        return Starlette(
            routes=[
                Route("/", self._file),
                Route("/static/{name}", self._file),
                Route("/api/task", _json_route(lambda _: task_data(self._task, self._store, self._assessor))),
                Route("/api/progress", _json_route(lambda request: progress_data(*self._of(request)))),
                Route("/api/topic", _json_route(self._topic)),
                Route("/api/document", _json_route(self._document)),
                Route("/api/agreement", _json_route(lambda request: agreement_data(*self._of(request)))),
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

    def _topic(self, request: Request) -> object:
        qid = request.query_params.get("qid", "")
        if qid not in self._task.pool:
            raise HTTPException(404)
        return topic_data(*self._of(request), qid)

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
        texts = read_texts(await _read_json(request))
        return JSONResponse({"terms": await run_in_threadpool(self._terms.of_each, texts)})

    async def _read(self, request: Request) -> ChangeRequest:
        return read_request(await _read_json(request), self._task)


def _json_route(answer: Callable[[Request], object]) -> Callable[[Request], Awaitable[Response]]:
    """Return a route that answers with JSON, computed in another thread since it waits for the database."""

    async def route(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(answer, request))

    return route


async def _read_json(request: Request) -> object:
    try:
        return await request.json()
    except (ValueError, RecursionError) as error:
        raise DataError(f"not JSON ({error})") from error


async def _bad_request(request: Request, error: Exception) -> Response:
    if isinstance(error, ConflictError):
        return JSONResponse({"error": str(error), "text": error.text, "version": error.version}, 409)
    return JSONResponse({"error": str(error)}, 400)


async def _database_error(request: Request, error: Exception) -> Response:
    """Answer 503 when the disk is full or another process holds the file: the page keeps its changes and retries."""
    return JSONResponse({"error": f"the database cannot be used: {error}"}, 503)


def listen(port: int, previous: int) -> socket.socket:
    """Return a socket on this machine alone: on ``port``, or with 0 on the ``previous`` one if it is free, else any.

    Raises :class:`UsageError` for a port that is taken.
    """
    try:
        return _bind(port or previous)
    except OSError as error:
        if port or not previous:
            raise UsageError(f"--port {port}: {error.strerror}; choose another, or 0 for any") from error
        return _bind(0)


def check_port(port: int) -> int:
    """Return ``port``, 0 for any; :class:`UsageError` for one that no browser can open the page at."""
    if port and not LOWEST_PORT <= port <= 65535:
        raise UsageError(f"--port {port}: expected {LOWEST_PORT} to 65535, or 0 for any; lower ones are the system's")
    if port in BLOCKED:
        raise UsageError(f"--port {port}: browsers refuse to open this port; choose another, or 0 for any")
    return port


def _bind(port: int) -> socket.socket:
    # named as TCP, else asyncio leaves Nagle's delay on: 40 ms an answer
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port is free again at once after its server
        sock.bind((LOCAL, port))
        sock.listen(128)
    except OSError:
        sock.close()
        raise
    return sock


def serve(server: Server, sock: socket.socket, token: str, allowed: Sequence[str] = ()) -> None:
    """Answer requests to this machine or an ``allowed`` host until the process is interrupted."""
    guarded = Guard(server.application(), token, sock.getsockname()[1], allowed)
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

"""The annotation page's server: its routes, its socket on this machine alone, and who may send requests.

It listens on this machine alone, but any page that a browser has open can send it requests, and so can other users of
the machine: every request must carry the token, name this host (else a foreign name could be made to resolve to this
machine) and, if the browser names the page that it comes from, come from our page.
"""

import hmac
import re
import socket
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import parse_qs

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heed.annotation.payloads import (
    ChangeRequest,
    agreement_data,
    check_name,
    document_data,
    progress_data,
    read_request,
    task_data,
    topic_data,
)
from heed.annotation.store import ConflictError, Store
from heed.annotation.task import Task
from heed.errors import DataError, HeedError, UsageError

LARGEST = 1 << 20  # bytes of a request's body
PATH = re.compile(rb"/|/api/[a-z]+|/static/[a-z-]+\.[a-z]+")  # nothing encoded, no dot but a suffix's
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]

PAGE = Path(__file__).with_name("page")
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
LOCAL = "127.0.0.1"
IDLE = 600  # seconds before an idle connection is closed: browsers close theirs sooner, so none is cut under a request


class Guard:
    """ASGI middleware: passes allowed requests to ``app`` and adds security headers to every response."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        """``token`` comes once in the page's address, and then in a cookie of this ``port`` (cookies know no ports)."""
        self._app, self._token = app, token
        self._cookie = f"heed-{port}"
        self._hosts = {f"127.0.0.1:{port}".encode(), f"localhost:{port}".encode()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = [*HEADERS]
        request = RequestHead(scope)
        if self._opens_page(request):
            cookie = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
            headers.append((b"set-cookie", cookie.encode()))

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *headers]
            await send(message)

        refusal = self._refusal(request)
        if refusal is None:
            await self._app(scope, receive, send_guarded)
        else:
            await refusal(scope, receive, send_guarded)

    def _refusal(self, request: "RequestHead") -> Response | None:
        host = request.header(b"host")
        origin, site = request.header(b"origin"), request.header(b"sec-fetch-site")
        if host not in self._hosts:
            return _refused(403, "this host is not served here")
        from_elsewhere = request.path.startswith(b"/api/") and site not in (b"", b"same-origin")
        if from_elsewhere or (origin and origin != b"http://" + host):
            return _refused(403, "requests from other pages are refused")
        if not self._opens_page(request) and not self._has_cookie(request):
            problem = "open the link that python -m pipelines.annotate printed; this address lacks its token"
            return _refused(403, problem)
        if not PATH.fullmatch(request.path):
            return _refused(404, "nothing is here")
        return _body_refusal(request) if request.method == "POST" else None

    def _opens_page(self, request: "RequestHead") -> bool:
        return request.path == b"/" and self._is_token(request.query.get("token", [""])[0])

    def _has_cookie(self, request: "RequestHead") -> bool:
        pairs = (part.strip().partition("=") for part in request.header(b"cookie").decode("latin-1").split(";"))
        return any(name == self._cookie and self._is_token(value) for name, _, value in pairs)

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self._token.encode())


class RequestHead:
    """The parts of a request that decide whether it is allowed."""

    def __init__(self, scope: Scope) -> None:
        """Read them from an ASGI ``scope``."""
        self.method: str = scope["method"]
        self.path: bytes = scope["raw_path"]
        self.query = parse_qs(scope["query_string"].decode("latin-1"))
        self._headers: list[tuple[bytes, bytes]] = scope["headers"]

    def header(self, name: bytes) -> bytes:
        """Return all values of a header, joined; empty without it."""
        return b";".join(value for key, value in self._headers if key == name)


def _body_refusal(request: RequestHead) -> Response | None:
    length = request.header(b"content-length")
    if not length.isdigit():
        return _refused(411, "Content-Length is missing")
    if int(length) > LARGEST:
        return _refused(413, f"the request has {int(length)} bytes, expected at most {LARGEST}")
    if request.header(b"content-type").partition(b";")[0] != b"application/json":
        return _refused(415, "expected application/json")
    return None


def _refused(status: int, reason: str) -> Response:
    return PlainTextResponse(f"{reason}\n", status)


class Server:
    """The routes over one task and its database; it keeps no state between requests."""

    def __init__(self, task: Task, store: Store, assessor: str) -> None:
        """``assessor`` is the name that the page starts with; if empty, the page asks for it."""
        self._task, self._store, self._assessor = task, store, assessor
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

    async def _read(self, request: Request) -> ChangeRequest:
        try:
            body = await request.json()
        except (ValueError, RecursionError) as error:
            raise DataError(f"not JSON ({error})") from error
        return read_request(body, self._task)


def _json_route(answer: Callable[[Request], object]) -> Callable[[Request], Awaitable[Response]]:
    """Return a route that answers with JSON, computed in another thread since it waits for the database."""

    async def route(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(answer, request))

    return route


async def _bad_request(request: Request, error: Exception) -> Response:
    if isinstance(error, ConflictError):
        return JSONResponse({"error": str(error), "text": error.text, "version": error.version}, 409)
    return JSONResponse({"error": str(error)}, 400)


async def _database_error(request: Request, error: Exception) -> Response:
    """Answer 503 when the disk is full or another process holds the file: the page keeps its changes and retries."""
    return JSONResponse({"error": f"the database cannot be used: {error}"}, 503)


def listen(port: int, previous: int) -> socket.socket:
    """Return a socket on this machine alone: on ``port``, or with 0 on the ``previous`` one if it is free, else any.

    Raises :class:`UsageError` for a port that is taken or not allowed.
    """
    try:
        return _bind(port or previous)
    except OSError as error:
        if port or not previous:
            raise UsageError(f"--port {port}: {error.strerror}; choose another, or 0 for any") from error
        return _bind(0)


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


def serve(server: Server, sock: socket.socket, token: str) -> None:
    """Answer requests until the process is interrupted."""
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

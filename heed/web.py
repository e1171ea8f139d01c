"""What the servers of pages share: who is let in, a socket on this machine alone, requests and answers in JSON.

Any page that a browser has open can send a server on this machine requests, and so can other users of the machine:
every request must carry the token, name this host or one that was allowed (else a foreign name could be made to resolve
to this machine) and, if the browser names the page that it comes from, come from our page. The token is one for all
who use the page, or each person's own.
"""

import hmac
import os
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeVar

import msgspec
import uvicorn
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heed.errors import DataError, UsageError
from heed.files import parse_json

Body = TypeVar("Body")

LARGEST = 1 << 20  # bytes of a request's body
PATH = re.compile(rb"/|/api/[a-z]+|/static/[a-z-]+\.[a-z]+")  # nothing encoded, no dot but a suffix's
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]
LOCAL = "127.0.0.1"
HOST = re.compile(r"(?:[a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::(\d{1,5}))?", re.IGNORECASE | re.ASCII)
HTTPS = "https://"
ENTER = b"/api/enter"  # takes a person's token and answers with the cookie


class Person(NamedTuple):
    """Whose token a request carries."""

    name: str
    role: str


PersonOf = Callable[[str], Person | None]  # of a token; None for one that nobody has


class Access(NamedTuple):
    """Who is let in, and what the page may load.

    ``token`` comes once in the page's address, which ``command`` prints, and then in a cookie. With ``person_of`` each
    person has a token instead, in the fragment of a link, which no server or proxy sees; the page posts it to
    :data:`ENTER`. Requests may name this machine or one of the ``allowed`` hosts (:func:`check_host`). ``policy`` is
    the Content-Security-Policy.
    """

    token: str
    command: str
    allowed: Sequence[str] = ()
    policy: str = POLICY
    person_of: PersonOf | None = None

    def places(self, port: int) -> list[str]:
        """Return the page's addresses without a token: on this machine, and under each allowed host."""
        allowed = (host if host.startswith(HTTPS) else f"http://{host}" for host in self.allowed)
        return [f"http://{LOCAL}:{port}", *allowed]


class Guard:
    """ASGI middleware: passes allowed requests to ``app`` and adds security headers to every response.

    Of a request with a person's token the person is in ``scope["person"]``.
    """

    def __init__(self, app: ASGIApp, access: Access, port: int) -> None:
        """``port`` is that of this machine on which the requests come."""
        self._app, self._access = app, access
        origins = [*access.places(port), f"http://localhost:{port}"]
        # browsers leave out a scheme's own port
        origins = [re.sub(r"^(http://.*):80$|^(https://.*):443$", r"\1\2", origin) for origin in origins]
        self._origins = {origin.partition("://")[2]: origin for origin in origins}
        self._headers = [(b"content-security-policy", access.policy.encode()), *HEADERS]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = [*self._headers]
        request = Request(scope)
        scope["person"] = None
        if self._access.person_of and _is_answer(request):
            scope["person"] = await run_in_threadpool(self._access.person_of, _token_of(request))
        refusal = self._refusal(request)
        if refusal is None and self._opens_page(request):
            headers.append((b"set-cookie", cookie_of(request, self._access.token).encode()))

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *headers]
            await send(message)

        if refusal is None:
            await self._app(scope, receive, send_guarded)
        else:
            await refusal(scope, receive, send_guarded)

    def _refusal(self, request: Request) -> Response | None:
        host, origin, site = (request.headers.get(name, "") for name in ("host", "origin", "sec-fetch-site"))
        path: bytes = request.scope["raw_path"]
        if host not in self._origins:
            return _refused(403, _host_problem(host, self._access.command))
        request.scope["https"] = self._origins[host].startswith(HTTPS)
        from_elsewhere = _is_answer(request) and site not in ("", "same-origin")
        if from_elsewhere or (origin and origin != self._origins[host]):
            return _refused(403, "requests from other pages are refused")
        if not self._lets_in(request):
            link = "your own link" if self._access.person_of else f"the link that {self._access.command} printed"
            return _refused(403, f"open {link}; this address lacks its token")
        if not PATH.fullmatch(path):
            return _refused(404, "nothing is here")
        return _body_refusal(request) if request.method == "POST" else None

    def _lets_in(self, request: Request) -> bool:
        """Whether a request has the token, or a person's, without which a page may be loaded that has no answers."""
        if self._access.person_of:
            return not _is_answer(request) or request.scope["raw_path"] == ENTER or request.scope["person"] is not None
        return self._opens_page(request) or self._is_token(_token_of(request))

    def _opens_page(self, request: Request) -> bool:
        is_page = request.scope["raw_path"] == b"/" and not self._access.person_of
        return is_page and self._is_token(request.query_params.get("token", ""))

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self._access.token.encode())


def _is_answer(request: Request) -> bool:
    path: bytes = request.scope["raw_path"]
    return path.startswith(b"/api/")


def _token_of(request: Request) -> str:
    return request.cookies.get(_cookie_name(request), "")


def cookie_of(request: Request, token: str) -> str:
    """Return the cookie that keeps ``token`` from the page's scripts and from other sites."""
    secure = "; Secure" if request.scope["https"] else ""
    return f"{_cookie_name(request)}={token}; Path=/; HttpOnly; SameSite=Strict{secure}"


def check_host(text: str) -> str:
    """Return ``text``, a host with a port or an address of https, in lower case; else :class:`UsageError`."""
    address = text.lower()
    address = address.removesuffix("/") if address.startswith(HTTPS) else address
    match = HOST.fullmatch(address.removeprefix(HTTPS))
    port = match and (match[1] or ("443" if address.startswith(HTTPS) else "0"))
    if not port or not 0 < int(port) <= 65535:
        raise UsageError(
            f"allow_host: found {text!r}, expected HOST:PORT as in the browser's address, localhost:9000, or the "
            "address of a proxy, https://judge.example.org"
        )
    return address


def _host_problem(host: str, command: str) -> str:
    match = HOST.fullmatch(host)
    name = host if match and match[1] else "HOST:PORT"
    return (
        f"this host is not served here; if you have come through a port forward, start {command} with {name} as an "
        "allowed host, and open the link that it prints"
    )


def _cookie_name(request: Request) -> str:
    """Return the name of the token's cookie: with the port that the browser uses, since cookies know no ports."""
    port = request.headers.get("host", "").rpartition(":")[2]
    return f"heed-{port}" if port.isdecimal() else "heed-80"


def _body_refusal(request: Request) -> Response | None:
    length = request.headers.get("content-length", "")
    if not length.isdecimal():
        return _refused(411, "Content-Length is missing")
    if int(length) > LARGEST:
        return _refused(413, f"the request has {int(length)} bytes, expected at most {LARGEST}")
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        return _refused(415, "expected application/json")
    return None


def _refused(status: int, reason: str) -> Response:
    return PlainTextResponse(f"{reason}\n", status)


TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
LOWEST_PORT = 1024  # those below are the system's, and browsers leave 80 out of the names of hosts
IDLE = 600  # seconds before an idle connection is closed: browsers close theirs sooner, so none is cut under a request


def listen(port: int, previous: int) -> socket.socket:
    """Return a socket on this machine alone: on ``port``, or with 0 on the ``previous`` one if it is free, else any.

    Raises :class:`UsageError` for a port that is taken.
    """
    try:
        return _bind(port or previous)
    except OSError as error:
        if port or not previous:
            why = os.strerror(error.errno or 0)
            raise UsageError(f"port: {port} cannot be used ({why}); choose another, or 0 for any") from error
        return _bind(0)


def check_port(port: int) -> None:
    """Raise :class:`UsageError` for a port that is none, and for one of the system's."""
    if port and not LOWEST_PORT <= port <= 65535:
        raise UsageError(
            f"port: found {port}, expected {LOWEST_PORT} to 65535 (lower ones are the system's), or 0 for any"
        )


def _bind(port: int) -> socket.socket:
    sock = socket.create_server((LOCAL, port), backlog=128)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # of connections too: Nagle's delay is 40 ms an answer
    return sock


def serve(app: ASGIApp, sock: socket.socket, access: Access) -> None:
    """Answer the requests that ``access`` allows until the process is interrupted."""
    config = uvicorn.Config(
        Guard(app, access, sock.getsockname()[1]),
        log_level="warning",
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=2,
    )
    uvicorn.Server(config).run(sockets=[sock])


def json_route(answer: Callable[[Request], object]) -> Callable[[Request], Awaitable[Response]]:
    """Return a route that answers with JSON, computed in another thread since it waits for files or a database."""

    async def route(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(answer, request))

    return route


async def read_body(request: Request, form: type[Body]) -> Body:
    """Return the JSON in the body of ``request`` as ``form``; :class:`DataError` for anything else."""
    try:
        return converted(parse_json((await request.body()).decode()), form)
    except (ValueError, ClientDisconnect) as error:  # the last: nobody reads the answer any more
        raise DataError(f"not JSON ({error})") from error


def converted(value: object, form: type[Body]) -> Body:
    """Return parsed JSON as ``form``; :class:`DataError` if it is not of that form."""
    try:
        return msgspec.convert(value, form)
    except msgspec.ValidationError as error:
        raise DataError(f"request: {error}") from error

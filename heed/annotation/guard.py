"""Access control of the annotation server: who may send requests, and what browsers may do with the answers.

It listens on this machine alone, but any page that a browser has open can send it requests, and so can other users of
the machine: every request must carry the token, name this host (else a foreign name could be made to resolve to this
machine) and, if the browser names the page that it comes from, come from our page.
"""

import hmac
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

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


class Refusal(NamedTuple):
    """Why a request is refused, with its HTTP status."""

    status: int
    reason: str


class Guard:
    """ASGI middleware: passes allowed requests to ``app`` and adds security headers to every response."""

    def __init__(self, app: App, token: str, port: int) -> None:
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
            await _refuse(refusal, send_guarded)

    def _refusal(self, request: "RequestHead") -> Refusal | None:
        host = request.header(b"host")
        origin, site = request.header(b"origin"), request.header(b"sec-fetch-site")
        if host not in self._hosts:
            return Refusal(403, "this host is not served here")
        if origin and origin != b"http://" + host:
            return Refusal(403, "requests from other pages are refused")
        if request.path.startswith(b"/api/") and site not in (b"", b"same-origin"):
            return Refusal(403, "requests from other pages are refused")
        if not self._opens_page(request) and not self._has_cookie(request):
            return Refusal(403, "open the link that python -m pipelines.annotate printed; this address lacks its token")
        if not PATH.fullmatch(request.path):
            return Refusal(404, "nothing is here")
        return self._body_refusal(request)

    @staticmethod
    def _body_refusal(request: "RequestHead") -> Refusal | None:
        if request.method != "POST":
            return None
        length = request.header(b"content-length")
        if not length.isdigit():
            return Refusal(411, "Content-Length is missing")
        if int(length) > LARGEST:
            return Refusal(413, f"the request has {int(length)} bytes, expected at most {LARGEST}")
        if request.header(b"content-type").partition(b";")[0] != b"application/json":
            return Refusal(415, "expected application/json")
        return None

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


async def _refuse(refusal: Refusal, send: Send) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": f"{refusal.reason}\n".encode()})

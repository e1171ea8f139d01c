"""Who may ask the annotation server, and what browsers may do with its answers.

It listens on this machine alone, but any page that a browser has open can send it requests, and so can other users of
the machine: every request must carry the token, name this host (else a foreign name could be made to point here) and,
where a browser says which page it comes from, come from our own.
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
    """Why a request is not answered, with its HTTP status."""

    status: int
    reason: str


class Guard:
    """Lets through to ``app`` what may come, and writes the headers of every answer."""

    def __init__(self, app: App, token: str, port: int) -> None:
        """``token`` comes once in the page's address, and then in a cookie of this ``port`` (cookies know no ports)."""
        self._app, self._token = app, token
        self._cookie = f"heed-{port}"
        self._hosts = {f"127.0.0.1:{port}".encode(), f"localhost:{port}".encode()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = [(name, value) for name, value in HEADERS]
        asked = Asked(scope)
        if self._entering(asked):
            kept = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
            headers.append((b"set-cookie", kept.encode()))

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *headers]
            await send(message)

        refusal = self._refusal(asked)
        if refusal is None:
            await self._app(scope, receive, guarded)
        else:
            await _refuse(refusal, guarded)

    def _refusal(self, asked: "Asked") -> Refusal | None:
        host = asked.header(b"host")
        origin, site = asked.header(b"origin"), asked.header(b"sec-fetch-site")
        if host not in self._hosts:
            return Refusal(403, "this host is not served here")
        if origin and origin != b"http://" + host:
            return Refusal(403, "this page may not ask here")
        if asked.path.startswith(b"/api/") and site not in (b"", b"same-origin"):
            return Refusal(403, "this page may not ask here")
        if not self._entering(asked) and not self._has_cookie(asked):
            return Refusal(403, "open the link that python -m pipelines.annotate printed; this address lacks its token")
        if not PATH.fullmatch(asked.path):
            return Refusal(404, "nothing is here")
        return self._body_refusal(asked)

    @staticmethod
    def _body_refusal(asked: "Asked") -> Refusal | None:
        if asked.method != "POST":
            return None
        length = asked.header(b"content-length")
        if not length.isdigit():
            return Refusal(411, "the length of the request must be told")
        if int(length) > LARGEST:
            return Refusal(413, f"the request has {int(length)} bytes, expected at most {LARGEST}")
        if asked.header(b"content-type").partition(b";")[0] != b"application/json":
            return Refusal(415, "expected application/json")
        return None

    def _entering(self, asked: "Asked") -> bool:
        return asked.path == b"/" and self._is_token(asked.query.get("token", [""])[0])

    def _has_cookie(self, asked: "Asked") -> bool:
        pairs = (part.strip().partition("=") for part in asked.header(b"cookie").decode("latin-1").split(";"))
        return any(name == self._cookie and self._is_token(value) for name, _, value in pairs)

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self._token.encode())


class Asked:
    """The parts of a request that decide."""

    def __init__(self, scope: Scope) -> None:
        """Take them out of an ASGI ``scope``."""
        self.method: str = scope["method"]
        self.path: bytes = scope["raw_path"]
        self.query = parse_qs(scope["query_string"].decode("latin-1"))
        self._headers: list[tuple[bytes, bytes]] = scope["headers"]

    def header(self, name: bytes) -> bytes:
        """All values of a header, joined; empty without it."""
        return b";".join(value for one, value in self._headers if one == name)


async def _refuse(refusal: Refusal, send: Send) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": f"{refusal.reason}\n".encode()})

"""What the servers of pages share: a socket on this machine alone, the server on it, requests and answers in JSON."""

import socket
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from heed.errors import DataError, UsageError
from heed.files import parse_json
from heed.web.guard import LOCAL, Access, Guard

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
            raise UsageError(f"port: {port} cannot be used ({error.strerror}); choose another, or 0 for any") from error
        return _bind(0)


def check_port(port: int) -> None:
    """Raise :class:`UsageError` for a port that is none, and for one of the system's."""
    if port and not LOWEST_PORT <= port <= 65535:
        raise UsageError(
            f"port: found {port}, expected {LOWEST_PORT} to 65535 (lower ones are the system's), or 0 for any"
        )


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


async def read_json(request: Request) -> Any:
    """Return the JSON in the body of ``request``; :class:`DataError` for anything else."""
    try:
        return parse_json((await request.body()).decode())
    except (ValueError, ClientDisconnect) as error:  # the last: nobody reads the answer any more
        raise DataError(f"not JSON ({error})") from error

"""A socket on this machine alone, and the server that answers on it."""

import socket

import uvicorn
from starlette.types import ASGIApp

from heed.errors import UsageError
from heed.web.guard import LOCAL, Access, Guard

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

"""What the commands that serve a page for a browser share: their options, the links that they print, the browser."""

import argparse
import socket
import threading
import webbrowser
from typing import TYPE_CHECKING

from pipelines import as_started
from pipelines.options.parser import Group

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from heed.web import PersonOf


def server_options(group: Group, port: str) -> None:
    """Add port, hosts and browser; ``port`` says what the default port is."""
    group.add_argument("--port", type=int, default=0, metavar="N", help=f"port (default 0: {port})")
    group.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="HOST:PORT",
        help="also answer to this name: the other end of a forwarded port, such as localhost:9000, or a proxy's "
        "https://judge.example.org; repeatable",
    )
    group.add_argument("--no-browser", action="store_true", help="print the address and open no browser")


def check_server_options(options: argparse.Namespace) -> None:
    """Raise :class:`heed.errors.UsageError` for a port or a host that cannot be served."""
    from heed.web import check_host, check_port

    check_port(options.port)
    options.allow_host = [check_host(host) for host in options.allow_host]


def serve_page(
    options: argparse.Namespace,
    command: str,
    token: str,
    app: "ASGIApp",
    sock: socket.socket,
    policy: str = "",
    person_of: "PersonOf | None" = None,
) -> None:
    """Print the links, open the first in a browser unless ``options`` forbid it, and serve until interrupted.

    Who has no ``token`` is told to open the link that ``command`` printed. ``policy`` is another one than the guard's.
    With ``person_of`` people have links of their own, which are not printed here.
    """
    from heed.web import POLICY, Access, serve

    access = Access(token, as_started(f"heed {command}"), options.allow_host, policy or POLICY, person_of)
    query = "" if person_of else f"?token={token}"
    addresses = [f"{place}/{query}" for place in access.places(sock.getsockname()[1])]
    print(*addresses, sep="\n", flush=True)
    if not (options.no_browser or person_of):
        # in a thread, since a browser in a terminal would block
        threading.Thread(target=webbrowser.open, args=(addresses[0],), daemon=True).start()
    serve(app, sock, access)

"""Options of the commands that serve a page for a browser."""

import argparse

from pipelines.options.parser import Group


def server_options(group: Group, port: str) -> None:
    """Add port, hosts and browser; ``port`` says what the default port is."""
    group.add_argument("--port", type=int, default=0, metavar="N", help=f"port (default 0: {port})")
    group.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="HOST:PORT",
        help="also answer to this name, for example the other end of a forwarded port, such as localhost:9000; "
        "repeatable",
    )
    group.add_argument("--no-browser", action="store_true", help="print the address and open no browser")


def check_server_options(options: argparse.Namespace) -> None:
    """Raise :class:`heed.errors.UsageError` for a port or a host that cannot be served."""
    from heed.web.guard import check_host
    from heed.web.listening import check_port

    check_port(options.port)
    options.allow_host = [check_host(host) for host in options.allow_host]

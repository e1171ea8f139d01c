"""What the commands that serve a page for a browser share: the links that they print, the browser."""

import argparse
import socket
import threading
import webbrowser
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from heed.web.guard import Access


def serve_page(options: argparse.Namespace, app: "ASGIApp", sock: socket.socket, access: "Access") -> None:
    """Print the links, open the first in a browser unless ``options`` forbid it, and serve until interrupted."""
    from heed.web.listening import serve

    addresses = access.addresses(sock.getsockname()[1])
    print(*addresses, sep="\n", flush=True)
    if not options.no_browser:
        # in a thread, since a browser in a terminal would block
        threading.Thread(target=webbrowser.open, args=(addresses[0],), daemon=True).start()
    serve(app, sock, access)

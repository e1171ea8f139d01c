"""A hub of the tests' own, answering in this process."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from hardening.hub import Hub


@contextmanager
def served_hub() -> Iterator[Hub]:
    """A hub without data, which answers until the block ends."""
    server = Hub()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()

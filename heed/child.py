"""A process of this machine that calls one function on lists of items, until the process that started it ends it.

It is started by a command: Java and threads do not survive a fork, and :mod:`multiprocessing` would run a user's own
script once more in it. It ends by itself where the process that started it is killed.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, Self

from heed.errors import HeedError, WorkerError

START = "import sys; sys.path[:] = {path!r}; from heed.child import serve; serve()"


class Child:
    """A process that works on one list of items at a time; a context manager that ends it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        """Start it; ``function``, the items and the results can be pickled. Raises :class:`WorkerError` if it is lost.

        ``function`` is unpickled once, so that what it opens stays open from one list to the next.
        """
        command = [sys.executable, "-P", "-c", START.format(path=sys.path)]
        self._pipe, theirs = Pipe()
        with theirs:
            # a group of its own, so that Ctrl-C in a terminal comes to this process alone
            self._program = subprocess.Popen(  # noqa: S603
                command, stdin=theirs.fileno(), stdout=subprocess.DEVNULL, process_group=0
            )
        try:
            self.give(function)
        except WorkerError:
            self.stop()
            raise

    def __enter__(self) -> Self:
        """Return this."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the process."""
        self.stop()

    def give(self, message: object) -> None:
        """Send a list of items; the results of the one before have to be taken by then.

        An item that is an error of Heed is raised after the results before it.
        """
        try:
            self._pipe.send(message)
        except OSError as error:
            raise self._lost() from error

    def results(self) -> Iterator[Any]:
        """Return the results of the last list; its error comes after them."""
        try:
            results, error = self._pipe.recv()
        except (EOFError, OSError) as lost:
            raise self._lost() from lost
        return _until(results, error)

    def stop(self) -> None:
        """End the process, whatever it does."""
        self._program.kill()
        self._program.wait()
        self._pipe.close()  # last: another thread that waits for results reads to the end first

    def _lost(self) -> WorkerError:
        status = self._program.wait()
        return WorkerError(f"a process beside this one ended with status {status}; it may lack memory, run again")


def _until(results: Sequence[Any], error: Exception | None) -> Iterator[Any]:
    yield from results
    if error:
        raise error


def serve() -> None:
    """Work on lists of items until the process at the other end of the pipe, which is stdin, ends."""
    with Connection(os.dup(0)) as pipe:
        try:
            function = pipe.recv()
            while True:
                pipe.send(_results(function, pipe.recv()))
        except (EOFError, OSError):
            return


def _results(function: Callable[[Any], Any], items: list[Any]) -> tuple[list[Any], Exception | None]:
    results = []
    try:
        for item in items:
            if isinstance(item, HeedError):
                raise item
            results.append(function(item))
    except Exception as error:
        return results, error
    return results, None

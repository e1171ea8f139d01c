"""Items of a large collection read by processes of their own, in the order of the items.

The processes end with the iterator, and by themselves where this process is killed. They are started by a command: Java
and threads do not survive a fork, and :mod:`multiprocessing` would run a user's own script once more in each.
"""

import gc
import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from heed.errors import HeedError, WorkerError

Item = TypeVar("Item")
Result = TypeVar("Result")

BATCH = 100  # items handed to a process at once
START = "import sys; sys.path[:] = {path!r}; from heed.tables.reading import serve; serve()"


def read_by_processes(read: Callable[[Item], Result], items: Iterable[Item], processes: int) -> Iterator[Result]:
    """Yield ``read`` of each of ``items``, in their order; ``read``, all of which can be pickled.

    An error of ``read`` or ``items`` comes after the results before it. Each process reads one batch ahead.
    Raises :class:`WorkerError` where a process is lost.
    """
    with ExitStack() as stack:
        idle = deque(stack.enter_context(_started(read)) for _ in range(processes))
        at_work: deque[_Process] = deque()
        for batch in _batches(items):
            results = iter(()) if idle else at_work[0].results()
            process = idle.popleft() if idle else at_work.popleft()
            process.give(batch)  # it works while the results are taken
            at_work.append(process)
            yield from results
        for process in at_work:
            yield from process.results()


def _batches(items: Iterable[Item]) -> Iterator[list[Item | HeedError]]:
    """Yield the items in lists; what is wrong with the items is the last of them."""
    batch = list[Item | HeedError]()
    try:
        for item in items:
            batch.append(item)
            if len(batch) == BATCH:
                yield batch
                batch = []
    except HeedError as error:
        batch.append(error)
    if batch:
        yield batch


class _Process:
    """A process that reads one batch at a time."""

    def __init__(self, program: "subprocess.Popen[bytes]", pipe: Connection) -> None:
        self._program, self._pipe = program, pipe

    def give(self, message: object) -> None:
        """Send what is to be done; the results of the batch before have to be taken by then."""
        try:
            self._pipe.send(message)
        except OSError as error:
            raise self._lost() from error

    def results(self) -> Iterator[Any]:
        """Return the results of the last batch; its error comes after them."""
        try:
            results, error = self._pipe.recv()
        except (EOFError, OSError) as lost:
            raise self._lost() from lost
        return _until(results, error)

    def _lost(self) -> WorkerError:
        status = self._program.wait()
        return WorkerError(f"a process that reads documents ended with status {status}; it may lack memory, run again")


def _until(results: Sequence[Any], error: Exception | None) -> Iterator[Any]:
    yield from results
    if error:
        raise error


@contextmanager
def _started(read: Callable[..., Any]) -> Iterator[_Process]:
    command = [sys.executable, "-P", "-c", START.format(path=sys.path)]
    ours, theirs = Pipe()
    with ours:
        with theirs:
            # a group of its own, so that Ctrl-C in a terminal comes to this process alone
            program = subprocess.Popen(  # noqa: S603
                command, stdin=theirs.fileno(), stdout=subprocess.DEVNULL, process_group=0
            )
        try:
            process = _Process(program, ours)
            process.give(read)
            yield process
        finally:
            program.kill()
            program.wait()


def serve() -> None:
    """Read batches until the process at the other end of the pipe, which is stdin, ends."""
    gc.disable()  # documents do not refer to themselves, and looking for what does takes a twentieth of the time
    with Connection(os.dup(0)) as pipe:
        try:
            read = pipe.recv()
            while True:
                pipe.send(_read(read, pipe.recv()))
        except (EOFError, OSError):
            return


def _read(read: Callable[[Any], Any], batch: list[Any]) -> tuple[list[Any], Exception | None]:
    results = []
    try:
        for item in batch:
            if isinstance(item, HeedError):
                raise item
            results.append(read(item))
    except Exception as error:
        return results, error
    return results, None

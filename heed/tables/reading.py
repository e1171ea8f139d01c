"""Items of a large collection read by processes of their own, in the order of the items."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import TypeVar

from heed.child import Child
from heed.errors import HeedError

Item = TypeVar("Item")
Result = TypeVar("Result")

BATCH = 100  # items handed to a process at once


def read_by_processes(read: Callable[[Item], Result], items: Iterable[Item], processes: int) -> Iterator[Result]:
    """Yield ``read`` of each of ``items``, in their order; ``read``, all of which can be pickled.

    An error of ``read`` or ``items`` comes after the results before it. Each process reads one batch ahead, and ends
    with the iterator. Raises :class:`WorkerError` where a process is lost.
    """
    with ExitStack() as stack:
        idle = deque(stack.enter_context(Child(read)) for _ in range(processes))
        at_work: deque[Child] = deque()
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

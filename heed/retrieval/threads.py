"""The same work on many things by several threads, in order."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Thing = TypeVar("Thing")
Made = TypeVar("Made")


def by_threads(work: Callable[[Thing], Made], things: Iterable[Thing], threads: int) -> Iterator[Made]:
    """``work`` on each of ``things``, which the calling thread alone makes, ahead of the work."""
    if threads == 1:
        yield from map(work, things)
    else:
        with ThreadPoolExecutor(threads) as pool:
            yield from pool.map(work, things)

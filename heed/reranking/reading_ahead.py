"""Instructions read by a process beside this one, while the documents of a collection are read.

Reading one takes a millisecond; rerankers, the report and the explorer read the same ones.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from heed.child import Child
from heed.errors import WorkerError
from heed.progress import log
from heed.reranking.clauses import Reading, read, remember

MANY = 100  # instructions from which it pays: to start the process takes a quarter of a second of another core


@contextmanager
def reading_ahead(instructions: Iterable[tuple[str, str]]) -> Iterator[None]:
    """Have ``instructions``, each with its language, read beside the block, if they are many; they are known after it.

    Where they are not read by then, or the process is lost, they are read when they are needed, as without it.
    """
    asked = list(dict.fromkeys(instructions))
    if len(asked) < MANY:
        yield
        return
    with Child(_read) as child:
        child.give(asked)
        yield
        try:
            if child.ready:
                remember(zip(asked, child.results(), strict=True))
        except WorkerError as error:
            log.info(f"instructions are read when they are needed: {error}")


def _read(instruction: tuple[str, str]) -> Reading:
    return read(*instruction)

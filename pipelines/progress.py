"""What a command tells on the way: lines on stderr, progress bars on a terminal, timings."""

import resource
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypedDict, TypeVar

Item = TypeVar("Item")

_quiet = False


class Timing(TypedDict):
    """Wall time in seconds of one stage, and the process's peak memory in MiB when it ended."""

    stage: str
    system: str
    seconds: float
    peak_mib: float


timings: list[Timing] = []


def set_quiet(quiet: bool) -> None:
    """Silence :func:`say` and :func:`bar` for the rest of the process."""
    global _quiet
    _quiet = quiet


def say(line: str) -> None:
    """Write one line to stderr, unless quiet."""
    if not _quiet:
        print(line, file=sys.stderr, flush=True)


def brief(ids: Sequence[str]) -> str:
    """The first five ids, and … where there are more."""
    return ", ".join(ids[:5]) + (", …" if len(ids) > 5 else "")


@contextmanager
def timed(stage: str, system: str = "") -> Iterator[None]:
    """Time the block for ``timings.json``."""
    start = time.perf_counter()
    yield
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    timings.append(
        Timing(stage=stage, system=system, seconds=round(time.perf_counter() - start, 3), peak_mib=round(peak, 1))
    )


def bar(items: Iterable[Item], total: int, label: str, unit: str) -> Iterator[Item]:
    """Yield ``items`` behind a progress bar: on a terminal only, and only after two seconds."""
    from tqdm import tqdm

    hidden = True if _quiet else None  # None: tqdm shows nothing when stderr is not a terminal
    yield from tqdm(items, total=total or None, desc=label, unit=f" {unit}", delay=2, disable=hidden, file=sys.stderr)

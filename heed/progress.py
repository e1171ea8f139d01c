"""What a command tells on the way: lines on stderr, progress bars on a terminal, timings."""

import logging
import resource
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypedDict, TypeVar

Item = TypeVar("Item")

_quiet = False


class Timing(TypedDict):
    """Wall time in seconds of one stage, the process's peak memory in MiB when it ended, and what was done in it."""

    stage: str
    system: str
    seconds: float
    peak_mib: float
    count: int
    unit: str


class Work:
    """How much a timed block did; it says so itself, for what was found done already takes no time."""

    count = 0
    unit = ""

    def did(self, count: int, unit: str) -> None:
        """Add ``count`` documents, topics or pairs."""
        self.count += count
        self.unit = unit


timings: list[Timing] = []


def set_quiet(quiet: bool) -> None:
    """Silence :func:`say` and :func:`bar` for the rest of the process."""
    global _quiet
    _quiet = quiet


def is_quiet() -> bool:
    """Whether :func:`set_quiet` was asked for."""
    return _quiet


def say(line: str) -> None:
    """Write one line to stderr, unless quiet."""
    if not _quiet:
        print(harmless(line), file=sys.stderr, flush=True)


def harmless(text: str) -> str:
    """``text`` with control characters escaped: an id must not move a terminal's cursor or turn the text around.

    The two joiners of Persian and other scripts stay.
    """
    return "".join(one if one.isprintable() or one in "\n\t\u200c\u200d" else repr(one)[1:-1] for one in text)


def brief(ids: Sequence[str]) -> str:
    """The first five ids, and … where there are more."""
    return ", ".join(ids[:5]) + (", …" if len(ids) > 5 else "")


@contextmanager
def logging_only(name: str, level: int) -> Iterator[None]:
    """Keep a library's messages below ``level``, one of :mod:`logging`, away inside the block."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextmanager
def timed(stage: str, system: str = "") -> Iterator[Work]:
    """Time the block for ``timings.json`` and the report at a command's end."""
    start, work = time.perf_counter(), Work()
    yield work
    timings.append(
        Timing(
            stage=stage,
            system=system,
            seconds=round(time.perf_counter() - start, 3),
            peak_mib=round(peak_mib(), 1),
            count=work.count,
            unit=work.unit,
        )
    )


def peak_mib() -> float:
    """The most memory that this process held so far, Java's and the models' included, in MiB."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage begins with the memory of the process that started this one
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)


def duration(seconds: float) -> str:
    """``seconds`` for people: 0.31 s, 12 s, 7 min 05 s, 3 h 20 min."""
    if seconds < 10:
        return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60:02} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60:02} min"


def bar(items: Iterable[Item], total: int, label: str, unit: str) -> Iterator[Item]:
    """Yield ``items`` behind a progress bar: on a terminal only, and only after two seconds."""
    from tqdm import tqdm

    hidden = True if _quiet else None  # None: tqdm shows nothing when stderr is not a terminal
    yield from tqdm(items, total=total or None, desc=label, unit=f" {unit}", delay=2, disable=hidden, file=sys.stderr)

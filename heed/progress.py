"""Progress and warnings: messages through :mod:`logging`, progress bars, time and memory of each stage.

Every message goes to the logger ``heed``, so that a notebook or a job can choose what it shows.
"""

import logging
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, TypedDict, TypeVar

from heed.process import peak_mib, processor_seconds

Item = TypeVar("Item")

log = logging.getLogger("heed")
MINUTE = 60.0  # seconds between two lines of progress where there is no terminal


class Timing(TypedDict):
    """A stage's seconds, those of processor time, the process's peak memory in MiB at its end, how much was done."""

    stage: str
    system: str
    seconds: float
    processor_seconds: float
    peak_mib: float
    count: int
    unit: str


class Work:
    """How much a timed block did; it is counted by the block, since what was reused takes no time."""

    count = 0
    unit = ""

    def did(self, count: int, unit: str) -> None:
        """Add ``count`` documents, topics or pairs."""
        self.count += count
        self.unit = unit


Replies = dict[str, list[bool | None]]  # of a chat model by topic: True is an answer; None is none, and asked for again
_replies: ContextVar[Replies] = ContextVar("replies")
_timings: ContextVar[list[Timing] | None] = ContextVar("timings", default=None)
_warnings: ContextVar[list[str] | None] = ContextVar("warnings", default=None)
_progress: ContextVar[bool] = ContextVar("progress", default=True)


@contextmanager
def setting(variable: ContextVar[Any], value: Item) -> Iterator[Item]:
    """Set a variable inside the block."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)


recording = partial(setting, _timings)  # append the stages timed inside the block, in this thread, to a list
showing = partial(setting, _progress)  # show progress in this thread inside the block, or none


def gathering(warnings: list[str]) -> AbstractContextManager[list[str]]:
    """Append the warnings of this thread inside the block to ``warnings`` too, each once."""
    return setting(_warnings, warnings)


def replying() -> AbstractContextManager[Replies]:
    """Gather what chat models reply to this thread inside the block."""
    return setting(_replies, Replies())


def replies() -> Replies:
    """Return the replies that the :func:`replying` around has gathered."""
    return _replies.get({})


@contextmanager
def timed(stage: str, system: str = "") -> Iterator[Work]:
    """Measure the block's time for the :func:`recording` around it, if there is one."""
    start, processor, work = time.perf_counter(), processor_seconds(), Work()
    yield work
    timings = _timings.get()
    if timings is not None:
        timings.append(
            Timing(
                stage=stage,
                system=system,
                seconds=round(time.perf_counter() - start, 3),
                processor_seconds=round(processor_seconds() - processor, 3),
                peak_mib=round(peak_mib(), 1),
                count=work.count,
                unit=work.unit,
            )
        )


def warn(message: str) -> None:
    """Log what makes a result doubtful, in one line; results files carry it as well (see :func:`gathering`)."""
    warnings = _warnings.get()
    if warnings is not None:
        if message in warnings:
            return
        warnings.append(message)
    log.warning(message)


def escaped(text: str) -> str:
    """Return ``text`` with control characters escaped: an id must not move a terminal's cursor or reverse the text.

    The two joiners of Persian and other scripts stay.
    """
    return "".join(char if char.isprintable() or char in "\n\t\u200c\u200d" else repr(char)[1:-1] for char in text)


def brief(ids: Sequence[str]) -> str:
    """Return the first five ids, and … where there are more."""
    return ", ".join(ids[:5]) + (", …" if len(ids) > 5 else "")


def number_of(number: int, noun: str) -> str:
    """Return the number with its noun, as ``1 topic`` and ``3 topics``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def counted(number: int, noun: str) -> str:
    """Return the number with its noun and verb, as ``1 document is`` and ``3 documents are``."""
    return f"{number_of(number, noun)} {'is' if number == 1 else 'are'}"


@contextmanager
def logging_only(name: str, level: int) -> Iterator[None]:
    """Suppress a library's messages below ``level``, one of :mod:`logging`, inside the block."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.setLevel(before)


def duration(seconds: float) -> str:
    """Return ``seconds`` for people: 0.31 s, 12 s, 7 min 05 s, 3 h 20 min."""
    if seconds < 10:
        return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60:02} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60:02} min"


def plain_rate(rate: float) -> str:
    """Return a rate for people: 24,700, 25, 0.5."""
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"


def quiet() -> bool:
    """Whether progress is switched off: by :func:`showing`, or by a level of the logger ``heed`` above INFO."""
    return not _progress.get() or log.level > logging.INFO


class Steps:
    """Progress, shown as it is counted: by a bar in a terminal or notebook, else by a line a minute in the log."""

    def __init__(self, total: int, label: str, unit: str) -> None:
        """Begin with nothing done of ``total``, 0 where that is not known."""
        self.done, self._total, self._label, self._unit = 0.0, total, label, unit
        self._start = self._last = time.monotonic()
        self._bar: Any = None
        if not quiet() and (sys.stderr.isatty() or "ipykernel" in sys.modules):
            with warnings.catch_warnings(action="ignore"):  # a notebook without ipywidgets has a bar of text
                from tqdm.auto import tqdm

            self._bar = tqdm(total=total or None, desc=label, unit=f" {unit}", delay=2, file=sys.stderr)

    def reach(self, done: float) -> None:
        """Show that so much is done in all; less than before changes nothing."""
        before, self.done = round(self.done), max(self.done, done)
        count, now = round(self.done), time.monotonic()
        if self._bar is not None:
            self._bar.update(count - before)
        elif now - self._last >= MINUTE and not quiet():
            self._last = now
            left = (now - self._start) / count * (self._total - count) if count else 0
            of, then = f"of {self._total} " if self._total else "", f", {duration(left)} left" if left > 0 else ""
            log.info(f"{self._label}: {count} {of}{self._unit}{then}")

    def close(self) -> None:
        """Leave the bar as it is."""
        if self._bar is not None:
            self._bar.close()


def bar(items: Iterable[Item], total: int, label: str, unit: str) -> Iterator[Item]:
    """Yield ``items`` with progress, as of :class:`Steps`."""
    with closing(Steps(total, label, unit)) as steps:
        for count, item in enumerate(items):
            steps.reach(count)
            yield item


_steps: ContextVar[Steps | None] = ContextVar("steps", default=None)


@contextmanager
def counting(total: int, label: str, unit: str) -> Iterator[Steps]:
    """Show progress inside the block, as its :class:`Steps` and :func:`stepped` count."""
    with closing(Steps(total, label, unit)) as steps, setting(_steps, steps):
        yield steps


def stepped(number: float) -> None:
    """Count that so much more is done of what the :func:`counting` around counts, if there is one."""
    if steps := _steps.get():
        steps.reach(steps.done + number)

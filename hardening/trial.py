"""One reader and one input: what was raised and where, which lines were reached, how long it took."""

import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from hardening.readers import Reader
from heed.errors import HeedError
from heed.process import within

PACKAGE = "/heed/"
LONGEST = 20  # seconds for one input

Line = tuple[str, int]


class Outcome(NamedTuple):
    """What was raised that should not have been, where (both empty if all is well), and the lines of Heed reached."""

    problem: str
    place: str
    lines: frozenset[Line]
    seconds: float


class _TooSlowError(BaseException):
    """The time for one input is over; no Exception, so that no reader catches it."""


def attempt(reader: Reader, content: bytes, folder: Path, traced: bool) -> Outcome:
    """Let ``reader`` read ``content`` in ``folder``; ``traced`` tells the lines, and takes several times as long."""
    path = folder / f"input{reader.suffix}"
    path.write_bytes(content)
    lines: set[Line] = set()
    problem = place = ""
    begun = time.process_time()
    try:
        with within(LONGEST, _TooSlowError), _traced(lines if traced else None):
            _check_texts(reader.read(path))
    except HeedError:
        pass
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        problem, place = f"{type(error).__name__}: {str(error)[:200]!r}", _place(error)
    return Outcome(problem, place, frozenset(lines), time.process_time() - begun)


def _check_texts(value: Any) -> None:
    """Raise UnicodeEncodeError for a text that no file could hold."""
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, dict):
        for name, inner in value.items():
            _check_texts(name)
            _check_texts(inner)
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            _check_texts(inner)


def _place(error: BaseException) -> str:
    """The innermost function of Heed, else of anything, on the way to the error."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [one for one in frames if PACKAGE in one.filename] or frames
    return f"{Path(inside[-1].filename).name}:{inside[-1].name}" if inside else ""


@contextmanager
def _traced(lines: set[Line] | None) -> Iterator[None]:
    if lines is None:
        yield
        return
    sys.settrace(_tracer(lines))
    try:
        yield
    finally:
        sys.settrace(None)


def _tracer(lines: set[Line]) -> Callable[[FrameType, str, Any], Any]:
    def inside(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            lines.add((frame.f_code.co_filename, frame.f_lineno))
        return inside

    def entered(frame: FrameType, event: str, argument: Any) -> Any:
        return inside if PACKAGE in frame.f_code.co_filename else None

    return entered

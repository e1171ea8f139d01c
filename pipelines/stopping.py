"""Ctrl-C and SIGTERM end a command wherever they find it, with temporary files swept away."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

AGAIN = 0.5  # seconds until a stop that was lost on the way is repeated


class Terminated(BaseException):
    """SIGTERM came, with the last line of a command that has its own; no Exception, so that nothing catches it."""


@contextmanager
def stoppable(last: bool = False) -> Iterator[None]:
    """Let SIGTERM raise :class:`Terminated` inside the block, and SIGINT KeyboardInterrupt, as Python has it.

    Python drops what a handler raises inside of finalizers and of some C code, pyjnius's among it; one
    stop in twenty-five that came while Java started was lost so. It is therefore raised again until the
    block ends, but not while it is on its way out and files are swept away, and the traceback of what was
    dropped is not shown. A SIGINT that is ignored, as background shells have it, stays so. Where the block
    is the ``last`` that the process does, a stop after it changes nothing any more: it is ignored.
    """
    if threading.current_thread() is not threading.main_thread():  # only there can signals be taken
        yield
        return
    kinds: dict[int, type[BaseException]] = {signal.SIGTERM: Terminated}
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        kinds[signal.SIGINT] = KeyboardInterrupt
    came: list[type[BaseException]] = []
    late: list[int] = []
    over = False

    def stop(number: int, frame: object) -> None:
        if over:
            late.append(number)
            return
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
        if number in kinds:
            came.append(kinds[number])
        elif _on_its_way(came[-1]):
            return
        raise came[-1]

    before = {number: signal.signal(number, stop) for number in (*kinds, signal.SIGALRM)}
    try:
        with _untold(tuple(kinds.values())):
            yield
    finally:
        over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if last and number in kinds else handler)
        for number in kinds.keys() & set(late):  # it came since the block's end
            signal.raise_signal(number)


@contextmanager
def _untold(kinds: tuple[type[BaseException], ...]) -> Iterator[None]:
    """Show no traceback of errors of these kinds that Python and Cython drop: they are raised again."""
    unraisable, uncaught = sys.unraisablehook, sys.excepthook

    def drop(dropped: "sys.UnraisableHookArgs") -> None:
        if not isinstance(dropped.exc_value, kinds):
            unraisable(dropped)

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not issubclass(kind, kinds):
            uncaught(kind, error, trace)

    sys.unraisablehook, sys.excepthook = drop, show
    try:
        yield
    finally:
        sys.unraisablehook, sys.excepthook = unraisable, uncaught


def _on_its_way(kind: type[BaseException]) -> bool:
    """Whether the code that runs now does so because an exception of this kind is being handled."""
    error = sys.exception()
    while error is not None:
        if isinstance(error, kind):
            return True
        error = error.__context__
    return False

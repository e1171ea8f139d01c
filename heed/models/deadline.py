"""An end to what somebody else's program may take."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def within(seconds: float, error: type[BaseException] = TimeoutError) -> Iterator[None]:
    """Raise ``error`` where the block takes longer; in the main thread only, since only there signals can be taken.

    It ends Python code, as Jinja makes of templates, between two of its steps; a single step in C is waited for.
    An alarm that was set before the block comes after it, at its time or when the block ends.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise error(f"no end within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    begun = time.monotonic()
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - begun), 1e-6))

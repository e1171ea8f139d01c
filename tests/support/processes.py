"""Waiting for what other processes do, and looking at them."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def until(done: Callable[[], object], seconds: float = 300) -> None:
    """Wait until something is so; an error after ``seconds``."""
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.02)


def running(pid: int) -> bool:
    """Whether a process is there and no zombie, which waits for whoever takes orphans."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except ProcessLookupError:
        return False
    except FileNotFoundError:  # it has just ended, or there is no /proc, where orphans are taken at once
        return not Path("/proc").exists()


def command_line(pid: int) -> str:
    """The command line of a process of Linux; empty where it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""

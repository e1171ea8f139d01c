"""What is one per process, and why; everything else belongs to an experiment. Its memory, too.

- Java: a process can start one Java virtual machine, once. Its largest heap is therefore that of the first experiment
  that opens a Lucene index (:func:`heed.retrieval.lucene.jvm.start`), and one thread at a time talks to it
  (:func:`heed.retrieval.lucene.jvm.java_errors`): pyjnius mixes up objects of one class that two threads call.
- The handlers of faults, which Java and Ray both set (:mod:`heed.addons.cluster.ray_cluster`).
- The handlers of SIGINT and SIGTERM, which the commands set and the library does not (``pipelines/stopping.py``).
- The alarm clock, which limits the time of programs that come with models (:func:`within`).
- Settings of libraries that are read when they are imported: vLLM's and Ray's environment variables.
- The number of torch's threads, in worker processes alone (:mod:`heed.addons.cluster.workers`).
- Caches of what cannot differ: the shipped registry, digests of files that were not touched since.
"""

import ctypes
import gc
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

Item = TypeVar("Item")


@contextmanager
def within(seconds: float, error: type[BaseException] = TimeoutError) -> Iterator[None]:
    """Raise ``error`` where the block takes longer; in the main thread only, which alone receives signals.

    It interrupts Python code, to which Jinja compiles templates; a single call into C is waited for. An alarm that
    was set before the block is restored after it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise error(f"no end within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    start = time.monotonic()
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - start), 1e-6))


def free_memory() -> None:
    """Give memory that nothing refers to back to the operating system, and to the GPU.

    Networks refer to themselves, so their memory waits for a collection of garbage; it takes 0.1 s and more.
    """
    gc.collect()
    release = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's; other C libraries keep less
    if release is not None:
        release(0)
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def batches(
    items: Iterable[Item], length: int, length_of: Callable[[Any], int] = len, most: int | None = None
) -> Iterator[list[Item]]:
    """Yield ``items`` in lists of at least ``length`` together, or of ``most`` items; the last one is shorter."""
    part, total = list[Item](), 0
    for item in items:
        part.append(item)
        total += length_of(item)
        if total >= length or len(part) == most:
            yield part
            part, total = [], 0
    if part:
        yield part


def processor_seconds() -> float:
    """Return the processor time of all threads of this process so far, Java's included, and of its ended processes."""
    return sum(os.times()[:4])


def peak_mib() -> float:
    """Return this process's peak memory so far in MiB, Java's and the models' included."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage begins with the memory of the process that started this one
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)


def ending(status: int | None) -> str:
    """Return in words how a process ended: with a status or by a signal; nothing for one that still runs."""
    if status is None:
        return ""
    return f" by signal {signal.Signals(-status).name}" if status < 0 else f" with status {status}"

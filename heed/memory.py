"""The memory of this process: its peak, texts taken in batches, and what is given back after a model's last use."""

import ctypes
import gc
import resource
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

Item = TypeVar("Item")


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


def peak_mib() -> float:
    """Return this process's peak memory so far in MiB, Java's and the models' included."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage begins with the memory of the process that started this one
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)

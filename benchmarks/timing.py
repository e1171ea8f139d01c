"""Rows of a benchmark: the seconds that Heed and another program take for the same step, in turn."""

import importlib
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
PEERS = ("pyserini", "bm25s", "sentence-transformers", "faiss-cpu", "mteb", "ir-measures", "ranx")
PACKAGES = (*PEERS, "numpy", "torch", "transformers")
# pyserini asks for a key at import; nothing may be fetched while the clock runs
ENVIRONMENT = os.environ | {"OPENAI_API_KEY": "unused", "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)}

LIMIT = "a limit"  # in place of a program, where none does the same

Seconds = tuple[float, float]  # wall and processor time


@dataclass(frozen=True)
class Row:
    """One step: seconds of every repetition, both sides in the same order.

    ``peer`` names the other program, or is ``LIMIT``; ``aim`` is the least ratio that is
    asked for, None where none is; ``results`` says how the results of both sides compare.
    """

    step: str
    peer: str
    ours: list[Seconds]
    theirs: list[Seconds]
    aim: float | None
    results: str

    def ratios(self, clock: int) -> list[float]:
        """Return the peer's seconds divided by Heed's, one a repetition: of wall (0) or processor time (1)."""
        return [peer[clock] / heed[clock] for heed, peer in zip(self.ours, self.theirs, strict=True)]

    @property
    def missed(self) -> bool:
        """Whether the median ratio of wall times is below the aim, in the two digits that a table shows."""
        return self.aim is not None and float(f"{statistics.median(self.ratios(0)):.2g}") < self.aim


class Measured(NamedTuple):
    """What an area measured: sentences about its input, and its rows."""

    about: str
    rows: list[Row]


class Settings(NamedTuple):
    """How an area is to be measured: repetitions, None for the area's usual number; less input; real collections."""

    repeat: int | None
    quick: bool
    data: Path

    def repetitions(self, usual: int) -> int:
        """Return how often each side runs: once if it shall be quick."""
        return self.repeat or (1 if self.quick else usual)


def measured(area: str, settings: Settings) -> dict[str, Any]:
    """Return the figures of an area, with the command, date, commit and machine."""
    load, start = f"{os.getloadavg()[0]:.1f}", time.perf_counter()
    result: Measured = importlib.import_module(f"benchmarks.{area}").measure(settings)
    command = f"python -m benchmarks --only {area}" + " --quick" * settings.quick
    if settings.repeat:
        command += f" --repeat {settings.repeat}"
    rows = [asdict(row) for row in result.rows]
    return {**origin(command, start), "load": load, "about": result.about, "rows": rows}


def origin(command: str, start: float) -> dict[str, Any]:
    """Return what a table says of its command, which began at ``start``, and of this machine."""
    return {
        "command": command,
        "seconds": round(time.perf_counter() - start, 1),
        "date": date.today().isoformat(),
        "commit": commit(),
        "machine": machine(),
        "load": "-",
    }


def commit() -> str:
    """Return the short name of the commit that is checked out; empty outside git."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603 (our own)
    return done.stdout.strip()


def seconds(work: Callable[[], object]) -> Seconds:
    """Return wall and processor time of a call."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - processor


def in_turn(ours: Callable[[], object], theirs: Callable[[], object], repeat: int) -> tuple[list[Seconds], ...]:
    """Return the seconds of both sides, run in turn, now the one first and now the other."""
    times: tuple[list[Seconds], list[Seconds]] = ([], [])
    for turn in range(repeat):
        sides = [(0, ours), (1, theirs)]
        for side, work in sides if turn % 2 else sides[::-1]:
            times[side].append(seconds(work))
    return times


def difference(ours: Sequence[float], theirs: Sequence[float], scale: float = 1) -> str:
    """Return words for the largest difference between numbers of both sides, as a part of ``scale``."""
    largest = max(abs(one - other) for one, other in zip(ours, theirs, strict=True)) / scale
    return f"at most {largest:.0e} apart" if largest else "equal"


def run(folder: Path, module: str, *arguments: str) -> tuple[Seconds, str]:
    """Return the seconds of ``python -m module``, with all that it starts, and its output; exit where it fails."""
    command = [sys.executable, "-m", module, *arguments]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)  # noqa: S603
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return (wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime), done.stdout


def machine() -> str:
    """Return the processor, the number of cores, and the versions of what is compared."""
    versions = [f"Python {platform.python_version()}"]
    for name in PACKAGES:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return f"{_processor()}, {os.cpu_count()} cores; {', '.join(versions)}"


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()

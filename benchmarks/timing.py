"""What every benchmark gives: rows of Heed's seconds beside a peer's, shown as ratios with their spread."""

import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

Seconds = tuple[float, float]  # wall and processor time
PEERS = ("pyserini", "bm25s", "sentence-transformers", "faiss-cpu", "mteb", "ir-measures", "ranx")
PACKAGES = (*PEERS, "numpy", "torch", "transformers")
HEAD = ("step", "beside", "Heed s", "peer s", "ratio", "range", "processor", "range", "target", "compared")


@dataclass(frozen=True)
class Row:
    """One step: seconds of every repetition, both sides in the same order.

    ``target`` is the least ratio that is asked for, None where none is; ``compared`` tells how the
    two sides' results were found equal.
    """

    step: str
    peer: str
    ours: list[Seconds]
    theirs: list[Seconds]
    target: float | None
    compared: str

    def ratios(self, at: int) -> list[float]:
        """The peer's seconds by Heed's, a repetition each: of wall (``at`` 0) or processor time (1)."""
        return [peer[at] / heed[at] for heed, peer in zip(self.ours, self.theirs, strict=True)]

    def cells(self) -> list[str]:
        """What a table shows of it, as ``HEAD`` has it."""
        heed, peer = (f"{statistics.median(one[0] for one in side):.3g}" for side in (self.ours, self.theirs))
        wall, processor = self.ratios(0), self.ratios(1)
        target = "" if self.target is None else f"≥ {self.target:g}{'' if self.met else ', missed'}"
        return [self.step, self.peer, heed, peer, *_middle(wall), *_middle(processor), target, self.compared]

    @property
    def met(self) -> bool:
        """Whether the median of the wall times' ratios reaches the target, to the two digits that are shown."""
        return self.target is None or float(f"{statistics.median(self.ratios(0)):.2g}") >= self.target


def _middle(ratios: Sequence[float]) -> list[str]:
    return [f"{statistics.median(ratios):.2g}", f"{min(ratios):.2g}–{max(ratios):.2g}"]


def seconds(work: Callable[[], object]) -> Seconds:
    """Wall and processor time of a call."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - processor


def in_turn(ours: Callable[[], object], theirs: Callable[[], object], repeat: int) -> tuple[list[Seconds], ...]:
    """Seconds of both sides, run in turn, now the one first and now the other."""
    found: tuple[list[Seconds], list[Seconds]] = ([], [])
    for turn in range(repeat):
        sides = [(0, ours), (1, theirs)]
        for at, work in sides if turn % 2 else sides[::-1]:
            found[at].append(seconds(work))
    return found


def machine() -> str:
    """Processor, cores, load and versions."""
    found = [f"Python {platform.python_version()}"]
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    return f"{_processor()}, {os.cpu_count()} cores, load {load}; {', '.join(found)}"


def _processor() -> str:
    told = Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def text(rows: Sequence[Row]) -> str:
    """Rows in columns, for a terminal."""
    table = [[*HEAD], *(row.cells() for row in rows)]
    widths = [max(len(line[at]) for line in table) for at in range(len(HEAD))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in table)


def markdown(rows: Sequence[Row]) -> str:
    """Rows as a Markdown table."""
    table = [[*HEAD], ["---"] * len(HEAD), *(row.cells() for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in table) + "\n"


def write_rows(path: Path, rows: Sequence[Row], told: str) -> None:
    """The rows with every repetition's seconds, and what they were measured on."""
    found = {"machine": machine(), "input": told, "rows": [asdict(row) for row in rows]}
    path.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read_rows(path: Path) -> tuple[list[Row], str]:
    """What :func:`write_rows` wrote: the rows, and what their input was."""
    found = json.loads(path.read_text(encoding="utf-8"))
    return [Row(**row) for row in found["rows"]], found["input"]

"""Write docs/benchmarks.md from docs/benchmarks.json alone: ``python -m benchmarks.page docs``."""

import json
import statistics
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.timing import Row
from heed.files import write_bytes, write_json

JSON, PAGE = "benchmarks.json", "benchmarks.md"
AREAS = {  # in the order of the page
    "commands": "Whole commands",
    "starts": "Starting with a neural model",
    "lexical": "BM25",
    "neural": "Encoding, reranking, dense search",
    "weights": "Real weights",
    "measures": "Measures, run files, fusion",
    "pools": "Pools",
    "stores": "Stored documents",
}
TITLES = {**AREAS, "gpu": "On a GPU"}
INTRODUCTION = """# Speed compared with other programs

Heed and another program do the same step with the same input, in turn, on one machine. The ratio is the other
program's seconds divided by Heed's. **A ratio of 2 means that Heed takes half the time. Below 1 Heed is slower.**
Where no other program does the same, the other seconds are a limit.

A row is of all steps beside one program, with the slowest. Seconds and ratios are medians of all repetitions;
**processor** is the ratio in processor time, and **missed** counts the steps below the ratio that we aim at.
docs/benchmarks.json has all. Where **load**, the machine's load average before, is above the number of cores,
processor time says more.
"""
HEAD = (
    "area",
    "compared with",
    "steps",
    "ratios",
    "slowest step",
    "Heed, s",
    "other, s",
    "ratio",
    "processor",
    "missed",
)
STEPS = ("step", "compared with", "Heed, s", "other, s", "ratio", "range", "processor", "range", "aim", "results")


def renew(folder: Path, area: str, entry: dict[str, Any]) -> None:
    """Put the figures of an area into the JSON file of ``folder``; those of other areas stay. Write its page anew."""
    path = folder / JSON
    entries = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    entries[area] = entry
    write_json(path, {name: entries[name] for name in TITLES if name in entries})
    write_page(folder)


def write_page(folder: Path) -> None:
    """Write the page of the JSON file in ``folder``."""
    write_bytes(folder / PAGE, page(json.loads((folder / JSON).read_text(encoding="utf-8"))).encode())


def page(entries: dict[str, dict[str, Any]]) -> str:
    """Return the page of these areas: how each was measured, and with what result, then the machines."""
    lines = (cells(area, rows) for area, entry in entries.items() for rows in _by_peer(entry.get("rows", ())))
    parts = [INTRODUCTION, table(HEAD, lines)]
    for area, entry in entries.items():
        parts.append(f"## {TITLES[area]}\n\n{entry['about']} {_run(entry)}\n")
        parts += [entry["table"], *(f"- {line}" for line in entry["search"]), ""] if "table" in entry else []
    machines, shown = dict.fromkeys(entry["machine"] for entry in entries.values()), ""
    for machine in machines:
        areas = [TITLES[area] for area, entry in entries.items() if entry["machine"] == machine]
        cores, _, packages = machine.partition("; ")
        packages, shown = "the same packages" if packages == shown else packages, packages
        parts.append(f"{'; '.join(areas) if len(machines) > 1 else 'All'}: {cores}; {packages}.\n")
    return "\n".join(parts)


def _by_peer(entries: Sequence[dict[str, Any]]) -> Iterable[list[Row]]:
    rows = [Row(**each) for each in entries]
    return ([row for row in rows if row.peer == peer] for peer in dict.fromkeys(row.peer for row in rows))


def cells(area: str, rows: Sequence[Row]) -> list[str]:
    """Return the cells of all steps of an area that are compared with one program, as ``HEAD`` names them."""
    every = [statistics.median(row.ratios(0)) for row in rows]
    slowest = rows[every.index(min(every))]
    seconds = (f"{statistics.median(wall for wall, _ in side):.3g}" for side in (slowest.ours, slowest.theirs))
    ratios, processor = slowest.ratios(0), statistics.median(slowest.ratios(1))
    ratio = f"{min(every):.2g} ({min(ratios):.2g}–{max(ratios):.2g})"
    of_all = [AREAS[area], slowest.peer, str(len(rows)), f"{min(every):.2g}–{max(every):.2g}"]
    return [*of_all, slowest.step, *seconds, ratio, f"{processor:.2g}", str(sum(row.missed for row in rows) or "")]


def step_cells(row: Row) -> list[str]:
    """Return the cells of one step, as ``STEPS`` names them."""
    medians = (f"{statistics.median(wall for wall, _ in side):.3g}" for side in (row.ours, row.theirs))
    ratios = [cell for clock in (0, 1) for cell in _ratio(row.ratios(clock))]
    aim = "" if row.aim is None else f"≥ {row.aim:g}{', missed' if row.missed else ''}"
    return [row.step, row.peer, *medians, *ratios, aim, row.results]


def _ratio(ratios: Sequence[float]) -> list[str]:
    return [f"{statistics.median(ratios):.2g}", f"{min(ratios):.2g}–{max(ratios):.2g}"]


def _run(entry: dict[str, Any]) -> str:
    minutes = f"{entry['seconds'] / 60:.1f} minutes"
    return f"`{entry['command']}`, {minutes}, {entry['date']}, commit {entry['commit']}, load {entry['load']}."


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *lines)) + "\n"


if __name__ == "__main__":
    write_page(Path(sys.argv[1]))

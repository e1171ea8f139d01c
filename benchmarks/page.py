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
INTRODUCTION = """# Speed compared with other programs

Heed and another program do the same step with the same input, in turn, on one machine. The ratio is the other
program's seconds divided by Heed's. **A ratio of 2 means that Heed takes half the time. Below 1 Heed is slower.**
Where no other program does the same, Heed is compared with a limit in seconds. There 2 means half of the limit.

`python -m benchmarks` measures everything and writes this page from what it measured.
The commands and the machine are [at the end](#commands-and-machine).

## Ratios

A row sums up the steps of an area that are compared with the same program. Its ratios are medians.
"""
COLUMNS = """## Steps

- **Heed, s** and **other, s**: median seconds of all repetitions.
- **ratio**: the median of the repetitions' ratios, and their **range**, the smallest to the largest.
- **processor**: the same ratio and range in processor time, which other programs on the machine disturb less.
- **aim**: the smallest ratio that we ask for.
- **results**: how the results of both sides compare.
"""
SUMMARY = ("area", "compared with", "steps", "smallest ratio", "largest ratio", "aims missed")
HEAD = ("step", "compared with", "Heed, s", "other, s", "ratio", "range", "processor", "range", "aim", "results")
RUNS = ("area", "command", "minutes", "date", "commit", "load before")


def renew(folder: Path, area: str, entry: dict[str, Any]) -> None:
    """Put the figures of an area into the JSON file of ``folder``; those of other areas stay. Write its page anew."""
    path = folder / JSON
    entries = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    entries[area] = entry
    write_json(path, {name: entries[name] for name in AREAS if name in entries})
    write_page(folder)


def write_page(folder: Path) -> None:
    """Write the page of the JSON file in ``folder``."""
    write_bytes(folder / PAGE, page(json.loads((folder / JSON).read_text(encoding="utf-8"))).encode())


def page(entries: dict[str, dict[str, Any]]) -> str:
    """Return the page of these areas: ratios of all, the steps of each, then how and where they were measured."""
    rows = {area: [Row(**row) for row in entry["rows"]] for area, entry in entries.items()}
    parts = [INTRODUCTION, table(SUMMARY, (line for area in rows for line in _summary(area, rows[area]))), COLUMNS]
    for area, entry in entries.items():
        parts += [f"### {AREAS[area]}\n", f"{entry['about']}\n", table(HEAD, map(cells, rows[area]))]
    runs = ([AREAS[area], *_run(entry)] for area, entry in entries.items())
    legend = "**load before** is the machine's load average when an area was begun; `-` where it was not recorded.\n"
    parts += ["## Commands and machine\n", legend, table(RUNS, runs)]
    for machine in dict.fromkeys(entry["machine"] for entry in entries.values()):
        areas = [AREAS[area] for area, entry in entries.items() if entry["machine"] == machine]
        parts.append(f"{'; '.join(areas)}: {machine}.\n")
    return "\n".join(parts)


def _summary(area: str, rows: Sequence[Row]) -> Iterable[list[str]]:
    for peer in dict.fromkeys(row.peer for row in rows):
        same = [row for row in rows if row.peer == peer]
        ratios = [statistics.median(row.ratios(0)) for row in same]
        missed = str(sum(row.missed for row in same) or "")
        yield [AREAS[area], peer, str(len(same)), f"{min(ratios):.2g}", f"{max(ratios):.2g}", missed]


def cells(row: Row) -> list[str]:
    """Return the cells of a step, as ``HEAD`` names them."""
    medians = (f"{statistics.median(wall for wall, _ in side):.3g}" for side in (row.ours, row.theirs))
    ratios = [cell for clock in (0, 1) for cell in _ratio(row.ratios(clock))]
    aim = "" if row.aim is None else f"≥ {row.aim:g}{', missed' if row.missed else ''}"
    return [row.step, row.peer, *medians, *ratios, aim, row.results]


def _ratio(ratios: Sequence[float]) -> list[str]:
    return [f"{statistics.median(ratios):.2g}", f"{min(ratios):.2g}–{max(ratios):.2g}"]


def _run(entry: dict[str, Any]) -> list[str]:
    return [f"`{entry['command']}`", f"{entry['seconds'] / 60:.1f}", entry["date"], entry["commit"], entry["load"]]


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *lines)) + "\n"


if __name__ == "__main__":
    write_page(Path(sys.argv[1]))

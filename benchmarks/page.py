"""Write docs/benchmarks.md from docs/benchmarks.json alone: ``python -m benchmarks.page docs``."""

import json
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
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
    "measures": "Measures, run files, fusion",
    "pools": "Pools",
    "stores": "Stored documents",
}
INTRODUCTION = """# Speed compared with other programs

Heed and another program do the same step with the same input, in turn, on one machine. The ratio is the other
program's seconds divided by Heed's. **A ratio of 2 means that Heed takes half the time. Below 1 Heed is slower.**
Where no other program does the same, Heed is compared with a limit in seconds. There 2 means half of the limit.
`python -m benchmarks` measures everything and writes this page.

Below are, for each area and other program, the number of steps and their smallest and largest ratio, and the three
steps with the smallest, those that missed their aim first. Seconds and ratios are medians of all repetitions, with the smallest and the largest ratio
behind. **processor** is the ratio in processor time, which other programs on the machine disturb less, **aim** the
smallest ratio that we ask for, and **results** how the results of both sides compare. **load** is the machine's load
average before an area was measured. docs/benchmarks.json has all steps, and each repetition.
"""
HEAD = ("step", "Heed, s", "other, s", "ratio", "processor", "aim", "results")
MOST = 3  # steps in a table
OF_ALL = ("aim", "results")  # above a table where all its steps have the same


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
    """Return the page of these areas: how each was measured and its steps, then the machines."""
    parts = [INTRODUCTION]
    for area, entry in entries.items():
        rows = [Row(**row) for row in entry["rows"]]
        parts += [f"## {AREAS[area]}\n", f"{entry['about']} {_run(entry)}\n", *_steps(rows)]
    machines = dict.fromkeys(entry["machine"] for entry in entries.values())
    for machine in machines:
        areas = [AREAS[area] for area, entry in entries.items() if entry["machine"] == machine]
        parts.append(f"{'; '.join(areas) if len(machines) > 1 else 'All'}: {machine}.\n")
    return "\n".join(parts)


def _steps(rows: Sequence[Row]) -> Iterable[str]:
    """Yield, for each program that steps are compared with, a line and their table."""
    for peer in dict.fromkeys(row.peer for row in rows):
        steps = [row for row in rows if row.peer == peer]
        ratios = {row.step: statistics.median(row.ratios(0)) for row in steps}
        worst = [row.step for row in sorted(steps, key=lambda row: (not row.missed, ratios[row.step]))[:MOST]]
        columns = list(zip(HEAD, *(cells(row) for row in steps if row.step in worst), strict=True))
        same = [column for column in columns if column[0] in OF_ALL and len(set(column[1:])) == 1]
        head, *lines = zip(*(column for column in columns if column not in same), strict=True)
        yield f"{'; '.join([_summary(peer, ratios), *(' '.join(column[:2]) for column in same if column[1])])}\n"
        yield table(head, lines)


def _summary(peer: str, ratios: Mapping[str, float]) -> str:
    least, most = (f"{ratio:.2g}" for ratio in (min(ratios.values()), max(ratios.values())))
    return f"**{peer}**: {len(ratios)} steps, {least} to {most}" if len(ratios) > 1 else f"**{peer}**"


def cells(row: Row) -> list[str]:
    """Return the cells of a step, as ``HEAD`` names them."""
    medians = (f"{statistics.median(wall for wall, _ in side):.3g}" for side in (row.ours, row.theirs))
    ratios, processor = row.ratios(0), row.ratios(1)
    ratio = f"{statistics.median(ratios):.2g} ({min(ratios):.2g}–{max(ratios):.2g})"
    aim = "" if row.aim is None else f"≥ {row.aim:g}{', missed' if row.missed else ''}"
    return [row.step, *medians, ratio, f"{statistics.median(processor):.2g}", aim, row.results]


def _run(entry: dict[str, Any]) -> str:
    minutes = f"{entry['seconds'] / 60:.1f} minutes"
    return f"`{entry['command']}`, {minutes}, {entry['date']}, commit {entry['commit']}, load {entry['load']}."


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *lines)) + "\n"


if __name__ == "__main__":
    write_page(Path(sys.argv[1]))

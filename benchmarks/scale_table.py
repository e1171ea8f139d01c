"""The table of ``benchmarks.scale``: the cost of a document at each size, and of collections not yet measured."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from heed.measures.summary import aligned
from heed.progress import duration

LARGER = {
    "ten million": 10_000_000,
    "NeuCLIR rus": 4_627_543,
}
FLAT, MOST_MIB = 1.2, 1024  # targets: the largest size's cost of a document divided by the first's; memory
WHOLE, AGAIN = "index, search, measure", "the same again"
PROCESSOR = "— processor time of the command"
EXPECTED = ("documents", "index bm25", "matrix bm25", "run bm25.original", "run bm25.changed")  # stages
CONTENT = (
    "The documents are generated news in four scripts, with a median of 250 words. The 100 topics have 3 words, an "
    "instruction of 30 words and a changed one of 45. BM25 finds 1000 documents a topic. Each command runs in a "
    "process of its own, and Java's memory is part of it. Lines that begin with a dash are stages of the "
    "command above them."
)

Measured = Mapping[str, Any]
Line = tuple[str, ...]


def as_text(measured: Sequence[Measured]) -> str:
    """For a terminal."""
    parts = [measured[-1]["machine"]]
    for title, rows in _tables(measured):
        parts += ["", title, aligned(rows, left=1, width=inf)]
    return "\n".join([*parts, "", _told(measured)])


def as_markdown(measured: Sequence[Measured], command: str) -> str:
    """For ``docs/``."""
    parts = ["# Growing collections: time and memory", "", f"`{command}`", "", f"{measured[-1]['machine']}.", ""]
    parts += [f"{CONTENT} {_told(measured)}", ""]
    for title, rows in _tables(measured):
        header, *lines = rows
        rule = "|".join(["---", *("---:" for _ in header[1:])])
        parts += [f"## {title}", "", _line(header), f"|{rule}|", *map(_line, lines), ""]
    return "\n".join(parts)


def missed(measured: Sequence[Measured]) -> list[str]:
    """What is beyond a target at the largest size."""
    first, last = measured[0], measured[-1]
    small, large = (one["settings"]["documents"] for one in (first, last))
    ratio = seconds_of(last)[WHOLE] / large / (seconds_of(first)[WHOLE] / small)
    told = [f"a document costs {ratio:.2f} times what it costs at {small:,}, more than {FLAT}"] if ratio > FLAT else []
    peaks = {name: used["peak_mib"] for name, used in last["steps"].items()}
    return told + [f"{name}: {peak:,.0f} MiB, more than {MOST_MIB}" for name, peak in peaks.items() if peak > MOST_MIB]


def seconds_of(one: Measured) -> dict[str, float]:
    """Wall seconds by step, with the stages and the processor seconds of the first command after it."""
    stages: dict[str, float] = {}
    for stage in one["stages"]:
        name = f"— {stage['stage']} {stage['system']}".strip()
        stages[name] = stages.get(name, 0.0) + stage["seconds"]
    steps = {name: used["seconds"] for name, used in one["steps"].items()}
    return {WHOLE: steps.pop(WHOLE), **stages, PROCESSOR: one["steps"][WHOLE]["processor"], **steps}


def _told(measured: Sequence[Measured]) -> str:
    found = missed(measured)
    if found:
        return f"Beyond the targets: {'; '.join(found)}."
    return f"Within the targets: {MOST_MIB} MiB for every command, {FLAT} times the first size's cost of a document."


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _tables(measured: Sequence[Measured]) -> list[tuple[str, list[Line]]]:
    tables = [("Cost of a document", _costs(measured)), ("Peak memory and disk", _spaces(measured))]
    if len(measured) > 1:
        tables.append(("What larger collections would take", _larger(measured)))
    return tables


def _costs(measured: Sequence[Measured]) -> list[Line]:
    """Seconds of each step at each size; at the largest, documents a second and the cost divided by the first's."""
    sizes = [one["settings"]["documents"] for one in measured]
    columns = [seconds_of(one) for one in measured]
    rows: list[Line] = [
        ("step", *(f"{size:,} documents" for size in sizes), "documents/s", f"cost of a document ({sizes[0]:,}: 1×)")
    ]
    for name, last in columns[-1].items():
        times = [one.get(name, 0.0) for one in columns]
        if max(times) >= 1:
            ratio = f"{last / sizes[-1] / (times[0] / sizes[0]):.2f}×" if times[0] else ""
            rows.append((name, *map(duration, times), f"{sizes[-1] / last:,.0f}", ratio))
    return rows


def _spaces(measured: Sequence[Measured]) -> list[Line]:
    rows: list[Line] = [("", *(f"{one['settings']['documents']:,} documents" for one in measured))]
    for name in measured[-1]["steps"]:
        used = [one["steps"][name] for one in measured]
        rows.append((f"{name}, MiB", *(f"{one['peak_mib']:,.0f}" for one in used)))
        rows.append(("— of that, not backed by files", *(f"{one['own_mib']:,.0f}" for one in used)))
    for name in measured[-1]["disk"]:
        rows.append((f"{name} on disk, MB", *(f"{one['disk'].get(name, 0) / 1e6:,.0f}" for one in measured)))
    return rows


def _larger(measured: Sequence[Measured]) -> list[Line]:
    rows: list[Line] = [("", *LARGER), ("documents", *(f"{size:,}" for size in LARGER.values()))]
    for name in (WHOLE, *(f"— {stage}" for stage in EXPECTED), AGAIN):
        seconds = [seconds_of(one).get(name, 0.0) for one in measured[-2:]]
        rows.append((name, *(duration(_at(size, measured, seconds)) for size in LARGER.values())))
    peaks = [one["steps"][WHOLE]["peak_mib"] for one in measured[-2:]]
    rows.append((f"{WHOLE}, MiB", *(f"{_at(size, measured, peaks):,.0f}" for size in LARGER.values())))
    disk = [sum(one["disk"].values()) / 1e9 for one in measured[-2:]]
    rows.append(("input and indexes on disk, GB", *(f"{_at(size, measured, disk):,.0f}" for size in LARGER.values())))
    return rows


def _at(size: int, measured: Sequence[Measured], values: Sequence[float]) -> float:
    small, large = (one["settings"]["documents"] for one in measured[-2:])
    slope = max(0.0, values[1] - values[0]) / (large - small)  # below 0 is noise
    return values[1] + slope * (size - large)

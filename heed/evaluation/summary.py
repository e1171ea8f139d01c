"""What a collection command found: rows of measures, as JSON and as the printed table."""

import math
from collections.abc import Sequence
from typing import NamedTuple, TypedDict

from heed.measures.judged import PerTopic

ABSENT = "-"
LABELS = 2  # columns before the figures: system and condition
FAMILIES = (
    "nDCG",
    "AP",
    "R",
    "Robustness",
    "mean gold rank",
    "p-MRR",
)  # the order of columns; others follow as they come
GOLD_RANK = "mean gold rank"  # InfoSearch's; the one measure that is not on a scale to 1


class Row(TypedDict):
    """One figure: ``value`` on the measure's own scale, over ``n`` topics."""

    system: str
    condition: str
    measure: str
    value: float
    n: int


class Detail(Row):
    """The same with the value of each topic, by qid."""

    per_topic: PerTopic


class Shift(TypedDict):
    """Where a judged document stood under the base condition and stands under the new one."""

    system: str
    qid: str
    docid: str
    group: str
    base: int
    new: int


def rows_of(details: Sequence[Detail]) -> list[Row]:
    """The rows of ``summary.json``, without the topics."""
    return [
        Row(system=one["system"], condition=one["condition"], measure=one["measure"], value=one["value"], n=one["n"])
        for one in details
    ]


def average(subsets: Sequence[Sequence[Row]]) -> list[Row]:
    """The unweighted mean over subsets of every figure that all of them have; ``n`` counts all their topics."""
    keyed = [{(row["system"], row["condition"], row["measure"]): row for row in rows} for rows in subsets]
    common = [key for key in keyed[0] if all(key in one for one in keyed)]
    found = []
    for system, condition, measure in common:
        mine = [one[system, condition, measure] for one in keyed]
        value, n = math.fsum(row["value"] for row in mine) / len(mine), sum(row["n"] for row in mine)
        found.append(Row(system=system, condition=condition, measure=measure, value=value, n=n))
    return found


class Line(NamedTuple):
    """One line of a table: ``cells`` holds the place in the summary of each measure's row, if there is one."""

    system: str
    condition: str
    cells: list[int | None]
    n: int


class Grid(NamedTuple):
    """A summary laid out: a line for each system, condition and number of topics, a column for each measure."""

    measures: list[str]
    lines: list[Line]


def layout(rows: Sequence[Row]) -> Grid:
    """Lay out ``rows``, systems as they come, measures by family; rows over other numbers of topics stay apart."""
    measures = sorted(dict.fromkeys(row["measure"] for row in rows), key=_family)
    cells: dict[tuple[str, str, int], dict[str, int]] = {}
    for at, row in enumerate(rows):
        cells.setdefault((row["system"], row["condition"], row["n"]), {})[row["measure"]] = at
    order = {system: place for place, system in enumerate(dict.fromkeys(row["system"] for row in rows))}
    ordered = sorted(cells.items(), key=lambda cell: order[cell[0][0]])
    return Grid(measures, [Line(s, c, [found.get(name) for name in measures], n) for (s, c, n), found in ordered])


def _family(measure: str) -> int:
    name = measure.partition("@")[0]
    return FAMILIES.index(name) if name in FAMILIES else len(FAMILIES)


def strings(rows: Sequence[Row]) -> list[list[str]]:
    """Header and lines of the table of ``rows``; ``-`` where there is no figure."""
    grid = layout(rows)
    lines = [["system", "condition", *grid.measures, "n"]]
    for line in grid.lines:
        values = [ABSENT if at is None else shown(rows[at]["measure"], rows[at]["value"]) for at in line.cells]
        lines.append([line.system, line.condition, *values, str(line.n)])
    return lines


def shown(measure: str, value: float) -> str:
    """A value as the tables print it: ×100 (a mean rank as it is), one decimal, no negative zero."""
    return f"{(1 if measure.startswith(GOLD_RANK) else 100) * value:z.1f}"


def table(rows: Sequence[Row], title: str) -> str:
    """The rows as text, one line a system and condition."""
    return f"{title}\n{aligned(strings(rows), left=LABELS)}"


def aligned(rows: Sequence[Sequence[str]], left: int) -> str:
    """Rows as columns of text: the first ``left`` columns to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = zip(row, widths, strict=True)
        placed = [cell.ljust(width) if at < left else cell.rjust(width) for at, (cell, width) in enumerate(cells)]
        lines.append("  ".join(placed).rstrip())
    return "\n".join(lines)

"""A published table as its paper lays it out: systems in groups down, subsets, conditions and measures across."""

from collections.abc import Sequence

from heed.measures.summary import ABSENT, aligned
from heed.published.figures import Figure, Paper, Table

DOUBTFUL, NOTED = "*", "†"

Column = tuple[str, ...]  # subset, setting, printed head or condition, measure


def as_text(paper: Paper, table: Table) -> str:
    """Return the table under its caption; doubtful figures are marked, the reasons are below."""
    title = f"{paper.paper.title}, {table.table}: {table.caption}"
    return "\n".join([title, aligned(_grid(table.rows), left=_labels(table.rows)), *_notes(table)])


def _labels(rows: Sequence[Figure]) -> int:
    return 2 if any(row.group for row in rows) else 1


def _grid(rows: Sequence[Figure]) -> list[list[str]]:
    """Return head and lines; a head's line that is the same over all columns is left out, but for the last."""
    columns = list(dict.fromkeys(_column(row) for row in rows))
    parts = list(zip(*columns, strict=True))
    shown = [part for part in parts[:-1] if len(set(part)) > 1] + parts[-1:]
    width = _labels(rows)
    lines = [[*[""] * width, *_once(part)] for part in shown[:-1]]
    lines.append([*(("group", "system") if width == 2 else ("system" if rows[0].system else "subset",)), *shown[-1]])
    by_line: dict[tuple[str, ...], dict[Column, str]] = {}
    for row in rows:
        name = f"{row.system or row.subset}{NOTED if row.model_note else ''}"
        by_line.setdefault((row.group or "", name)[-width:], {})[_column(row)] = _cell(row)
    labels = _once([label[0] for label in by_line]) if width == 2 else []
    for number, (label, cells) in enumerate(by_line.items()):
        names = [labels[number], label[1]] if width == 2 else list(label)
        lines.append([*names, *(cells.get(column, ABSENT) for column in columns)])
    return lines


def _column(row: Figure) -> Column:
    subset = row.subset if row.system else ""  # of tables about the data, subsets are the lines
    return subset, row.setting or "", row.column or row.condition or "", row.measure


def _once(part: Sequence[str]) -> list[str]:
    """Return a line of the head, each name where it begins to hold."""
    return [name if not number or part[number - 1] != name else "" for number, name in enumerate(part)]


def _cell(row: Figure) -> str:
    return f"{row.value}{DOUBTFUL if row.doubtful else NOTED if row.note else ''}"


def _notes(table: Table) -> list[str]:
    """Return each reason and note once, with the first figure or system that has it."""
    places: dict[str, list[str]] = {}
    for row in table.rows:
        figure = " ".join(filter(None, (row.system, row.subset, row.setting, row.condition, row.measure)))
        for text, position in ((row.why, figure), (row.note, figure), (row.model_note, str(row.system))):
            sign = DOUBTFUL if text == row.why else NOTED
            if text and position not in places.setdefault(f"{sign} {text}", []):
                places[f"{sign} {text}"].append(position)
    notes = (f"{text} ({where[0]}{_more(where)})" for text, where in places.items())
    return [*notes, *(f"remark: {remark}" for remark in table.remarks)]


def _more(places: Sequence[str]) -> str:
    return f" and {len(places) - 1} more" if len(places) > 1 else ""

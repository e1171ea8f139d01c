"""A published table as its paper lays it out: systems in groups down, subsets, conditions and measures across."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from heed.measures.summary import ABSENT, aligned
from heed.notebook import html_table

DOUBTFUL, NOTED = "*", "†"

Column = tuple[str, ...]  # subset, setting, printed head or condition, measure


class Figure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One printed number.

    ``system`` and ``group`` are as printed, None in tables about the data; ``model`` is the registry's name, ``bm25``,
    or None; ``condition`` is Heed's (``original>changed``), ``setting`` ``xx-xx``, ``en-xx`` or ``full collection``;
    ``column`` and ``type`` are the heads printed; ``why`` says what contradicts a ``doubtful`` figure.
    """

    system: str | None
    group: str | None
    model: str | None
    benchmark: str
    subset: str
    condition: str | None
    measure: str
    value: int | float
    unit: Literal["x100", "1"]
    setting: str | None = None
    column: str | None = None
    type: str | None = None
    mark: str | None = None
    note: str | None = None
    model_note: str | None = None
    doubtful: bool = False
    why: str | None = None


class PaperTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a paper; ``setup`` is what a reproduction needs and the paper says."""

    table: str
    kind: str
    caption: str
    setup: dict[str, Any]
    rows: list[Figure]
    remarks: list[str] = []

    def __repr__(self) -> str:
        """Return name, caption and size; ``print`` shows the figures."""
        return f"Table({self.table}: {self.caption}; {len(self.rows)} figures)"

    def __str__(self) -> str:
        """Return the table under its caption; doubtful figures are marked, the reasons are below."""
        cells = [*_head(self.rows), *_lines(self.rows)]
        return "\n".join([self._title, aligned(cells, left=len(_labels(self.rows))), *_notes(self)])

    def _repr_html_(self) -> str:
        labels, columns = _labels(self.rows), zip(*_heads(self.rows), strict=True)
        head = [*labels, *(" ".join(dict.fromkeys(filter(None, column))) for column in columns)]
        return html_table(self._title, [head, *_lines(self.rows)], range(len(labels), len(head)), _notes(self))

    @property
    def _title(self) -> str:
        return f"{self.table}: {self.caption}"


def _labels(rows: Sequence[Figure]) -> list[str]:
    return ["group", "system"] if any(row.group for row in rows) else ["system" if rows[0].system else "subset"]


def _columns(rows: Sequence[Figure]) -> list[Column]:
    return list(dict.fromkeys(map(_column, rows)))


def _heads(rows: Sequence[Figure]) -> list[tuple[str, ...]]:
    """Return the parts of the columns' names; one that is the same over all columns is left out, but for the last."""
    parts = list(zip(*_columns(rows), strict=True))
    return [part for part in parts[:-1] if len(set(part)) > 1] + parts[-1:]


def _head(rows: Sequence[Figure]) -> list[list[str]]:
    labels, (*above, last) = _labels(rows), _heads(rows)
    return [*([*[""] * len(labels), *_once(part)] for part in above), [*labels, *last]]


def _lines(rows: Sequence[Figure]) -> list[list[str]]:
    columns, width = _columns(rows), len(_labels(rows))
    by_line: dict[tuple[str, ...], dict[Column, str]] = {}
    for row in rows:
        name = f"{row.system or row.subset}{NOTED if row.model_note else ''}"
        by_line.setdefault((row.group or "", name)[-width:], {})[_column(row)] = _cell(row)
    groups = _once([label[0] for label in by_line])
    return [
        [*([group] if width == 2 else []), label[-1], *(cells.get(column, ABSENT) for column in columns)]
        for group, (label, cells) in zip(groups, by_line.items(), strict=True)
    ]


def _column(row: Figure) -> Column:
    subset = row.subset if row.system else ""  # of tables about the data, subsets are the lines
    return subset, row.setting or "", row.column or row.condition or "", row.measure


def _once(part: Sequence[str]) -> list[str]:
    """Return a line of the head, each name where it begins to hold."""
    return [name if not number or part[number - 1] != name else "" for number, name in enumerate(part)]


def _cell(row: Figure) -> str:
    return f"{row.value}{DOUBTFUL if row.doubtful else NOTED if row.note else ''}"


def _notes(table: PaperTable) -> list[str]:
    """Return each reason and note once, with the first figure or system that has it."""
    places: dict[str, list[str]] = {}
    for row in table.rows:
        figure = " ".join(filter(None, (row.system, row.subset, row.setting, row.condition, row.measure)))
        for text, position in ((row.why, figure), (row.note, figure), (row.model_note, str(row.system))):
            sign = DOUBTFUL if text == row.why else NOTED
            if text and position not in places.setdefault(f"{sign} {text}", []):
                places[f"{sign} {text}"].append(position)
    more = {text: f" and {len(where) - 1} more" if len(where) > 1 else "" for text, where in places.items()}
    notes = (f"{text} ({where[0]}{more[text]})" for text, where in places.items())
    return [*notes, *(f"remark: {remark}" for remark in table.remarks)]

"""Layout of cells that span rows and columns as a grid, and which of its rows are header.

The layout is the table model of the HTML standard (https://html.spec.whatwg.org/multipage/tables.html), except that
a column in which no cell begins is left out: it only repeats its neighbour, which the standard calls an error.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import groupby, takewhile
from typing import NamedTuple

from heed.errors import DataError

MOST_CELLS = 10_000_000  # of a grid: some kilobytes of ragged rows can need more than any memory
FREE_CELLS, TIMES = 500_000, 10  # cells of any grid, plus so many for each written: spans and gaps take time too
DEEPEST = 4  # rows under one header cell; a deeper one is the name of a group of body rows (IndusTR 751, 3996)

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Cell(NamedTuple):
    """A cell, its text in pieces; ``rows`` is 0 for "to the end of the row group"."""

    pieces: list[str]
    head: bool
    columns: int
    rows: int

    def text(self) -> str:
        """Return the text on one line."""
        return squeeze("".join(self.pieces))


class Row(NamedTuple):
    """The cells of a row as written, and its row group's number and name (``""`` outside of any)."""

    group: int
    section: str
    cells: list[Cell]


class Grid(NamedTuple):
    """The rows of one table, all of the same length, and how many of them are its header."""

    rows: list[list[str]]
    header: int


class _Span(NamedTuple):
    """A cell in the grid: columns ``start`` to before ``end``, rows ``first`` to before ``stop``."""

    start: int
    end: int
    first: int
    stop: int
    text: str


def squeeze(text: str) -> str:
    """Return ``text`` on one line: white space and control characters as single spaces."""
    return " ".join(CONTROL.sub(" ", text).split())


def check_size(rows: int, columns: int, written: int) -> None:
    """Raise :class:`DataError` for a grid of more than ``MOST_CELLS`` cells, or far more than are ``written``."""
    most = min(MOST_CELLS, FREE_CELLS + TIMES * written)
    if rows * columns > most:
        raise DataError(
            f"a table of {rows} rows and {columns} columns; at most {most} cells are read of {written}: split the table"
        )


def grid(rows: list[Row], has_head: bool) -> Grid:
    """Return ``rows`` with every span filled in: <thead> first, <tfoot> last; rows without any cell are left out.

    A span ends with its row group. Where cells overlap, the one from the row above is kept.
    ``has_head`` says that there is a <thead>, even an empty one. Raises :class:`DataError` for a grid too large.
    """
    written = sum(len(row.cells) for row in rows)
    rows = sorted(rows, key=lambda row: {"thead": 0, "tfoot": 2}.get(row.section, 1))
    lines: list[list[_Span]] = []
    for _, group in groupby(rows, key=lambda row: row.group):
        lines += _lay_out(list(group), len(lines), written)
    starts = sorted({span.start for line in lines for span in line})
    check_size(sum(1 for line in lines if line), len(starts), written)
    texts = [_texts(line, starts) if line else [] for line in lines]
    header = texts[: _header_rows(rows, lines, has_head)]
    return Grid([row for row in texts if row], sum(1 for row in header if row))


def _lay_out(rows: list[Row], first: int, written: int) -> Iterator[list[_Span]]:
    """Yield the spans that cover each row of a row group, from left to right."""
    end = first + len(rows)
    above: list[_Span] = []
    for number, row in enumerate(rows, first):
        above = [span for span in above if span.stop > number]
        above = sorted([*above, *_own_spans(row, above, number, end)])
        check_size(number + 1, len(above), written)  # before memory is full of spans
        yield above


def _own_spans(row: Row, above: list[_Span], number: int, end: int) -> Iterator[_Span]:
    """Yield the cells of a row, each from the first column free of spans from above, with gaps where it meets one."""
    column = 0
    for cell in row.cells:
        index = bisect_right(above, column, key=lambda span: span.end)
        while index < len(above) and above[index].start <= column:
            column = above[index].end
            index += 1
        past, stop, text = column + cell.columns, min(number + (cell.rows or end), end), cell.text()
        while column < past:
            bound = min(past, above[index].start) if index < len(above) else past
            if column < bound:
                yield _Span(column, bound, number, stop, text)
            column = above[index].end if index < len(above) else past
            index += 1
        column = past


def _texts(line: Iterable[_Span], starts: list[int]) -> list[str]:
    row = [""] * len(starts)
    for span in line:
        first, past = bisect_left(starts, span.start), bisect_left(starts, span.end)
        row[first:past] = [span.text] * (past - first)
    return row


def _header_rows(rows: list[Row], lines: list[list[_Span]], has_head: bool) -> int:
    """Return how many rows are header: those of <thead>, else the first rows of <th>, else those that spans link.

    An empty <thead> means none. Where no cell is <th>, the first row is header, the second too
    if all cells of the first span columns and it has more, and each further row that a header cell of at most
    ``DEEPEST`` rows reaches into. Without <thead> one of two or more rows is left as body.
    """
    if has_head:
        return sum(1 for row in rows if row.section == "thead")
    if any(cell.head for row in rows for cell in row.cells):
        count = sum(1 for _ in takewhile(_is_heading, rows))
        return min(count, max(len(rows) - 1, 1))
    count = 1
    if len(lines) > 1 and len(lines[1]) > len(lines[0]) and all(span.end - span.start > 1 for span in lines[0]):
        count = 2
    while count < len(lines) and any(_reaches(span, count) for span in lines[count - 1]):
        count += 1
    return min(count, len(lines) - 1)


def _is_heading(row: Row) -> bool:
    heads = [cell.head for cell in row.cells if cell.head or cell.text()]
    return bool(heads) and all(heads)


def _reaches(span: _Span, number: int) -> bool:
    return span.stop > number and span.stop - span.first <= DEEPEST

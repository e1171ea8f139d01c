"""Tables in HTML: read as events, their spanning cells laid out as a grid, their header rows recognised.

They are read with lxml (libxml2's forgiving parser), without a tree, so that no nesting is too deep. The layout is
the table model of the HTML standard (https://html.spec.whatwg.org/multipage/tables.html), except that
a column in which no cell begins is left out: it only repeats its neighbour, which the standard calls an error.
"""

import re
import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, takewhile
from typing import NamedTuple

from heed.errors import DataError

Grid = tuple[list[list[str]], int]  # the rows of one table, all of the same length, and how many of them are its header
MOST_CELLS = 10_000_000  # of a grid: some kilobytes of ragged rows can need more than any memory
FREE_CELLS, TIMES = 500_000, 10  # cells of any grid, plus so many for each written: spans and gaps take time too
DEEPEST = 4  # rows under one header cell; a deeper one is the name of a group of body rows (IndusTR 751, 3996)

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
MOST_COLUMNS, MOST_ROWS = 1000, 65534  # of a span, by the HTML standard

FRAME = "table caption colgroup col thead tbody tfoot tr td th script style"
GLUED = "a abbr b bdi bdo cite code del dfn em font i ins kbd mark q s samp small span strike strong sub sup tt u wbr"
APART = (
    "address article aside blockquote body br button center dd details div dl dt figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 head header hr html img input label li link main meta nav noscript ol option p pre section "
    "select summary textarea title ul"
)
INSIDE_WORDS = frozenset(GLUED.split())  # CO<sub>2</sub> is one word, a<br>b are two
TEXT_LESS_THAN = re.compile(  # as in "1<W≤3" and "List<ref>", where an HTML parser reads what follows as a tag
    rf"<(?!/?(?:{FRAME.replace(' ', '|')})[\s/>]"
    rf"|/?(?:{f'{GLUED} {APART}'.replace(' ', '|')})(?:\s+[\w:-]+\s*=[^<>]*|[\s/]*)>|!--|!doctype\b)",
    re.IGNORECASE,
)
HIDDEN = re.compile(r"display\s*:\s*none|sortkey", re.IGNORECASE)  # a style, and a class that Wikipedia hides
PROCESSING = re.compile(r"<\?[^<>]*>")


class HtmlRow(NamedTuple):
    """The cells of a row: the pieces of their texts, which of them are headings, how many columns and rows each spans.

    ``group`` and ``section`` are its row group's number and name (``""`` outside of any). A span of 0 rows is to the
    end of the row group.
    """

    group: int
    section: str
    pieces: list[list[str]]
    heads: list[bool]
    spans: list[tuple[int, int]]

    @property
    def texts(self) -> list[str]:
        """The texts of the cells, each on one line."""
        return [squeeze("".join(pieces)) for pieces in self.pieces]


class _CellSpan(NamedTuple):
    """A cell in the grid: columns ``start`` to before ``end``, rows ``first`` to before ``stop``."""

    start: int
    end: int
    first: int
    stop: int
    text: str


def read_html(text: str) -> tuple[str, str, list[Grid]]:
    """Return the captions of ``text``, the text outside of tables, and the tables that have rows.

    A table inside a cell is text of that cell.

    ``<`` is text where no element of a table or of running text begins. Nothing outside of ``text`` is read.
    Raises :class:`DataError` for a grid too large.
    """
    from lxml import etree  # not for tables of another form

    target = _Events()
    # bytes, since a declaration of another encoding in a string would be refused or believed
    parser = etree.HTMLParser(target=target, encoding="utf-8", huge_tree=True, no_network=True)
    markup = TEXT_LESS_THAN.sub("&lt;", PROCESSING.sub(" ", text))
    parser.feed(markup.encode("utf-8", "replace"))
    parser.close()
    grids = [grid(rows, "thead" in groups) for groups, rows in target.tables if rows]
    return squeeze("".join(target.captions)), squeeze("".join(target.outside)), grids


class _Events:
    """The target of libxml2's events: collects tables, captions and the text outside of them."""

    def __init__(self) -> None:
        self.tables: list[tuple[list[str], list[HtmlRow]]] = []  # names of row groups, from outside of any; rows
        self.captions: list[str] = []
        self.outside: list[str] = []
        self._into = self.outside  # list to which text is added: a cell's, the captions' or neither
        self._in_row = False
        self._nested = 0  # tables open inside a cell or caption
        self._dropped = 0  # elements open in what is not displayed, with that one: scripts, styles, keys to sort by

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag not in INSIDE_WORDS:
            self._into.append(" ")
        inside = self._into is not self.outside
        hides = HIDDEN.search(attributes.get("class", "") + attributes.get("style", ""))
        if self._dropped or tag in ("script", "style") or (hides and (inside or tag in ("td", "th"))):
            self._dropped += 1
            return
        if self._nested or (tag == "table" and inside):
            self._nested += tag == "table"
        elif tag == "table":
            self._open_table()
        elif tag in ("thead", "tbody", "tfoot"):
            self._open_group(tag)
        elif tag == "tr":
            self._open_row()
        elif tag in ("td", "th"):
            self._open_cell(tag, attributes)
        elif tag == "caption" and not inside:
            self._into = self.captions

    def end(self, tag: str) -> None:
        if tag not in INSIDE_WORDS:
            self._into.append(" ")
        if self._dropped:
            self._dropped -= 1
            return
        if self._nested:
            self._nested -= tag == "table"
        elif tag in ("td", "th", "caption"):
            self._into = self.outside
        elif tag in ("tr", "table"):
            self._in_row = False
        elif tag in ("thead", "tbody", "tfoot"):
            self._open_group("")

    def data(self, text: str) -> None:
        if not self._dropped:
            self._into.append(text)

    def close(self) -> None:
        """Do nothing at the end of the text."""

    def _open_table(self) -> None:
        self.tables.append(([""], []))
        self._in_row, self._into = False, self.outside

    def _open_group(self, name: str) -> None:
        if self.tables:
            self.tables[-1][0].append(name)
        self._in_row, self._into = False, self.outside

    def _open_row(self) -> None:
        if not self.tables:
            self._open_table()
        groups, rows = self.tables[-1]
        rows.append(HtmlRow(len(groups) - 1, groups[-1], [], [], []))
        self._in_row, self._into = True, self.outside

    def _open_cell(self, tag: str, attributes: Mapping[str, str]) -> None:
        if not self._in_row:
            self._open_row()
        self._into = []
        row = self.tables[-1][1][-1]
        row.pieces.append(self._into)
        row.heads.append(tag == "th")
        row.spans.append(spans(attributes) if attributes else (1, 1))


def spans(attributes: Mapping[str, str]) -> tuple[int, int]:
    """Return how many columns and rows a cell spans; 0 rows are those to the end of the row group."""
    columns = min(_number(attributes.get("colspan", "")) or 1, MOST_COLUMNS)
    rows = _number(attributes.get("rowspan", ""))
    return columns, 1 if rows is None else min(rows, MOST_ROWS)


def _number(attribute: str) -> int | None:
    """Return the number at the start, by HTML's rule; six digits are read, which is above every limit."""
    match = re.match(r"\s*\+?0*([0-9]{1,6})", attribute)
    return int(match[1]) if match else None


def squeeze(text: str) -> str:
    """Return ``text`` on one line: white space and control characters as single spaces."""
    if text.isprintable():  # its only white space is spaces, and control characters are not printable
        return " ".join(text.split()) if "  " in text else text.strip()
    return " ".join(CONTROL.sub(" ", text).split())


def check_size(rows: int, columns: int, written: int) -> None:
    """Raise :class:`DataError` for a grid of more than ``MOST_CELLS`` cells, or far more than are ``written``."""
    most = min(MOST_CELLS, FREE_CELLS + TIMES * written)
    if rows * columns > most:
        raise DataError(
            f"a table of {rows} rows and {columns} columns; at most {most} cells are read of {written}: split the table"
        )


def grid(rows: list[HtmlRow], has_head: bool) -> Grid:
    """Return ``rows`` with every span filled in: <thead> first, <tfoot> last; rows without any cell are left out.

    A span ends with its row group. Where cells overlap, the one from the row above is kept.
    ``has_head`` says that there is a <thead>, even an empty one. Raises :class:`DataError` for a grid too large.
    """
    rows = sorted(rows, key=lambda row: {"thead": 0, "tfoot": 2}.get(row.section, 1))
    written = sum(len(row.pieces) for row in rows)
    lines: list[list[_CellSpan]] = []
    for _, group in groupby(rows, key=lambda row: row.group):
        lines += _lay_out(list(group), len(lines), written)
    starts = sorted({span.start for line in lines for span in line})
    check_size(sum(1 for line in lines if line), len(starts), written)
    places = {start: position for position, start in enumerate(starts)}
    texts = [_texts(line, places, starts) if line else [] for line in lines]
    marked = _marked_header(rows, has_head)
    header = texts[: _linked_header(lines) if marked is None else marked]
    return [row for row in texts if row], sum(1 for row in header if row)


def _lay_out(rows: list[HtmlRow], first: int, written: int) -> Iterator[list[_CellSpan]]:
    """Yield the spans that cover each row of a row group, from left to right."""
    end = first + len(rows)
    above: list[_CellSpan] = []
    for number, row in enumerate(rows, first):
        above = [span for span in above if span.stop > number]
        above = sorted([*above, *_own_spans(row, above, number, end)])
        check_size(number + 1, len(above), written)  # before memory is full of spans
        yield above


def _own_spans(row: HtmlRow, above: list[_CellSpan], number: int, end: int) -> Iterator[_CellSpan]:
    """Yield the cells of a row, each from the first column free of spans from above, with gaps where it meets one."""
    column, rest = (
        0,
        [*above, _CellSpan(sys.maxsize, sys.maxsize, 0, 0, "")][::-1],
    )  # the next span from above comes last
    for text, (columns, rows) in zip(row.texts, row.spans, strict=True):
        while rest[-1].start <= column:
            column = rest.pop().end
        past, stop = column + columns, min(number + (rows or end), end)
        while rest[-1].start < past:
            if column < rest[-1].start:
                yield _CellSpan(column, rest[-1].start, number, stop, text)
            column = rest.pop().end
        if column < past:
            yield _CellSpan(column, past, number, stop, text)
            column = past


def _texts(line: Iterable[_CellSpan], places: dict[int, int], starts: list[int]) -> list[str]:
    row = [""] * len(starts)
    for start, end, _, _, text in line:
        position = places[start]
        row[position] = text
        if end - start > 1:
            past = bisect_left(starts, end)
            row[position:past] = [text] * (past - position)
    return row


def _marked_header(rows: list[HtmlRow], has_head: bool) -> int | None:
    """Return how many rows are header: those of <thead>, else the first rows of <th>; None where nothing says so.

    An empty <thead> means none. Without <thead> one of two or more rows is left as body.
    """
    if has_head:
        return sum(1 for row in rows if row.section == "thead")
    if any(any(row.heads) for row in rows):
        count = sum(1 for _ in takewhile(_is_heading, rows))
        return min(count, max(len(rows) - 1, 1))
    return None


def _linked_header(lines: list[list[_CellSpan]]) -> int:
    """Return how many rows are header by their spans, where no row is marked as header; at least one is left as body.

    It is the first row, the second too if all cells of the first span columns and it has more, and each further row
    that a header cell of at most ``DEEPEST`` rows reaches into.
    """
    count = 1
    if len(lines) > 1 and len(lines[1]) > len(lines[0]) and all(span.end - span.start > 1 for span in lines[0]):
        count = 2
    while count < len(lines) and any(
        span.stop > count and span.stop - span.first <= DEEPEST for span in lines[count - 1]
    ):
        count += 1
    return min(count, len(lines) - 1)


def _is_heading(row: HtmlRow) -> bool:
    return any(row.heads) and all(head or not text for head, text in zip(row.heads, row.texts, strict=True))

"""Tables in HTML, read as events of lxml (libxml2's forgiving parser): without a tree no nesting is too deep."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from lxml import etree

from heed.tables.spans import Cell, Grid, Row, grid, squeeze

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
PROCESSING = re.compile(r"<\?[^<>]*>")


class Page(NamedTuple):
    """The captions of an HTML text, the text outside of tables, the tables that have rows."""

    caption: str
    outside: str
    grids: list[Grid]


class _Markup(NamedTuple):
    """A table as written: the names of its row groups, from outside of any, and its rows."""

    groups: list[str]
    rows: list[Row]


def read_html(text: str) -> Page:
    """Return the captions and tables of ``text``; a table inside a cell is text of that cell.

    ``<`` is text where no element of a table or of running text begins. Nothing outside of ``text`` is read.
    Raises :class:`DataError` for a grid too large.
    """
    target = _Events()
    # bytes, since a declaration of another encoding in a string would be refused or believed
    parser = etree.HTMLParser(target=target, encoding="utf-8", huge_tree=True, no_network=True)
    markup = TEXT_LESS_THAN.sub("&lt;", PROCESSING.sub(" ", text))
    parser.feed(markup.encode("utf-8", "replace"))
    parser.close()
    grids = [grid(table.rows, "thead" in table.groups) for table in target.tables if table.rows]
    return Page(squeeze("".join(target.captions)), squeeze("".join(target.outside)), grids)


class _Events:
    """The target of libxml2's events: collects tables, captions and the text outside of them."""

    def __init__(self) -> None:
        self.tables: list[_Markup] = []
        self.captions: list[str] = []
        self.outside: list[str] = []
        self._into = self.outside  # list to which text is added: a cell's, the captions' or neither
        self._row: Row | None = None
        self._nested = 0  # tables open inside a cell or caption
        self._dropped = 0  # scripts and styles open

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._separate(tag, 1)
        inside = self._into is not self.outside
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
        self._separate(tag, -1)
        if self._nested:
            self._nested -= tag == "table"
        elif tag in ("td", "th", "caption"):
            self._into = self.outside
        elif tag in ("tr", "table"):
            self._row = None
        elif tag in ("thead", "tbody", "tfoot"):
            self._open_group("")

    def data(self, text: str) -> None:
        if not self._dropped:
            self._into.append(text)

    def close(self) -> None:
        """Do nothing at the end of the text."""

    def _separate(self, tag: str, step: int) -> None:
        self._dropped += step * (tag in ("script", "style"))
        if tag not in INSIDE_WORDS:
            self._into.append(" ")

    def _open_table(self) -> None:
        self.tables.append(_Markup([""], []))
        self._row, self._into = None, self.outside

    def _open_group(self, name: str) -> None:
        if self.tables:
            self.tables[-1].groups.append(name)
        self._row, self._into = None, self.outside

    def _open_row(self) -> Row:
        if not self.tables:
            self._open_table()
        groups, rows = self.tables[-1]
        self._row, self._into = Row(len(groups) - 1, groups[-1], []), self.outside
        rows.append(self._row)
        return self._row

    def _open_cell(self, tag: str, attributes: Mapping[str, str]) -> None:
        row = self._row if self._row is not None else self._open_row()
        columns = min(_number(attributes.get("colspan", "")) or 1, MOST_COLUMNS)
        rows = _number(attributes.get("rowspan", ""))
        row.cells.append(Cell([], tag == "th", columns, 1 if rows is None else min(rows, MOST_ROWS)))
        self._into = row.cells[-1].pieces


def _number(attribute: str) -> int | None:
    """Return the number at the start, by HTML's rule; six digits are read, which is above every limit."""
    match = re.match(r"\s*\+?0*([0-9]{1,6})", attribute)
    return int(match[1]) if match else None

"""Tables from HTML, Markdown and CSV as grids of text, header rows separate, and as text again: one body row a line.

Every text is on one line: runs of white space become one space, control characters are left out.
"""

import csv
import html
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from html import unescape
from itertools import chain, groupby, pairwise
from typing import Any, NamedTuple

from heed.errors import HeedError, UsageError
from heed.tables.html import HIDDEN, check_size, read_html, squeeze

HTML_TABLE = re.compile(r"<(?:table|tr)[\s/>]", re.IGNORECASE)
HEADING = re.compile(r"#{1,6}(?:\s+|$)")
MARKS = re.compile(r"[\\`<&]")  # without any of them nothing in a row but its pipes means anything
PIPE = re.compile(r"\\.|\|")
PIPE_OUTSIDE_CODE = re.compile(r"\\.|`[^`]*`|\|")
ESCAPED = re.compile(r"\\([\\|<&-])|<br\s*/?>|(&#?\w+;)", re.IGNORECASE)
RULE = re.compile(r"\s*:?-+:?\s*")
RULES = re.compile(r"\|?(?:\s*:?-+:?\s*(?:\||$))+")  # a delimiter row
CSV_CAPTION = re.compile(r"# ([^\n]*)\n\n")
QUOTED: list[dict[str, Any]] = [{"strict": True}, {"strict": True, "escapechar": "\\"}]  # a mark as "", or as \"
UNQUOTED: list[dict[str, Any]] = [{"quoting": csv.QUOTE_NONE}, {}]
TAG = re.compile(r"<(\w+)\b([^<>]*)>([^<>]*)</\1>|<[^<>]*>")
WORD = re.compile(r"\w+")
LEAST_SHARE = 0.9  # of a text's words: a table that would lose more of them is shown as text
TSV_ESCAPES = {"n": " ", "r": " ", "t": " ", "p": "|", "\\": "\\"}  # \p as in WikiTableQuestions


class Table(NamedTuple):
    """A table; the rows of ``header`` (top first, may be empty) and of ``body`` all have the same length."""

    caption: str
    header: list[list[str]]
    body: list[list[str]]
    ragged: int = 0  # rows that had another length than the first


def parse_table(text: str, title: str = "") -> Table:
    """Return the table in ``text``: HTML if it holds <table> or <tr>, else Markdown, else CSV of two rows or more.

    A caption in the text wins over ``title``; a text without a table becomes the caption. Raises
    :class:`DataError` for a grid of more cells than :func:`heed.tables.html.check_size` allows.
    """
    if "<" in text and HTML_TABLE.search(text):
        table = parse_html(text)
    elif any(line.startswith("|") or is_rule(line) for line in _lines(text)) or _agreeing(_csv_rows(text)) < 2:
        table = parse_markdown(text)
    else:
        table = parse_csv(text)
    return table if table.caption or not title else table._replace(caption=squeeze(title))


def parse_html(text: str) -> Table:
    """Return the first table of ``text`` that has rows; the rows of further tables, headers too, follow in its body.

    The caption is that of <caption>, without one the text outside of tables. :mod:`heed.tables.html` has the
    rules for spans and headers. Raises :class:`DataError` for a grid too large.
    """
    caption, outside, grids = read_html(text)
    rows = [row for lines, _ in grids for row in lines]
    header = grids[0][1] if grids else 0
    return _table(caption or outside, rows[:header], rows[header:])


def parse_markdown(text: str) -> Table:
    """Return the first pipe table of ``text`` (GitHub's, https://github.github.com/gfm/#tables-extension-).

    All text outside of tables is the caption; further tables follow in the body. The rows before the delimiter row
    are header; without a delimiter row the first of two or more lines that begin with a pipe is. A pipe inside
    backticks ends a cell, as GitHub has it, unless the row then has too many cells and otherwise just enough.
    Raises :class:`DataError` for a grid too large.
    """
    outside: list[str] = []
    header: list[list[str]] = []
    body: list[list[str]] = []
    for block in _blocks(_lines(text)):
        before, above, below = _read_block(block)
        outside += before
        if header or body:
            body += above + below
        else:
            header, body = above, below
    return _table(" ".join(outside), header, body)


def parse_csv(text: str, tabs: bool = False) -> Table:
    r"""Return the rows of ``text``, the first as header; a first line ``# …`` before a blank line is the caption.

    The separator is the one of ``,``, ``;``, tab and ``|`` that gives most rows the same number of cells, above
    one; else the comma. With ``tabs``, as in a ``.tsv`` file, it is the tab, quotation marks are text, and
    backslashes escapes (``\n``) if all of them are. Raises :class:`DataError` for a grid too large.
    """
    text = _plain(text)
    caption = CSV_CAPTION.match(text)
    rows = text[caption.end() if caption else 0 :]
    if tabs and TSV_ESCAPES.keys() >= {*re.findall(r"\\(.?)", rows)}:
        rows = re.sub(r"\\(.)", lambda match: TSV_ESCAPES[match[1]], rows)
    read = _records(rows, "\t", UNQUOTED[:1]) if tabs else _csv_rows(rows)
    records = [[squeeze(cell) for cell in record] for record in read]
    return _table(caption[1] if caption else "", records[:1], records[1:])


def _table(caption: str, header: list[list[str]], body: list[list[str]]) -> Table:
    width = max(map(len, header + body), default=0)
    check_size(len(header) + len(body), width, sum(map(len, header + body)))
    ragged = sum(len(row) != len((header or body)[0]) for row in header + body)
    for row in header + body:
        row += [""] * (width - len(row))
    return Table(squeeze(caption), header, body, ragged)


def _plain(text: str) -> str:
    text = text.removeprefix("\ufeff")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _lines(text: str) -> list[str]:
    return [line.strip() for line in _plain(text).split("\n")]


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    """Yield the lines between blank lines, headings on their own."""
    block: list[str] = []
    for line in [*lines, ""]:
        heading = line.startswith("#") and HEADING.match(line)
        if block and (heading or not line):
            yield block
            block = []
        if heading:
            yield [line]
        elif line:
            block.append(line)


def _read_block(block: list[str]) -> tuple[list[str], list[list[str]], list[list[str]]]:
    """Return the lines outside of tables, the header rows and the body rows of a block."""
    if heading := HEADING.match(block[0]):
        return [block[0][heading.end() :]], [], []
    rule = next((number for number, line in enumerate(block) if is_rule(line)), None)
    if rule is None:
        piped = [line for line in block if line.startswith("|")]
        width = len(_split(piped[0], PIPE)) if piped else 0
        rows = [_cells(line, width) for line in piped]
        first = len(rows) > 1
        return [line for line in block if not line.startswith("|")], rows[:first], rows[first:]
    start = max(rule - 1, 0)
    while start and block[start - 1].startswith("|"):
        start -= 1
    width = len(_without_ends(block[rule], block[rule].split("|")))
    header, body = ([_cells(line, width) for line in lines] for lines in (block[start:rule], block[rule + 1 :]))
    return block[:start], header, body


def is_rule(line: str) -> bool:
    """Return whether ``line`` is a delimiter row."""
    return "|" in line and not line.strip("|:- \t") and RULES.fullmatch(line) is not None


def _cells(line: str, width: int) -> list[str]:
    """Return the cells of a row, escapes read; a pipe inside backticks is text where that gives ``width`` cells."""
    if not MARKS.search(line):
        return [squeeze(cell) for cell in _without_ends(line, line.split("|"))]
    with_code = _split(line, PIPE_OUTSIDE_CODE)
    cells = with_code if len(with_code) == width else _split(line, PIPE)
    return [squeeze(ESCAPED.sub(lambda match: match[1] or unescape(match[2] or " "), cell)) for cell in cells]


def _split(line: str, mark: re.Pattern[str]) -> list[str]:
    cuts = [match.start() for match in mark.finditer(line) if match[0] == "|"]
    return _without_ends(line, [line[before + 1 : after] for before, after in pairwise([-1, *cuts, len(line)])])


def _without_ends(line: str, cells: list[str]) -> list[str]:
    """Return the cells without the empty texts before a first and after a last pipe of the line."""
    start = 1 if line.startswith("|") else 0
    closed = len(cells) - start > 1 and not cells[-1]
    return cells[start:-1] if closed else cells[start:]


def _csv_rows(text: str) -> list[list[str]]:
    """Return the rows by the separator that gives most of them the same number of cells, above one."""
    text, ways = _plain(text), QUOTED if '\\"' in text else QUOTED[:1]
    marks = [mark for mark in ",;\t|" if mark in text] or [","]
    return max((_records(text, mark, ways) or _records(text, mark, UNQUOTED) for mark in marks), key=_agreeing)


def _agreeing(rows: list[list[str]]) -> int:
    return max((count for width, count in Counter(map(len, rows)).items() if width > 1), default=0)


def _records(text: str, mark: str, ways: list[dict[str, Any]]) -> list[list[str]]:
    """Return the rows by the way of quoting that gives them the fewest lengths; none if all are in error."""
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # else a cell of 131,072 characters is an error
    read = []
    for way in ways:
        with suppress(csv.Error):
            records = csv.reader(io.StringIO(text), delimiter=mark, **way)
            read.append([record for record in records if len(record) > 1 or "".join(record).strip()])
    return min(read, key=lambda records: len({*map(len, records)}), default=[])


def as_table(text: str, known: bool = False) -> Table | None:
    """Return the table that ``text`` is, in HTML or Markdown; None for running text, even with a table inside.

    With ``known`` the text was read as a table, so that it may be CSV too, with its file's name in the first line. At
    most a tenth of the text's words may be lost by it, since an assessor must see them all.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    has_marks = HTML_TABLE.search(text) or 2 * sum("|" in line for line in lines) >= len(lines)
    if not has_marks and not known:
        return None
    try:
        table = parse_table(text) if has_marks else _csv_table(text)
    except HeedError:  # a grid too large for any memory
        return None
    if len(table.header) + len(table.body) < 2:
        return None
    cells = (table.caption, *(cell for row in (*table.header, *table.body) for cell in row))
    words_of_table = {word for cell in cells for word in WORD.findall(cell)}
    shown = TAG.sub(lambda tag: " " if HIDDEN.search(tag[2] or "") else f" {tag[3] or ''} ", text)
    words = WORD.findall(unescape(shown))
    return table if sum(word in words_of_table for word in words) >= LEAST_SHARE * len(words) else None


def _csv_table(text: str) -> Table:
    table, (name, _, rows) = parse_table(text), text.partition("\n")
    return table if table.header and any(table.header[0][1:]) else parse_table(rows, title=name)


FORMS = ("raw", "markdown", "html", "csv", "rows", "header")

MARKDOWN_SYNTAX = re.compile(r"[\\|]|<(?=br\s*/?>)|&(?=#?\w+;)", re.IGNORECASE)


def serialise(table: Table, form: str) -> str:
    """Return ``table`` as text: the caption's line, the header, one line for each body row; no newline at the end.

    ``markdown`` and ``csv`` have one header row, that of :func:`column_names`; ``html`` has all of them.
    ``rows`` has ``column: value | column: value`` without empty values, ``header`` the caption and column names.
    Raises :class:`UsageError` for any other form; ``raw``, the unchanged text, cannot be made from a table.
    """
    lines = {"markdown": _markdown, "html": _html, "csv": _csv, "rows": _rows, "header": _header}.get(form)
    if lines is None:
        raise UsageError(f"table form is {form!r}, expected one of {', '.join(FORMS[1:])}")
    return "\n".join(lines(table))


def column_names(table: Table) -> list[str]:
    """Return for each column its header texts, top first, joined by `` / ``, without empty and adjacent equal ones."""
    width = len((table.header or table.body or [[]])[0])
    return [
        " / ".join(text for text, _ in groupby(filter(None, (squeeze(row[column]) for row in table.header))))
        for column in range(width)
    ]


def fit(text: str, room: int, count: Callable[[str], int]) -> str:
    """Return the longest prefix of whole lines for which ``count`` gives at most ``room``; at least the first line.

    A first line that is too long is returned whole: the caller, who counts tokens, can cut it. ``count``
    must not fall as a text grows; it is called on prefixes, about 2 log2(lines) times at most.
    """
    lines = text.split("\n")
    fits, fails = 0, len(lines) + 1
    # a token is seldom shorter than a character, so this much nearly always fits: short tables need one call
    trial = len(lines) if len(text) <= room else max(text.count("\n", 0, max(room, 0)), 1)
    while fails - fits > 1:
        if count("\n".join(lines[:trial])) <= room:
            fits = trial
        else:
            fails = trial
        trial = min(2 * fits, len(lines)) if fails > len(lines) else (fits + fails) // 2
    return "\n".join(lines[: max(fits, 1)])


def as_fields(table: Table) -> dict[str, str]:
    """Return caption, distinct header texts, and cells row by row, a string each for an index of fields.

    The texts of ``table`` are on one line each, as they are once parsed; its caption may be any text.
    """
    return {
        "caption": squeeze(table.caption),
        "header": " ".join(filter(None, dict.fromkeys(chain.from_iterable(table.header)))),
        "cells": "\n".join([" ".join(filter(None, row)) for row in table.body]),
    }


def _title(table: Table, mark: str = "") -> list[str]:
    caption = squeeze(table.caption)
    return [mark + caption] if caption else []


def _heading(table: Table) -> list[str]:
    """Return the title as ``# …``, which :func:`heed.tables.markup.parse_csv` reads too."""
    title = _title(table, "# ")
    return [*title, ""] if title and (table.header or table.body) else title


def _markdown(table: Table) -> Iterator[str]:
    yield from _heading(table)
    names = column_names(table)
    if names:
        yield _piped(name.replace("-", "\\-", 1) if RULE.fullmatch(name) else _escaped(name) for name in names)
        yield _piped("---" for _ in names)
    for row in table.body:
        yield _piped(map(_escaped, row))


def _escaped(cell: str) -> str:
    return MARKDOWN_SYNTAX.sub(r"\\\g<0>", squeeze(cell))


def _piped(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _html(table: Table) -> Iterator[str]:
    caption = "".join(_title(table))
    yield f"<table><caption>{html.escape(caption, quote=False)}</caption>" if caption else "<table>"
    header = "\n".join(_html_row(row, "th") for row in table.header)
    yield f"<thead>{header}</thead>"  # also an empty one, which means that the first row is body
    for row in table.body:
        yield _html_row(row, "td")
    yield "</table>"


def _html_row(row: list[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(squeeze(cell), quote=False)}</{tag}>' for cell in row)}</tr>"


def _csv(table: Table) -> Iterator[str]:
    yield from _heading(table)
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    if table.header:
        writer.writerow(column_names(table))
    writer.writerows([squeeze(cell) for cell in row] for row in table.body)
    yield from lines.getvalue().split("\n")[:-1]


def _rows(table: Table) -> Iterator[str]:
    if not table.body:
        yield from _header(table)
        return
    yield from _title(table)
    names = column_names(table)
    for row in table.body:
        pairs = zip(names, map(squeeze, row), strict=True)
        line = " | ".join(f"{name}: {value}" if name else value for name, value in pairs if value)
        if line:
            yield line


def _header(table: Table) -> Iterator[str]:
    yield from _title(table)
    names = " | ".join(filter(None, column_names(table)))
    if names:
        yield names

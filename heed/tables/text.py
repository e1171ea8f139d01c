"""Tables as text for an index or a reader: one body row a line, so that cutting between lines cuts no row."""

import csv
import html
import io
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, groupby

from heed.errors import UsageError
from heed.tables.html import squeeze
from heed.tables.markup import RULE, Table

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

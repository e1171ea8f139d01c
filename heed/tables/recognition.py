"""Texts that are tables as a whole, to be displayed as tables: recognised without losing their words."""

import html
import re

from heed.errors import HeedError
from heed.tables.html import HIDDEN
from heed.tables.markup import HTML_TABLE, Table, parse_table

TAG = re.compile(r"<(\w+)\b([^<>]*)>([^<>]*)</\1>|<[^<>]*>")
WORD = re.compile(r"\w+")
LEAST_SHARE = 0.9  # of a text's words: a table that would lose more of them is shown as text


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
    words = WORD.findall(html.unescape(shown))
    return table if sum(word in words_of_table for word in words) >= LEAST_SHARE * len(words) else None


def _csv_table(text: str) -> Table:
    table, (name, _, rows) = parse_table(text), text.partition("\n")
    return table if table.header and any(table.header[0][1:]) else parse_table(rows, title=name)

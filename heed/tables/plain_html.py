"""HTML tables without surprises, read by patterns: one table of rows and cells, all closed, without other elements.

Most published tables are so. :mod:`heed.tables.html` reads any other text, and these with the same rows.
"""

import re

from heed.tables.html import Cell, Page, Row, grid, spans, squeeze

TEXT = "[^<&]*+"  # & begins a character reference
SPANS = r'(?: (?:col|row)span="\d{1,6}")*+'
GROUPS = "thead|tbody|tfoot"
CELLS = rf"(?:<t[dh]{SPANS}>{TEXT}</t[dh]>\s*+)*+"
ROWS = rf"(?:<tr>\s*+{CELLS}</tr>\s*+)*+"
TABLE = re.compile(
    rf"\s*+<table>\s*+(?:<caption>({TEXT})</caption>\s*+)?+((?:{ROWS}(?:<({GROUPS})>\s*+{ROWS}</\3>\s*+)?+)*+)</table>\s*+"
)
ELEMENT = re.compile(rf"<(?:(/)?({GROUPS}|tr)|(t[dh])({SPANS}))>({TEXT})")
ATTRIBUTE = re.compile(r'(colspan|rowspan)="(\d+)"')


def read_plain(text: str) -> Page | None:
    """Return what :func:`heed.tables.html.read_html` returns of a plain table, several times sooner; None of others.

    Raises :class:`DataError` for a grid too large.
    """
    table = TABLE.fullmatch(text)
    if table is None or not text.replace("\n", "").isprintable():
        return None
    groups, rows = [""], list[Row]()
    for end, element, cell, attributes, content in ELEMENT.findall(table[2]):
        if cell:
            columns, lines = spans(dict(reversed(ATTRIBUTE.findall(attributes)))) if attributes else (1, 1)
            rows[-1].cells.append(Cell([content], cell == "th", columns, lines))
        elif element == "tr":
            if not end:
                rows.append(Row(len(groups) - 1, groups[-1], []))
        else:
            groups.append("" if end else element)
    return Page(squeeze(table[1] or ""), "", [grid(rows, "thead" in groups)] if rows else [])

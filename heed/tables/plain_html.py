"""HTML tables without surprises, read by patterns: one table of rows and cells, all closed, without other elements.

Most published tables are so. :mod:`heed.tables.html` reads any other text, and these with the same rows.
"""

import re
from functools import lru_cache

from heed.tables.html import Page, Row, grid, spans, squeeze

TEXT = "[^<&]*+(?:[<&](?![a-zA-Z#/!?])[^<&]*+)*+"  # no element, no character reference
SPANS = r'(?: (?:col|row)span="\d{1,6}")*+'
GROUPS = "thead|tbody|tfoot"
CELLS = rf"(?:<t[dh]{SPANS}>{TEXT}</t[dh]>\s*+)*+"
ROWS = rf"(?:<tr>\s*+{CELLS}</tr>\s*+)*+"
TABLE = re.compile(
    rf"\s*+<table>\s*+(?:<caption>({TEXT})</caption>\s*+)?+((?:{ROWS}(?:<({GROUPS})>\s*+{ROWS}</\3>\s*+)?+)*+)</table>\s*+"
)
GROUP = re.compile(rf"<(/)?({GROUPS})>")
CELL = re.compile(rf"<t([dh])({SPANS})>({TEXT})")
ATTRIBUTE = re.compile(r'(colspan|rowspan)="(\d+)"')


def read_plain(text: str) -> Page | None:
    """Return what :func:`heed.tables.html.read_html` returns of a plain table, several times sooner; None of others.

    Raises :class:`DataError` for a grid too large.
    """
    table = TABLE.fullmatch(text)
    if table is None or not text.replace("\n", "").isprintable():
        return None
    groups, rows = [""], list[Row]()
    before, *pieces = table[2].split("<tr>")
    _note_groups(before, groups)
    for piece in pieces:
        cells, _, between = piece.partition("</tr>")
        rows.append(_row(len(groups) - 1, groups[-1], cells))
        _note_groups(between, groups)
    return Page(squeeze(table[1] or ""), "", [grid(rows, "thead" in groups)] if rows else [])


def _note_groups(markup: str, groups: list[str]) -> None:
    if "<" in markup:
        groups += ["" if end else name for end, name in GROUP.findall(markup)]


def _row(group: int, section: str, markup: str) -> Row:
    cells = CELL.findall(markup)
    single = markup.isprintable() and "  " not in markup  # the only white space in printable text is spaces
    texts = [text.strip() if single else squeeze(text) for _, _, text in cells]
    heads = [kind == "h" for kind, _, _ in cells]
    spanning = "span=" in markup
    return Row(group, section, texts, heads, [_spans(attributes) for _, attributes, _ in cells] if spanning else [])


@lru_cache(1024)
def _spans(attributes: str) -> tuple[int, int]:
    return spans(dict(reversed(ATTRIBUTE.findall(attributes))))

"""HTML tables by which results, runs and collections show themselves in a notebook, and frames of pandas."""

import sys
from collections.abc import Container, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from heed.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 50  # lines of a table


def html_table(
    caption: str, rows: Sequence[Sequence[object]], numbers: Container[int] = (), notes: Sequence[str] = ()
) -> str:
    """Return ``rows``, of which the first is the head, as an HTML table under ``caption``; all texts are escaped.

    ``numbers`` are the columns that are aligned to the right. Of more than ``SHOWN`` lines the first are shown, and it
    is said how many there are. ``notes`` stand below the table.
    """
    from markupsafe import Markup

    def line(row: Sequence[object], tag: str) -> Markup:
        cells = (
            Markup('<{0} style="text-align: {1}">{2}</{0}>').format(tag, "right" if column in numbers else "left", cell)
            for column, cell in enumerate(row)
        )
        return Markup("<tr>{}</tr>").format(Markup("").join(cells))

    head, *lines = rows
    body = Markup("\n").join(line(row, "td") for row in lines[:SHOWN])
    more = [f"the first {SHOWN} of {len(lines):,} lines"] if len(lines) > SHOWN else []
    below = Markup("").join(Markup("<p>{}</p>").format(note) for note in (*more, *notes))
    above = Markup("<p>{}</p>\n").format(caption) if caption else ""
    table = Markup("{}<table>\n<thead>{}</thead>\n<tbody>\n{}\n</tbody>\n</table>\n{}")
    return table.format(above, line(head, "th"), body, below)


def data_frame(rows: Sequence[Any], columns: Sequence[str]) -> "pd.DataFrame":
    """Return a frame of pandas; :class:`UsageError` where it is not installed."""
    if find_spec("pandas") is None:
        raise UsageError(f"a data frame: pandas is not installed; {sys.executable} -m pip install pandas")
    import pandas as pd

    return pd.DataFrame(rows, columns=[*columns])

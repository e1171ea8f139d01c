"""The explorer as a part of a page that needs nothing else: topics, rankings and documents, its style and its script.

The script is all modules of ``page/``, and those that the explorer shares with the annotation page, as one text.
"""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import PurePosixPath

from markupsafe import Markup

from heed.addons.explorer.explored import Explored
from heed.addons.explorer.packing import Packed, packed
from heed.progress import number_of
from heed.report.bundle import page_file, script
from heed.report.html import Part
from heed.report.results import Results

EACH = 50_000  # characters of a page for each topic,
LEAST, MOST = 5_000_000, 20_000_000  # in this range
PAGE = PurePosixPath("addons/explorer/page")
MAIN = PAGE / "explorer.js"
SHARED = PurePosixPath("report/page/shared")  # with the annotation page
SHEETS = ("explorer", "topic", "ranking", "document", "further", "narrow")
STYLES = tuple(PAGE / f"{name}.css" for name in SHEETS)
AFRESH = "*, *::before, *::after { all: revert; }"  # of what the page says of its own elements
ALONE = """
[data-exploring] body { max-width: none; margin: 0; padding: 0; }
[data-exploring] body > :not(#explorer) { display: none; }
"""  # while the explorer shows something


def embedded(results: Sequence[Results], others: int = 0, limit: int = 0) -> Part:
    """Return the part of a page that shows topics and documents of ``results``; empty if no folder has runs.

    It carries the first documents of every list and all judged ones. The page, of which ``others`` parts have so many
    characters, has at most ``limit`` in all, by default what suits the number of topics; a sentence says what was left
    out. Raises :class:`DataError` for a run or ``topics.json`` that Heed did not write.
    """
    explored = [folder for folder in map(Explored, results) if folder.runs and folder.topics]
    if not explored:
        return Part(Markup(), "", "")
    folders: list[Packed] = []
    topics = sum(len(folder.topics) for folder in explored)
    limit = limit or min(max(LEAST, EACH * topics), MOST)
    room = max(limit - others - len(style()) - len(script(MAIN)), 0)
    for left, folder in zip(range(len(explored), 0, -1), explored, strict=True):
        folders.append(packed(folder, room // left))
        room -= folders[-1].size
    data = {"folders": [folder.data for folder in folders], "notes": list(_left_out(folders, limit))}
    text = json.dumps(data, separators=(",", ":")).replace("<", r"\u003c")  # no end of the element inside it
    html = Markup('<div id="explorer" hidden></div>\n<script type="application/json" id="explorer-data">{}</script>')
    return Part(html.format(Markup(text)), style(), script(MAIN))  # noqa: S704 (JSON without a tag in it)


def _left_out(folders: Sequence[Packed], limit: int) -> Iterator[str]:
    topics = sum(folder.topics_left_out for folder in folders)
    documents = sum(folder.documents_left_out for folder in folders)
    parts = [f"the rankings of {number_of(topics, 'topic')}"] if topics else []
    parts += [f"the texts of {number_of(documents, 'document')}"] if documents else []
    sentences = [f"{' and '.join(parts)} were left out"] if parts else []
    if cut := sum(folder.documents_cut for folder in folders):
        sentences.append(f"of {number_of(cut, 'long document')} only the beginning is here")
    if sentences:
        text = ", and ".join(sentences)
        yield f"This file has at most {limit / 1e6:g} MB: {text}. heed explore RUNS_DIR shows everything."


@cache
def style() -> str:
    """Return the style, its rules inside of ``#explorer``; the page itself has the colours, ``colours.css``."""
    inside = "\n".join(page_file(path) for path in (SHARED / "common.css", *STYLES))
    return f"#explorer {{\n{AFRESH}\n{inside}\n}}\n{ALONE}\n"

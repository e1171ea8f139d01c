"""The report as one HTML page: no script, no request to anywhere, every figure with the place it was read from."""

import re
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from heed.evaluation.summary import ABSENT, layout, shown
from heed.io.files import write_bytes

if TYPE_CHECKING:
    from heed.reporting.folders import Results
    from heed.reporting.plots import Plot

CAPTIONS = {
    "shift": (
        "Rank shift of every judged document",
        "A dot or cross is a document. Compliant ones stay relevant under the new instruction and should stay or rise; "
        "violating ones are no longer relevant and should be pushed down, above the line.",
    ),
    "topics": (
        "Topic by topic",
        "Blue bars: the system followed the change of instruction; orange bars: it went against it. "
        "Dashed: the mean over topics; grey: its 95% bootstrap interval.",
    ),
    "plane": (
        "Effectiveness against instruction following",
        "To the right: better rankings for the original instruction. Upwards: the change of instruction is followed.",
    ),
    "radar": ("InfoSearch by dimension", "Further out is better. The dashed ring is 0."),
    "constraints": (
        "FollowTable by type of constraint",
        "C1 and C2 constrain what a table says, S1 to S3 how it is built. Higher is better.",
    ),
}
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
CSS = """
:root { color-scheme: light; --line: #d8d8d8; --soft: #5a5a5a; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 72rem; background: #fff; color: #1a1a1a;
  font: 1rem/1.5 system-ui, "Noto Sans", sans-serif; }
h1 { font-size: 1.6rem; margin: .5rem 0; }
h2 { font-size: 1.3rem; margin: 2.5rem 0 .3rem; padding-top: .7rem; border-top: 2px solid #1a1a1a; }
h3 { font-size: 1.05rem; margin: 1.6rem 0 .2rem; }
h1, h2, h3, code { overflow-wrap: anywhere; }
p { margin: .2rem 0 .8rem; max-width: 46rem; }
.note, nav { color: var(--soft); font-size: .92rem; }
nav ul { margin: .5rem 0; padding: 0; list-style: none; display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; }
a { color: #005a8f; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { padding: .28rem .7rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; }
.name { text-align: left; white-space: normal; min-width: 6rem; }
thead th, thead .name { border-bottom: 2px solid #1a1a1a; white-space: nowrap; }
tbody tr:hover { background: #f3f6f9; }
td[title] { cursor: help; }
.plots { display: flex; flex-wrap: wrap; gap: 1rem; }
figure { margin: 0; max-width: 100%; overflow-x: auto; }
figure svg { display: block; max-width: 100%; height: auto; }
.wide svg { min-width: 30rem; }
@media (max-width: 34rem) {
  table { font-size: .8rem; } th, td { padding: .28rem .35rem; }
  .name { min-width: 4.4rem; }
}
@media print { body { max-width: none; } figure, tr { break-inside: avoid; } }
"""


def write_page(found: "Sequence[Results]", runs: Path, path: Path) -> None:
    """Write the page of the results ``found`` at and below the folder ``runs`` to ``path``."""
    write_bytes(path, page(found, runs.resolve().name).encode())


def page(found: "Sequence[Results]", name: str) -> str:
    """The whole page for the results below the folder ``name``."""
    from heed.progress import bar
    from heed.reporting.plots import plots

    drawn = plots(found)
    pictures = [(plot, _figure(plot, at)) for at, plot in enumerate(bar(drawn, len(drawn), "drawing", "plots"))]
    title = f"Heed: {escape(name)}"
    parts = [
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<style>{CSS}</style>\n</head>\n<body>\n<h1 dir="auto">{title}</h1>',
        '<p class="note">Values ×100. Each figure tells, under the pointer, its exact value and the row of '
        "<code>summary.json</code> that it was read from.</p>",
        _contents(found),
    ]
    for at, results in enumerate(found):
        parts += _section(results, at, [pair for pair in pictures if pair[0].folder == results.folder])
    across = [pair for pair in pictures if pair[0].kind in ("radar", "constraints")]
    if across:
        parts += ['<section>\n<h2 id="across">Across folders</h2>', *_plots(across), "</section>"]
    return "\n".join([*parts, "</body>\n</html>\n"])


def _contents(found: "Sequence[Results]") -> str:
    links = [f'<li><a href="#r{at}" dir="auto">{escape(results.title)}</a></li>' for at, results in enumerate(found)]
    return f'<nav aria-label="Results">\n<ul>\n{"".join(links)}\n</ul>\n</nav>' if len(links) > 1 else ""


def _section(results: "Results", at: int, pictures: "list[tuple[Plot, str]]") -> Iterator[str]:
    """One folder: heading, table, plots."""
    yield f'<section>\n<h2 id="r{at}" dir="auto">{escape(results.title)}</h2>'
    yield f'<p class="note"><code dir="auto">{escape(results.folder)}/summary.json</code></p>'
    yield from _table(results)
    if not results.details:
        yield '<p class="note">No per_topic.json here, so no rank shifts and no bars by topic.</p>'
    yield from _plots([pair for pair in pictures if pair[0].kind in ("shift", "topics", "plane")])
    yield "</section>"


def _table(results: "Results") -> Iterator[str]:
    grid = layout(results.rows)
    heads = "".join(f'<th scope="col" dir="auto">{escape(name)}</th>' for name in grid.measures)
    yield '<div class="scroll">\n<table>\n<thead><tr><th scope="col" class="name">system</th>'
    yield f'<th scope="col" class="name">condition</th>{heads}<th scope="col">n</th></tr></thead>\n<tbody>'
    for line in grid.lines:
        cells = "".join(f"<td>{ABSENT}</td>" if at is None else _cell(results, at) for at in line.cells)
        first = next(at for at in line.cells if at is not None)
        count = f'<td data-source="{_source(results, first)}.n" title="{_source(results, first)}.n">{line.n}</td>'
        labels = (escape(name).replace("&gt;", "&gt;<wbr>") for name in (line.system, line.condition))
        names = "".join(f'<td class="name" dir="auto">{label}</td>' for label in labels)
        yield f"<tr>{names}{cells}{count}</tr>"
    yield "</tbody>\n</table>\n</div>"


def _cell(results: "Results", at: int) -> str:
    row, source = results.rows[at], _source(results, at)
    text = shown(row["measure"], row["value"])
    return f'<td data-source="{source}" title="{source}: {row["value"]!r}">{text}</td>'


def _source(results: "Results", at: int) -> str:
    return escape(results.source(at))


def _plots(pictures: "list[tuple[Plot, str]]") -> Iterator[str]:
    """The plots by kind, each kind under a heading that says how to read it."""
    for kind, (heading, reading) in CAPTIONS.items():
        mine = [picture for plot, picture in pictures if plot.kind == kind]
        if mine:
            yield f'<h3>{heading}</h3>\n<p class="note">{reading}</p>\n<div class="plots">'
            yield from mine
            yield "</div>"


def _figure(plot: "Plot", at: int) -> str:
    """The plot as an SVG element whose ids are its own, ``at`` being its place among the plots."""
    from heed.reporting.plots import render

    text = render(plot, "svg").decode()
    pieces = re.split(r"(<[^>]*>)", text[text.index("<svg") :])  # text and tags in turn
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', "".join(pieces[1::2])))
    pieces[0::2] = [piece.replace('"', "&quot;") for piece in pieces[0::2]]
    pieces[1::2] = [_own(tag, used, at) for tag in pieces[1::2]]
    svg = "".join(pieces)
    width = float(re.findall(r'width="([\d.]+)pt"', svg)[0])
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{escape(plot.title)}" ', 1)
    wide = ' class="wide"' if width > 400 else ""
    return f'<figure{wide} data-plot="{escape(plot.name)}">\n{svg.strip()}\n</figure>'


def _own(tag: str, used: set[str], at: int) -> str:
    """A tag with its id, where one is used, and references made unlike those of other plots; with fonts to fall to."""
    tag = re.sub(r' id="([^"]*)"', lambda found: f' id="g{at}-{found[1]}"' if found[1] in used else "", tag)
    tag = re.sub(r'(href="|url\()#', rf"\g<1>#g{at}-", tag)
    return tag.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")  # the nearest in width

"""The report as one HTML page: no script, no request to anywhere, every figure with the place it was read from."""

import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from heed.evaluation.summary import ABSENT, format_value, layout
from heed.io.files import write_bytes

if TYPE_CHECKING:
    from markupsafe import Markup

    from heed.reporting.folders import Results
    from heed.reporting.plots import Plot

WIDE = 400  # points; beyond it a plot scrolls on a narrow screen


class Picture(NamedTuple):
    """A plot as an SVG element."""

    kind: str
    folder: str
    name: str
    wide: bool
    svg: "Markup"


def write_page(results: "Sequence[Results]", runs: Path, path: Path) -> None:
    """Write the page of ``results``, which are at and below the folder ``runs``, to ``path``."""
    write_bytes(path, page(results, runs.resolve().name).encode())


def page(results: "Sequence[Results]", title: str) -> str:
    """Return the whole page of ``results``, which are below the folder ``title``."""
    from jinja2 import Environment, StrictUndefined

    from heed.progress import bar
    from heed.reporting.plots import plots

    drawn = plots(results)
    pictures = [_picture(plot, index) for index, plot in enumerate(bar(drawn, len(drawn), "drawing", "plots"))]
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    environment.globals |= {"layout": layout, "format_value": format_value, "absent": ABSENT}
    template = environment.from_string(files("heed.reporting").joinpath("report.html.jinja").read_text("utf-8"))
    return template.render(title=title, results=results, plots=pictures).lstrip()


def _picture(plot: "Plot", index: int) -> Picture:
    """Return the plot as an SVG element with ids of its own, ``index`` being its position among the plots."""
    from markupsafe import Markup, escape

    from heed.reporting.plots import render

    text = render(plot, "svg").decode()
    pieces = re.split(r"(<[^>]*>)", text[text.index("<svg") :])  # text and tags in turn
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', "".join(pieces[1::2])))
    pieces[0::2] = [piece.replace('"', "&quot;") for piece in pieces[0::2]]
    pieces[1::2] = [_unique_tag(tag, used, index) for tag in pieces[1::2]]
    svg = "".join(pieces).strip()
    width = float(re.findall(r'width="([\d.]+)pt"', svg)[0])
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{escape(plot.title)}" ', 1)
    # matplotlib has escaped every text of the SVG
    return Picture(plot.kind, plot.folder, plot.name, width > WIDE, Markup(svg))  # noqa: S704


def _unique_tag(tag: str, used: set[str], index: int) -> str:
    """Return a tag whose id, where one is used, and references are unlike other plots'; with fallback fonts."""
    tag = re.sub(r' id="([^"]*)"', lambda match: f' id="g{index}-{match[1]}"' if match[1] in used else "", tag)
    tag = re.sub(r'(href="|url\()#', rf"\g<1>#g{index}-", tag)
    return tag.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")  # the nearest in width

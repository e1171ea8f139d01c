"""Charts of Vega-Lite as plain dictionaries: the parts that all share, and drawing them in notebooks and as files.

Lines and texts take the colour of the page around them, black in a file. Pages draw charts in the browser, files are
drawn by vl-convert, which has Vega.
"""

import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from heed.errors import UsageError
from heed.extras import require
from heed.files import write_bytes

Spec = dict[str, Any]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
TEXT = "currentColor"
BLUE, RED, GREY = "#0072B2", "#D55E00", "#868686"  # the first two, and the palette: Okabe and Ito
PALETTE = (BLUE, RED, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", TEXT)
CROSS = "M-1,-1L1,1M-1,1L1,-1"
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right")
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"  # the first is in vl-convert: one layout on every machine
VERSION = "6.4"  # of Vega-Lite, in vl-convert
FORMS = ("svg", "png", "pdf")
DENSITY = 200  # of a PNG, pixels an inch
BASE = "https://vega.github.io/vega-datasets/"  # before what Vega takes for the path of a file
RESOURCE = re.compile(rb"/[a-z]+\d+ \d+ 0 R")  # of a PDF's page, by name
DRAWING = "vl_convert"
CONFIG: Spec = {
    "background": None,
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": TEXT,
        "titleColor": TEXT,
        "titleFontWeight": "normal",
        "domainColor": TEXT,
        "tickColor": TEXT,
        "gridColor": TEXT,
        "gridOpacity": 0.13,
        "domainOpacity": 0.5,
        "tickOpacity": 0.5,
    },
    "legend": {"labelColor": TEXT, "orient": "bottom", "labelLimit": 300, "columnPadding": 24, "symbolOpacity": 1},
    "title": {"color": TEXT, "subtitleColor": TEXT, "anchor": "start", "fontSize": 13, "offset": 8},
}


def chart(title: str, subtitle: str, size: tuple[float, float], layer: Sequence[Spec]) -> Spec:
    """Return a chart of layers; ``size`` is the width and height of what the axes enclose, in pixels."""
    head = {"text": title, **({"subtitle": subtitle} if subtitle else {})}
    width, height = size
    return {
        "$schema": SCHEMA,
        "config": CONFIG,
        "title": head,
        "width": width,
        "height": height,
        "layer": list(layer),
    }


def layer(values: Sequence[Spec], mark: Spec, encoding: Spec) -> Spec:
    """Return a layer with data of its own."""
    return {"data": {"values": list(values)}, "mark": mark, "encoding": encoding}


def number(field: str, title: str, **more: Any) -> Spec:
    """Return a channel of numbers; ``more`` as Vega-Lite has it, such as ``axis`` and ``scale``."""
    return {"field": field, "type": "quantitative", "title": title, **more}


def linked() -> Spec:
    """Return the channels of marks that say what they are, ``says``, and lead to a place, ``to``."""
    return {"description": {"field": "says"}, "href": {"field": "to"}}


def printed(figure: float, low: float = 0, high: float = 0) -> str:
    """Return a figure ×100 as text, with its interval from ``low`` to ``high`` where it has one."""
    text = f"{figure:z.1f}" + (f" [{low:z.1f}, {high:z.1f}]" if low < high else "")
    return text.replace("-", "−")


def says(*values: tuple[str, str | tuple[float, ...]]) -> Spec:
    """Return a mark's description: a line for each of ``values``, text or figures, behind its name."""
    shown = [(name, value if isinstance(value, str) else printed(*value)) for name, value in values]
    return {"says": "\n".join(f"{name}: {value}" for name, value in shown)}


def listed(field: str, values: Sequence[str], colours: Sequence[str], **legend: Any) -> Spec:
    """Return a channel of names with a colour, or a shape, for each."""
    scale = {"domain": list(values), "range": list(colours)}
    return {"field": field, "type": "nominal", "title": None, "scale": scale, "legend": legend}


def marks(systems: Sequence[str]) -> tuple[Spec, Spec]:
    """Return the channels of a colour and of a shape for each system, by ``name``, with one legend of both."""
    names = [short(system, 30) for system in systems]
    colours = [PALETTE[index % len(PALETTE)] for index in range(len(names))]
    shapes = [SHAPES[(index + index // len(SHAPES)) % len(SHAPES)] for index in range(len(names))]
    legend = {"columns": 1 if any(len(name) > 20 for name in names) else 2}  # long names go one below the other
    return {"color": listed("name", names, colours, **legend)}, {"shape": listed("name", names, shapes, **legend)}


def level(y: float, **mark: Any) -> Spec:
    """Return a level line at ``y``."""
    style = {"type": "rule", "color": TEXT} | mark
    return layer([{"y": y}], style, {"y": {"field": "y", "type": "quantitative"}})


def note(text: str, x: float, y: float, align: str) -> Spec:
    """Return ``text`` at pixels from the chart's upper left corner."""
    style = {"type": "text", "text": text, "align": align, "color": TEXT, "opacity": 0.75}
    return layer([{}], style, {"x": {"value": x}, "y": {"value": y}})


def short(name: str, most: int) -> str:
    """Return ``name`` with its middle left out where it is longer than ``most``."""
    return name if len(name) <= most else f"{name[: most // 2]}…{name[len(name) - most // 2 + 1 :]}"


class Chart(NamedTuple):
    """A chart that a notebook shows, with its title in words."""

    title: str
    spec: Spec

    def __repr__(self) -> str:
        """Return the title."""
        return f"Chart({self.title!r})"

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        """Return the specification, which notebooks draw, and an image where :mod:`vl_convert` is installed."""
        image = {"image/svg+xml": render(self.spec, "svg").decode()} if find_spec(DRAWING) else {}
        return {"text/plain": repr(self), "application/vnd.vegalite.v5+json": _paper(self.spec), **image}

    def write(self, path: str | Path) -> None:
        """Write an image; the ending of ``path`` names its form: .svg, .png or .pdf."""
        form = Path(path).suffix.removeprefix(".").lower()
        if form not in FORMS:
            raise UsageError(f"{path}: expected a name that ends in .{', .'.join(FORMS)}")
        write_bytes(Path(path), render(self.spec, form))


def render(spec: Spec, form: str) -> bytes:
    """Return the chart as the bytes of an ``svg``, ``png`` or ``pdf``, the same for the same chart; nothing is fetched.

    vl-convert numbers a PDF's fonts by chance, so it has but one, unless a name is in another script. Raises
    :class:`UsageError` where it is not installed.
    """
    require(DRAWING, "charts as files")
    import vl_convert

    paper = _paper(spec)
    if form == "svg":
        return vl_convert.vegalite_to_svg(paper, vl_version=VERSION, allowed_base_urls=[]).replace(BASE, "").encode()
    if form == "png":
        return vl_convert.vegalite_to_png(paper, vl_version=VERSION, allowed_base_urls=[], ppi=DENSITY)
    one_font = paper["config"] | {"title": paper["config"]["title"] | {"fontWeight": "normal"}}
    return _ordered(vl_convert.vegalite_to_pdf(paper | {"config": one_font}, vl_version=VERSION, allowed_base_urls=[]))


def _paper(spec: Spec) -> Spec:
    return spec | {"config": spec["config"] | {"background": "white"}}


def _ordered(pdf: bytes) -> bytes:
    """Return the same PDF, as long as before, with its lists of resources in order; vl-convert's are by chance."""

    def sort(resources: re.Match[bytes]) -> bytes:
        entries = iter(sorted(RESOURCE.findall(resources[0])))
        return RESOURCE.sub(lambda _: next(entries), resources[0])

    return re.sub(rb"(?:%s\s+){2,}" % RESOURCE.pattern, sort, pdf)

"""The charts of a report, as Vega-Lite's plain dictionaries, and drawn as files by vl-convert, which has Vega.

They are of one system, of parts of an evaluation, or of all systems; pages draw them in the browser.
Lines and texts take the colour of the page around them, black in a file.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

from heed.errors import UsageError
from heed.extras import require
from heed.files import write_bytes
from heed.measures import mean
from heed.measures.significance import interval
from heed.measures.summary import Detail, Shift
from heed.report.html import explorer_link, page_link

Spec = dict[str, Any]  # of Vega-Lite
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
TEXT = "currentColor"
BLUE, RED, GREY = "#0072B2", "#D55E00", "#868686"  # the first two, and the palette: Okabe and Ito
PALETTE = (BLUE, RED, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", TEXT)
CROSS = "M-1,-1L1,1M-1,1L1,-1"
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right")
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"  # the first is in vl-convert: one layout on every machine
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

# of charts of one system
DOTS = 600  # of one chart; more can neither be told apart nor chosen
SIDE = 270  # pixels
BAR = 14  # pixels of a bar with the space beside it, at most
WIDE = 860  # pixels of a chart, at most
MANY, ENDS = 100, 20  # topics of one chart; of more, those of its two ends
LABEL = 12  # pixels between the names of two topics
GROUPS = {"compliant": "stay relevant", "violating": "ruled out"}  # of per_topic.json, in the words of the docs

# of charts of parts
Series = dict[str, dict[str, float]]  # system -> part (dimension, constraint type) -> value

# of the chart of all systems
SIZE = (400, 300)  # pixels
CUT = 0.5  # an axis does not begin at 0 where all values are above this share of the highest
SPAN = 10  # of an axis, at least
Value = tuple[float, float, float]  # a figure ×100 and the ends of its 95% interval: itself where there is none

# of files
VERSION = "6.4"  # of Vega-Lite, in vl-convert
FORMS = ("svg", "png", "pdf")
DENSITY = 200  # of a PNG, pixels an inch
BASE = "https://vega.github.io/vega-datasets/"  # before what Vega takes for the path of a file
RESOURCE = re.compile(rb"/[a-z]+\d+ \d+ 0 R")  # of a PDF's page, by name
DRAWING = "vl_convert"


def chart(title: str, subtitle: str, size: tuple[float, float], layer: Sequence[Spec]) -> Spec:
    """Return a chart of layers; ``size`` is the width and height of what the axes enclose, in pixels."""
    head = {"text": title, **({"subtitle": subtitle} if subtitle else {})}
    width, height = size
    layers = [each for each in layer if each.get("data") != {"values": []}]  # one would be a picture without a name
    return {"$schema": SCHEMA, "config": CONFIG, "title": head, "width": width, "height": height, "layer": layers}


def layer(values: Sequence[Spec], mark: Spec, encoding: Spec) -> Spec:
    """Return a layer with data of its own."""
    return {"data": {"values": list(values)}, "mark": mark, "encoding": encoding}


def number(field: str, title: str, **more: Any) -> Spec:
    """Return a channel of numbers; ``more`` as Vega-Lite has it, such as ``axis`` and ``scale``."""
    return {"field": field, "type": "quantitative", "title": title, **more}


def linked() -> Spec:
    """Return Vega-Lite's channels: the description from a datum's field ``says``, the link from its field ``to``."""
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


def shift(folder: str, system: str, pair: str, shifts: Sequence[Shift], lowest: int) -> Spec:
    """Return ranks of judged documents under both conditions of ``pair``, on axes that reach the rank ``lowest``."""
    base, _, new = pair.partition(">")
    end = 2.4 * lowest  # leaves room for the two notes
    drawn = _spread(shifts)
    counts = Counter[str](each["group"] for each in shifts)
    labels = {group: f"{words} ({counts[group]:,})" for group, words in GROUPS.items()}
    values = [
        {"x": each["base"], "y": each["new"], "group": labels[each["group"]]}
        | {"to": explorer_link(folder, "document", each["docid"], topic=each["qid"], system=system)}
        | says(
            ("system", system),
            ("topic", each["qid"]),
            (GROUPS[each["group"]], each["docid"]),
            ("rank", f"{each['base']} → {each['new']}"),
        )
        for each in drawn
    ]
    ticks = [tick for power in range(9) for tick in (10**power, 3 * 10**power) if tick <= end]
    scale = {"type": "log", "domain": [0.7, end], "nice": False}
    axis = {"values": ticks, "format": "d"}
    axes = {
        "x": number("x", f"rank under {base}", scale=scale, axis=axis),
        "y": number("y", f"rank under {new}", scale=scale | {"reverse": True}, axis=axis),
    }
    groups = {
        "color": listed("group", [*labels.values()], [BLUE, RED], columns=2),
        "shape": listed("group", [*labels.values()], ["circle", CROSS], columns=2),
    }
    dots = {"type": "point", "filled": False, "size": 30, "strokeWidth": 1.3, "opacity": 0.75}
    thin = {"color": TEXT, "strokeWidth": 1}
    layers = [
        layer([{"x": each, "y": each} for each in (0.7, end)], {"type": "line", **thin, "opacity": 0.5}, axes),
        note("pushed down", 6, SIDE - 10, "left"),
        note("lifted", SIDE - 6, 10, "right"),
        layer(values, dots, axes | groups | linked()),
    ]
    left_out = f"{len(drawn):,} of {len(shifts):,} documents, evenly by distance moved"
    return chart(short(system, 40), left_out if len(drawn) < len(shifts) else "", (SIDE, SIDE), layers)


def _spread(shifts: Sequence[Shift]) -> Sequence[Shift]:
    """Return at most ``DOTS`` of the documents, evenly chosen over how far they moved."""
    if len(shifts) <= DOTS:
        return shifts
    ordered = sorted(shifts, key=lambda each: (each["new"] / each["base"], each["qid"], each["docid"]))
    return [ordered[round(index * (len(ordered) - 1) / (DOTS - 1))] for index in range(DOTS)]


def topics(folder: str, detail: Detail, highest: float) -> Spec:
    """Return a bar for each topic, the mean as a line, its 95% interval as a band; ``highest`` ends the axis.

    Of more than ``MANY`` topics the worst and the best ``ENDS`` have bars, by value.
    """
    by_topic = {qid: 100 * value for qid, value in sorted(detail["per_topic"].items())}
    low, high = (100 * bound for bound in interval([*detail["per_topic"].values()]))
    average = mean(by_topic)
    limit = 105 * (highest or 1)
    ranked = sorted(by_topic, key=lambda qid: by_topic[qid])
    shown = [*by_topic] if len(by_topic) <= MANY else [*ranked[:ENDS], *ranked[-ENDS:]]
    values = [
        {"x": qid, "y": by_topic[qid], "to": explorer_link(folder, "topic", qid, system=detail["system"])}
        | says(("system", detail["system"]), ("topic", qid), (_title(detail), (by_topic[qid],)))
        for qid in shown
    ]
    step = min(BAR, WIDE // len(shown))
    axis = {
        "values": shown[:: ceil(LABEL / step)],
        "labelAngle": -90,
        "labelLimit": 90,
        "labelOverlap": False,
        "grid": False,
    }
    bars = {
        "x": {"field": "x", "type": "nominal", "title": "topic", "sort": None, "axis": axis},
        "y": number("y", _title(detail), scale={"domain": [-limit, limit], "nice": False}),
        "color": {"condition": {"test": "datum.y > 0", "value": BLUE}, "value": RED},
    }
    interval_of_mean = {"y": {"field": "low", "type": "quantitative"}, "y2": {"field": "high"}}
    around = printed(average, low, high).replace(" [", ", 95% interval [")
    band = {"type": "rect", "color": TEXT, "opacity": 0.16, "description": f"mean: {around}"}
    layers = [
        layer([{"low": low, "high": high}], band, interval_of_mean),
        layer(values, {"type": "bar"}, bars | linked()),
        level(0),
        level(average, strokeDash=[5, 3], strokeWidth=1.5),
    ]
    left_out = f"; the worst and the best {ENDS} of {len(by_topic):,} topics" if len(by_topic) > MANY else ""
    return chart(short(detail["system"], 40), f"mean {around}{left_out}", (max(step * len(shown), 200), 210), layers)


def _title(detail: Detail) -> str:
    return f"{detail['measure']} of {detail['condition']}, ×100"


def grouped(title: str, series: Series, kind: str, folders: Mapping[str, str]) -> Spec:
    """Return bars by part, in the order of ``folders``, to which they lead; ``kind`` says what the parts are.

    Each system has a colour.
    """
    parts = [part for part in folders if any(part in values for values in series.values())]
    values = [
        {"part": part, "y": 100 * of[part], "name": short(system, 30), "to": page_link(folders[part])}
        | says(("system", system), (kind, part), ("value ×100", (100 * of[part],)))
        for system, of in series.items()
        for part in parts
        if part in of
    ]
    colours, _ = marks([*series])
    names = colours["color"]["scale"]["domain"]
    axis = {"labelAngle": 0, "grid": False}
    bars = {
        "x": {"field": "part", "type": "nominal", "title": kind, "sort": parts, "axis": axis},
        "xOffset": {"field": "name", "type": "nominal", "sort": names, "scale": {"domain": names}},
        "y": number("y", "value ×100"),
    }
    layers = [layer(values, {"type": "bar"}, bars | colours | linked()), level(0)]
    return chart(title, "", (max(300, len(parts) * (14 + 12 * len(names))), 220), layers)


class Point(NamedTuple):
    """A system's main measure, and its measure of following the instruction."""

    system: str
    x: Value
    y: Value


def scatter(
    folder: str, points: Sequence[Point], named: Sequence[str], titles: tuple[str, str], published: Sequence[Point] = ()
) -> Spec:
    """Return effectiveness to the right, following the instruction upwards, a point for each system.

    ``titles`` are those of both axes. The ``named`` systems have a colour and shape of their own and their intervals,
    and the ``published`` ones are grey. A point leads to its system beside the best other one.
    """
    everyone = [*points, *published]
    x, y = _axis(titles[0], [point.x for point in everyone]), _axis(titles[1], [point.y for point in everyone])
    axes = {"x": number("x", **x), "y": number("y", **y)}
    theirs = [_dot("published system", point, titles) for point in published]
    ours = [_dot("system", point, titles) | _link(point, folder, named) for point in points]
    chosen = [dot for dot, point in zip(ours, points, strict=True) if point.system in named]
    colours, shapes = marks([point.system for point in points if point.system in named])
    channels = linked() if len(points) > 1 else {"description": {"field": "says"}}
    style = {"type": "point", "filled": True, "opacity": 0.9}
    interval = {"type": "rule", "opacity": 0.7}
    layers = [
        *([level(0, opacity=0.5)] if y["scale"]["domain"][0] <= 0 else []),
        layer(theirs, style | {"size": 28, "color": GREY}, axes | {"description": {"field": "says"}}),
        layer([dot for dot in ours if dot not in chosen], style | {"size": 36, "color": BLUE}, axes | channels),
        layer(chosen, interval, axes | colours | {"x": number("left", **x), "x2": {"field": "right"}}),
        layer(chosen, interval, axes | colours | {"y": number("low", **y), "y2": {"field": "high"}}),
        layer(chosen, style | {"size": 70}, axes | colours | shapes | channels),
    ]
    return chart("Effectiveness and instruction following", "", SIZE, layers)


def _dot(kind: str, point: Point, titles: tuple[str, str]) -> Spec:
    (x, left, right), (y, low, high) = point.x, point.y
    text = says((kind, point.system), *zip(titles, (point.x, point.y), strict=True))
    bounds = {"x": x, "left": left, "right": right, "y": y, "low": low, "high": high}
    return bounds | {"name": short(point.system, 30)} | text


def _link(point: Point, folder: str, named: Sequence[str]) -> Spec:
    rival = next((system for system in named if system != point.system), "")
    return {"to": page_link(folder, "systems", point.system, rival) if rival else ""}


def _axis(title: str, values: Sequence[Value]) -> Spec:
    """Return an axis with 0 on it, unless that would leave most of it empty, which its title says."""
    low, high = min(low for _, low, _ in values), max(high for _, _, high in values)
    room = 0.08 * (high - low)
    start, end = min(low - room, 0) if low < 0 else 0, max(high + room, 0)
    if low > CUT * high > 0 and high - low < CUT * high:
        start = 5 * int((low - room) / 5)
        title = f"{title} (axis from {start}, not 0)" if start else title
    return {"title": title, "scale": {"domain": [start, max(end, start + SPAN)], "nice": False, "zero": False}}


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

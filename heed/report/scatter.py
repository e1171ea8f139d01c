"""The chart of all systems of a folder: effectiveness against instruction following."""

from collections.abc import Sequence
from typing import NamedTuple

from heed.report.page_links import page_link
from heed.report.vega_lite import BLUE, GREY, Spec, chart, layer, level, linked, marks, number, says, short

SIZE = (400, 300)  # pixels
CUT = 0.5  # an axis does not begin at 0 where all values are above this share of the highest
SPAN = 10  # of an axis, at least


Value = tuple[float, float, float]  # a figure ×100 and the ends of its 95% interval: itself where there is none


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
    interval = {"type": "rule", "opacity": 0.4}
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

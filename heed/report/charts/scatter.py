"""The chart of all systems of a folder: effectiveness against instruction following."""

from collections.abc import Sequence
from typing import NamedTuple

from heed.report.charts.vega_lite import BLUE, GREY, Spec, chart, layer, level, linked, marks, number, short
from heed.report.page_links import systems_link

SIZE = (400, 300)  # pixels
CUT = 0.5  # an axis does not begin at 0 where all values are above this share of the highest


class Point(NamedTuple):
    """A system's main measure, and its selectivity or p-MRR, ×100."""

    system: str
    x: float
    y: float


def scatter(
    folder: str, points: Sequence[Point], named: Sequence[str], titles: tuple[str, str], published: Sequence[Point] = ()
) -> Spec:
    """Return effectiveness to the right, following the instruction upwards, a point for each system.

    ``titles`` are those of both axes. The ``named`` systems have a colour and shape of their own, and the
    ``published`` ones are grey. A point leads to its system beside the best other one.
    """
    everyone = [*points, *published]
    axes = {
        "x": _axis("x", titles[0], [point.x for point in everyone]),
        "y": _axis("y", titles[1], [point.y for point in everyone]),
    }
    says = {"description": {"field": "says"}}
    channels = linked() if len(points) > 1 else says
    style = {"type": "point", "filled": True, "opacity": 0.9}
    chosen, rest = ([point for point in points if (point.system in named) == is_named] for is_named in (True, False))
    colours, shapes = marks([point.system for point in chosen])
    ours, others = ([_linked(point, folder, named) for point in group] for group in (chosen, rest))
    layers = [
        *([level(0, opacity=0.5)] if axes["y"]["scale"]["domain"][0] <= 0 else []),
        layer([_dot(point, "published: ") for point in published], style | {"size": 28, "color": GREY}, axes | says),
        layer(others, style | {"size": 36, "color": BLUE}, axes | channels),
        layer(ours, style | {"size": 70}, axes | colours | shapes | channels),
    ]
    return chart("Effectiveness and instruction following", "", SIZE, layers)


def _dot(point: Point, before: str = "") -> Spec:
    says = f"{before}{point.system}: {point.x:z.1f}, {point.y:z.1f}"
    return {"x": point.x, "y": point.y, "name": short(point.system, 30), "says": says}


def _linked(point: Point, folder: str, named: Sequence[str]) -> Spec:
    rival = next((system for system in named if system != point.system), "")
    return _dot(point) | {"to": systems_link(folder, point.system, rival) if rival else ""}


def _axis(field: str, title: str, values: Sequence[float]) -> Spec:
    """Return an axis with 0 on it, unless that would leave most of it empty, which its title says."""
    low, high = min(values), max(values)
    room = 0.08 * (high - low or abs(high) or 1)
    if low > CUT * high > 0 and high - low < CUT * high:
        start = 5 * int((low - room) / 5)
        title = f"{title} (axis from {start}, not 0)" if start else title
        domain = [start, high + room]
    else:
        reach = 0.08 * (max(high, 0) - min(low, 0) or 1)
        domain = [min(low - reach, 0) if low < 0 else 0, max(high + reach, 0.1)]
    return number(field, title, scale={"domain": domain, "nice": False, "zero": False})

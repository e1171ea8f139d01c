"""The chart of all systems of a folder: effectiveness against instruction following, with names beside the points."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from heed.report.charts.vega_lite import (
    BLUE,
    GREY,
    PALETTE,
    SHAPES,
    TEXT,
    Spec,
    chart,
    layer,
    level,
    linked,
    number,
    short,
)
from heed.report.page_links import systems_link

SIZE = (400, 300)  # pixels
LETTER, LINE = 5.6, 13  # pixels of a letter's width and of a line's height, about
NEAR = 12  # pixels from a point to a name that is next to it
CUT = 0.5  # an axis does not begin at 0 where all values are above this share of the highest


class Point(NamedTuple):
    """A system's main measure, and its selectivity or p-MRR, ×100."""

    system: str
    x: float
    y: float


class Axis(NamedTuple):
    """An axis from ``low`` to ``high`` with a ``title`` that says where it is cut."""

    title: str
    low: float
    high: float

    def channel(self, field: str) -> Spec:
        """Return the axis for the numbers of ``field``."""
        return number(field, self.title, scale={"domain": [self.low, self.high], "nice": False, "zero": False})


class Box(NamedTuple):
    """A rectangle in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: "Box") -> float:
        """Return the area that both boxes cover."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return width * height if width > 0 and height > 0 else 0.0


def scatter(
    folder: str, points: Sequence[Point], named: Sequence[str], titles: tuple[str, str], published: Sequence[Point] = ()
) -> Spec:
    """Return effectiveness to the right, following the instruction upwards, a point for each system.

    ``titles`` are those of both axes. Systems that are not ``named`` have no name beside their point, and the
    ``published`` ones are grey. A point leads to its system beside the best other one.
    """
    everyone = [*points, *published]
    x_axis = _axis(titles[0], [point.x for point in everyone])
    y_axis = _axis(titles[1], [point.y for point in everyone])
    axes = {"x": x_axis.channel("x"), "y": y_axis.channel("y")}
    chosen = [point for point in points if point.system in named]
    style = {"color": {"field": "colour", "scale": None}, "shape": {"field": "shape", "scale": None}}
    dots = [_dot(point, GREY, "circle") | {"says": f"published: {_says(point)}"} for point in published]
    ours = [_dot(point, BLUE, "circle") for point in points if point.system not in named]
    ours += [
        _dot(point, PALETTE[index % len(PALETTE)], SHAPES[index // len(PALETTE) % len(SHAPES)])
        for index, point in enumerate(chosen)
    ]
    for dot in ours:
        rival = next((point.system for point in chosen if point.system != dot["name"]), "")
        dot["to"] = systems_link(folder, dot["name"], rival) if rival else ""
    layers = [level(0, opacity=0.5)]
    if dots:
        says = {"description": {"field": "says"}}
        layers.append(layer(dots, {"type": "point", "filled": True, "size": 28, "opacity": 0.6}, axes | style | says))
    size = 70 if len(points) <= len(named) else 36
    channels = axes | style | (linked() if len(points) > 1 else {"description": {"field": "says"}})
    layers.append(layer(ours, {"type": "point", "filled": True, "size": size, "opacity": 0.9}, channels))
    names = [*_names(points, chosen, x_axis, y_axis)]
    layers.append(layer(names, {"type": "text", "color": TEXT}, axes | {"text": {"field": "name"}}))
    far = [
        {"x": point.x, "y": point.y, "x2": name["x2"], "y2": name["y2"]}
        for point, name in zip(chosen, names, strict=True)
        if "x2" in name
    ]
    ends = axes | {"x2": {"field": "x2"}, "y2": {"field": "y2"}}
    layers.append(layer(far, {"type": "rule", "color": TEXT, "opacity": 0.4}, ends))
    return chart("Effectiveness and instruction following", "", SIZE, layers)


def _dot(point: Point, colour: str, shape: str) -> Spec:
    values = {"x": point.x, "y": point.y, "name": point.system, "says": _says(point)}
    return values | {"colour": colour, "shape": shape}


def _says(point: Point) -> str:
    return f"{point.system}: {point.x:z.1f}, {point.y:z.1f}"


def _axis(title: str, values: Sequence[float]) -> Axis:
    """Return an axis with 0 on it, unless that would leave most of it empty."""
    low, high = min(values), max(values)
    room = 0.08 * (high - low or abs(high) or 1)
    if low > CUT * high > 0 and high - low < CUT * high:
        start = 5 * int((low - room) / 5)
        return Axis(f"{title} (axis from {start}, not 0)" if start else title, start, high + room)
    reach = max(high, 0) - min(low, 0) or 1
    return Axis(title, min(low - 0.08 * reach, 0) if low < 0 else 0, max(high + 0.08 * reach, 0.1))


def _names(points: Sequence[Point], named: Sequence[Point], x_axis: Axis, y_axis: Axis) -> Iterator[Spec]:
    """Yield each name beside its point, where it covers the least of other names, points and the frame.

    A name that is not next to its point has the end of a line to it.
    """
    (width, height), frame = SIZE, Box(0, 0, *SIZE)
    across, down = width / (x_axis.high - x_axis.low), height / (y_axis.high - y_axis.low)
    centres = {point: ((point.x - x_axis.low) * across, (y_axis.high - point.y) * down) for point in points}
    dots = [Box(x - 4, y - 4, x + 4, y + 4) for x, y in centres.values()]
    names: list[Box] = []
    for point in named:
        name = short(point.system, 30)

        def cost(candidate: tuple[float, Box]) -> float:
            distance, box = candidate
            outside = (box.right - box.left) * LINE - box.overlap(frame)
            return 4 * outside + 4 * _covered(box, names) + _covered(box, dots) + 2 * distance

        distance, box = min(_candidates(*centres[point], LETTER * len(name)), key=cost)
        names.append(box)
        x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2
        edge = min((box.left, x, box.right), key=lambda end: abs(end - centres[point][0]))
        line = {"x2": x_axis.low + edge / across, "y2": y_axis.high - y / down} if distance > NEAR else {}
        yield {"x": x_axis.low + x / across, "y": y_axis.high - y / down, "name": name} | line


def _covered(box: Box, others: Sequence[Box]) -> float:
    return sum(box.overlap(other) for other in others)


def _candidates(x: float, y: float, width: float) -> Iterator[tuple[float, Box]]:
    """Yield distance and box of names of ``width`` around the pixel ``x``, ``y``, the nearest first."""
    for step in range(0, 90, LINE):
        for side, rise in ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (-1, -1), (1, 1), (-1, 1)):
            right, up = (9 + step) * side, (NEAR + step) * rise
            left, top = x + right - width * (1 - side) / 2, y + up - LINE / 2
            yield step + abs(rise), Box(left, top, left + width, top + LINE)

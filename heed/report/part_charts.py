"""Charts over parts of an evaluation: InfoSearch's dimensions, FollowTable's types of constraint."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, cos, floor, pi, sin
from typing import NamedTuple

from heed.report.page_links import page_link
from heed.report.vega_lite import TEXT, Spec, chart, layer, level, linked, marks, note, number, says, short

Series = dict[str, dict[str, float]]  # system -> part (dimension, constraint type) -> value

TYPES = ("C1", "C2", "S1", "S2", "S3")  # FollowTable's kinds of constraint, on content and on schema
RADIUS = 110  # pixels of the radar's outermost ring
RINGS = 4
CIRCLE = 72  # corners of a ring
STEPS = (1, 2, 5, 10, 20, 25, 50, 100)  # from ring to ring
ORDER = {"order": {"field": "at", "type": "quantitative"}}


class Disc(NamedTuple):
    """The radar's plane: one direction for each part, heights ×100 from ``low`` at the centre to ``high``."""

    parts: Sequence[str]
    low: float
    high: float

    def point(self, turn: float, height: float) -> Spec:
        """Return the position at ``turn`` (1 is once around) and ``height`` on axes from -1 to 1."""
        share = (height - self.low) / (self.high - self.low)
        return {"x": share * cos(2 * pi * turn), "y": share * sin(2 * pi * turn)}

    def turn(self, part: str) -> float:
        """Return the direction of a part."""
        return self.parts.index(part) / len(self.parts)


def radar(title: str, series: Series, folders: Mapping[str, str]) -> Spec:
    """Return a spoke for each dimension, which leads to its folder, a line for each system; the dashed ring is 0."""
    parts = sorted({part for values in series.values() for part in values})
    heights = [0.0, *(100 * value for values in series.values() for value in values.values())]
    reach = max(heights) - min(heights)
    step = next((step for step in STEPS if step * RINGS >= reach), STEPS[-1])
    rings = range(step * floor(min(heights) / step), step * ceil(max(heights) / step) + 1, step)
    disc = Disc(parts, rings[0] - step, rings[-1])
    plain = {"scale": {"domain": [-1, 1], "nice": False}, "axis": None}
    axes = {"x": number("x", "", **plain), "y": number("y", "", **plain)}
    values = [
        disc.point(disc.turn(part), 100 * of[part])
        | {"at": position, "name": short(system, 30), "to": page_link(folders[part])}
        | says(("system", system), ("dimension", part), ("value ×100", (100 * of[part],)))
        for system, of in series.items()
        for position, part in enumerate([*parts, parts[0]])
        if part in of
    ]
    ends = [value for value in values if value["at"] < len(parts)]
    colours, shapes = marks([*series])
    dots = {"type": "point", "filled": True, "size": 50, "opacity": 1}
    layers = [
        *_grid(disc, rings, axes),
        layer(values, {"type": "line", "strokeWidth": 1.6}, axes | ORDER | colours),
        layer(ends, dots, axes | colours | shapes | linked()),
    ]
    return chart(f"{title}, ×100", "", (2 * RADIUS, 2 * RADIUS), layers)


def _grid(disc: Disc, rings: Sequence[int], axes: Spec) -> Iterator[Spec]:
    """Yield the radar's rings with their heights, and its spokes with the names of the parts."""
    thin = {"type": "line", "color": TEXT, "strokeWidth": 1}
    for height in rings:
        ring = [disc.point(corner / CIRCLE, height) | {"at": corner} for corner in range(CIRCLE + 1)]
        style = {"opacity": 0.6, "strokeDash": [5, 3]} if height == 0 else {"opacity": 0.16}
        yield layer(ring, thin | style, axes | ORDER)
    figure = {"type": "text", "fontSize": 9, "color": TEXT, "opacity": 0.75, "text": {"expr": "datum.height"}, "dy": -5}
    turn = 0.5 / len(disc.parts)  # between two spokes
    heights = [disc.point(turn, height) | {"height": str(height)} for height in rings]
    yield layer(heights, figure, axes)
    for part in disc.parts:
        turn = disc.turn(part)
        spoke = [disc.point(turn, height) | {"at": height} for height in (disc.low, disc.high)]
        yield layer(spoke, thin | {"opacity": 0.16}, axes | ORDER)
        x, y = cos(2 * pi * turn), sin(2 * pi * turn)
        align = "center" if abs(x) < 0.1 else "left" if x > 0 else "right"
        yield note(part, RADIUS * (1 + 1.08 * x), RADIUS * (1 - 1.12 * y), align)


def grouped(title: str, series: Series, folder: str) -> Spec:
    """Return bars by constraint type, which lead to ``folder``, one colour for each system."""
    parts = [part for part in TYPES if any(part in values for values in series.values())]
    values = [
        {"part": part, "y": 100 * of[part], "name": short(system, 30), "to": page_link(folder)}
        | says(("system", system), ("constraint type", part), ("value ×100", (100 * of[part],)))
        for system, of in series.items()
        for part in parts
        if part in of
    ]
    colours, _ = marks([*series])
    names = colours["color"]["scale"]["domain"]
    axis = {"labelAngle": 0, "grid": False}
    bars = {
        "x": {"field": "part", "type": "nominal", "title": "constraint type", "sort": parts, "axis": axis},
        "xOffset": {"field": "name", "type": "nominal", "sort": names, "scale": {"domain": names}},
        "y": number("y", "value ×100"),
    }
    layers = [layer(values, {"type": "bar"}, bars | colours | linked()), level(0)]
    return chart(title, "", (max(300, len(parts) * (14 + 12 * len(names))), 220), layers)

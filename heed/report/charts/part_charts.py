"""The chart over parts of an evaluation: InfoSearch's dimensions, FollowTable's types of constraint."""

from collections.abc import Mapping

from heed.report.charts.vega_lite import Spec, chart, layer, level, linked, marks, number, says, short
from heed.report.page_links import page_link

Series = dict[str, dict[str, float]]  # system -> part (dimension, constraint type) -> value

TYPES = ("C1", "C2", "S1", "S2", "S3")  # FollowTable's kinds of constraint, on content and on schema


def grouped(title: str, kind: str, series: Series, folders: Mapping[str, str]) -> Spec:
    """Return bars by part, one colour for each system, which lead to the part's folder of ``folders``.

    ``kind`` is what a part is, such as ``dimension``.
    """
    parts = sorted({part for values in series.values() for part in values})
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

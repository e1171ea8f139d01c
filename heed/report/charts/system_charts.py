"""The charts of one system: the rank shift of its documents, and its measures topic by topic."""

from collections.abc import Sequence
from math import ceil

from heed.measures import mean
from heed.measures.summary import Detail, Shift
from heed.report.charts.vega_lite import (
    BLUE,
    CROSS,
    RED,
    TEXT,
    Spec,
    chart,
    layer,
    level,
    line,
    linked,
    listed,
    note,
    number,
    short,
)
from heed.report.page_links import document_link, topic_link

DOTS = 600  # of one chart; more can neither be told apart nor chosen
SIDE = 270  # pixels
BAR = (3, 14)  # pixels of a bar with the space beside it, at least and at most
WIDE = 860  # pixels of a chart, unless its bars are at their least
LABEL = 12  # pixels between the names of two topics


def shift(folder: str, system: str, shifts: Sequence[Shift], lowest: int) -> Spec:
    """Return rank before against rank after of judged documents, on axes that reach the rank ``lowest``."""
    end = 2.4 * lowest  # leaves room for the two notes
    drawn = _spread(shifts)
    counts = {group: sum(each["group"] == group for each in shifts) for group in ("compliant", "violating")}
    labels = {group: f"{group} ({count:,})" for group, count in counts.items()}
    values = [
        {
            "x": each["base"],
            "y": each["new"],
            "group": labels[each["group"]],
            "says": f"{each['docid']}, topic {each['qid']}, {each['group']}: rank {each['base']} → {each['new']}",
            "to": document_link(folder, each["docid"], each["qid"], system),
        }
        for each in drawn
    ]
    ticks = [tick for power in range(9) for tick in (10**power, 3 * 10**power) if tick <= end]
    style = {"scale": {"type": "log", "domain": [0.7, end], "nice": False}, "axis": {"values": ticks, "format": "d"}}
    axes = {
        "x": number("x", "rank under the base instruction", **style),
        "y": number("y", "rank under the new instruction", **style),
    }
    groups = {
        "color": listed("group", [*labels.values()], [BLUE, RED], columns=2),
        "shape": listed("group", [*labels.values()], ["circle", CROSS], columns=2),
    }
    dots = {"type": "point", "filled": False, "size": 30, "strokeWidth": 1.3, "opacity": 0.75}
    layers = [
        line([(0.7, 0.7), (end, end)], axes),
        note("pushed down", 6, 10, "left"),
        note("lifted", SIDE - 6, SIDE - 10, "right"),
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
    """Return a bar for each topic, the mean as a line, its 95% interval as a band; ``highest`` ends the axis."""
    from heed.measures.significance import interval

    by_topic = {qid: 100 * value for qid, value in sorted(detail["per_topic"].items())}
    low, high = interval(list(by_topic.values()))
    average = mean(by_topic)
    limit = 105 * (highest or 1)
    values = [
        {
            "x": qid,
            "y": value,
            "says": f"topic {qid}: {value:z.1f}",
            "to": topic_link(folder, qid, detail["system"]),
        }
        for qid, value in by_topic.items()
    ]
    step = min(BAR[1], max(BAR[0], WIDE // len(by_topic)))
    axis = {
        "values": [*by_topic][:: ceil(LABEL / step)],
        "labelAngle": -90,
        "labelLimit": 90,
        "labelOverlap": False,
        "grid": False,
    }
    bars = {
        "x": {"field": "x", "type": "nominal", "title": "topic", "sort": None, "axis": axis},
        "y": number(
            "y", f"{detail['measure']} of {detail['condition']}, ×100", scale={"domain": [-limit, limit], "nice": False}
        ),
        "color": {"condition": {"test": "datum.y > 0", "value": BLUE}, "value": RED},
    }
    interval_of_mean = {"y": {"field": "low", "type": "quantitative"}, "y2": {"field": "high"}}
    layers = [
        layer([{"low": low, "high": high}], {"type": "rect", "color": TEXT, "opacity": 0.16}, interval_of_mean),
        layer(values, {"type": "bar"}, bars | linked()),
        level(0),
        level(average, strokeDash=[5, 3], strokeWidth=1.5),
    ]
    caption = f"mean {average:z.1f}, 95% interval [{low:z.1f}, {high:z.1f}]"
    return chart(short(detail["system"], 40), caption, (max(step * len(by_topic), 200), 210), layers)

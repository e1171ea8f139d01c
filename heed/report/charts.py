"""The charts of one system: the rank shift of its documents, and its measures topic by topic."""

from collections import Counter
from collections.abc import Sequence
from math import ceil

from heed.measures import mean
from heed.measures.significance import interval
from heed.measures.summary import Detail, Shift
from heed.report.page_links import page_link
from heed.report.vega_lite import (
    BLUE,
    CROSS,
    GREY,
    RED,
    TEXT,
    Spec,
    chart,
    layer,
    level,
    linked,
    listed,
    note,
    number,
    printed,
    says,
    short,
)

DOTS = 600  # of one chart; more can neither be told apart nor chosen
SIDE = 270  # pixels
BAR = 14  # pixels of a bar with the space beside it, at most
WIDE = 860  # pixels of a chart, at most
MANY, ENDS = 100, 20  # topics of one chart; of more, those of its two ends
LABEL = 12  # pixels between the names of two topics
GROUPS = {"compliant": "stay relevant", "violating": "ruled out"}  # of per_topic.json, in the words of the docs


def shift(folder: str, system: str, pair: str, shifts: Sequence[Shift], lowest: int) -> Spec:
    """Return ranks of judged documents under both conditions of ``pair``, on axes that reach the rank ``lowest``."""
    base, _, new = pair.partition(">")
    end = 2.4 * lowest  # leaves room for the two notes
    drawn = _spread(shifts)
    counts = Counter[str](each["group"] for each in shifts)
    labels = {group: f"{words} ({counts[group]:,})" for group, words in GROUPS.items()}
    values = [
        {
            "x": each["base"],
            "y": each["new"],
            "group": labels[each["group"]],
            "to": page_link(folder, "document", each["docid"], topic=each["qid"], system=system),
            **says(
                ("system", system),
                ("topic", each["qid"]),
                (GROUPS[each["group"]], each["docid"]),
                ("rank", f"{each['base']} → {each['new']}"),
            ),
        }
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
    layers = [
        layer(
            [{"x": each, "y": each} for each in (0.7, end)],
            {"type": "line", "color": TEXT, "strokeWidth": 1, "opacity": 0.5},
            axes,
        ),
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
        {
            "x": qid,
            "y": by_topic[qid],
            "to": page_link(folder, "topic", qid, system=detail["system"]),
            **says(("system", detail["system"]), ("topic", qid), (_title(detail), (by_topic[qid],))),
        }
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


def histogram(detail: Detail) -> Spec:
    """Return the number of topics by value."""
    signs = {1: BLUE, 0: GREY, -1: RED}
    per_topic = detail["per_topic"].values()
    values = [{"x": 100 * value, "colour": signs[(value > 0) - (value < 0)]} for value in per_topic]
    bars = {
        "x": number("x", _title(detail), bin={"maxbins": 40}),
        "y": {"aggregate": "count", "type": "quantitative", "title": "topics"},
        "color": {"field": "colour", "type": "nominal", "scale": None},
    }
    caption = f"all {len(values):,} topics by value"
    return chart(short(detail["system"], 40), caption, (360, 210), [layer(values, {"type": "bar"}, bars)])


def _title(detail: Detail) -> str:
    return f"{detail['measure']} of {detail['condition']}, ×100"

"""How each panel of a report is drawn, in colours and marks that every eye tells apart."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from heed.measures.pairwise import mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from heed.evaluation.summary import Detail, Shift

BLUE, RED, GREY = "#0072B2", "#D55E00", "#767676"  # the first two: Okabe and Ito
PALETTE = (BLUE, RED, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
PAPER = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.6}  # behind a name, over lines
MARKERS = "osD^vPX"
TYPES = ("C1", "C2", "S1", "S2", "S3")  # FollowTable's kinds of constraint, on content and on schema
POINTS = 4000  # beyond it, points go into the SVG as one picture

Series = dict[str, dict[str, float]]  # system -> part (dimension, constraint type) -> value


class Point(NamedTuple):
    """A system's main measure and p-MRR, ×100."""

    system: str
    x: float
    y: float


def _panel(width: float, height: float, **options: Any) -> "tuple[Figure, Axes]":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    return figure, figure.subplots(**options)


def _short(name: str, most: int) -> str:
    """``name`` with its middle left out where it is longer than ``most``."""
    return name if len(name) <= most else f"{name[: most // 2]}…{name[len(name) - most // 2 + 1 :]}"


def shift(system: str, shifts: "Sequence[Shift]", lowest: int) -> "Figure":
    """Rank before against rank after of each judged document, on axes that hold the rank ``lowest``."""
    figure, axes = _panel(3.6, 4.0)
    end = 2.4 * lowest  # leaves room for the two notes
    for group, colour, marker in (("compliant", BLUE, "o"), ("violating", RED, "x")):
        places = [(one["base"], one["new"]) for one in shifts if one["group"] == group]
        style: dict[str, Any] = {"color": colour, "marker": marker, "s": 22, "alpha": 0.65, "linewidths": 1.2}
        xs, ys = zip(*places, strict=True) if places else ((), ())
        axes.scatter(xs, ys, label=f"{group} ({len(places)})", rasterized=len(shifts) > POINTS, **style)
    axes.plot([0.4, end], [0.4, end], color=GREY, linewidth=1, zorder=0)
    axes.set(xscale="log", yscale="log", xlim=(0.4, end), ylim=(0.4, end), aspect="equal", title=_short(system, 34))
    axes.set(xlabel="rank under the base instruction", ylabel="rank under the new instruction")
    ticks = [tick for power in range(7) for tick in (10**power, 3 * 10**power) if tick <= end]
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(ticks, [str(tick) for tick in ticks])
        axis.set_ticks([], minor=True)
    note: dict[str, Any] = {"color": GREY, "fontsize": 8, "transform": axes.transAxes}
    axes.text(0.03, 0.97, "pushed down", va="top", **note)
    axes.text(0.97, 0.03, "lifted", ha="right", **note)
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def topics(one: "Detail", highest: float) -> "Figure":
    """A bar for each topic, the mean as a line, its 95% interval as a band."""
    from heed.evaluation.significance import interval

    values = {qid: 100 * value for qid, value in sorted(one["per_topic"].items())}
    figure, axes = _panel(min(max(3.6, 0.6 + 0.14 * len(values)), 9.0), 3.4)
    low, high = interval(list(values.values()))
    middle = mean(values)
    axes.axhspan(low, high, color="#dddddd", zorder=0)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.axhline(middle, color="black", linewidth=1.4, linestyle="--")
    axes.bar(range(len(values)), list(values.values()), color=[BLUE if value > 0 else RED for value in values.values()])
    every = -(-len(values) // 60)
    names = [_short(qid, 14) for qid in values][::every]
    turn = 90 if max(map(len, names)) * len(names) > 40 else 0
    axes.set_xticks(range(0, len(values), every), names, rotation=turn, fontsize=8 if every == 1 else 7)
    axes.grid(visible=False, axis="x")
    reach = 105 * (highest or 1)
    axes.set(
        xlabel="topic",
        ylabel=f"{one['measure']} of {one['condition']}, ×100",
        ylim=(-reach, reach),
        xlim=(-0.7, len(values) - 0.3),
    )
    said = f"mean {middle:z.1f}, 95% interval [{low:z.1f}, {high:z.1f}]"
    axes.set_title(f"{_short(one['system'], 34)}\n{said}", linespacing=1.4)
    return figure


def plane(points: Sequence[Point], condition: str, measure: str) -> "Figure":
    """Effectiveness to the right, following the instruction upwards, a named point for each system."""
    figure, axes = _panel(4.6, 4.0)
    axes.axhline(0, color=GREY, linewidth=1)
    for at, point in enumerate(points):
        marker = MARKERS[at // len(PALETTE) % len(MARKERS)]
        axes.scatter(point.x, point.y, s=46, color=PALETTE[at % len(PALETTE)], marker=marker)
    axes.set(xlabel=f"{measure} of original, ×100", ylabel=f"p-MRR of {condition}, ×100")
    axes.set_title("Effectiveness and instruction following")
    axes.margins(0.15)
    figure.draw_without_rendering()
    _name_points(axes, points)
    return figure


def _name_points(axes: "Axes", points: Sequence[Point]) -> None:
    """Write each name beside its point, where it covers the least of other names, points and the frame."""
    frame = axes.get_window_extent()
    unit = axes.figure.dpi / 72
    at = [axes.transData.transform((point.x, point.y)) for point in points]
    taken = [(x - 5 * unit, y - 5 * unit, x + 5 * unit, y + 5 * unit) for x, y in at]
    for point, (x, y) in zip(points, at, strict=True):
        name = _short(point.system, 30)
        wide, high = 5.2 * unit * len(name), 10 * unit
        best, place, box, toward = float("inf"), (0.0, 0.0), taken[0], 0
        for step in (0.0, 12.0, 24.0, 36.0):
            for side, rise in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1)):
                dx, dy = side * 7 * unit, rise * (9 + step) * unit
                left, low = x + dx - wide * (1 - side) / 2, y + dy - high / 2
                tried = (left, low, left + wide, low + high)
                outside = wide * high - _shared(tried, frame.extents)
                cost = 4 * outside + sum(_shared(tried, other) for other in taken) + step + abs(rise)
                if cost < best:
                    best, place, box, toward = cost, (dx / unit, dy / unit), tried, side
        taken.append(box)
        line = {"arrowstyle": "-", "color": GREY, "linewidth": 0.6} if abs(place[1]) > 12 else None
        style: dict[str, Any] = {"ha": ("center", "left", "right")[toward], "va": "center", "fontsize": 8.5}
        axes.annotate(name, (point.x, point.y), place, textcoords="offset points", arrowprops=line, bbox=PAPER, **style)


def _shared(one: Sequence[float], other: Sequence[float]) -> float:
    """The area that two boxes (left, low, right, high) have in common."""
    wide, high = min(one[2], other[2]) - max(one[0], other[0]), min(one[3], other[3]) - max(one[1], other[1])
    return wide * high if wide > 0 and high > 0 else 0.0


def _columns(series: Series) -> int:
    """Columns of a legend: long names stand one below the other."""
    return 1 if any(len(system) > 20 for system in series) else 2


def radar(title: str, series: Series) -> "Figure":
    """A spoke for each dimension, a line for each system; the dashed ring is 0."""
    from math import cos, pi

    parts = sorted({part for values in series.values() for part in values})
    angles = [2 * pi * at / len(parts) for at in range(len(parts))]
    figure, axes = _panel(4.6, 4.1 + 0.2 * len(series) / _columns(series), subplot_kw={"projection": "polar"})
    for at, (system, values) in enumerate(series.items()):
        heights = [100 * values.get(part, float("nan")) for part in [*parts, parts[0]]]
        style: dict[str, Any] = {
            "color": PALETTE[at % len(PALETTE)],
            "marker": MARKERS[at % len(MARKERS)],
            "linestyle": ("-", "--", ":")[at // len(PALETTE) % 3],
            "markersize": 4,
        }
        axes.plot([*angles, angles[0]], heights, label=_short(system, 30), linewidth=1.5, **style)
    everything = [100 * value for values in series.values() for value in values.values()]
    axes.set_ylim(min(0, *everything) - 5, max(0, *everything) + 5)
    axes.plot([2 * pi * at / 90 for at in range(91)], [0] * 91, color=GREY, linewidth=1, linestyle="--")
    axes.set_xticks(angles, parts)
    axes.tick_params(axis="x", pad=4)
    for label, angle in zip(axes.get_xticklabels(), angles, strict=True):
        label.set_horizontalalignment("center" if abs(cos(angle)) < 0.1 else "left" if cos(angle) > 0 else "right")
    axes.set_title(f"{title}, ×100", pad=18)
    figure.legend(loc="outside lower center", ncols=_columns(series))
    return figure


def grouped(title: str, series: Series) -> "Figure":
    """Bars by constraint type, one colour and hatch a system."""
    figure, axes = _panel(4.8, 3.5 + 0.2 * len(series) / _columns(series))
    parts = [part for part in TYPES if any(part in values for values in series.values())]
    width = 0.8 / len(series)
    for at, (system, values) in enumerate(series.items()):
        places = [place - 0.4 + width * (at + 0.5) for place, part in enumerate(parts) if part in values]
        heights = [100 * values[part] for part in parts if part in values]
        style: dict[str, Any] = {"color": PALETTE[at % len(PALETTE)], "hatch": ("", "//", "..")[at // len(PALETTE) % 3]}
        axes.bar(places, heights, width, label=_short(system, 30), edgecolor="white", **style)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xticks(range(len(parts)), parts)
    axes.grid(visible=False, axis="x")
    axes.set(xlabel="constraint type", ylabel="value ×100", title=title)
    figure.legend(loc="outside lower center", ncols=_columns(series))
    return figure

"""The plots of a report, one small panel each: which there are, how each is drawn, as SVG or PNG."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from heed.reporting import panels
from heed.reporting.panels import TYPES, Point, Series

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from heed.evaluation.summary import Row, Shift
    from heed.reporting.folders import Results

BY_TOPIC = ("p-MRR", "IRS")
INSTRUCTED = ("p-MRR", "IRS", "NFR", "WISE", "SICR", "Robustness@10")
STYLE: dict[Any, Any] = {
    "font.family": ["DejaVu Sans"],  # matplotlib brings it, so that every machine lays out the same
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "legend.frameon": False,
    "text.parse_math": False,  # a $ in a name is a $
    "svg.fonttype": "none",
    "figure.constrained_layout.use": True,
    "savefig.dpi": 200,
}


class Plot(NamedTuple):
    """One panel: ``name`` for its file, ``kind`` and ``folder`` for its place, ``title`` in words."""

    name: str
    kind: str
    folder: str
    title: str
    draw: "Callable[[], Figure]"


def plots(found: "Sequence[Results]") -> list[Plot]:
    """All panels that these results have figures for."""
    made = [plot for results in found for plot in _of_folder(results)]
    siblings: dict[str, list[Results]] = {}
    for results in found:
        siblings.setdefault(str(PurePosixPath(results.folder).parent), []).append(results)
    for parent, group in siblings.items():
        for (measure, condition), series in _dimensions(group).items():
            title = f"{measure} {condition} by dimension"
            made.append(Plot(f"radar.{measure}", "radar", parent, title, partial(panels.radar, title, series)))
        for folder, title, measure, series in _constraints(parent, group):
            draw = partial(panels.grouped, title, series)
            made.append(Plot(f"constraints.{measure}", "constraints", folder, title, draw))
    return [plot._replace(name=name) for plot, name in zip(made, _file_names(made), strict=True)]


def _of_folder(results: "Results") -> Iterator[Plot]:
    by_system: dict[str, list[Shift]] = {}
    for shift in results.shifts:
        by_system.setdefault(shift["system"], []).append(shift)
    lowest = max((max(shift["base"], shift["new"]) for shift in results.shifts), default=1)
    for system, mine in by_system.items():
        draw = partial(panels.shift, system, mine, lowest)
        yield Plot(f"shift.{system}", "shift", results.folder, f"{system}: rank shift", draw)
    for measure in BY_TOPIC:
        details = [one for one in results.details if one["measure"] == measure and one["per_topic"]]
        highest = max((abs(value) for one in details for value in one["per_topic"].values()), default=0.0)
        for one in details:
            title = f"{one['system']}: {measure} by topic, {one['condition']}"
            name = f"topics.{measure}.{one['system']}.{one['condition']}"
            yield Plot(name, "topics", results.folder, title, partial(panels.topics, one, highest))
    condition, measure, points = _points(results.rows)
    if points:
        draw = partial(panels.plane, points, condition, measure)
        yield Plot("plane", "plane", results.folder, f"{results.title}: {measure} against p-MRR", draw)


def _points(rows: "Sequence[Row]") -> tuple[str, str, list[Point]]:
    """Each system's main measure of ``original``, the first one, and its p-MRR of the first pair that has one."""
    paired = [row for row in rows if row["measure"] == "p-MRR" and row["condition"] not in TYPES]
    condition = paired[0]["condition"] if paired else ""
    rises = {row["system"]: 100 * row["value"] for row in paired if row["condition"] == condition}
    alone = [row for row in rows if row["condition"] == "original"]
    measure = alone[0]["measure"] if alone else ""
    effective = (row for row in alone if row["measure"] == measure)
    points = [
        Point(row["system"], 100 * row["value"], rises[row["system"]]) for row in effective if row["system"] in rises
    ]
    return condition, measure, points


def _dimensions(group: "Sequence[Results]") -> dict[tuple[str, str], Series]:
    """InfoSearch's measures that at least three dimensions have; fewer make no shape."""
    mine = [one for one in group if one.collection.startswith("infosearch") and one.subset != "average"]
    found = _series((row, row["condition"], results.subset) for results in mine for row in results.rows)
    return {key: series for key, series in found.items() if len(set().union(*series.values())) >= 3}


def _constraints(parent: str, group: "Sequence[Results]") -> Iterator[tuple[str, str, str, Series]]:
    """Folder, title, measure and figures by kind of constraint: rows of one folder, or folders beside one another."""
    for one in group:
        by_row = ((row, "", row["condition"]) for row in one.rows if row["condition"] in TYPES)
        for (measure, _), series in _series(by_row).items():
            yield one.folder, f"{one.title}: {measure} by constraint type", measure, series
    by_folder = ((row, row["condition"], one.subset) for one in group if one.subset in TYPES for row in one.rows)
    for (measure, condition), series in _series(by_folder).items():
        yield parent, f"{measure} {condition} by constraint type", measure, series


def _series(cells: "Iterator[tuple[Row, str, str]]") -> dict[tuple[str, str], Series]:
    """Measures of following instructions by (measure, condition), system and part."""
    found: dict[tuple[str, str], Series] = {}
    for row, condition, part in cells:
        if row["measure"] in INSTRUCTED:
            found.setdefault((row["measure"], condition), {}).setdefault(row["system"], {})[part] = row["value"]
    return found


def _file_names(made: Sequence[Plot]) -> list[str]:
    """A name of plain characters for each, unlike all others."""
    names: list[str] = []
    for plot in made:
        base = re.sub(r"[^\w.@+-]+", "-", f"{plot.folder}.{plot.name}".removeprefix(".")).strip("-.")[:150]
        name, count = base, 2
        while name in names:
            name, count = f"{base}-{count}", count + 1
        names.append(name)
    return names


def render(plot: Plot, form: str) -> bytes:
    """The bytes of ``plot`` as ``svg`` or ``png``: the same for the same figures, whatever this machine's settings."""
    import io
    import warnings

    import matplotlib

    stream = io.BytesIO()
    none = ("Date", "Creator", "Format", "Type") if form == "svg" else ("Software",)
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # the browser has the font
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE | {"svg.hashsalt": plot.name})
        plot.draw().savefig(stream, format=form, metadata=dict.fromkeys(none))
    return stream.getvalue()

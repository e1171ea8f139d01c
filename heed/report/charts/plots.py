"""Choose the charts of a report, one small panel each."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import NamedTuple

from heed.measures.pairwise import P_MRR, SELECTIVITY
from heed.measures.summary import Row, Shift, lower_is_better
from heed.published.standings import by_column, times_100
from heed.report.charts import part_charts, scatter, system_charts
from heed.report.charts.part_charts import TYPES, Links, Series
from heed.report.charts.rendering import Chart
from heed.report.charts.scatter import Point
from heed.report.charts.vega_lite import Spec
from heed.report.page_links import page_link
from heed.report.results import Results

BY_TOPIC = (P_MRR, "IRS")
FOLLOWING = (SELECTIVITY, P_MRR)  # by which systems are chosen and placed: p-MRR alone is high for one that sinks all
INSTRUCTED = (*FOLLOWING, "IRS", "NFR", "WISE", "SICR", "Robustness@10")
MOST = 8  # systems with charts of their own; more cannot be told apart


class Plot(NamedTuple):
    """One panel: ``name`` for its file, ``kind`` and ``folder`` for its place in the page, ``title`` in words."""

    name: str
    kind: str
    folder: str
    title: str
    spec: Callable[[], Spec]


class Best(NamedTuple):
    """The systems that have charts of their own, in the results' order, and by which figures they were chosen."""

    systems: list[str]
    measure: str
    condition: str


def plots(folders: Sequence[Results], most: int = MOST) -> list[Plot]:
    """Return all panels that the results have figures for; those of one system of the ``most`` best ones."""
    drawn = [plot for results in folders for plot in _of_folder(results, most)]
    siblings: dict[str, list[Results]] = {}
    for results in folders:
        siblings.setdefault(str(PurePosixPath(results.folder).parent), []).append(results)
    for parent, group in siblings.items():
        drawn += _radars(parent, group)
    return [plot._replace(name=name) for plot, name in zip(drawn, _file_names(drawn), strict=True)]


def best(results: Results, most: int) -> Best:
    """Return the ``most`` best systems by selectivity, p-MRR, another measure of instructions, or the first at all."""
    rows = results.rows
    measured = [row for row in rows if row["condition"] not in TYPES]
    instructed = [row for row in measured if row["measure"] in INSTRUCTED]
    first = min(instructed or measured or rows, key=lambda row: [row["measure"] != name for name in FOLLOWING])
    sign = -1 if lower_is_better(first["measure"], results.lower_is_better) else 1
    marks = {
        row["system"]: sign * row["value"]
        for row in rows
        if (row["measure"], row["condition"]) == (first["measure"], first["condition"])
    }
    systems = list(dict.fromkeys(row["system"] for row in rows))
    ordered = sorted(systems, key=lambda system: marks.get(system, float("-inf")), reverse=True)
    chosen = set(ordered[:most])
    return Best([system for system in systems if system in chosen], first["measure"], first["condition"])


def _of_folder(results: Results, most: int) -> Iterator[Plot]:
    yield from _planes(results, most)
    chosen = best(results, most).systems
    by_system: dict[str, list[Shift]] = {system: [] for system in chosen}
    for shift in results.shifts:
        by_system.setdefault(shift["system"], []).append(shift)
    lowest = max((max(shift["base"], shift["new"]) for shift in results.shifts), default=1)
    for system in chosen:
        if by_system[system]:
            spec = partial(system_charts.shift, results.folder, system, by_system[system], lowest)
            yield Plot(f"shift.{system}", "shift", results.folder, f"{system}: rank shift", spec)
    for measure in BY_TOPIC:
        details = [
            detail
            for detail in results.details
            if detail["measure"] == measure and detail["per_topic"] and detail["condition"] not in TYPES
        ]
        highest = max((abs(value) for detail in details for value in detail["per_topic"].values()), default=0.0)
        for detail in details:
            system, instruction = detail["system"], detail["condition"]
            if system in chosen:
                title = f"{system}: {measure} by topic, {instruction}"
                name = f"topics.{measure}.{system}.{instruction}"
                spec = partial(system_charts.topics, results.folder, detail, highest)
                yield Plot(name, "topics", results.folder, title, spec)
                if len(detail["per_topic"]) > system_charts.MANY:
                    spec = partial(system_charts.histogram, detail)
                    yield Plot(f"histogram.{name}", "topics", results.folder, f"{title}: histogram", spec)
    yield from _constraints(results)


def plane(results: Results) -> Chart | None:
    """Return the chart of all systems by effectiveness and selectivity, else p-MRR; None where neither was measured."""
    plot = next(_planes(results, MOST), None)
    return plot and Chart(plot.title, plot.spec())


def _planes(results: Results, most: int) -> Iterator[Plot]:
    """Yield effectiveness against selectivity, and against p-MRR; the second is of the kind that a page folds."""
    kinds = iter((("plane", "plane"), ("plane.p-MRR", "folded")))
    for following in FOLLOWING:
        condition, measure, points = _points(results.rows, following)
        if points:
            columns = by_column(results.collection, results.subset)
            axes = ("original", measure.lower()), (condition, following.lower())
            x, y = (columns.get(axis, {}) for axis in axes)
            others = [Point(name, times_100(x[name]), times_100(y[name])) for name in x if name in y]
            titles = f"{measure} of original, ×100", f"{following} of {condition}, ×100"
            named = best(results, min(most, MOST)).systems
            spec = partial(scatter.scatter, results.folder, points, named, titles, others)
            title = f"{results.title}: {measure} against {following}"
            yield Plot(*next(kinds), results.folder, title, spec)


def _points(rows: Sequence[Row], following: str) -> tuple[str, str, list[Point]]:
    """Return the first pair measured by ``following``, the first measure of ``original``, each system's two figures."""
    paired = [row for row in rows if row["measure"] == following and row["condition"] not in TYPES]
    condition = paired[0]["condition"] if paired else ""
    upwards = {row["system"]: 100 * row["value"] for row in paired if row["condition"] == condition}
    originals = [row for row in rows if row["condition"] == "original"]
    measure = originals[0]["measure"] if originals else ""
    points = [
        Point(row["system"], 100 * row["value"], upwards[row["system"]])
        for row in originals
        if row["measure"] == measure and row["system"] in upwards
    ]
    return condition, measure, points


def _radars(parent: str, group: Sequence[Results]) -> Iterator[Plot]:
    """Yield InfoSearch's measures that at least three dimensions have; fewer make no shape."""
    dimensions = [each for each in group if each.collection.startswith("infosearch") and each.subset != "average"]
    folders = {results.subset: results.folder for results in dimensions}
    by_measure = _series((row, row["condition"], results.subset) for results in dimensions for row in results.rows)
    for (measure, condition), figures in by_measure.items():
        if len(set().union(*figures.values())) >= 3:
            title = f"{measure} {condition} by dimension"
            spec = partial(part_charts.radar, title, _few(measure, figures), _links(figures, folders))
            yield Plot(f"radar.{measure}", "radar", parent, title, spec)


def _constraints(results: Results) -> Iterator[Plot]:
    """Yield a folder's figures by kind of constraint."""
    by_row = ((row, "", row["condition"]) for row in results.rows if row["condition"] in TYPES)
    for (measure, _), figures in _series(by_row).items():
        title = f"{results.title}: {measure} by constraint type"
        links = _links(figures, dict.fromkeys(TYPES, results.folder))
        spec = partial(part_charts.grouped, title, _few(measure, figures), links)
        yield Plot(f"constraints.{measure}", "constraints", results.folder, title, spec)


def _series(cells: Iterator[tuple[Row, str, str]]) -> dict[tuple[str, str], Series]:
    """Return measures of following instructions by (measure, condition), system and part."""
    by_measure: dict[tuple[str, str], Series] = {}
    for row, condition, part in cells:
        if row["measure"] in INSTRUCTED:
            by_measure.setdefault((row["measure"], condition), {}).setdefault(row["system"], {})[part] = row["value"]
    return by_measure


def _few(measure: str, figures: Series) -> Series:
    """Return the figures of the systems that are best on average over their parts, in their order."""
    sign = -1 if lower_is_better(measure) else 1
    averages = {system: sign * sum(values.values()) / len(values) for system, values in figures.items()}
    chosen = sorted(averages, key=lambda system: averages[system], reverse=True)[:MOST]
    return {system: values for system, values in figures.items() if system in chosen}


def _links(figures: Series, folders: dict[str, str]) -> Links:
    """Return the place of each system and part: the part's folder."""
    return {(system, part): page_link(folders[part]) for system, values in figures.items() for part in values}


def _file_names(drawn: Sequence[Plot]) -> list[str]:
    """Return a unique name of plain characters for each plot."""
    names: dict[str, None] = {}
    for plot in drawn:
        base = re.sub(r"[^\w.@+-]+", "-", f"{plot.folder}.{plot.name}".removeprefix(".")).strip("-.")[:150]
        name, count = base, 2
        while name in names:
            name, count = f"{base}-{count}", count + 1
        names[name] = None
    return list(names)

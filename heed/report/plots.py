"""Choose the charts of a report, one small panel each."""

import re
from collections.abc import Iterator, Sequence
from math import inf
from pathlib import PurePosixPath
from typing import NamedTuple

from heed.measures.baseline import FOLLOWING, instruction
from heed.measures.pairwise import P_MRR, SELECTIVITY
from heed.measures.significance import interval
from heed.measures.summary import Row, Shift, lower_is_better
from heed.report import charts
from heed.report.charts import Chart, Point, Series, Spec, Value
from heed.report.results import TYPES, Column, ResultsFolder

HIGH = {  # what documents do in a system that is high by a measure of following
    "IRS": "relevant tables rise and excluded ones fall",
    "WISE": "relevant documents rise with the instruction and fall with its reverse",
    SELECTIVITY: "documents that are ruled out fall further than those that stay relevant",
    P_MRR: "documents that are ruled out fall, as all do in a system that sinks everything",
}
INSTRUCTED = (*FOLLOWING, "NFR", "SICR", "Robustness@10")
MOST = 8  # systems with charts of their own; more cannot be told apart
HEADINGS = {  # by kind, in the page's order
    "plane": "Effectiveness against instruction following",
    "shift": "Rank shift of every judged document",
    "topics": "Topic by topic",
    "folded": "The same by p-MRR",
    "dimensions": "InfoSearch by dimension",
    "constraints": "FollowTable by type of constraint",
}


class Plot(NamedTuple):
    """One panel: ``name`` for its file, ``kind`` and ``folder`` for its place in the page, ``title`` in words.

    ``note`` says how to read panels of this kind.
    """

    name: str
    kind: str
    folder: str
    title: str
    note: str
    spec: Spec


class Best(NamedTuple):
    """The systems that have charts of their own, in the results' order, and by which figures they were chosen."""

    systems: list[str]
    measure: str
    condition: str


def plots(folders: Sequence[ResultsFolder], most: int = MOST) -> list[Plot]:
    """Return all panels that the results have figures for; those of one system of the ``most`` best ones."""
    drawn = [plot for results in folders for plot in _of_folder(results, most)]
    siblings: dict[str, list[ResultsFolder]] = {}
    for results in folders:
        siblings.setdefault(str(PurePosixPath(results.folder).parent), []).append(results)
    for parent, group in siblings.items():
        drawn += _dimensions(parent, group)
    return [plot._replace(name=name) for plot, name in zip(drawn, _file_names(drawn), strict=True)]


def best(results: ResultsFolder, most: int) -> Best:
    """Return the ``most`` best systems by the deciding measure, another one of instructions, or the first at all."""
    rows, systems = results.rows, results.names
    measured = [row for row in rows if row["condition"] not in TYPES]
    instructed = [row for row in measured if row["measure"] in INSTRUCTED]
    first = min(instructed or measured or rows, key=lambda row: [row["measure"] != name for name in FOLLOWING])
    sign = -1 if results.is_lower_better(first["measure"]) else 1
    values = results.values((first["condition"], first["measure"]))
    ordered = sorted(systems, key=lambda system: sign * values[system] if system in values else -inf, reverse=True)
    chosen = set(ordered[:most])
    return Best([system for system in systems if system in chosen], first["measure"], first["condition"])


def _of_folder(results: ResultsFolder, most: int) -> Iterator[Plot]:
    chosen = best(results, most)
    yield from _planes(results, fewest=2)
    yield from _shifts(results, chosen)
    yield from _topics(results, chosen.systems, chosen.measure, "topics")
    if chosen.measure == SELECTIVITY:  # of such changes papers have p-MRR
        yield from _topics(results, chosen.systems, P_MRR, "folded")
    yield from _constraints(results)


def _shifts(results: ResultsFolder, chosen: Best) -> Iterator[Plot]:
    by_system: dict[str, list[Shift]] = {}
    for shift in results.shifts:
        by_system.setdefault(shift["system"], []).append(shift)
    lowest = max((max(shift["base"], shift["new"]) for shift in results.shifts), default=1)
    under = instruction(chosen.condition.rpartition(">")[2], chosen.condition)
    note = (
        f"Circles are documents that stay relevant under {under}: they should stay or rise. Crosses are documents "
        "that are ruled out: they should be pushed down, below the line. Rank 1 is at the top."
    )
    for system in chosen.systems:
        if system in by_system:
            spec = charts.shift(results.folder, system, chosen.condition, by_system[system], lowest)
            yield Plot(f"shift.{system}", "shift", results.folder, f"{system}: rank shift", note, spec)


def _topics(results: ResultsFolder, chosen: Sequence[str], measure: str, kind: str) -> Iterator[Plot]:
    details = [
        detail
        for detail in results.details
        if detail["measure"] == measure and detail["per_topic"] and detail["condition"] not in TYPES
    ]
    highest = max((abs(value) for detail in details for value in detail["per_topic"].values()), default=0.0)
    for detail in details:
        system, pair = detail["system"], detail["condition"]
        if measure in FOLLOWING and system in chosen:
            note = (
                f"Blue bars: the system followed {instruction(pair.rpartition('>')[2], pair)}; orange bars: it went "
                "against it. Dashed: the mean over topics; grey: its 95% bootstrap interval."
            )
            title = f"{system}: {measure} by topic, {pair}"
            name = f"topics.{measure}.{system}.{pair}"
            spec = charts.topics(results.folder, detail, highest)
            yield Plot(name, kind, results.folder, title, note, spec)


def plane(results: ResultsFolder) -> Chart | None:
    """Return the chart of all systems by effectiveness and the deciding measure; None where nothing was compared."""
    plot = next(_planes(results, fewest=1), None)
    return plot and Chart(plot.title, plot.spec)


def _planes(results: ResultsFolder, fewest: int) -> Iterator[Plot]:
    """Yield charts of at least ``fewest`` systems by effectiveness and the deciding measure; and p-MRR."""
    chosen = best(results, MOST)
    kinds = {chosen.measure: ("plane", "plane")} if chosen.measure in FOLLOWING else {}
    if chosen.measure == SELECTIVITY:
        kinds[P_MRR] = ("plane.p-MRR", "folded")
    measure = next((row["measure"] for row in results.rows if row["condition"] == "original"), "")
    for following, (name, kind) in kinds.items():
        axes = ("original", measure), (chosen.condition, following)
        points = _points(results, chosen.systems, *axes)
        x, y = map(results.published, axes)  # of systems of papers
        others = [Point(name, (x[name].value,) * 3, (y[name].value,) * 3) for name in x if name in y]
        if points and len(points) + len(others) >= fewest:
            titles = f"{measure} of original, ×100", f"{following} of {chosen.condition}, ×100"
            spec = charts.scatter(results.folder, points, chosen.systems, titles, others)
            pair = chosen.condition
            note = (
                f"To the right: better rankings under {instruction('original', pair)}. "
                f"Upwards: {instruction(pair.rpartition('>')[2], pair)} is followed: {HIGH[following]}."
            )
            lines = " Lines are 95% bootstrap intervals." if results.details else ""
            grey = " Grey: systems of papers; the pointer shows their names." if others else ""
            title = f"{results.title}: {measure} against {following}"
            yield Plot(name, kind, results.folder, title, note + lines + grey, spec)


def _points(results: ResultsFolder, chosen: Sequence[str], x: Column, y: Column) -> list[Point]:
    """Return the systems with figures of both columns, condition and measure; the ``chosen`` ones with intervals."""
    values: dict[str, dict[Column, Value]] = {}
    for row in results.rows:
        values.setdefault(row["system"], {})[row["condition"], row["measure"]] = (100 * row["value"],) * 3
    for detail in results.details:
        column, by_topic = (detail["condition"], detail["measure"]), [*detail["per_topic"].values()]
        if column in (x, y) and detail["system"] in chosen and by_topic:
            low, high = interval(by_topic)
            values[detail["system"]][column] = 100 * detail["value"], 100 * low, 100 * high
    return [Point(system, of_system[x], of_system[y]) for system, of_system in values.items() if {x, y} <= {*of_system}]


def _dimensions(parent: str, group: Sequence[ResultsFolder]) -> Iterator[Plot]:
    """Yield InfoSearch's measures that several dimensions have."""
    dimensions = [each for each in group if each.collection.startswith("infosearch") and each.subset != "average"]
    folders = {results.subset: results.folder for results in dimensions}
    by_measure = _series((row, row["condition"], results.subset) for results in dimensions for row in results.rows)
    for (measure, condition), figures in by_measure.items():
        if len(set().union(*figures.values())) > 1:
            title = f"{measure} {condition} by dimension"
            spec = charts.grouped(title, _few(measure, figures), "dimension", folders)
            yield Plot(f"dimensions.{measure}", "dimensions", parent, title, "Higher is better.", spec)


def _constraints(results: ResultsFolder) -> Iterator[Plot]:
    """Yield a folder's figures by kind of constraint."""
    by_row = ((row, "", row["condition"]) for row in results.rows if row["condition"] in TYPES)
    note = "C1 and C2 constrain what a table says, S1 to S3 how it is built. Higher is better, of NFR lower."
    for (measure, _), figures in _series(by_row).items():
        title = f"{results.title}: {measure} by constraint type"
        spec = charts.grouped(title, _few(measure, figures), "constraint type", dict.fromkeys(TYPES, results.folder))
        yield Plot(f"constraints.{measure}", "constraints", results.folder, title, note, spec)


def _series(cells: Iterator[tuple[Row, str, str]]) -> dict[Column, Series]:
    """Return measures of following instructions by (measure, condition), system and part."""
    by_measure: dict[Column, Series] = {}
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

"""Figures that were run again beside the printed ones, with a verdict on each, as data and as a page."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from heed.addons.published.figures import Figure, Paper
from heed.addons.published.reproduction import PlannedRow
from heed.addons.published.standings import heed_condition
from heed.measures.pairwise import GOLD_RANK
from heed.measures.significance import interval
from heed.measures.summary import Detail
from heed.report.html import template

MEASURES = {"rank": GOLD_RANK, "Score": "score"}  # the papers' names: Heed's


ReproducedFigure = dict[str, Any]  # for JSON, as :func:`cells` says


def cells(task: PlannedRow, results: Mapping[str, Sequence[Detail]], command: str = "") -> list[ReproducedFigure]:
    """Return a cell for each figure of ``task``, which ``command`` runs; ``results`` are details by subset.

    ``ours`` and ``published`` are in the printed unit, ``ours`` None where nothing ran; the ``verdict`` is equal,
    within, off or not run. A subset's details may be of several systems: the last is the one asked for, after its first
    stage.
    """
    reproduced = []
    for figure in task.figures:
        values = [_values(figure, subset, results.get(subset, ())) for subset in task.settings]
        ours, verdict = _judged(figure, values) if values and all(values) else (None, "not run")
        missing = list(task.missing)
        if ours is None and not missing:
            missing = [f"the command gives no {figure.measure} of {figure.condition}"]
        about = {"table": task.table, "system": task.system, "subset": task.subset, "setting": task.setting}
        about |= {"condition": figure.condition or "", "measure": figure.measure}
        values_of = {"published": figure.value, "ours": ours, "verdict": verdict}
        reproduced.append(about | values_of | {"command": command, "missing": missing})
    return reproduced


def _values(figure: Figure, subset: str, details: Sequence[Detail]) -> list[float]:
    """Return the values of a figure by topic; FollowIR's Score is AP, or nDCG@5 on News21."""
    measure = MEASURES.get(figure.measure, figure.measure)
    if measure == "score":
        measure = "nDCG@5" if subset == "news21" else "AP"
    systems = list(dict.fromkeys(detail["system"] for detail in details))
    for detail in details:
        column = systems[-1], heed_condition(figure), measure
        if (detail["system"], detail["condition"], detail["measure"]) == column:
            return [detail["per_topic"][qid] for qid in sorted(detail["per_topic"])]
    return []


def _judged(figure: Figure, by_subset: Sequence[Sequence[float]]) -> tuple[float, str]:
    """Return our figure in the printed unit, and whether it is the printed one.

    ``within``: the printed one lies in the 95% bootstrap interval over topics; of an average of subsets the
    intervals' half-widths are added in quadrature, as for independent means.
    """
    scale = 100 if figure.unit == "x100" else 1
    means = [math.fsum(values) / len(values) for values in by_subset]
    ours = scale * math.fsum(means) / len(means)
    digits = len(str(figure.value).partition(".")[2])
    if f"{ours:z.{digits}f}" == f"{figure.value:z.{digits}f}":
        return ours, "equal"
    intervals = [interval(values) for values in by_subset]
    below = math.hypot(*(centre - each.low for centre, each in zip(means, intervals, strict=True))) / len(means)
    above = math.hypot(*(each.high - centre for centre, each in zip(means, intervals, strict=True))) / len(means)
    half = 0.5 * 10**-digits
    within = ours - scale * below - half <= figure.value <= ours + scale * above + half
    return ours, "within" if within else "off"


def page(paper: Paper, cells: Sequence[ReproducedFigure]) -> str:
    """Return the HTML page of ``cells``, which needs no other file and no network."""
    captions = {table.table: table.caption for table in paper.tables}
    names = dict.fromkeys(cell["table"] for cell in cells)
    tables = [_table(name, captions[name], [cell for cell in cells if cell["table"] == name]) for name in names]
    return template("addons/published/matrix.html.jinja").render(title=paper.paper.title, tables=tables)


def _table(name: str, caption: str, cells: Sequence[ReproducedFigure]) -> dict[str, Any]:
    heads = list(dict.fromkeys(map(_head, cells)))
    by_system: dict[str, dict[str, ReproducedFigure]] = {}
    commands = {}
    for cell in cells:
        by_system.setdefault(cell["system"], {})[_head(cell)] = cell
        label = " ".join(filter(None, (cell["system"], cell["subset"], cell["setting"])))
        commands[label] = {"name": label, "command": cell["command"], "missing": cell["missing"]}
    lines = [{"system": system, "cells": [line.get(head) for head in heads]} for system, line in by_system.items()]
    return {"name": name, "caption": caption, "heads": heads, "lines": lines, "commands": list(commands.values())}


def _head(cell: ReproducedFigure) -> str:
    return " ".join(filter(None, (cell["subset"], cell["setting"], cell["condition"], cell["measure"])))

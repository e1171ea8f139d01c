"""The figures behind the tables, by topic, in the compact form that the page of a report carries."""

from collections.abc import Mapping, Sequence
from typing import Any

from heed.measures.baseline import AgainstBaseline, BaselineRow, against_baseline
from heed.measures.summary import Detail, factor, is_merit, lower_is_better
from heed.published.standings import by_column, times_100
from heed.report.charts.part_charts import TYPES
from heed.report.manifest_reader import Settings
from heed.report.results import Results

SCALE = 100_000  # values by topic are whole numbers of this
MOST = 20  # systems, each of which can be the baseline of the page; of more, the one that is chosen for it
BOUNDS = ("low", "high")
DIFFERENCE = ("difference", "difference_low", "difference_high", "p", "p_holm", "better", "equal", "worse", "n")


def comparisons(results: Results) -> dict[str, AgainstBaseline]:
    """Return the comparison with each system as the baseline, that chosen for the page first; empty without topics.

    Parts of topics or judgements have none: so many tests would show something by chance.
    """
    details = [each for each in results.details if not _is_part(each["condition"]) and is_merit(each["measure"])]
    if not any(detail["per_topic"] for detail in details):
        return {}
    measured = details, results.systems
    first = against_baseline(*measured, directions=results.lower_is_better)
    names = dict.fromkeys(detail["system"] for detail in details)
    others = [name for name in names if name != first.baseline] if len(names) <= MOST else []
    return {first.baseline: first} | {
        name: against_baseline(*measured, name, directions=results.lower_is_better) for name in others
    }


def figures(results: Results, settings: Settings, compared: Mapping[str, AgainstBaseline]) -> dict[str, Any]:
    """Return the figures of a folder for JSON.

    Of each column, which is a condition and a measure: ``means`` by system as printed, ``topics`` (indices in the
    folder's list of qids) and ``values`` by system, parallel to these, in units of 1 / ``SCALE``; null where there is
    none. ``low`` and ``high`` bound the intervals of the means, and ``against`` has by the number of each baseline in
    ``compared`` what :data:`DIFFERENCE` names, by system. ``published`` are names and figures ×100 of other people's
    systems. ``part`` is whether the condition is a part of another one's topics or judgements.
    """
    systems = list(dict.fromkeys(row["system"] for row in results.rows))
    qids = sorted({qid for detail in results.details for qid in detail["per_topic"]})
    index_of = {qid: index for index, qid in enumerate(qids)}
    details: dict[tuple[str, str], dict[str, Detail]] = {}
    for detail in results.details:
        details.setdefault((detail["condition"], detail["measure"]), {})[detail["system"]] = detail
    means: dict[tuple[str, str], dict[str, float]] = {}
    for row in results.rows:
        means.setdefault((row["condition"], row["measure"]), {})[row["system"]] = row["value"]
    published = by_column(results.collection, results.subset)
    rows = {
        baseline: {(row["condition"], row["measure"], row["system"]): row for row in each.rows}
        for baseline, each in compared.items()
    }
    columns = []
    for (condition, measure), by_system in means.items():
        column = {
            "condition": condition,
            "measure": measure,
            "lower": lower_is_better(measure, results.lower_is_better),
            "factor": factor(measure),
            "means": [by_system.get(system) for system in systems],
            "part": _is_part(condition),
            "published": sorted(
                (name, times_100(figure)) for name, figure in published.get((condition, measure.lower()), {}).items()
            ),
        }
        of_column = {
            baseline: [of.get((condition, measure, system)) for system in systems] for baseline, of in rows.items()
        }
        column |= _compared(of_column, systems)
        columns.append(column | _by_topic(details.get((condition, measure), {}), systems, index_of))
    return {
        "folder": results.folder,
        "title": results.title,
        "systems": systems,
        "qids": qids,
        "columns": columns,
        "settings": {system: settings.systems[system] for system in systems if system in settings.systems},
    }


def _is_part(condition: str) -> bool:
    return condition in TYPES or " " in condition


def _compared(rows: Mapping[str, Sequence[BaselineRow | None]], systems: Sequence[str]) -> dict[str, Any]:
    """Return the intervals of a column's systems, their differences to each baseline, and the test of these."""
    first = next(iter(rows.values()), [])
    tests = [row["test"] for of in rows.values() for row in of if row and row["test"]]
    against = {
        systems.index(baseline): [
            [_short(row[name]) for name in DIFFERENCE]  # type: ignore[literal-required]
            if row and row["difference"] is not None
            else None
            for row in of
        ]
        for baseline, of in rows.items()
    }
    bounds = {name: [row and _short(row[name]) for row in first] for name in BOUNDS}  # type: ignore[literal-required]
    return bounds | {"test": tests[0] if tests else None, "against": against}


def _short(value: float | None) -> float | None:
    """Return a value with the digits that a page can show."""
    return None if value is None else round(value, 8)


def _by_topic(details: Mapping[str, Detail], systems: Sequence[str], index_of: Mapping[str, int]) -> dict[str, Any]:
    """Return the topics of a column and the values of each system."""
    qids = sorted({qid for detail in details.values() for qid in detail["per_topic"]})
    by_system = [details[system]["per_topic"] if system in details else None for system in systems]
    values = [
        None if per_topic is None else [round(SCALE * per_topic[qid]) if qid in per_topic else None for qid in qids]
        for per_topic in by_system
    ]
    return {"topics": [index_of[qid] for qid in qids], "values": values}

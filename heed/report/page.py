"""A report as one HTML page that needs nothing from anywhere.

Tables are there without JavaScript; with it, charts are drawn, tables sorted and filtered, and two systems compared.
Every figure names the row that it was read from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from markupsafe import Markup
from msgspec.json import encode

from heed.addon_table import brought_if_here
from heed.files import write_bytes
from heed.measures.baseline import AgainstBaseline, BaselineRow
from heed.measures.summary import ABSENT, Detail, factor, format_value, is_merit, layout
from heed.report.charts import CONFIG
from heed.report.first_screen import SCALES, answer, first_screen
from heed.report.html import Part, compose, explorer_link, json_text, pack, page_file, page_link, script, template
from heed.report.plots import HEADINGS, MOST, best, plots
from heed.report.results import TYPES, Column, ManifestSettings, ResultsFolder, read_settings

WIDE = 520  # pixels; beyond it a chart scrolls on a narrow screen
PAGE = PurePosixPath("report/page")
STYLES = (PAGE / "shared/colours.css", PAGE / "report.css", PAGE / "first.css")
MAIN = PAGE / "places.js"
VEGA = "vega.js"  # in a site
SCALE = 100_000  # values by topic are whole numbers of this
BASELINES = 20  # systems, each of which can be the baseline of the page; of more, the one that is chosen for it
DIFFERENCE = ("difference", "difference_low", "difference_high", "p", "p_holm", "better", "equal", "worse", "n")


def write_page(results: Sequence[ResultsFolder], runs: Path, path: Path) -> int:
    """Write the page of ``results``, at and below the folder ``runs``, to ``path``; return its size in bytes."""
    content = page(results, runs).encode()
    write_bytes(path, content)
    return len(content)


def page(results: Sequence[ResultsFolder], runs: Path, site: str = "") -> str:
    """Return the whole page of ``results``, which are at and below the folder ``runs``.

    In a ``site`` of that title it is named after its collection, and leads back to the first page.
    """
    title = results[0].title if site else runs.resolve().name
    tables = overview(results, title, site)
    embedded = brought_if_here("explorer of a report")
    topics = [embedded(results, len(compose(title, [tables]).encode()))] if embedded else []
    return compose(title, [*topics, tables])


def overview(results: Sequence[ResultsFolder], title: str, site: str = "") -> Part:
    """Return the part with the tables and charts of ``results``, and the figures by topic."""
    sections = [*map(_section, results)]
    drawn = plots(results)
    specs = {plot.name: plot.spec | {"config": {}, "description": plot.title} for plot in drawn}
    for name in (plot.name for plot in drawn if plot.kind == "plane"):
        del specs[name]["title"]  # the page's heading says it
    html = template("report/page/overview.html.jinja").render(
        title=title,
        site=site,
        sections=sections,
        plots=drawn,
        data=json_text([section["figures"] for section in sections]),
        headings=HEADINGS,
        wide=[name for name, spec in specs.items() if spec["width"] > WIDE],
        charts=pack(encode({"config": CONFIG, "specs": specs})) if specs else "",
        layout=layout,
        format_value=format_value,
        absent=ABSENT,
        scales=SCALES,
        place=page_link,
    )
    part = look()._replace(html=Markup(html))  # noqa: S704 - made by a template that escapes
    if not specs:
        return part
    return part._replace(library_file=VEGA) if site else part._replace(library=vega_file())


def vega_file() -> str:
    """Return the text of Vega's libraries; ``page/vendor`` says where they are from."""
    return page_file(PAGE / "vendor" / VEGA)


def look(styles: Sequence[PurePosixPath] = STYLES, main: PurePosixPath = MAIN) -> Part:
    """Return style and script of a page from files of ``heed``: those of the overview are the same for all results."""
    return Part(Markup(), "\n".join(map(page_file, styles)), script(main))


def _section(results: ResultsFolder) -> dict[str, Any]:
    """Return the results of a folder with its answer, settings, first screen and figures, and two links by name.

    ``pair`` leads to its best system beside the baseline, ``topics`` to its worst topic; both may be empty.
    """
    settings, compared = read_settings(results.path), comparisons(results)
    charted, answered = best(results, MOST), answer(results)
    screen = first_screen(results, answered, settings, compared)
    tables, notes = results.of_papers("published tables"), results.of_papers("published notes")
    has_topics = any(detail["per_topic"] for detail in results.details)
    return {
        "results": results,
        "answer": answered,
        "settings": settings,
        "charted": charted,
        "screen": screen,
        "published": tables(results.collection, results.subset, results.rows) if tables else {},
        "notes": notes(results.collection, results.subset, results.names) if notes else [],
        "figures": figures(results, settings, compared) | {"first": screen.data},
        "pair": page_link(results.folder, "systems", *screen.compared) if len(screen.compared) > 1 else "",
        "topics": explorer_link(results.folder, "topic", system=charted.systems[0]) if has_topics else "",
    }


def comparisons(results: ResultsFolder) -> dict[str, AgainstBaseline]:
    """Return the comparison with each system as the baseline, that chosen for the page first; empty without topics.

    Parts of topics or judgements have none: so many tests would show something by chance.
    """
    details = [each for each in results.details if not _is_part(each["condition"]) and is_merit(each["measure"])]
    if not any(detail["per_topic"] for detail in details):
        return {}
    tested = replace(results, details=details)
    first = tested.compare()
    names = dict.fromkeys(detail["system"] for detail in details)
    others = [name for name in names if name != first.baseline] if len(names) <= BASELINES else []
    return {first.baseline: first} | {name: tested.compare(name) for name in others}


def figures(
    results: ResultsFolder, settings: ManifestSettings, compared: Mapping[str, AgainstBaseline]
) -> dict[str, Any]:
    """Return the figures of a folder for JSON.

    Of each column, which is a condition and a measure: ``means`` by system as printed, ``topics`` (indices in the
    folder's list of qids) and ``values`` by system, parallel to these, in units of 1 / ``SCALE``; null where there is
    none. ``low`` and ``high`` bound the intervals of the means, and ``against`` has by the number of each baseline in
    ``compared`` what :data:`DIFFERENCE` names, by system. ``published`` are names and figures ×100 of other people's
    systems. ``part`` is whether the condition is a part of another one's topics or judgements.
    """
    systems = results.names
    qids = sorted({qid for detail in results.details for qid in detail["per_topic"]})
    index_of = {qid: index for index, qid in enumerate(qids)}
    details: dict[Column, dict[str, Detail]] = {}
    for detail in results.details:
        details.setdefault((detail["condition"], detail["measure"]), {})[detail["system"]] = detail
    rows: dict[Column, dict[str, dict[str, BaselineRow]]] = {}  # by column, baseline and system
    for baseline, each in compared.items():
        for row in each.rows:
            rows.setdefault((row["condition"], row["measure"]), {}).setdefault(baseline, {})[row["system"]] = row
    columns = []
    for column in results.columns:
        condition, measure = column
        values = results.values(column)
        about = {
            "condition": condition,
            "measure": measure,
            "lower": results.is_lower_better(measure),
            "factor": factor(measure),
            "means": [values.get(system) for system in systems],
            "part": _is_part(condition),
            "published": sorted((name, figure.value) for name, figure in results.published(column).items()),
        }
        about |= _compared(rows.get(column, {}), systems)
        columns.append(about | _by_topic(details.get(column, {}), systems, index_of))
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


def _compared(rows: Mapping[str, Mapping[str, BaselineRow]], systems: Sequence[str]) -> dict[str, Any]:
    """Return the intervals of a column's systems, their differences to each baseline, and the test of these."""
    first = next(iter(rows.values()), {})
    tests = [row["test"] for of in rows.values() for row in of.values() if row["test"]]
    against = {
        systems.index(baseline): [_short(of.get(system), DIFFERENCE) for system in systems]
        for baseline, of in rows.items()
    }
    low, high = zip(*(_short(first.get(system), ("low", "high")) or (None, None) for system in systems), strict=True)
    return {"low": low, "high": high, "test": tests[0] if tests else None, "against": against}


def _short(row: BaselineRow | None, names: Sequence[str]) -> list[float | None] | None:
    """Return the named figures with the digits that a page can show; None where the first does not apply."""
    figures = [row[name] for name in names] if row else [None]  # type: ignore[literal-required]
    return None if figures[0] is None else [figure and round(figure, 8) for figure in figures]


def _by_topic(details: Mapping[str, Detail], systems: Sequence[str], index_of: Mapping[str, int]) -> dict[str, Any]:
    """Return the topics of a column and the values of each system."""
    qids = sorted({qid for detail in details.values() for qid in detail["per_topic"]})
    by_system = [details[system]["per_topic"] if system in details else None for system in systems]
    values = [
        None if per_topic is None else [round(SCALE * per_topic[qid]) if qid in per_topic else None for qid in qids]
        for per_topic in by_system
    ]
    return {"topics": [index_of[qid] for qid in qids], "values": values}

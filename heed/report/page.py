"""A report as one HTML page that needs nothing from anywhere.

Tables are there without JavaScript; with it, charts are drawn, tables sorted and filtered, and two systems compared.
Every figure names the row that it was read from.
"""

import json
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from markupsafe import Markup
from msgspec.json import encode

from heed.addon_table import brought_if_here
from heed.files import write_bytes
from heed.measures.summary import ABSENT, format_value, layout
from heed.report.charts import CONFIG
from heed.report.figures import comparisons, figures
from heed.report.first_screen import SCALES, answer, first_screen
from heed.report.html import Part, compose, explorer_link, pack, page_file, page_link, script, template
from heed.report.plots import HEADINGS, MOST, best, plots
from heed.report.results import ResultsFolder, read_settings

WIDE = 520  # pixels; beyond it a chart scrolls on a narrow screen
PAGE = PurePosixPath("report/page")
STYLES = (PAGE / "shared/colours.css", PAGE / "report.css", PAGE / "first.css")
MAIN = PAGE / "places.js"
VEGA = "vega.js"  # in a site


def write_page(results: Sequence[ResultsFolder], runs: Path, path: Path) -> int:
    """Write the page of ``results``, at and below the folder ``runs``, to ``path``; return its size in bytes."""
    content = page(results, runs).encode()
    write_bytes(path, content)
    return len(content)


def page(results: Sequence[ResultsFolder], runs: Path, site: str = "") -> str:
    """Return the whole page of ``results``, which are at and below the folder ``runs``.

    In a ``site`` of that title it is named after its collection, and leads back to the first page.
    """
    title = results[0].title if site else page_title(runs)
    tables = overview(results, title, site)
    embedded = brought_if_here("explorer of a report")
    topics = [embedded(results, len(compose(title, [tables]).encode()))] if embedded else []
    return compose(title, [*topics, tables])


def page_title(runs: Path) -> str:
    """Return the title of the page of the folder ``runs``."""
    return runs.resolve().name


def overview(results: Sequence[ResultsFolder], title: str, site: str = "") -> Part:
    """Return the part with the tables and charts of ``results``, and the figures by topic."""
    sections = [*map(_section, results)]
    # escaped
    data = Markup(_json([section["figures"] for section in sections]))  # noqa: S704
    drawn = plots(results)
    specs = {plot.name: plot.spec | {"config": {}, "description": plot.title} for plot in drawn}
    for name in (plot.name for plot in drawn if plot.kind == "plane"):
        del specs[name]["title"]  # the page's heading says it
    html = template("report/page/overview.html.jinja").render(
        title=title,
        site=site,
        sections=sections,
        plots=drawn,
        data=data,
        headings=HEADINGS,
        wide=[name for name, spec in specs.items() if spec["width"] > WIDE],
        charts=pack(encode({"config": CONFIG, "specs": specs})) if specs else "",
        layout=layout,
        format_value=format_value,
        absent=ABSENT,
        grids=brought_if_here("published tables") or (lambda *_: {}),
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
    """Return what the page shows of a folder, with two links, which may be empty.

    ``pair`` leads to its best system beside the baseline, ``topics`` to its worst topic.
    """
    settings, compared = read_settings(results.path), comparisons(results)
    charted, answered = best(results, MOST), answer(results)
    screen = first_screen(results, answered, settings, compared)
    has_topics = any(detail["per_topic"] for detail in results.details)
    return {
        "results": results,
        "answer": answered,
        "settings": settings,
        "charted": charted,
        "screen": screen,
        "figures": figures(results, settings, compared) | {"first": screen.data},
        "pair": page_link(results.folder, "systems", *screen.compared) if len(screen.compared) > 1 else "",
        "topics": explorer_link(results.folder, "topic", system=charted.systems[0]) if has_topics else "",
    }


def _json(value: object) -> str:
    """Return JSON that ends no element and begins no comment."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

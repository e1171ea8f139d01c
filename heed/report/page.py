"""A report as one HTML page that needs nothing from anywhere.

Tables and charts are there without JavaScript; with it, tables are sorted and filtered, and two systems are compared.
Every figure names the place it was read from.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from heed.files import write_bytes
from heed.measures.summary import ABSENT, Row, format_value, is_share, layout, lower_is_better
from heed.published.beside import grids
from heed.report.charts.drawer import Drawer
from heed.report.charts.plots import MOST, Best, best, plots
from heed.report.charts.vega_lite import Spec
from heed.report.figures import figures
from heed.report.html import Part
from heed.report.manifest_reader import Settings, read_settings
from heed.report.page_links import place, systems_link, topic_link
from heed.report.topics.explorer import embedded

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

    from heed.report.results import Results

LARGEST = 20_000_000  # characters of a page; topics and documents get what tables and charts leave
WIDE = 520  # pixels; beyond it a chart scrolls on a narrow screen
STYLES = ("shared/colours.css", "report.css")
SCRIPTS = ("report.js", "pair.js", "places.js")


class Picture(NamedTuple):
    """A chart as an SVG element."""

    kind: str
    folder: str
    name: str
    wide: bool
    svg: "Markup"


class Section(NamedTuple):
    """A folder in the page: ``marked`` are the places of the best rows, ``charted`` the systems that have charts."""

    results: "Results"
    settings: Settings
    systems: int
    marked: set[int]
    charted: Best
    pair: str  # the place of its two best systems side by side, empty where there are none
    topics: str  # the place of its first topic, empty where there is none


def write_page(results: "Sequence[Results]", runs: Path, path: Path) -> int:
    """Write the page of ``results``, at and below the folder ``runs``, to ``path``; return its size in bytes."""
    content = page(results, runs).encode()
    write_bytes(path, content)
    return len(content)


def page(results: "Sequence[Results]", runs: Path) -> str:
    """Return the whole page of ``results``, which are at and below the folder ``runs``."""
    with ThreadPoolExecutor(1) as beside, Drawer() as drawing:  # it ends first: no error waits for charts
        drawn = beside.submit(charts, results, drawing)
        topics = embedded(results, LARGEST)
        tables = _overview(_title(runs), results, drawn.result)
    room = max(LARGEST - len(tables.html), 0)
    return composed(runs, [topics if len(topics.html) <= room else embedded(results, room), tables])


def overview(results: "Sequence[Results]", runs: Path) -> Part:
    """Return the part with the tables and charts of ``results``, which are at and below the folder ``runs``."""
    with Drawer() as drawer:
        return _overview(_title(runs), results, lambda: charts(results, drawer))


def charts(results: "Sequence[Results]", drawer: Drawer) -> list[Picture]:
    """Return the charts of ``results``, drawn by ``drawer``, as elements of a page."""
    from heed.report.charts.rendering import element

    chosen = plots(results)
    if chosen:
        drawer.start()  # while the first is specified
    specs: list[Spec] = []

    def specified() -> Iterator[Spec]:
        for plot in chosen:
            specs.append(plot.spec())
            yield specs[-1]

    pictures = []
    for index, svg in enumerate(drawer.svgs(specified())):
        plot, wide = chosen[index], specs[index]["width"] > WIDE
        pictures.append(Picture(plot.kind, plot.folder, plot.name, wide, element(svg, plot.title, index)))
    return pictures


def _title(runs: Path) -> str:
    return runs.resolve().name


def _section(results: "Results", settings: Settings) -> Section:
    systems = list(dict.fromkeys(row["system"] for row in results.rows))
    charted = best(results.rows, MOST)
    pair = systems_link(results.folder, *best(results.rows, 2).systems) if len(systems) > 1 else ""
    qids = sorted(qid for detail in results.details for qid in detail["per_topic"])
    topics = topic_link(results.folder, qids[0], charted.systems[0]) if qids else ""
    return Section(results, settings, len(systems), _best_rows(results.rows), charted, pair, topics)


def _best_rows(rows: Sequence[Row]) -> set[int]:
    """Return the places of the best figures of each condition, measure and number of topics, of several systems."""
    columns: dict[tuple[str, str, int], list[int]] = {}
    for index, row in enumerate(rows):
        if not row["measure"].startswith("Judged") and not is_share(row["measure"]):
            columns.setdefault((row["condition"], row["measure"], row["n"]), []).append(index)
    marked = set()
    for (_, measure, _), indices in columns.items():
        choose = min if lower_is_better(measure) else max
        most = choose(rows[index]["value"] for index in indices)
        marked |= {index for index in indices if rows[index]["value"] == most and len(indices) > 1}
    return marked


def _overview(title: str, results: "Sequence[Results]", draw: Callable[[], Sequence[Picture]]) -> Part:
    """Return the part with the tables and charts of all folders, and the figures by topic; charts are waited for."""
    from markupsafe import Markup

    sections = [_section(each, read_settings(each.path)) for each in results]
    # escaped
    data = Markup(_json([figures(section.results, section.settings) for section in sections]))  # noqa: S704
    template = _template("overview.html.jinja")
    folders, pictures = [each.folder for each in results], draw()
    by_folder = {
        folder: [each for each in pictures if each.folder == folder and each.kind != "radar"] for folder in folders
    }
    across = [each for each in pictures if each.folder not in folders or each.kind == "radar"]
    html = template.render(
        title=title,
        sections=sections,
        plots=by_folder,
        across=across,
        data=data,
    )
    return look()._replace(html=Markup(html))  # noqa: S704 - made by a template that escapes


def look() -> Part:
    """Return the overview's style and script, which are the same for all results."""
    from markupsafe import Markup

    folder = files("heed.report") / "page"
    style, script = ("\n".join((folder / name).read_text("utf-8") for name in names) for names in (STYLES, SCRIPTS))
    return Part(Markup(), style, script)


@cache
def _template(name: str) -> "Template":
    """Return a template of our own, compiled once: that takes longer than writing a small page with it."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    environment.globals |= {"layout": layout, "format_value": format_value, "absent": ABSENT, "grids": grids}
    environment.globals |= {"place": place}
    return environment.from_string(files("heed.report").joinpath("page", name).read_text("utf-8"))


def _json(value: object) -> str:
    """Return JSON that ends no element and begins no comment."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def composed(runs: Path, parts: Sequence[Part], connect: str = "'none'") -> str:
    """Return the page of all parts; its policy allows the one style and script that it has, and to ``connect``."""
    from markupsafe import Markup

    style, script = _joined(parts)
    code = {"style": Markup(style), "script": Markup(script)}  # noqa: S704 - our own files
    return _template("page.html.jinja").render(title=_title(runs), policy=policy(parts, connect), parts=parts, **code)


def policy(parts: Sequence[Part], connect: str = "'none'") -> str:
    """Return the Content-Security-Policy of the page of all parts, which may ``connect`` to no other place."""
    style, script = _joined(parts)
    return (
        f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; img-src data:; "
        f"connect-src {connect}; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )


def _joined(parts: Sequence[Part]) -> tuple[str, str]:
    """Return the style and the script of all parts."""
    return "\n".join(part.style for part in parts), "\n".join(f"{{\n{part.script}\n}}" for part in parts)


def _digest(text: str) -> str:
    """Return a text's digest as a Content-Security-Policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

"""Many results folders as one static site: a first page with the leaderboard, and the report of each folder.

The leaderboard has the systems by collection, each figure with its link, and published systems beside them.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from markupsafe import Markup

from heed.errors import DataError
from heed.files import digest, finished_folder, locked, write_bytes
from heed.measures.baseline import FEWEST
from heed.measures.pairwise import P_MRR, SELECTIVITY
from heed.measures.significance import interval
from heed.measures.summary import ABSENT, AgainstQuery, AsSeen, Detail, Row, SystemEntry, format_value, layout
from heed.progress import bar, brief, log
from heed.report.first_screen import SCALES, Answer, answer
from heed.report.html import compose, page_link, template
from heed.report.page import PAGE, VEGA, look, page, vega_file
from heed.report.results import Column, PrintedFigure, ResultsFolder, read_manifest
from heed.reuse import Note, read_note, write_note
from heed.types import PAPERS

NOTE = Path(".made") / "site.json"  # the files that the site has, so that others are neither replaced nor removed
SITE = PurePosixPath("addons/explorer/page")
STYLES = (PAGE / "shared/colours.css", PAGE / "report.css", SITE / "site.css")
UNSAFE = re.compile(r"[^A-Za-z0-9]+")
LONGEST = 80  # characters of a page's name, without its number and suffix
FIRST = "index.html"


class RankedSystem(NamedTuple):
    """A system of a table; ``link`` leads to its topics, and is empty of a published system."""

    system: str
    link: str
    cells: list[PrintedFigure | None]


class Leaderboard(NamedTuple):
    """The systems of one collection, the best ranking under ``original`` first, and the reports that they are from.

    ``title`` is the collection's; of ``columns``, which are conditions and measures, the one at ``decides`` is over so
    many ``topics``.
    """

    title: str
    answer: Answer
    columns: list[Column]
    pages: list[str]
    topics: int
    decides: int
    lines: list[RankedSystem]
    paper: str  # the collection's name where it has published systems, else empty
    warnings: Sequence[str]


def write_site(folders: Sequence[ResultsFolder], site: Path, title: str) -> None:
    """Write the site of ``folders`` to the folder ``site``: ``index.html``, written last, a page for each, ``vega.js``.

    Pages are put in place when all are made: a process that is killed before leaves the earlier site as it was, one
    that is killed in between leaves no first page. What another program wrote stays; :class:`DataError` where it has
    the name of a page.
    """
    names = page_names(folders)
    with locked(site):
        note = read_note(site / NOTE)
        earlier = dict(note.files) if note else {}
        foreign = [name for name in (FIRST, VEGA, *names) if name not in earlier and (site / name).exists()]
        if foreign:
            raise DataError(f"{site}: {brief(foreign)} is not of an earlier site; choose another folder, or move it")
        staged = site / NOTE.parent / "pages"
        with finished_folder(staged) as part:
            for results, name in bar(list(zip(folders, names, strict=True)), len(names), "pages", "pages"):
                text = page([replace(results, folder=".")], results.path, site=title)
                write_bytes(part / name, text.encode())
            write_bytes(part / VEGA, vega_file().encode())
            write_bytes(part / FIRST, first_page(folders, names, title).encode())
        _put_in_place(site, staged, [VEGA, *names, FIRST], earlier)


def _put_in_place(site: Path, staged: Path, names: Sequence[str], earlier: dict[str, str]) -> None:
    """Move the pages ``names`` from ``staged``, the last one last; remove the other ``earlier`` ones, if unchanged."""
    files = {name: digest(staged / name) for name in names}
    write_note(site / NOTE, Note({}, earlier | files, finished=False))
    (site / FIRST).unlink(missing_ok=True)
    for name in names[:-1]:
        (staged / name).replace(site / name)
    for name in earlier.keys() - files.keys():
        path = site / Path(name).name
        if path.is_file() and digest(path) == earlier[name]:
            path.unlink()
            log.info(f"{path}: removed, its folder is not among those of the site")
    (staged / names[-1]).replace(site / names[-1])
    staged.rmdir()
    write_note(site / NOTE, Note({}, files))


def first_page(folders: Sequence[ResultsFolder], names: Sequence[str], title: str) -> str:
    """Return the page with the tables of all ``folders``, whose pages have ``names``."""
    tables = leaderboard(folders, names)
    columns = [measure for table in tables for _, measure in table.columns]
    html = template(f"{SITE}/site.html.jinja").render(
        title=title,
        tables=tables,
        systems=list(dict.fromkeys(line.system for table in tables for line in table.lines if line.link)),
        scales={measure: text for measure, text in SCALES.items() if measure in columns},
        papers=PAPERS,
        absent=ABSENT,
    )
    part = look(STYLES, PAGE / "sorting.js")._replace(html=Markup(html))  # noqa: S704 - made by a template that escapes
    return compose(title, [part])


def page_names(folders: Sequence[ResultsFolder]) -> list[str]:
    """Return the name of each folder's page: collection and subset in letters that are safe everywhere, no two alike.

    The same folders in the same order have the same names.
    """
    names: list[str] = []
    for results in folders:
        stem = UNSAFE.sub("-", results.title)[:LONGEST].strip("-") or "results"
        numbered = [f"{stem}.html", *(f"{stem}-{number}.html" for number in range(2, len(folders) + 2))]
        taken = {FIRST, *(name.lower() for name in names)}
        names.append(next(name for name in numbered if name.lower() not in taken))
    return names


def leaderboard(folders: Sequence[ResultsFolder], names: Sequence[str]) -> list[Leaderboard]:
    """Return a table for each collection of ``folders``, whose pages have ``names``.

    Folders of one collection with the same topics and judgements are one table.
    """
    groups: dict[tuple[str, str], list[tuple[ResultsFolder, str]]] = {}
    for results, name in zip(folders, names, strict=True):
        groups.setdefault((results.title, _judgements(results)), []).append((results, name))
    return [_table(group) for group in groups.values()]


def _judgements(results: ResultsFolder) -> str:
    """Return the digests of topics and judgements in the manifest as text; empty where there is none."""
    try:
        data = read_manifest(results.path)["data"]["test collection"]
        return f"{data['topics']} {data['qrels']}"
    except (KeyError, TypeError):
        return ""


def _table(group: Sequence[tuple[ResultsFolder, str]]) -> Leaderboard:
    """Return the table of the folders of one collection, which come with the names of their pages."""
    results, links = _joined(group)
    answered = answer(results)
    columns = _columns(results, answered)
    decides = next((number for number, (condition, _) in enumerate(columns) if condition == "original"), 0)
    following = next((number for number, (condition, _) in enumerate(columns) if condition == answered.pair), 0)
    ours = [_printed(results, column) for column in columns]
    published = [results.published(column) for column in columns]
    theirs = dict.fromkeys(name for of_column in published for name in of_column)
    lines = [RankedSystem(name, link, [each.get(name) for each in ours]) for name, link in links.items()]
    lines += [RankedSystem(name, "", [each.get(name) for each in published]) for name in theirs]

    def merit(line: RankedSystem) -> list[float]:
        values = [cell.value if cell else -math.inf for cell in line.cells]
        return [values[decides], values[following], *reversed(values)]

    lines.sort(key=merit, reverse=True)
    topics = max(row["n"] for row in results.rows if (row["condition"], row["measure"]) == columns[decides])
    paper = results.collection if theirs else ""
    pages = [page for _, page in group]
    return Leaderboard(results.title, answered, columns, pages, topics, decides, lines, paper, results.warnings)


def _joined(group: Sequence[tuple[ResultsFolder, str]]) -> tuple[ResultsFolder, dict[str, str]]:
    """Return the results of several folders as those of one, and the link of each system.

    A system's name that an earlier folder has too is followed by its folder.
    """
    rows, details, against, seen = list[Row](), list[Detail](), list[AgainstQuery](), list[AsSeen]()
    warnings, links, entries = list[str](), dict[str, str](), list[SystemEntry]()
    for results, page_name in group:
        names = {name: f"{name} ({results.folder})" if name in links else name for name in results.names}
        links |= {name: page_name + page_link(".", "topic", system=system) for system, name in names.items()}
        rows.extend(row | {"system": names[row["system"]]} for row in results.rows)
        details.extend(detail | {"system": names[detail["system"]]} for detail in results.details)
        against.extend(each | {"system": names[each["system"]]} for each in results.against_query)
        seen.extend(each | {"system": names[each["system"]]} for each in results.as_seen)
        entries += [each | {"system": names[each["system"]]} for each in results.systems if each["system"] in names]
        warnings.extend(warning for warning in results.warnings if warning not in warnings)
    about = replace(group[0][0], summary_rows=rows, details=details, systems=entries)
    return replace(about, against_query=against, as_seen=seen, warnings=warnings), links


def _columns(results: ResultsFolder, answered: Answer) -> list[Column]:
    """Return the columns of a table: rankings, then what compares two of them; without a pair the first measure's."""
    had = results.columns
    if not answered.pair:
        measure = layout(results.rows).measures[0]
        return [column for column in had if column[1] == measure]
    conditions, names = answered.pair.split(">"), dict.fromkeys([*answered.measures, P_MRR, SELECTIVITY])
    main = next((measure for condition, measure in had if condition == conditions[-1]), "")
    columns = [(condition, main) for condition in (*conditions, "reversed")] + [(answered.pair, name) for name in names]
    return [column for column in columns if column in had]


def _printed(results: ResultsFolder, column: Column) -> dict[str, PrintedFigure]:
    """Return one's own figures of a condition's measure by system, those of a pair with their intervals."""
    condition, measure = column
    texts = {system: format_value(measure, value) for system, value in results.values(column).items()}
    intervals = dict[str, str]()
    for detail in results.details:
        values = [*detail["per_topic"].values()]
        if ">" in condition and (detail["condition"], detail["measure"]) == column and len(values) >= FEWEST:
            between = ", ".join(format_value(measure, bound) for bound in interval(values))
            intervals[detail["system"]] = f"[{between}]"
    return {system: PrintedFigure(float(text), text, "", intervals.get(system, "")) for system, text in texts.items()}

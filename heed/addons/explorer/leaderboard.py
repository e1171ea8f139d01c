"""The tables of a leaderboard: systems by collection, each figure with its link, and published systems beside them."""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from heed.addons.published.standings import by_column, digits, times_100
from heed.measures.pairwise import P_MRR, SELECTIVITY
from heed.measures.significance import interval
from heed.measures.summary import AgainstQuery, format_value, layout
from heed.measures.verdicts import FEWEST
from heed.report.answer import Answer, answer
from heed.report.manifest_reader import read_manifest
from heed.report.page_links import page_link
from heed.report.results import Results

UNSAFE = re.compile(r"[^A-Za-z0-9]+")
LONGEST = 80  # characters of a page's name, without its number and suffix
FIRST = "index.html"
Column = tuple[str, str]  # condition and measure


class Cell(NamedTuple):
    """A figure on the printed scale and as text, with its interval, or why a published one is doubtful."""

    value: float
    text: str
    interval: str = ""
    why: str = ""


class Line(NamedTuple):
    """A system of a table; ``link`` leads to its topics, and is empty of a published system."""

    system: str
    link: str
    cells: list[Cell | None]


class Table(NamedTuple):
    """The systems of one collection, the best first by the deciding column, and the reports that they are from.

    ``title`` is the collection's; of ``columns``, which are conditions and measures, the one at ``decides`` is over so
    many ``topics``.
    """

    title: str
    answer: Answer
    columns: list[Column]
    pages: list[str]
    topics: int
    decides: int
    lines: list[Line]
    paper: str  # the collection's name where it has published systems, else empty
    warnings: list[str]


def page_names(folders: Sequence[Results]) -> list[str]:
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


def leaderboard(folders: Sequence[Results], names: Sequence[str]) -> list[Table]:
    """Return a table for each collection of ``folders``, whose pages have ``names``.

    Folders of one collection with the same topics and judgements are one table.
    """
    groups: dict[tuple[str, str], list[tuple[Results, str]]] = {}
    for results, name in zip(folders, names, strict=True):
        groups.setdefault((results.title, _judgements(results)), []).append((results, name))
    return [_table(group) for group in groups.values()]


def _judgements(results: Results) -> str:
    """Return the digests of topics and judgements in the manifest as text; empty where there is none."""
    try:
        data = read_manifest(results.path)["data"]["test collection"]
        return f"{data['topics']} {data['qrels']}"
    except (KeyError, TypeError):
        return ""


def _table(group: Sequence[tuple[Results, str]]) -> Table:
    """Return the table of the folders of one collection, which come with the names of their pages."""
    results, links = _joined(group)
    answered = answer(results)
    columns, deciding = _columns(results, answered)
    decides = columns.index(deciding)
    published = _published(results, columns)
    lines = [*_ours(results, columns, links), *published]

    def merit(line: Line) -> list[float]:
        values = [cell.value if cell else -math.inf for cell in line.cells]
        return [values[decides], *reversed(values)]

    lines.sort(key=merit, reverse=True)
    topics = max(row["n"] for row in results.rows if (row["condition"], row["measure"]) == deciding)
    paper = results.collection if published else ""
    pages = [page for _, page in group]
    return Table(results.title, answered, columns, pages, topics, decides, lines, paper, results.warnings)


def _joined(group: Sequence[tuple[Results, str]]) -> tuple[Results, dict[str, str]]:
    """Return the results of several folders as those of one, and the link of each system.

    A system's name that an earlier folder has too is followed by its folder.
    """
    against, links = list[AgainstQuery](), dict[str, str]()
    joined = group[0][0]._replace(rows=[], details=[], warnings=[], against_query=against)
    for results, page in group:
        systems = dict.fromkeys(row["system"] for row in results.rows)
        names = {system: f"{system} ({results.folder})" if system in links else system for system in systems}
        links |= {name: page + page_link(".", "topic", system=system) for system, name in names.items()}
        joined.rows.extend(row | {"system": names[row["system"]]} for row in results.rows)
        joined.details.extend(detail | {"system": names[detail["system"]]} for detail in results.details)
        against.extend(each | {"system": names[each["system"]]} for each in results.against_query)
        joined.warnings.extend(warning for warning in results.warnings if warning not in joined.warnings)
    return joined, links


def _columns(results: Results, answered: Answer) -> tuple[list[Column], Column]:
    """Return the columns of a table, and the one that decides: without a pair the first measure's first."""
    had = list(dict.fromkeys((row["condition"], row["measure"]) for row in results.rows))
    if not answered.pair:
        measure = layout(results.rows).measures[0]
        columns = [column for column in had if column[1] == measure]
        return columns, columns[0]
    conditions, names = answered.pair.split(">"), dict.fromkeys([*answered.measures, P_MRR, SELECTIVITY])
    main = next((measure for condition, measure in had if condition == conditions[-1]), "")
    columns = [(condition, main) for condition in (*conditions, "reversed")] + [(answered.pair, name) for name in names]
    return [column for column in columns if column in had], (answered.pair, answered.measures[0])


def _ours(results: Results, columns: Sequence[Column], links: dict[str, str]) -> list[Line]:
    cells: dict[str, dict[Column, Cell]] = {system: {} for system in links}
    for row in results.rows:
        text = format_value(row["measure"], row["value"])
        cells[row["system"]][row["condition"], row["measure"]] = Cell(float(text), text)
    for detail in results.details:
        column, values = (detail["condition"], detail["measure"]), [*detail["per_topic"].values()]
        if ">" in column[0] and column in columns and len(values) >= FEWEST:
            between = f"[{', '.join(format_value(column[1], bound) for bound in interval(values))}]"
            cells[detail["system"]][column] = cells[detail["system"]][column]._replace(interval=between)
    return [Line(system, links[system], [of.get(column) for column in columns]) for system, of in cells.items()]


def _published(results: Results, columns: Sequence[Column]) -> list[Line]:
    by_name = by_column(results.collection, results.subset)
    cells = [
        {
            name: Cell(times_100(figure), digits(figure), why=figure.why or "")
            for name, figure in by_name.get((condition, measure.lower()), {}).items()
        }
        for condition, measure in columns
    ]
    systems = dict.fromkeys(name for of_column in cells for name in of_column)
    return [Line(system, "", [of_column.get(system) for of_column in cells]) for system in systems]

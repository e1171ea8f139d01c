"""Where one's own systems stand among the published: figures of the same subset, setting, condition and measure."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files

import msgspec

from heed.addons.published.figures import Figure, find_table, read_paper
from heed.measures.summary import ABSENT, Row, aligned, format_value
from heed.report.results import Column, PrintedFigure
from heed.types import PAPERS

SETTINGS = ("task", "candidates", "depth")  # of a table's setup: what makes figures differ most
FULL = "-full"  # ends the subset where a whole collection was searched instead of published candidates
HERE = "→"


class Deviation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why figures of one system, by the registry's name, differ from those of a paper, and what was tried."""

    paper: str
    model: str
    subsets: list[str]
    text: str


def comparable(collection: str, subset: str) -> dict[str, list[Figure]]:
    """Return by table the published figures that results of ``collection`` and ``subset`` can stand beside.

    A figure that a paper prints twice is taken from the first table. Empty where the paper has no such setting.
    """
    part, setting = _setting(collection, subset)
    tables: dict[str, list[Figure]] = {}
    seen = set()
    for table in read_paper(collection).tables:
        for row in table.rows:
            key = (row.group, row.system, row.condition, row.measure)
            same = (row.benchmark, row.subset, row.setting) == (collection, part, setting)
            if row.system and same and _measured(row) and key not in seen:
                seen.add(key)
                tables.setdefault(table.table, []).append(row)
    return tables


def _setting(collection: str, subset: str) -> tuple[str, str | None]:
    """Return the papers' names of a subset and of a setting."""
    if collection == "mfollowir":
        return subset.removeprefix("eng-"), "en-xx" if subset.startswith("eng-") else "xx-xx"
    if subset.endswith(FULL):
        return subset.removesuffix(FULL), "full collection"
    return subset, None


def _measured(row: Figure) -> bool:
    return not row.measure.startswith(("delta ", "ideal ")) and row.measure not in ("rank", "WISE gap", "relative time")


def heed_condition(row: Figure) -> str:
    """Return the condition under which Heed's summaries have a figure: that of three runs under the first two."""
    return "query>original" if row.condition == "query>original>reversed" else row.condition or ""


def _column(row: Figure) -> Column:
    return heed_condition(row), row.measure.lower()


def _column_of(row: Row) -> Column:
    return row["condition"], row["measure"].lower()


@cache
def by_column(collection: str, subset: str) -> Mapping[Column, Mapping[str, PrintedFigure]]:
    """Return the published figures by condition and measure, this in small letters, and by the system's name."""
    figures = [figure for table in comparable(collection, subset).values() for figure in table]
    labels = system_labels(figures)
    columns: dict[Column, dict[str, PrintedFigure]] = {}
    for figure in figures:
        columns.setdefault(_column(figure), {})[labels[figure.group, figure.system]] = figure.printed
    return columns


def published_text(collection: str, subset: str, rows: Sequence[Row], every: bool) -> tuple[str, list[str]]:
    """Return where one's own systems stand, among the nearest or ``every`` published one, and why figures may differ.

    The text is empty where no paper has such figures.
    """
    listed = grids(collection, subset, rows).items() if every else ()
    texts = [f"{title}\n{aligned(lines, left=1)}" for title, lines in listed]
    text = "\n\n".join(texts) if every else near_text(collection, subset, rows)
    return text, explanations(collection, subset, {row["system"] for row in rows})


def near_text(collection: str, subset: str, rows: Sequence[Row]) -> str:
    """Return, for each table that fits, where each system stands; empty where no paper has such figures."""
    parts = []
    for name, figures in comparable(collection, subset).items():
        columns: dict[Column, list[Figure]] = {}
        for figure in figures:
            columns.setdefault(_column(figure), []).append(figure)
        lines = [_line(row, columns[_column_of(row)]) for row in rows if _column_of(row) in columns]
        if lines:
            head = ["system", "condition", "measure", "here", "rank", "next above", "next below"]
            parts.append(f"{_title(collection, subset, name)}\n{aligned([head, *lines], left=len(head))}")
    return "\n\n".join(parts)


def _line(row: Row, published: Sequence[Figure]) -> list[str]:
    """Return a figure of one's own, its rank among the ``published``, and the nearest above and below."""
    ours = round(100 * row["value"], 9)  # 0.044 is printed 4.4, and equal to it
    ordered = sorted(published, key=lambda figure: figure.printed.value)
    better = [figure for figure in ordered if figure.printed.value > ours]
    others = ordered[: len(ordered) - len(better)]
    rank = f"{len(better) + 1} of {len(published) + 1}"
    near = ("".join(f"{each.system} {each.printed.text}" for each in side) for side in (better[:1], others[-1:]))
    return [row["system"], row["condition"], row["measure"], format_value(row["measure"], row["value"]), rank, *near]


def grids(collection: str, subset: str, rows: Sequence[Row]) -> dict[str, list[list[str]]]:
    """Return by title, for each table that fits, head and lines of all its systems and one's own, marked ``→``.

    The best are first by the first column.
    """
    listed = ((name, _ordered(rows, figures)) for name, figures in comparable(collection, subset).items())
    return {_title(collection, subset, name): lines for name, lines in listed if lines}


def _ordered(rows: Sequence[Row], figures: Sequence[Figure]) -> list[list[str]]:
    """Return head and lines of the published ``figures`` and one's own ``rows``; empty if no column has both."""
    heads = {_column(figure): f"{figure.measure} {heed_condition(figure)}" for figure in figures}
    columns = [column for column in heads if column in set(map(_column_of, rows))]
    if not columns:
        return []
    labels = system_labels(figures)
    cells: dict[str, dict[Column, tuple[float, str]]] = {}
    for figure in figures:
        cells.setdefault(labels[figure.group, figure.system], {})[_column(figure)] = figure.printed[:2]
    for row in rows:
        figure_of = cells.setdefault(f"{HERE} {row['system']}", {})
        figure_of[_column_of(row)] = 100 * row["value"], format_value(row["measure"], row["value"])
    absent = -math.inf, ABSENT
    listed = sorted(cells.items(), key=lambda item: item[1].get(columns[0], absent)[0], reverse=True)
    lines = [["system", *(heads[column] for column in columns)]]
    return lines + [[label, *(values.get(column, absent)[1] for column in columns)] for label, values in listed]


def system_labels(figures: Iterable[Figure]) -> dict[tuple[str | None, str | None], str]:
    """Return the systems' names by group and name, with the group where a name is in several."""
    pairs = list(dict.fromkeys((figure.group, figure.system) for figure in figures))
    names = [name for _, name in pairs]
    return {(group, name): f"{name} ({group})" if names.count(name) > 1 else str(name) for group, name in pairs}


def _title(collection: str, subset: str, name: str) -> str:
    table = find_table(read_paper(collection), name)
    setup = "; ".join(f"{key} {text}" for key in SETTINGS if isinstance(text := table.setup.get(key), str))
    return f"beside {PAPERS[collection]}'s {name}, {subset}; in the paper: {setup}"


def explanations(collection: str, subset: str, systems: Iterable[str]) -> list[str]:
    """Return the known reasons why figures of ``systems``, by the registry's names, differ from the published ones."""
    known = msgspec.json.decode(
        (files("heed.addons.published") / "explanations.json").read_bytes(), type=list[Deviation]
    )
    part, _ = _setting(collection, subset)
    names = set(systems)
    return [each.text for each in known if each.paper == collection and part in each.subsets and each.model in names]

"""The printed figures of FollowIR, mFollowIR, FollowTable and InfoSearch: every number of every table, one a row.

Beside these papers, ``modern`` has the figures of FollowIR that the README of newer models prints, and ``mteb`` those
of small encoders on three collections without instructions.

The JSON files beside this module hold numbers and facts only; captions are Heed's own words. A figure is kept as it
is printed: ``unit`` is ``x100`` where the paper prints the measure times 100, else ``1``. A table is shown as its paper
lays it out: systems in groups down, subsets, conditions and measures across.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any, Literal

import msgspec

from heed.errors import UsageError, did_you_mean
from heed.measures.summary import ABSENT, aligned
from heed.models.registry.entries import Model
from heed.notebook import html_table
from heed.report.results import PrintedFigure
from heed.types import PAPERS

DOUBTFUL, NOTED = "*", "†"

Head = tuple[str, ...]  # subset, setting, printed head or condition, measure


class Figure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One printed number.

    ``system`` and ``group`` are as printed, None in tables about the data; ``model`` is the registry's name, ``bm25``,
    or None; ``condition`` is Heed's (``original>changed``), ``setting`` ``xx-xx``, ``en-xx`` or ``full collection``;
    ``column`` and ``type`` are the heads printed; ``why`` says what contradicts a ``doubtful`` figure.
    """

    system: str | None
    group: str | None
    model: str | None
    benchmark: str
    subset: str
    condition: str | None
    measure: str
    value: int | float
    unit: Literal["x100", "1"]
    setting: str | None = None
    column: str | None = None
    type: str | None = None
    mark: str | None = None
    note: str | None = None
    model_note: str | None = None
    doubtful: bool = False
    why: str | None = None

    @property
    def printed(self) -> PrintedFigure:
        """The figure as Heed prints it: ×100, as text with its mark, and why it is doubtful."""
        value = self.value if self.unit == "x100" else round(100 * self.value, 9)
        return PrintedFigure(value, f"{value}{DOUBTFUL * self.doubtful}", self.why or "")


class PaperTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a paper; ``setup`` is what a reproduction needs and the paper says."""

    table: str
    kind: str
    caption: str
    setup: dict[str, Any]
    rows: list[Figure]
    remarks: list[str] = []

    def __repr__(self) -> str:
        """Return name, caption and size; ``print`` shows the figures."""
        return f"Table({self.table}: {self.caption}; {len(self.rows)} figures)"

    def __str__(self) -> str:
        """Return the table under its caption; doubtful figures are marked, the reasons are below."""
        labels, (*above, last) = _labels(self.rows), _heads(self.rows)
        heads = [*([*[""] * len(labels), *_once(part)] for part in above), [*labels, *last]]
        return "\n".join(
            [self._title, aligned([*heads, *_lines(self.rows)], len(labels), width=math.inf), *_notes(self)]
        )

    def _repr_html_(self) -> str:
        labels, columns = _labels(self.rows), zip(*_heads(self.rows), strict=True)
        head = [*labels, *(" ".join(dict.fromkeys(filter(None, column))) for column in columns)]
        return html_table(self._title, [head, *_lines(self.rows)], range(len(labels), len(head)), _notes(self))

    @property
    def _title(self) -> str:
        return f"{self.table}: {self.caption}"


class PaperSource(msgspec.Struct, frozen=True):
    """A paper; its file also says which version was read, and under which licence it stands."""

    key: str
    title: str


class Omission(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A figure or table whose numbers are not here, and why."""

    item: str
    why: str


class Reproduction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a paper's systems run again: the ``subsets`` of its averages, the model that rerankers get candidates of.

    ``preset`` is that of its models, where it has another name than the paper; ``without_command`` says of tables whose
    figures no command gives why.
    """

    subsets: tuple[str, ...]
    preset: str = ""
    first_stage: str = ""
    without_command: dict[str, str] = {}


class Paper(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All tables of one paper."""

    paper: PaperSource
    reproduction: Reproduction
    tables: list[PaperTable]
    not_extracted: list[Omission] = []


@cache
def read_paper(key: str) -> Paper:
    """Return the paper ``key``, one of :data:`heed.types.PAPERS`; :class:`UsageError` for another."""
    if key not in PAPERS:
        raise UsageError(f"{key}: no figures of this paper; expected one of {', '.join(PAPERS)}")
    return msgspec.json.decode((files("heed.addons.published") / f"{key}.json").read_bytes(), type=Paper)


def find_table(paper: Paper, name: str) -> PaperTable:
    """Return the table called ``Table 4`` or ``4``; :class:`UsageError` for one that is not here, with the reason."""
    names = {name.casefold(), f"table {name}".casefold()}
    for table in paper.tables:
        if table.table.casefold() in names:
            return table
    for omitted in paper.not_extracted:
        if omitted.item.casefold() in names:
            raise UsageError(f"{omitted.item} of {PAPERS[paper.paper.key]}: not here: {omitted.why}")
    known = ", ".join(table.table for table in paper.tables)
    raise UsageError(f"{name}: no table of {PAPERS[paper.paper.key]}; expected one of {known}")


def select(
    tables: Iterable[PaperTable], system: str | None = None, subset: str | None = None, measure: str | None = None
) -> list[PaperTable]:
    """Return ``tables`` with the rows of one system, subset or measure, without tables that have none.

    ``system`` is a printed name or the registry's, capitals aside. Raises :class:`UsageError` for a name that no
    table has, with the nearest ones.
    """
    tables, names = list(tables), {"system": system, "subset": subset, "measure": measure}
    chosen = {kind: name for kind, name in names.items() if name}
    for kind, name in chosen.items():
        _check(kind, name, {known for table in tables for row in table.rows for known in _names(row, kind)})

    def is_chosen(row: Figure) -> bool:
        spelt = ((name, map(str.casefold, _names(row, kind))) for kind, name in chosen.items())
        return all(name.casefold() in known for name, known in spelt)

    narrowed = [msgspec.structs.replace(table, rows=[*filter(is_chosen, table.rows)]) for table in tables]
    return [table for table in narrowed if table.rows]


def as_rows(paper: Paper, tables: Sequence[PaperTable]) -> list[dict[str, Any]]:
    """Return the figures as JSON data, each with its ``paper`` and ``table``; fields that a figure lacks are left out.

    The fields from ``system`` to ``unit`` are always there.
    """
    always = ("system", "group", "model", "condition")
    rows = []
    for table in tables:
        for row in table.rows:
            fields = msgspec.structs.asdict(row).items()  # a value of 0 is a figure, though 0 == False
            present = {name: value for name, value in fields if name in always or not (value is None or value is False)}
            rows.append({"paper": paper.paper.key, "table": table.table, **present})
    return rows


def _names(row: Figure, kind: str) -> set[str]:
    """Return a figure's subset, measure or system's names: as printed, the registry's, that without owner or preset."""
    if kind != "system":
        return {row.subset if kind == "subset" else row.measure}
    model = row.model or ""
    return {name for name in (row.system or "", model, model.partition("@")[0], model.rpartition("/")[2]) if name}


def _check(kind: str, name: str, names: set[str]) -> None:
    spelt = {spelling.casefold(): spelling for spelling in sorted(names, reverse=True)}  # BM25 rather than bm25
    if name.casefold() in spelt:
        return
    hint = did_you_mean(name.casefold(), spelt, 3, cutoff=0.5) or f"expected one of {', '.join(spelt.values())}"
    raise UsageError(f"{kind} {name}: not in these tables; {hint}")


@cache
def in_tables(paper: str) -> dict[str, list[str]]:
    """Return the names that the tables of ``paper`` print, by the registry's name, in the tables' order.

    A variant that is no entry of its own is called ``NAME@PRESET``. Raises as
    :func:`read_paper` does.
    """
    names: dict[str, dict[str, None]] = {}
    for table in read_paper(paper).tables:
        for row in table.rows:
            if row.system and row.model:
                names.setdefault(row.model, {})[row.system] = None
    return {model: list(printed) for model, printed in names.items()}


def names_of(name: str, model: Model) -> dict[str, list[str]]:
    """Return the printed names of the model ``name``, perhaps with a preset, by paper: in tables, then elsewhere."""
    printed = name if any(name in in_tables(paper) for paper in PAPERS) else name.partition("@")[0]
    elsewhere = {paper: [called] for paper, called in model.names.items()}
    names = {paper: [*in_tables(paper).get(printed, []), *elsewhere.get(paper, [])] for paper in PAPERS}
    return {paper: printed for paper, printed in names.items() if printed}


def called(models: Mapping[str, Model], word: str) -> list[str]:
    """Return which of ``models`` are called ``word``, or else have a name with it inside; capitals are alike."""
    word = word.casefold()
    names = {
        name: [each.casefold() for each in (name, name.rpartition("/")[2], *chain(*names_of(name, model).values()))]
        for name, model in models.items()
    }
    exact = [name for name, known in names.items() if word in known]
    return exact or [name for name, known in names.items() if any(word in called for called in known)]


def _labels(rows: Sequence[Figure]) -> list[str]:
    return ["group", "system"] if any(row.group for row in rows) else ["system" if rows[0].system else "subset"]


def _heads(rows: Sequence[Figure]) -> list[tuple[str, ...]]:
    """Return the parts of the columns' names; one that is the same over all columns is left out, but for the last."""
    parts = list(zip(*dict.fromkeys(map(_head, rows)), strict=True))
    return [part for part in parts[:-1] if len(set(part)) > 1] + parts[-1:]


def _head(row: Figure) -> Head:
    subset = row.subset if row.system else ""  # of tables about the data, subsets are the lines
    return subset, row.setting or "", row.column or row.condition or "", row.measure


def _lines(rows: Sequence[Figure]) -> list[list[str]]:
    columns, width = dict.fromkeys(map(_head, rows)), len(_labels(rows))
    by_line: dict[tuple[str, ...], dict[Head, str]] = {}
    for row in rows:
        label = (row.group or "", f"{row.system or row.subset}{NOTED if row.model_note else ''}")[-width:]
        sign = DOUBTFUL if row.doubtful else NOTED if row.note else ""
        by_line.setdefault(label, {})[_head(row)] = f"{row.value}{sign}"
    groups = _once([label[0] for label in by_line])
    return [
        [*([group] if width == 2 else []), label[-1], *(cells.get(column, ABSENT) for column in columns)]
        for group, (label, cells) in zip(groups, by_line.items(), strict=True)
    ]


def _once(part: Sequence[str]) -> list[str]:
    """Return a line of the head, each name where it begins to hold."""
    return [name if not number or part[number - 1] != name else "" for number, name in enumerate(part)]


def _notes(table: PaperTable) -> list[str]:
    """Return each reason and note once, with the first figure or system that has it."""
    places: dict[str, list[str]] = {}
    for row in table.rows:
        figure = " ".join(filter(None, (row.system, row.subset, row.setting, row.condition, row.measure)))
        for text, position in ((row.why, figure), (row.note, figure), (row.model_note, str(row.system))):
            sign = DOUBTFUL if text == row.why else NOTED
            if text and position not in places.setdefault(f"{sign} {text}", []):
                places[f"{sign} {text}"].append(position)
    more = {text: f" and {len(where) - 1} more" if len(where) > 1 else "" for text, where in places.items()}
    notes = (f"{text} ({where[0]}{more[text]})" for text, where in places.items())
    return [*notes, *(f"remark: {remark}" for remark in table.remarks)]

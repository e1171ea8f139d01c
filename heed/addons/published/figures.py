"""The printed figures of FollowIR, mFollowIR, FollowTable and InfoSearch: every number of every table, one a row.

Beside these papers, ``modern`` has the figures of FollowIR that the README of newer models prints.

The JSON files beside this module hold numbers and facts only; captions are Heed's own words. A figure is kept as it
is printed: ``unit`` is ``x100`` where the paper prints the measure times 100, else ``1``.
"""

import difflib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from heed.addons.published.paper_tables import Figure, PaperTable
from heed.errors import UsageError
from heed.types import PAPERS


class PaperSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A paper: which version was read, and under which licence it stands."""

    key: str
    title: str
    year: int
    arxiv: str
    venue: str
    version: str
    licence: str


class Omission(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A figure or table whose numbers are not here, and why."""

    item: str
    why: str


class Paper(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All tables of one paper."""

    paper: PaperSource
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
    tables = list(tables)
    rows = [row for table in tables for row in table.rows]
    if system:
        _check("system", system, {name for row in rows for name in _names(row)})
    if subset:
        _check("subset", subset, {row.subset for row in rows})
    if measure:
        _check("measure", measure, {row.measure for row in rows})
    chosen = [
        msgspec.structs.replace(table, rows=[row for row in table.rows if _is(row, system, subset, measure)])
        for table in tables
    ]
    return [table for table in chosen if table.rows]


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


def _is(row: Figure, system: str | None, subset: str | None, measure: str | None) -> bool:
    return (
        (not system or system.casefold() in map(str.casefold, _names(row)))
        and (not subset or row.subset.casefold() == subset.casefold())
        and (not measure or row.measure.casefold() == measure.casefold())
    )


def _names(row: Figure) -> set[str]:
    """Return the names of a figure's system: as printed, the registry's, the latter without owner or preset."""
    model = row.model or ""
    return {name for name in (row.system or "", model, model.partition("@")[0], model.rpartition("/")[2]) if name}


def _check(kind: str, name: str, names: set[str]) -> None:
    spelt = {spelling.casefold(): spelling for spelling in sorted(names, reverse=True)}  # BM25 rather than bm25
    if name.casefold() in spelt:
        return
    near = [spelt[match] for match in difflib.get_close_matches(name.casefold(), spelt, n=3, cutoff=0.5)]
    hint = f"did you mean {' or '.join(near)}?" if near else f"expected one of {', '.join(spelt.values())}"
    raise UsageError(f"{kind} {name}: not in these tables; {hint}")

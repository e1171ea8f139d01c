"""The systems of the papers: under which names they are printed, and which models of the registry they are."""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain

from heed.addons.published.figures import read_paper
from heed.models.registry.entries import Model
from heed.types import PAPERS


@cache
def in_tables(paper: str) -> dict[str, list[str]]:
    """Return the names that the tables of ``paper`` print, by the registry's name, in the tables' order.

    A variant that is no entry of its own is called ``NAME@PRESET``. Raises as
    :func:`heed.addons.published.figures.read_paper` does.
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


def spelt_once(names: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the names of all papers, one of those that differ in capitals only."""
    spellings: dict[str, str] = {}
    for printed in names.values():
        for name in printed:
            spellings.setdefault(name.casefold(), name)
    return list(spellings.values())

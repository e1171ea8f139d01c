"""Whether a document keeps the counts, years, units and lengths that an instruction asks for."""

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from heed.io.document_store import StoredDocuments
from heed.reranking.bounds import YEAR, Bound, plain, units_in
from heed.tables.markup import parse_table
from heed.types import Document

A_YEAR = re.compile(YEAR)
A_NUMBER = re.compile(r"\d\S*")  # what is left of a word with a digit
CHARACTERS = 2_000  # of a document in which years, units and numbers are looked for
KNOWN = 200_000  # documents of which it is kept what they have


class Had(NamedTuple):
    """What a document has of what bounds are about; ``numeric`` is the share of its cells' words with a digit."""

    years: list[int]
    words: int
    units: tuple[str, ...]
    rows: int
    columns: int
    numeric: float


class Found:
    """What documents have of what bounds are about: a document of a collection is read once, in however many pools."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._collection = ""  # whose documents are known, by its digest
        self._known: defaultdict[frozenset[str], dict[str, Had]] = defaultdict(dict)  # by what was looked for, docid

    def of(self, documents: Sequence[Document], bounds: Sequence[Bound]) -> list[Had]:
        """Return what each of ``documents`` has of what ``bounds`` are about."""
        if not isinstance(documents, StoredDocuments):
            return [had(document, bounds) for document in documents]
        if documents.digest != self._collection or sum(map(len, self._known.values())) > KNOWN:
            self._collection, self._known = documents.digest, defaultdict(dict)
        known = self._known[frozenset(name for bound in bounds for name in (bound.kind, *bound.units))]
        new = [place for place, docid in enumerate(documents.docids) if docid not in known]
        known.update((document.docid, had(document, bounds)) for document in documents.chosen(new))
        return [known[docid] for docid in documents.docids]


def had(document: Document, bounds: Sequence[Bound]) -> Had:
    """Return what ``document`` has of what ``bounds`` are about; ``numeric`` is a share of its cells' words."""
    kinds = {bound.kind for bound in bounds}
    text = plain(document.contents()[:CHARACTERS]) if kinds & {"years", "units"} else ""
    cells = document.cells[:CHARACTERS] if "numeric" in kinds else ""
    table = parse_table(document.text) if "columns" in kinds else None
    return Had(
        years=[int(year) for year in A_YEAR.findall(text)] if "years" in kinds else [],
        words=len(document.contents().split()) if "words" in kinds else 0,
        units=units_in(text, {unit: None for bound in bounds for unit in bound.units}),
        rows=document.cells.count("\n") + bool(document.cells),
        columns=max(map(len, [*table.header, *table.body]), default=0) if table else 0,
        numeric=len(A_NUMBER.findall(cells)) / (len(cells.split()) or 1),
    )


def broken(bound: Bound, bounds: Sequence[Bound], document: Had) -> float:
    """Return how far a document does not keep a bound, 0 to 1: of years the share of those outside.

    A unit that is excluded may be there beside one that ``bounds`` ask for.
    """
    if bound.kind == "numeric":
        return 1 - document.numeric
    if bound.kind == "units":
        has = set(document.units)
        if bound.sign > 0:
            return float(has.isdisjoint(bound.units))
        asked = {unit for other in bounds if other.kind == "units" and other.sign > 0 for unit in other.units}
        return float(not has.isdisjoint(bound.units) and has.isdisjoint(asked))
    counts = {"rows": document.rows, "columns": document.columns, "words": document.words}
    numbers = document.years if bound.kind == "years" else [counts[bound.kind]]
    inside = sum(bound.low <= number <= bound.high for number in numbers)
    return (len(numbers) - inside if bound.sign > 0 else inside) / (len(numbers) or 1)

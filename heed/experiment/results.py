"""What an experiment returns: the measures of its systems, and a look at the documents that one finds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import eq
from typing import TYPE_CHECKING, NamedTuple

from heed.errors import UnknownError, UsageError, did_you_mean
from heed.formats.document_store import DocumentStore, StoredDocuments, title_of
from heed.measures.pairwise import P_MRR
from heed.measures.summary import (
    ABSENT,
    LABELS,
    Detail,
    Row,
    aligned,
    cells,
    printed,
    table,
)
from heed.notebook import data_frame, html_table
from heed.progress import brief, escaped
from heed.ranking import ranked
from heed.report.results import ResultsFolder
from heed.reranking.rescore import score_alone
from heed.types import Query, Reranker, Retriever, closed

if TYPE_CHECKING:
    import pandas as pd

    from heed.report.charts import Chart

POOL = 100  # documents of the retriever that a reranker gets


@dataclass(frozen=True, repr=False)
class Results(ResultsFolder):
    """A folder of results, as an experiment returns it: its measures in Python and in notebooks.

    A table has the ``requested`` measures, and of the others none that looks deeper than ``depth``.
    """

    depth: float = math.inf
    requested: Sequence[str] = ()

    def __repr__(self) -> str:
        """Return collection and systems; ``print`` shows the measures."""
        systems = dict.fromkeys(row["system"] for row in self.details)
        return f"Results({self.collection} {self.subset}: {brief([*systems])})"

    def __str__(self) -> str:
        """Return the measures as text, values ×100."""
        return table(self._printed(), f"{self.title}, values ×100")

    def _repr_html_(self) -> str:
        lines = cells(self._printed())
        return html_table(
            f"{self.title}, values ×100", lines, numbers=range(LABELS, len(lines[0])), notes=self.warnings
        )

    def _printed(self, also: Sequence[str] = ()) -> list[Row]:
        return printed(self.rows, [*self.requested, *also], self.depth)

    def value(self, system: str, condition: str, measure: str) -> float:
        """Return one figure; :class:`UnknownError` if there is none."""
        return self._detail(system, condition, measure)["value"]

    def per_topic(self, system: str, condition: str, measure: str) -> dict[str, float]:
        """Return the value of each topic by qid; :class:`UnknownError` if there is none."""
        return dict(self._detail(system, condition, measure)["per_topic"])

    def _detail(self, *key: str) -> Detail:
        for detail in self.details:
            if (detail["system"], detail["condition"], detail["measure"]) == key:
                return detail
        known = [(each["system"], each["condition"], each["measure"]) for each in self.details]
        fits = [each for each in known if sum(map(eq, each, key)) == len(key) - 1] or known
        near = did_you_mean(", ".join(key), map(", ".join, fits), cutoff=0.3, before="; ")
        raise UnknownError(f"{', '.join(key)}: no such system, condition and measure{near}")

    def table(self, also: Sequence[str] = ()) -> "pd.DataFrame":
        """Return a frame with the table that ``print`` shows: values ×100, a line for each system and condition.

        ``also`` names further measures: "p-MRR kept" and "p-MRR in one only". Where there is no figure it has NaN.
        Raises :class:`UsageError` where pandas is not installed.
        """
        head, *lines = cells(self._printed(also))
        figures = ([math.nan if cell == ABSENT else float(cell) for cell in line[LABELS:-1]] for line in lines)
        return data_frame(
            [[*line[:LABELS], *row, int(line[-1])] for line, row in zip(lines, figures, strict=True)], head
        )

    def to_pandas(self) -> "pd.DataFrame":
        """Return a frame with the columns of ``summary.json``'s rows: system, condition, measure, value, n.

        Raises :class:`UsageError` where pandas is not installed.
        """
        return data_frame(self.rows, ["system", "condition", "measure", "value", "n"])

    def plane(self) -> "Chart":
        """Return the report's chart of all systems: effectiveness to the right, selectivity upwards.

        A notebook shows it; :meth:`heed.report.charts.Chart.write` writes a file. Raises
        :class:`UsageError` where no two conditions are compared.
        """
        from heed.report.plots import plane

        chart = plane(self)
        if chart is None:
            raise UsageError(f"plane: no {P_MRR} here; give judgements of two conditions, such as original and changed")
        return chart


class Hit(NamedTuple):
    """A document that was found: ``rank`` from 1; ``title`` is the beginning of the text where it has none."""

    rank: int
    docid: str
    score: float
    title: str


class Hits(tuple[Hit, ...]):
    """Documents that were found, best first."""

    __slots__ = ()

    def _cells(self) -> list[tuple[str, ...]]:
        lines = ((str(hit.rank), escaped(hit.docid), f"{hit.score:.4f}", escaped(hit.title)) for hit in self)
        return [Hit._fields, *lines]

    def __repr__(self) -> str:
        """Return a line for each document."""
        cells = self._cells()
        width = max(len(title) for *_, title in cells)
        return aligned([(*line, title.ljust(width)) for *line, title in cells], left=2)

    def _repr_html_(self) -> str:
        return html_table("", self._cells(), numbers=(0, 2))


def look(query: Query, k: int, store: DocumentStore, retriever: Retriever, reranker: Reranker | None) -> Hits:
    """Return the best ``k`` documents of a retriever, or of its first ones as the reranker orders them."""
    with closed(retriever):
        retriever.load()
        scores = retriever.search([query], max(k, POOL) if reranker else k).get(query.qid, {})
    if reranker:
        docids = ranked(scores)
        with closed(reranker):
            reranker.load()
            values = score_alone(reranker, query, StoredDocuments(store, docids))
        scores = dict(zip(docids, values, strict=True))
    return hits_of(scores, k, store)


def hits_of(scores: Mapping[str, float], k: int, store: DocumentStore) -> Hits:
    """Return the best ``k`` of documents with ``scores``, with their titles from ``store``."""
    docids = ranked(scores)[:k]
    documents = store.find(docids)
    return Hits(
        Hit(rank, docid, scores[docid], title_of(documents[docid]) if docid in documents else "")
        for rank, docid in enumerate(docids, 1)
    )

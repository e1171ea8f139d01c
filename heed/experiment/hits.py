"""A look at what a system finds: the first documents of a query, with their titles."""

from collections.abc import Mapping
from typing import NamedTuple

from heed.formats.document_store import DocumentStore, StoredDocuments, title_of
from heed.measures.summary import aligned
from heed.notebook import html_table
from heed.progress import escaped
from heed.ranking import ranked
from heed.reranking.rescore import score_alone
from heed.types import Query, Reranker, Retriever, closed, load

POOL = 100  # documents of the retriever that a reranker gets


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
        load(retriever)
        scores = retriever.search([query], max(k, POOL) if reranker else k).get(query.qid, {})
    if reranker:
        docids = ranked(scores)
        with closed(reranker):
            load(reranker)
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

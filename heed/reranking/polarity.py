"""``polarity``: a lexical reranker that reads the instruction, with no model.

The evidence for a document is BM25 of the query's terms, of the terms that the instruction asks for, and of the terms
of the ten documents that fit best by these. The evidence against it is BM25 of the terms that the instruction
excludes, and of those of the ten documents that have most of them. A part of the evidence is divided by the topic's
best; :mod:`heed.reranking.demotion` says how the second is taken from the first. Statistics are the whole collection's.

In a table the caption counts once more beside the whole text, for the terms asked for the header too.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from heed.io.document_store import docids_of
from heed.ranking import ranked
from heed.reranking.cues import cues_digest, warn_without_cues
from heed.reranking.demotion import FLOOR, demoted
from heed.reranking.likeness import CHARACTERS, TERMS, centroid, vector
from heed.reranking.parts import parts_of
from heed.retrieval.bm25 import Bm25
from heed.retrieval.bm25_index import FIELD, Subset, Term
from heed.retrieval.corpus import Corpus
from heed.types import Config, Document, Query

VERSION = 5  # raise when scores change


class Settings(NamedTuple):
    """Weights of the parts beside the query's 1, and how many documents the last two are made from."""

    asked: float = 1.0
    excluded: float = 2.0
    like: float = 1.0
    unlike: float = 1.0
    examples: int = 10
    floor: float = FLOOR


class Fields(NamedTuple):
    """The fields of the index in which a part's terms are searched, with weights."""

    query: dict[str, float]
    asked: dict[str, float]
    excluded: dict[str, float]


SETTINGS = Settings()
WHOLE = {FIELD: 1.0}
TEXT = Fields(WHOLE, WHOLE, WHOLE)
TABLE = Fields(
    query={FIELD: 1.0, "caption": 1.0},
    asked={FIELD: 1.0, "caption": 1.0, "header": 1.0},
    excluded={FIELD: 1.0, "caption": 1.0},
)


class Part(NamedTuple):
    """One part of the evidence: its ``weight``, below 0 against a document, its terms, and each document's share.

    ``shares`` has by docid BM25 of the terms divided by ``best``, that of the topic's best document.
    """

    name: str
    weight: float
    terms: dict[Term, float]
    best: float
    shares: dict[str, float]


class Polarity:
    """The reranker over one BM25 index, as a :class:`heed.types.Reranker`."""

    name = "polarity"

    def __init__(self, bm25: Bm25, settings: Settings = SETTINGS) -> None:
        """Take analyser and statistics from the index of ``bm25``, opened at the first score."""
        self._bm25, self._settings = bm25, settings
        self._fields = TABLE if bm25.corpus.documents.tabular else TEXT
        self._subset = Subset([])  # the last pool: the conditions of one query share theirs
        self.config: Config = {
            "polarity": [VERSION, *settings, TERMS, CHARACTERS],
            "fields": self._fields._asdict(),
            "cues": cues_digest(bm25.corpus.language.code),
            "bm25": bm25.config,
        }

    def over(self, corpus: Corpus) -> "Polarity":
        """Return the same reranker with the statistics of other documents."""
        return Polarity(self._bm25.over(corpus), self._settings)

    def load(self) -> None:
        """Open the index."""
        self._bm25.load()

    def close(self) -> None:
        """Forget the index."""
        self._bm25.close()

    def score(self, query: Query, documents: Sequence[Document]) -> Sequence[float]:
        """Return the score of each document; under ``query`` its normalised BM25."""
        parts = self.parts(query, documents)
        return [self.combined(parts, docid) for docid in docids_of(documents)]

    def combined(self, parts: Sequence[Part], docid: str) -> float:
        """Return a document's score by the parts of the evidence."""
        shares = [part.weight * part.shares[docid] for part in parts]
        wanted = sum((share for share in shares if share > 0), 0.0)
        unwanted = sum((-share for share in shares if share < 0), 0.0)
        return demoted(wanted, unwanted, self._settings.floor)

    def parts(self, query: Query, documents: Sequence[Document]) -> list[Part]:
        """Return the parts of the evidence for and against documents, those that the topic has."""
        if query.instruction:
            warn_without_cues(query.lang)
        docids = docids_of(documents)
        if self._subset.docids != docids:
            self._subset = Subset(docids)
        weights, fields = self._settings, self._fields
        terms = parts_of(self._bm25.searcher.terms, query.query, query.instruction, query.lang)
        parts = [self._part("query", 1.0, terms.query, fields.query)]
        if terms.asked:
            parts.append(self._part("asked", weights.asked, terms.asked, fields.asked))
        if terms.excluded:
            parts.append(self._part("excluded", -weights.excluded, terms.excluded, fields.excluded))
        return [*parts, *self._likeness(parts, documents)]

    def _likeness(self, parts: Sequence[Part], documents: Sequence[Document]) -> Iterator[Part]:
        """Yield the parts by the documents that fit an instruction best, and those that it excludes most clearly."""
        by_name = {part.name: part for part in parts}
        if len(parts) > 1 and self._settings.like:
            scores = {document.docid: self.combined(parts, document.docid) for document in documents}
            yield self._part("like", self._settings.like, self._centroid(scores, documents), WHOLE)
        if "excluded" in by_name and self._settings.unlike:
            shares = by_name["excluded"].shares
            scores = {
                docid: sum(
                    abs(part.weight) * part.shares[docid] * (-1 if part.name == "asked" else 1) for part in parts
                )
                for docid, share in shares.items()
                if share > 0
            }
            yield self._part("unlike", -self._settings.unlike, self._centroid(scores, documents), WHOLE)

    def _centroid(self, scores: Mapping[str, float], documents: Sequence[Document]) -> Mapping[str, float]:
        """Return the terms of the documents with the highest scores."""
        place_of = {document.docid: place for place, document in enumerate(documents)}
        best = [documents[place_of[docid]] for docid in ranked(scores)[: self._settings.examples]]
        searcher = self._bm25.searcher
        bags = searcher.terms_of_each(document.contents()[:CHARACTERS] for document in best)
        idf = searcher.idf({term: None for bag in bags for term in bag})
        return centroid(vector(bag, idf) for bag in bags)

    def _part(self, name: str, weight: float, terms: Mapping[str, float], fields: Mapping[str, float]) -> Part:
        weighted = {(field, term): boost * terms[term] for field, boost in fields.items() for term in terms}
        scores = self._bm25.searcher.score(weighted, self._subset)
        best = max(scores.values(), default=0.0) or 1.0
        return Part(name, weight, weighted, best, {docid: score / best for docid, score in scores.items()})

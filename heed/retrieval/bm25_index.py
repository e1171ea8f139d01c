"""BM25 as Lucene computes it: build an index by Anserini's classes, search it, score chosen documents."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from heed.errors import UsageError, fail
from heed.io.artifacts import Recipe, ensure_folder
from heed.io.document_store import DocumentStore
from heed.languages import Language
from heed.progress import bar, log, timed
from heed.retrieval.lucene.analysis import Analysis
from heed.retrieval.lucene.jvm import anserini_version, java, java_errors
from heed.retrieval.lucene.queries import bag_of_words, one_of, weighted_terms
from heed.retrieval.lucene.shards import beside, one_reader, open_reader, ranges, shard_folders
from heed.retrieval.lucene.writer import write_index
from heed.retrieval.threads import by_threads
from heed.retrieval.ties import PLACES
from heed.types import Document, Run

if TYPE_CHECKING:
    from heed.retrieval.postings import Places
    from heed.retrieval.postings_search import ImpactSearch, Matrix

VERSION = 2  # raise when the index is built in another way
K1, B = 0.9, 0.4  # Anserini's defaults, used for every published NeuCLIR and HC4 figure
FIELD = "contents"
TABLE_FIELDS = ("caption", "header", "cells")  # of a table, beside its whole text
MOST = 2_000_000_000  # postings of a matrix, 5 to 8 bytes each on disk; a larger index is searched by Lucene

Term = tuple[str, str]  # field, term as the index holds it


class Bm25Settings(NamedTuple):
    """BM25's k1 (term saturation, from 0) and b (length normalisation, 0 to 1), and the weights of a table's fields."""

    k1: float = K1
    b: float = B
    caption: float = 1.0
    header: float = 1.0
    cells: float = 1.0

    def fields(self) -> dict[str, float]:
        """Return the weights of those of ``TABLE_FIELDS`` that count."""
        weights = {"caption": self.caption, "header": self.header, "cells": self.cells}
        return {name: weight for name, weight in weights.items() if weight}


def build(
    folder: Path, store: DocumentStore, language: Language, threads: int, vectors: bool = False, shards: int = 1
) -> None:
    """Build the Lucene index of ``store`` in ``folder``, unless it is there for the same documents and settings.

    Tables are indexed as a whole and, beside it, by caption, header and cells.
    ``vectors`` keeps each document's terms, which feedback (RM3, Rocchio) reads. Documents with
    no text cannot be indexed and are counted in the log. With several ``shards`` the documents are split in docid
    order into as many indexes beside ``folder``, one made after the other and each kept when it is whole.
    """
    recipe: Recipe = {
        "index": VERSION,
        "anserini": anserini_version(),
        "language": language.short,
        "documents": store.digest,
        "vectors": vectors,
    }
    folders = shard_folders(folder, shards)
    for at, (start, end) in enumerate(ranges(store.count, shards)):
        documents = _Range(store, start, end)
        this = recipe | ({"shard": [at, shards]} if shards > 1 else {})
        ensure_folder(folders[at], this, partial(_build, documents, language, threads, vectors))


class _Range(NamedTuple):
    """Documents of a store, by their numbers in it."""

    store: DocumentStore
    start: int
    end: int


def _build(documents: _Range, language: Language, threads: int, vectors: bool, folder: Path) -> None:
    store, start, end = documents
    fields, count = (FIELD, *TABLE_FIELDS) if store.tabular else (FIELD,), end - start
    rows = _with_text(bar(store.within(start, end), count, "bm25 index", "documents"), fields)
    with timed("index", "bm25") as work, java_errors(f"{folder}: indexing"):
        indexed = write_index(folder / "lucene", rows, fields, Analysis(language).analyzer, threads, vectors)
        work.did(count, "documents")
    if indexed < count:
        log.info(f"bm25: {count - indexed} of {count} documents have no text and are not in the index")


def _with_text(documents: Iterable[Document], fields: Sequence[str]) -> Iterator[list[str]]:
    for document in documents:
        contents = document.contents()
        if contents.strip():
            yield [document.docid, contents, *(getattr(document, name) for name in fields[1:])]


class Searcher:
    """An open index; thread-safe.

    What :meth:`search` gives is what Anserini's run files hold, so that figures are equal to the
    last digit: Lucene's ties are broken by docid ascending, at the cut too, and that order is
    written into the scores (rounded to 1e-4, ties lowered by 1e-6). What is still equal then, at
    scores where single precision cannot tell 1e-6, follows :mod:`heed.ranking` as in trec_eval.

    Scores are computed by numpy from a matrix of the index's postings (:mod:`heed.retrieval.postings`), made
    when first needed; Lucene itself searches an index of more than ``most`` postings, with the same results.
    An index in ``shards`` is searched with the statistics of all of them, and finds what one index finds.
    """

    def __init__(
        self, folder: Path, language: Language, settings: Bm25Settings, most: int = MOST, shards: int = 1
    ) -> None:
        """Open the index that :func:`build` left in ``folder``; :class:`HeedError` for a k1 or b that BM25 has not."""
        fail(_impossible(settings), UsageError)
        self._folders, self._settings, self._most = shard_folders(folder, shards), settings, most
        self._analysis = Analysis(language)
        if not all(beside(one).exists() for one in self._folders):
            _ = self.lucene  # only Lucene can tell what is wrong with an index

    @cached_property
    def lucene(self) -> Any:
        """The index as Lucene's ``IndexSearcher``."""
        with java_errors("opening the index"):
            index_searcher = java("org.apache.lucene.search.IndexSearcher")
            index_searcher.setMaxClauseCount(1 << 20)  # a long instruction has more terms than Lucene's 1024
            searcher = index_searcher(one_reader([open_reader(folder) for folder in self._folders]))
            similarity = java("org.apache.lucene.search.similarities.BM25Similarity")
            searcher.setSimilarity(similarity(self._settings.k1, self._settings.b))
        return searcher

    def prepare(self) -> None:
        """Make the matrix, if need be, and open it, so that it can be timed alone."""
        _ = self._matrix

    @cached_property
    def _matrix(self) -> "ImpactSearch | None":
        """None where Lucene has to search."""
        from heed.retrieval.postings import open_impacts
        from heed.retrieval.postings_search import ImpactSearch, Matrix

        fields = (FIELD, *TABLE_FIELDS)
        with java_errors(f"{self._folders[0]}: reading the postings"):
            impacts = open_impacts(self._folders, fields, self._most)
        found = ImpactSearch(Matrix(impacts), self._settings.k1, self._settings.b) if impacts else None
        return found if found and found.tells_matches else None

    def search(
        self, queries: Mapping[str, str], depth: int, threads: int = 1, fields: Mapping[str, float] | None = None
    ) -> Run:
        """The ``depth`` best documents of each query, ``qid -> docid -> score``.

        With ``fields``, the weighted sum of BM25 in each of them instead of BM25 in the whole text.
        """
        if self._matrix is None:
            found = self._search_by_lucene(queries.values(), depth, threads, fields)
        else:
            found = self._matrix.search(queries.values(), fields or {FIELD: 1.0}, depth, self._analysis, threads)
        return dict(zip(queries, bar(found, len(queries), "bm25", "topics"), strict=True))

    def _search_by_lucene(
        self, texts: Iterable[str], depth: int, threads: int, fields: Mapping[str, float] | None
    ) -> Iterator[dict[str, float]]:
        with java_errors("searching"):
            # made by this thread, and the objects that the others call opened before: pyjnius mixes up two objects
            # of one class whose methods are called at the same time
            made, _ = (self.query(text, fields) for text in texts), (self.lucene, self._ties)
            yield from by_threads(lambda query: self.untied(self.first_hits(query, depth)), made, threads)

    @property
    def analyzer(self) -> Any:
        """Anserini's analyser of the language."""
        return self._analysis.analyzer

    def query(self, text: str, fields: Mapping[str, float] | None = None) -> Any:
        """The bag of words of ``text`` as Anserini builds it, in the whole text or in weighted fields."""
        return bag_of_words(self.analyzer, text, FIELD, fields)

    def first_hits(self, query: Any, depth: int) -> Any:
        """The ``depth`` best documents of a Lucene query as Anserini's ``ScoredDocs``, which its rerankers take."""
        order = java("io.anserini.search.SearchCollection").BREAK_SCORE_TIES_BY_DOCID
        found = self.lucene.search(query, depth, order, True)
        return java("io.anserini.search.ScoredDocs").fromTopDocs(found, self.lucene)

    def untied(self, found: Any) -> dict[str, float]:
        """``ScoredDocs`` as docid -> score, best first: Anserini's own scores for ties, to the places it writes."""
        hits = _read_hits(self._ties.rerank(found, None)) if found.docids else {}
        return {docid: round(score, PLACES) for docid, score in hits.items()}

    @cached_property
    def _ties(self) -> Any:
        return java("io.anserini.rerank.lib.ScoreTiesAdjusterReranker")()

    def terms(self, text: str) -> list[str]:
        """The terms of ``text`` as the index holds them, repeats included."""
        return self._analysis.terms(text)

    def score(self, weighted: Mapping[Term, float], among: "Among") -> dict[str, float]:
        """BM25 of weighted terms for the documents of ``among`` only, with the whole collection's statistics.

        Documents without any of the terms get 0.
        """
        if self._matrix is not None:
            scores = self._matrix.score(weighted, among.places(self._matrix.matrix))
            return dict(zip(among.docids, scores, strict=True))
        found = dict.fromkeys(among.docids, 0.0)
        if weighted and found:
            with java_errors("scoring"):
                query = weighted_terms(weighted, among.filter)
                found.update(_read_hits(self.first_hits(query, len(found))))
        return found


class Among:
    """Some documents of an index, looked up once and used for many queries."""

    def __init__(self, docids: Sequence[str]) -> None:
        """Nothing is looked up before the first query."""
        self.docids = docids
        self._places: tuple[Matrix, Places] | None = None

    @cached_property
    def filter(self) -> Any:
        """As a Lucene filter."""
        return one_of(self.docids)

    def places(self, matrix: "Matrix") -> "Places":
        """As places in a matrix, -1 for a document that is not there, having no text."""
        if self._places is None or self._places[0] is not matrix:
            self._places = matrix, matrix.places_of(self.docids)
        return self._places[1]


def _read_hits(found: Any) -> dict[str, float]:
    """Anserini's ``ScoredDocs`` as docid -> score, handed over as two whole arrays."""
    return dict(zip(found.docids, found.scores, strict=True))


def _impossible(settings: Bm25Settings) -> Iterator[str]:
    """Yield what Lucene's BM25Similarity refuses."""
    if not 0 <= settings.k1 < math.inf:
        yield f"--k1: found {settings.k1}, expected a finite number, 0 or above"
    if not 0 <= settings.b <= 1:
        yield f"--b: found {settings.b}, expected a number from 0 to 1"

"""BM25's Lucene index by Anserini's classes: build it, search it as Lucene does, score chosen documents."""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from heed.errors import UsageError, fail
from heed.formats.document_store import DocumentStore
from heed.languages import Language
from heed.progress import bar, log, number_of, timed
from heed.retrieval.bm25.matrix import MatrixSearch
from heed.retrieval.bm25.postings import Numbers
from heed.retrieval.bm25.postings_files import open_postings
from heed.retrieval.lucene.analysis import Analysis
from heed.retrieval.lucene.index_files import ADDED, UPDATED, link_index, replace_documents, write_index
from heed.retrieval.lucene.jvm import anserini_version, java_errors
from heed.retrieval.lucene.search import LuceneSearch
from heed.reuse import Recipe, ensure_folder, recipe_version, unchanged_note
from heed.types import Document, Run

K1, B = 0.9, 0.4  # Anserini's defaults, used for every published NeuCLIR and HC4 figure
MAX_K1 = 1000
FIELD = "contents"
TABLE_FIELDS = ("caption", "header", "cells")  # of a table, beside its whole text

Term = tuple[str, str]  # field, term as the index holds it


class Bm25Settings(NamedTuple):
    """BM25's k1 (term saturation, from 0) and b (length normalisation, 0 to 1), and the weights of a table's fields."""

    k1: float = K1
    b: float = B
    caption: float = 1.0
    header: float = 1.0
    cells: float = 1.0

    def fields(self) -> dict[str, float]:
        """Return the weights of ``TABLE_FIELDS`` that are not 0."""
        weights = {"caption": self.caption, "header": self.header, "cells": self.cells}
        return {name: weight for name, weight in weights.items() if weight}


class Searcher:
    """An open index; thread-safe.

    The results of :meth:`search` are those of Anserini's run files, so that figures are equal to the
    last digit: Lucene's ties are broken by docid ascending, at the cut too, and that order is
    written into the scores (rounded to 1e-4, ties lowered by 1e-6). Scores that are still equal then, because
    single precision cannot express 1e-6, follow :mod:`heed.ranking` as in trec_eval.

    Scores are computed by numpy from a matrix of the index's postings (:mod:`heed.retrieval.bm25.postings`), made
    when first needed.
    """

    def __init__(self, folder: Path, language: Language, settings: Bm25Settings) -> None:
        """Read nothing yet of the index that :func:`build_index` left in ``folder``.

        Raises :class:`UsageError` for a k1 or b that BM25 cannot have.
        """
        fail(_impossible(settings), UsageError)
        self._settings, self._folder = settings, folder
        self._analysis = Analysis(language)

    @cached_property
    def lucene(self) -> LuceneSearch:
        """The index as Lucene itself searches it, with feedback."""
        return LuceneSearch(self._folder, FIELD, self._settings.k1, self._settings.b, self._analysis)

    def load(self) -> None:
        """Export the postings unless they are there, and open them, so that it can be timed alone."""
        _ = self._matrix

    @cached_property
    def _matrix(self) -> MatrixSearch:
        """The index as numpy searches it."""
        with java_errors(f"{self._folder}: reading the postings"):
            postings = open_postings(self._folder, (FIELD, *TABLE_FIELDS))
        return MatrixSearch(postings, self._settings.k1, self._settings.b)

    def search(
        self, queries: Mapping[str, str], depth: int, threads: int = 1, fields: Mapping[str, float] | None = None
    ) -> Run:
        """Return the ``depth`` best documents of each query, ``qid -> docid -> score``.

        With ``fields``, the weighted sum of BM25 in each of them instead of BM25 in the whole text.
        """
        results = self._matrix.search(queries.values(), fields or {FIELD: 1.0}, depth, self._analysis, threads)
        return dict(zip(queries, bar(results, len(queries), "bm25", "topics"), strict=True))

    def terms(self, text: str) -> list[str]:
        """Return the terms of ``text`` as the index holds them, repeats included."""
        return self._analysis.terms(text)

    def terms_of_each(self, texts: Iterable[str]) -> list[list[str]]:
        """Return the terms of each of ``texts``."""
        return self._analysis.terms_of_each(texts)

    def idf(self, terms: Iterable[str]) -> dict[str, float]:
        """Return BM25's idf of terms in the whole text, ``ln(1 + (N − n + 0.5) / (n + 0.5))``."""
        return self._matrix.idf(FIELD, terms)

    def score(self, weighted: Mapping[Term, float], subset: "Subset") -> dict[str, float]:
        """Return BM25 of weighted terms for each document of ``subset``: :meth:`scores` by docid."""
        return dict(zip(subset.docids, self.scores(weighted, subset), strict=True))

    def scores(self, weighted: Mapping[Term, float], subset: "Subset") -> list[float]:
        """Return BM25 of weighted terms for the documents of ``subset``, with the whole collection's statistics.

        Documents without any of the terms get 0.
        """
        if subset.numbers is None:
            subset.numbers = self._matrix.postings.numbers_of(subset.docids)
        return self._matrix.score(weighted, subset.numbers)


class Subset:
    """Some documents of an index; ``numbers`` are theirs in it, looked up once for many queries."""

    def __init__(self, docids: Sequence[str]) -> None:
        """Nothing is looked up before the first query."""
        self.docids = docids
        self.numbers: Numbers | None = None


def _impossible(settings: Bm25Settings) -> Iterator[str]:
    """Yield what BM25 cannot have, and a k1 with which single precision would round the scores of matches to 0."""
    if not 0 <= settings.k1 <= MAX_K1:
        yield f"k1: found {settings.k1}, expected a number from 0 to {MAX_K1}"
    if not 0 <= settings.b <= 1:
        yield f"b: found {settings.b}, expected a number from 0 to 1"


def build_index(
    folder: Path,
    store: DocumentStore,
    language: Language,
    threads: int,
    vectors: bool = False,
    fields: Sequence[str] = (FIELD, *TABLE_FIELDS),
) -> Path:
    """Return ``folder`` with the Lucene index of ``store``, built unless it is there for the same settings.

    Of tables it has ``fields``, of other documents ``FIELD`` alone.
    ``vectors`` keeps each document's terms, which feedback (RM3, Rocchio) reads. Documents without
    text cannot be indexed and are counted in the log.
    """
    fields = fields if store.tabular else (FIELD,)
    recipe: Recipe = {
        "index": recipe_version("index"),
        "anserini": anserini_version(),
        "language": language.short,
        "documents": store.digest,
        "vectors": vectors,
        **({"fields": list(fields)} if store.tabular else {}),
    }

    def build(target: Path) -> Recipe:
        earlier, settings = unchanged_note(folder), (fields, Analysis(language).analyzer, threads, vectors)
        changed = store.changed_since(earlier, recipe)
        if changed is not None or (target / ADDED).exists():  # what was stopped goes on only where all are indexed
            for name in ("lucene", ADDED):
                shutil.rmtree(target / name, ignore_errors=True)
        with timed("index", "bm25") as work, java_errors(f"{target}: indexing"):
            if not earlier or changed is None:
                documents = bar(iter(store), store.count, "bm25 index", "documents")
                indexed = write_index(target / "lucene", _rows(documents, fields), *settings)
                work.did(store.count, "documents")
                if indexed < store.count:
                    without = f"{store.count - indexed} of {store.count} documents have no text"
                    log.info(f"bm25: {without} and are not in the index")
                return {}
            write_index(target / ADDED / "lucene", _rows(store.those_of(changed), fields), *settings)
            link_index(folder / "lucene", target / "lucene")
            replace_documents(target / "lucene", changed, target / ADDED / "lucene", settings[1])
            work.did(len(changed), "documents")
        log.info(f"{folder}: made of the earlier one and {number_of(len(changed), 'document')}")
        return {UPDATED: {"index": earlier.recipe, "docids": changed}}

    return ensure_folder(folder, recipe, build, goes_on=True)


def _rows(documents: Iterable[Document], fields: Sequence[str]) -> Iterator[list[str]]:
    """Yield docid and fields of each document that has text."""
    for document in documents:
        contents = document.contents()
        if contents.strip():
            text_of = document._asdict() | {FIELD: contents}
            yield [document.docid, *(text_of[name] for name in fields)]

"""BM25's Lucene index by Anserini's classes: build it, search it, score chosen documents; the retriever ``bm25``."""

import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from math import inf
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heed.compute import Compute
from heed.errors import UsageError, fail
from heed.files import folder_bytes, on_disk
from heed.formats.document_store import Corpus, DocumentStore
from heed.languages import Language
from heed.process import batches
from heed.progress import bar, log, number_of, timed
from heed.retrieval.bm25.feedback import METHODS, Feedback, FeedbackDocument, Method, chosen_terms, is_frequent
from heed.retrieval.bm25.postings import BestDocuments, Clause, MatrixSearch, Numbers, open_postings
from heed.retrieval.lucene.analysis import Analysis
from heed.retrieval.lucene.index_files import ADDED, UPDATED, link_index, replace_documents, write_index
from heed.retrieval.lucene.jvm import anserini_version, java_errors, start
from heed.reuse import Recipe, ensure_folder, recipe_version, unchanged_note
from heed.types import Config, Document, Query, Retriever, Run

K1, B = 0.9, 0.4  # Anserini's defaults, used for every published NeuCLIR and HC4 figure
LIMITS = {  # with a greater k1 single precision would round the scores of matches to 0
    "k1": (0, 1000),
    "b": (0, 1),
    "fb_docs": (1, inf),
    "fb_terms": (1, inf),
    "rm3_weight": (0, 1),
    "rocchio_alpha": (0, inf),
    "rocchio_beta": (0, inf),
}
TEMPORARY = 1.5  # bytes for each of the store, while segments are merged; half of them stay
TEXTS_AT_ONCE = 50  # queries analysed, and expanded, before they are searched
FIELD = "contents"
TABLE_FIELDS = ("caption", "header", "cells")  # of a table, beside its whole text

WHOLE = {FIELD: 1.0}  # the field of a search, with its weight
Term = tuple[str, str]  # field, term as the index holds it


class Bm25Settings(NamedTuple):
    """BM25's k1 (term saturation, from 0) and b (length normalisation, 0 to 1), and the weights of a table's fields."""

    k1: float = K1
    b: float = B
    caption: float = 1.0
    header: float = 1.0
    cells: float = 1.0
    feedback: Feedback = Feedback()

    def fields(self) -> dict[str, float]:
        """Return the weights of ``TABLE_FIELDS`` that are not 0."""
        weights = {"caption": self.caption, "header": self.header, "cells": self.cells}
        return {name: weight for name, weight in weights.items() if weight}

    def problems(self) -> Iterator[str]:
        """Yield what BM25 and its feedback cannot have."""
        for name, value in {"k1": self.k1, "b": self.b, **self.feedback._asdict()}.items():
            least, most = LIMITS[name]
            if not least <= value <= most or value == inf:
                expected = f"{least} or more" if most == inf else f"a number from {least} to {most}"
                yield f"{name}: found {value}, expected {expected}"


class Searcher:
    """An open index; thread-safe.

    The results of :meth:`search` are those of Anserini's run files, so that figures are equal to the
    last digit: Lucene's ties are broken by docid ascending, at the cut too, and that order is
    written into the scores (rounded to 1e-4, ties lowered by 1e-6). Scores that are still equal then, because
    single precision cannot express 1e-6, follow :mod:`heed.ranking` as in trec_eval.

    Scores are computed from a matrix of the index's postings (:mod:`heed.retrieval.bm25.postings`), made when first
    needed.
    """

    def __init__(self, folder: Path, language: Language, settings: Bm25Settings) -> None:
        """Read nothing yet of the index that :func:`build_index` left in ``folder``.

        Raises :class:`UsageError` for a k1 or b that BM25 cannot have.
        """
        fail(settings.problems(), UsageError)
        self._settings, self._folder, analysis = settings, folder, Analysis(language)
        self.terms, self.terms_of_each = analysis.terms, analysis.terms_of_each  # of texts, as the index holds them

    def load(self) -> None:
        """Export the postings unless they are there, and open them, so that it can be timed alone."""
        _ = self._matrix

    @cached_property
    def _matrix(self) -> MatrixSearch:
        """The index as it is searched."""
        with java_errors(f"{self._folder}: reading the postings"):
            postings = open_postings(self._folder, (FIELD, *TABLE_FIELDS))
        return MatrixSearch(postings, self._settings.k1, self._settings.b)

    def search(
        self, queries: Mapping[str, str], depth: int, threads: int = 1, fields: Mapping[str, float] | None = None
    ) -> Run:
        """Return the ``depth`` best documents of each query, ``qid -> docid -> score``.

        With ``fields``, the weighted sum of BM25 in each of them instead of BM25 in the whole text. Lucene rounds the
        sum of a field on its own, unless its weight is 1: then its clauses become clauses of the whole query.
        """
        boosts = {name: float(np.float32(boost)) for name, boost in (fields or WHOLE).items()}
        bags = chain.from_iterable(map(self.terms_of_each, batches(queries.values(), TEXTS_AT_ONCE, lambda _: 1)))
        apart = [name for name, boost in boosts.items() if boost != 1]
        best = self._matrix.search((_clauses(Counter(bag), boosts) for bag in bags), depth, threads, apart)
        return _run(queries, bar(best, len(queries), "bm25", "topics"))

    def search_with_feedback(
        self, queries: Mapping[str, str], depth: int, threads: int, method: str, store: DocumentStore
    ) -> Run:
        """Return the ``depth`` best documents of each query, expanded from its first hits and searched again.

        ``method`` is a key of :data:`heed.retrieval.bm25.feedback.METHODS`; ``store`` has the documents' texts.
        """
        groups = batches(queries.values(), TEXTS_AT_ONCE, lambda _: 1)
        expanded = chain.from_iterable(self._expanded(group, threads, METHODS[method], store) for group in groups)
        best = self._matrix.search((_clauses(weights) for weights in expanded), depth, threads)
        return _run(queries, bar(best, len(queries), f"bm25+{method}", "topics"))

    def _expanded(
        self, texts: Sequence[str], threads: int, method: Method, store: DocumentStore
    ) -> Iterator[Mapping[str, float]]:
        """Yield the weighted terms of each text and of its first documents."""
        settings, bags = self._settings.feedback, self.terms_of_each(texts)
        first = list(self._matrix.search((_clauses(Counter(bag)) for bag in bags), settings.fb_docs, threads))
        counts = self._counts(store, list(dict.fromkeys(docid for hits in first for docid in hits.docids)))
        for bag, hits in zip(bags, first, strict=True):
            documents = [
                FeedbackDocument(counts[docid], score) for docid, score in zip(hits.docids, hits.scores, strict=True)
            ]
            yield method(bag, documents, settings)

    def _counts(self, store: DocumentStore, docids: Sequence[str]) -> dict[str, Counter[str]]:
        """Return how often documents have the terms that feedback can choose."""
        bags = self.terms_of_each(document.contents() for document in store.get(docids))
        matrix, size = self._matrix, self._matrix.postings.size
        frequent = {term for bag in bags for term in set(bag) if is_frequent(matrix.find(FIELD, term).size, size)}
        return {docid: chosen_terms(bag, frequent) for docid, bag in zip(docids, bags, strict=True)}

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
        return self._matrix.score([(*term, weight) for term, weight in weighted.items()], subset.numbers)


def _clauses(weights: Mapping[str, float], boosts: Mapping[str, float] = WHOLE) -> list[Clause]:
    """Return weighted terms searched in fields, each field's weight multiplied by a term's, as Anserini does."""
    return [(name, term, boost * weight) for name, boost in boosts.items() for term, weight in weights.items()]


def _run(qids: Iterable[str], best: Iterable[BestDocuments]) -> Run:
    return {
        qid: dict(zip(hits.docids, hits.in_runs.tolist(), strict=True)) for qid, hits in zip(qids, best, strict=True)
    }


class Subset:
    """Some documents of an index; ``numbers`` are theirs in it, looked up once for many queries."""

    def __init__(self, docids: Sequence[str]) -> None:
        """Nothing is looked up before the first query."""
        self.docids = docids
        self.numbers: Numbers | None = None


def build_index(
    folder: Path,
    store: DocumentStore,
    language: Language,
    threads: int,
    fields: Sequence[str] = (FIELD, *TABLE_FIELDS),
) -> Path:
    """Return ``folder`` with the Lucene index of ``store``, built unless it is there for the same settings.

    Of tables it has ``fields``, of other documents ``FIELD`` alone. Documents without text cannot be indexed and are
    counted in the log.
    """
    fields = fields if store.tabular else (FIELD,)
    recipe: Recipe = {
        "index": recipe_version("index"),
        "anserini": anserini_version(),
        "language": language.short,
        "documents": store.digest,
        "vectors": False,  # earlier ones for feedback kept each document's terms
        **({"fields": list(fields)} if store.tabular else {}),
    }

    def build(target: Path) -> Recipe:
        earlier, settings = unchanged_note(folder), (fields, Analysis(language).analyzer, threads)
        changed = store.changed_since(earlier, recipe)
        if changed is not None or (target / ADDED).exists():  # what was stopped goes on only where all are indexed
            for name in ("lucene", ADDED):
                shutil.rmtree(target / name, ignore_errors=True)
        share = (store.count if changed is None else len(changed)) / store.count
        need = max(int(TEMPORARY * folder_bytes(store.folder) * share) - folder_bytes(target), 0)
        with timed("index", "bm25") as work, on_disk(folder, need), java_errors(f"{target}: indexing"):
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


FIELDS = "bm25+fields"  # of tables: caption, header and cells weighted apart
# of tables; cells are most of their text, and would double the first two
FIELDS_IN = {"bm25": (FIELD, "caption", "header"), "bm25-fields": TABLE_FIELDS}


class ForeignIndex(NamedTuple):
    """An index that another tool made, after an add-on has compared it with the collection.

    ``folder`` is Heed's own, with a link to the index.
    """

    folder: Path
    config: Config


class Bm25(Retriever):
    """BM25 as a :class:`heed.types.Retriever`; its name says whether with feedback or over fields."""

    by_topic = True

    def __init__(
        self,
        name: str,
        corpus: Corpus,
        settings: Bm25Settings,
        compute: Compute,
        index: ForeignIndex | None = None,
    ) -> None:
        """Build and start nothing before the first search; with ``index``, one made elsewhere, search that.

        Raises :class:`UsageError` for impossible field weights, for fields of documents that are no tables, and for
        an index made elsewhere that lacks what ``name`` needs.
        """
        self.name, self.corpus = name, corpus
        self._settings, self._compute, self._index = settings, compute, index
        self._threads = compute.threads or os.cpu_count() or 1
        self._feedback = name.partition("+")[2].removeprefix("fields")
        self._fields = settings.fields() if name == FIELDS else None
        if self._fields == {} or min((self._fields or {"": 1.0}).values()) < 0:
            raise UsageError(f"field_weights: found {settings[2:5]}, expected none below 0 and one above")
        if self._fields and not corpus.documents.tabular:
            raise UsageError(f"{name}: these documents are no tables with caption, header and cells; use bm25")
        if self._fields and index:
            raise UsageError(f"{name}: an index made elsewhere has no fields of tables; leave it out, or use bm25")
        self.config: Config = {
            "system": name,
            "anserini": anserini_version(),
            "language": corpus.language.short,
            "k1": settings.k1,
            "b": settings.b,
            "fields": self._fields,
            **({"feedback": settings.feedback._asdict()} if self._feedback else {}),
            **({"index": index.config} if index else {}),
        }

    def over(self, corpus: Corpus) -> "Bm25":
        """Return the same system over other documents, with an index of Heed's own."""
        return Bm25(self.config["system"], corpus, self._settings, self._compute)

    def load(self) -> None:
        """Build the index, and the matrix of its postings, unless they are there, and open them."""
        self.searcher.load()

    @cached_property
    def searcher(self) -> Searcher:
        """The open index, built first unless it is there."""
        folder, store, language = self.corpus
        start(self._compute.heap)
        if self._index:
            return Searcher(self._index.folder, language, self._settings)
        index = folder / self.index_name
        build_index(index, store, language, self._threads, FIELDS_IN[self.index_name])
        return Searcher(index, language, self._settings)

    @property
    def index_name(self) -> str:
        """The name of the folder of its own index."""
        return "bm25-fields" if self._fields else "bm25"

    def search(self, queries: Sequence[Query], depth: int) -> Run:
        """Return the ``depth`` best documents of each query, by its ``text``."""
        texts = {query.qid: query.text for query in queries}
        if self._feedback:
            store = self.corpus.documents
            return self.searcher.search_with_feedback(texts, depth, self._threads, self._feedback, store)
        return self.searcher.search(texts, depth, self._threads, self._fields)

    def close(self) -> None:
        """Forget the open index."""
        self.__dict__.pop("searcher", None)

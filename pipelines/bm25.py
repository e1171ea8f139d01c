"""BM25 on Lucene, through Anserini's own classes: build an index, search it, score chosen documents."""

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from pipelines.docstore import Docstore
from pipelines.errors import HeedError
from pipelines.jvm import anserini_version, cast, java, java_errors
from pipelines.languages import Language
from pipelines.made import Recipe, folder_as_made
from pipelines.progress import bar, say
from pipelines.trec_files import Run

VERSION = 2  # raise when the index is built in another way
K1, B = 0.9, 0.4  # Anserini's defaults, used for every published NeuCLIR and HC4 figure
FIELD = "contents"
TABLE_FIELDS = ("caption", "header", "cells")  # of a table, beside its whole text
PLACES = 6  # after the point in Anserini's run files (%f): beyond them its ties are ties again
BATCH = 2_000  # documents handed to Java at once


Term = tuple[str, str]  # field, term as the index holds it


class Weights(NamedTuple):
    """BM25's two parameters, term saturation and length normalisation, and the weights of a table's fields."""

    k1: float = K1
    b: float = B
    caption: float = 1.0
    header: float = 1.0
    cells: float = 1.0

    def fields(self) -> dict[str, float]:
        """The weights of those of ``TABLE_FIELDS`` that count."""
        weights = {"caption": self.caption, "header": self.header, "cells": self.cells}
        return {name: weight for name, weight in weights.items() if weight}


def build(folder: Path, store: Docstore, language: Language, threads: int, vectors: bool = False) -> Path:
    """The Lucene index of ``store``, used again if it was made from the same documents and settings.

    Tables are indexed as a whole and, beside it, by caption, header and cells.
    ``vectors`` keeps each document's terms, which feedback (RM3, Rocchio) reads. Documents with
    no text cannot be indexed and are counted on stderr.
    """
    recipe: Recipe = {
        "index": VERSION,
        "anserini": anserini_version(),
        "language": language.short,
        "documents": store.digest,
        "vectors": vectors,
    }
    return folder_as_made(folder, recipe, lambda part: _build(part, store, recipe, threads))


def _build(folder: Path, store: Docstore, recipe: Recipe, threads: int) -> None:
    options = ["-input", "", "-collection", "JsonCollection", "-index", str(folder / "lucene")]
    options += ["-language", recipe["language"], "-threads", str(threads)]
    options += ["-storeDocvectors"] if recipe["vectors"] else []
    options += ["-fields", *TABLE_FIELDS] if store.tabular else []
    indexed = 0
    with java_errors(f"{folder}: indexing"):
        indexer = java("io.anserini.index.SimpleIndexer")(options)
        texts = bar(_with_text(store), store.count, "bm25 index", "documents")
        for batch in iter(lambda: list(islice(texts, BATCH)), []):
            added = indexer.addRawDocuments(batch)
            if added != len(batch):
                raise HeedError(f"{folder}: Lucene took {added} of {len(batch)} documents; run with --debug and report")
            indexed += added
        indexer.close()
    if indexed < store.count:
        say(f"bm25: {store.count - indexed} of {store.count} documents have no text and are not in the index")


def _with_text(store: Docstore) -> Iterator[str]:
    for document in store:
        if document.contents().strip():
            fields = {name: text for name in TABLE_FIELDS if (text := getattr(document, name))}
            yield json.dumps({"id": document.docid, FIELD: document.contents(), **fields}, ensure_ascii=False)


class Searcher:
    """An open index; thread-safe.

    What :meth:`search` gives is what Anserini's run files hold, so that figures are equal to the
    last digit: Lucene's ties are broken by docid ascending, at the cut too, and that order is
    written into the scores (rounded to 1e-4, ties lowered by 1e-6). What is still equal then, at
    scores where single precision cannot tell 1e-6, follows :mod:`pipelines.ranking` as in trec_eval.
    """

    def __init__(self, folder: Path, language: Language, weights: Weights) -> None:
        """Open the index that :func:`build` left in ``folder``."""
        path = java("java.nio.file.Paths").get(str(folder / "lucene"))
        with java_errors(f"{folder}: opening the index"):
            directory = java("org.apache.lucene.store.FSDirectory").open(path)
            reader = java("org.apache.lucene.index.DirectoryReader").open(directory)
        searchers = java("org.apache.lucene.search.IndexSearcher")
        searchers.setMaxClauseCount(1 << 20)  # a long instruction has more terms than Lucene's 1024
        self.lucene = searchers(cast("org.apache.lucene.index.IndexReader", reader))
        self.lucene.setSimilarity(java("org.apache.lucene.search.similarities.BM25Similarity")(weights.k1, weights.b))
        self.analyzer = _analyzer(language)
        self._order = java("io.anserini.search.SearchCollection").BREAK_SCORE_TIES_BY_DOCID
        self._ties = java("io.anserini.rerank.lib.ScoreTiesAdjusterReranker")()

    def search(
        self, queries: Mapping[str, str], depth: int, threads: int = 1, fields: Mapping[str, float] | None = None
    ) -> Run:
        """The ``depth`` best documents of each query, ``qid -> docid -> score``.

        With ``fields``, the weighted sum of BM25 in each of them instead of BM25 in the whole text.
        """
        with ThreadPoolExecutor(threads) as pool:
            found = pool.map(lambda text: self._search(text, depth, fields), queries.values())
            return dict(zip(queries, bar(found, len(queries), "bm25", "topics"), strict=True))

    def _search(self, text: str, depth: int, fields: Mapping[str, float] | None) -> dict[str, float]:
        with java_errors("searching"):
            return self.untied(self.first_hits(self.query(text, fields), depth))

    def query(self, text: str, fields: Mapping[str, float] | None = None) -> Any:
        """The bag of words of ``text`` as Anserini builds it, in the whole text or in weighted fields."""
        generator = java("io.anserini.search.query.BagOfWordsQueryGenerator")()
        if fields is None:
            return generator.buildQuery(FIELD, self.analyzer, text)
        weights, number = java("java.util.TreeMap")(), java("java.lang.Float")
        for name, weight in fields.items():
            weights.put(name, number(weight))
        return generator.buildQuery(weights, self.analyzer, text)

    def first_hits(self, query: Any, depth: int) -> Any:
        """The ``depth`` best documents of a Lucene query as Anserini's ``ScoredDocs``, which its rerankers take."""
        found = self.lucene.search(query, depth, self._order, True)
        return java("io.anserini.search.ScoredDocs").fromTopDocs(found, self.lucene)

    def untied(self, found: Any) -> dict[str, float]:
        """``ScoredDocs`` as docid -> score, best first: Anserini's own scores for ties, to the places it writes."""
        hits = _read_hits(self._ties.rerank(found, None)) if found.docids else {}
        return {docid: round(score, PLACES) for docid, score in hits.items()}

    def terms(self, text: str) -> list[str]:
        """The terms of ``text`` as the index holds them, repeats included."""
        return list(java("io.anserini.analysis.AnalyzerUtils").analyze(self.analyzer, text))

    def score(self, weighted: Mapping[Term, float], among: "Among") -> dict[str, float]:
        """BM25 of weighted terms for the documents of ``among`` only, with the whole collection's statistics.

        Documents without any of the terms get 0.
        """
        scores = dict.fromkeys(among.docids, 0.0)
        if not weighted or not scores:
            return scores
        occur = java("org.apache.lucene.search.BooleanClause$Occur")
        builder = java("org.apache.lucene.search.BooleanQuery$Builder")()
        builder.add(among.filter, occur.FILTER)
        term, term_query = java("org.apache.lucene.index.Term"), java("org.apache.lucene.search.TermQuery")
        boost = java("org.apache.lucene.search.BoostQuery")
        for (field, text), weight in weighted.items():
            builder.add(boost(term_query(term(field, text)), weight), occur.SHOULD)
        with java_errors("scoring"):
            scores.update(_read_hits(self.first_hits(builder.build(), len(scores))))
        return scores


class Among:
    """Some documents of an index, as a Lucene filter made once and used for many queries."""

    def __init__(self, docids: Sequence[str]) -> None:
        """Make the filter for ``docids``."""
        self.docids = docids
        ids, ref = java("java.util.ArrayList")(), java("org.apache.lucene.util.BytesRef")
        for docid in docids:
            ids.add(ref(docid.encode()))
        self.filter = java("org.apache.lucene.search.TermInSetQuery")("id", ids)


def _read_hits(found: Any) -> dict[str, float]:
    """Anserini's ``ScoredDocs`` as docid -> score, handed over as two whole arrays."""
    return dict(zip(found.docids, found.scores, strict=True))


def _analyzer(language: Language) -> Any:
    if language.short == "en":
        return java("io.anserini.analysis.DefaultEnglishAnalyzer").newDefaultInstance()
    return java("io.anserini.analysis.AnalyzerMap").getLanguageSpecificAnalyzer(language.short)

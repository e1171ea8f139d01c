"""Anserini's own searcher, and Lucene itself, over an index of Heed's, for comparisons."""

import json
from collections.abc import Iterable, Mapping
from ctypes import c_float
from math import log
from pathlib import Path
from typing import Any

from heed.languages import language
from heed.retrieval.bm25.index import FIELD, Bm25Settings
from heed.retrieval.lucene.analysis import Analysis
from heed.retrieval.lucene.index_files import ID, open_reader
from heed.retrieval.lucene.jvm import java
from heed.types import Run

PLACES = 6  # after the point in Anserini's run files
MAX_CLAUSES = 1 << 20  # of a query: a long instruction has more terms than Lucene's default, 1024


def anserini_hits(
    index: Path, language: str, query: str, depth: int, feedback: str = "", settings: Iterable[Any] = ()
) -> dict[str, float]:
    """The hits of Anserini's ``SimpleSearcher``, best first; ``language`` as its analysers name it, such as ``zh``.

    ``settings`` are those of its method for the ``feedback``.
    """
    searcher = java("io.anserini.search.SimpleSearcher")(str(index))
    if language != "en":
        searcher.set_language(language)
    searcher.set_bm25(0.9, 0.4)
    if feedback:
        getattr(searcher, f"set_{feedback}")(*settings)
    return {hit.docid: float(f"{hit.score:f}") for hit in searcher.search(query, depth)}  # as its run files have it


def anserini_index(folder: Path, records: Iterable[dict[str, str]], lang: str, *options: str) -> Path:
    """Anserini's own index of ``records``, each with ``id`` and fields, in ``folder``."""
    source = ["-input", "", "-collection", "JsonCollection", "-index", str(folder), "-threads", "2"]
    indexer = java("io.anserini.index.SimpleIndexer")([*source, "-language", language(lang).short, *options])
    texts = [json.dumps(record) for record in records]
    assert indexer.addRawDocuments(texts) == len(texts)
    indexer.close()
    return folder


class ByLucene:
    """An index as Lucene itself searches it, without Heed's matrix."""

    def __init__(self, folder: Path, lang: str, settings: Bm25Settings) -> None:
        self.analyzer = Analysis(language(lang)).analyzer
        index_searcher = java("org.apache.lucene.search.IndexSearcher")
        index_searcher.setMaxClauseCount(MAX_CLAUSES)
        self.index_searcher = index_searcher(open_reader(folder))
        similarity = java("org.apache.lucene.search.similarities.BM25Similarity")(settings.k1, settings.b)
        self.index_searcher.setSimilarity(similarity)

    def first_hits(self, query: Any, depth: int) -> Any:
        """Return the ``depth`` best documents of a Lucene query as Anserini's ``ScoredDocs``."""
        order = java("io.anserini.search.SearchCollection").BREAK_SCORE_TIES_BY_DOCID
        hits = self.index_searcher.search(query, depth, order, True)
        return java("io.anserini.search.ScoredDocs").fromTopDocs(hits, self.index_searcher)

    def break_ties(self, hits: Any) -> dict[str, float]:
        """Return ``ScoredDocs`` as docid -> score, best first, with ties broken and rounded as Anserini does."""
        if not hits.docids:
            return {}
        hits = java("io.anserini.rerank.lib.ScoreTiesAdjusterReranker")().rerank(hits, None)
        return {docid: round(score, PLACES) for docid, score in zip(hits.docids, hits.scores, strict=True)}

    def search(self, queries: Mapping[str, str], depth: int, fields: Mapping[str, float] | None = None) -> Run:
        return {
            qid: self.break_ties(self.first_hits(self._query(text, fields), depth)) for qid, text in queries.items()
        }

    def _query(self, text: str, fields: Mapping[str, float] | None) -> Any:
        generator = java("io.anserini.search.query.BagOfWordsQueryGenerator")()
        if fields is None:
            return generator.buildQuery(FIELD, self.analyzer, text)
        weights, java_float = java("java.util.TreeMap")(), java("java.lang.Float")
        for name, weight in fields.items():
            weights.put(name, java_float(weight))
        return generator.buildQuery(weights, self.analyzer, text)

    def score(self, weighted: Mapping[tuple[str, str], float], docids: list[str]) -> dict[str, float]:
        """Return BM25 of weighted terms, ``(field, term) -> weight``, for ``docids``; 0 for one without any."""
        if not weighted or not docids:
            return dict.fromkeys(docids, 0.0)
        occur = java("org.apache.lucene.search.BooleanClause$Occur")
        builder = java("org.apache.lucene.search.BooleanQuery$Builder")()
        builder.add(docid_filter(docids), occur.FILTER)
        term, term_query = (java("org.apache.lucene.index.Term"), java("org.apache.lucene.search.TermQuery"))
        boost = java("org.apache.lucene.search.BoostQuery")
        for (field, text), weight in weighted.items():
            builder.add(boost(term_query(term(field, text)), weight), occur.SHOULD)
        hits = self.first_hits(builder.build(), len(docids))
        return dict.fromkeys(docids, 0.0) | dict(zip(hits.docids, hits.scores, strict=True))

    def idf(self, terms: Iterable[str]) -> dict[str, float]:
        reader, term = self.index_searcher.getIndexReader(), java("org.apache.lucene.index.Term")
        count, sizes = reader.getDocCount(FIELD), {text: reader.docFreq(term(FIELD, text)) for text in terms}
        return {text: c_float(log(1 + (count - size + 0.5) / (size + 0.5))).value for text, size in sizes.items()}


def docid_filter(docids: Iterable[str]) -> Any:
    """Return a Lucene filter that lets ``docids`` through."""
    ids, bytes_ref = (java("java.util.ArrayList")(), java("org.apache.lucene.util.BytesRef"))
    for docid in docids:
        ids.add(bytes_ref(docid.encode()))
    return java("org.apache.lucene.search.TermInSetQuery")(ID, ids)

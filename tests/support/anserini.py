"""Anserini's own searcher, and Lucene itself, over an index of Heed's, for comparisons."""

from collections.abc import Iterable, Mapping
from ctypes import c_float
from math import log
from pathlib import Path
from typing import Any

from heed.languages import language
from heed.retrieval.bm25.index import FIELD, Bm25Settings
from heed.retrieval.lucene.analysis import Analysis
from heed.retrieval.lucene.index_files import ID
from heed.retrieval.lucene.jvm import java
from heed.retrieval.lucene.search import LuceneSearch
from heed.types import Run


def anserini_hits(index: Path, language: str, query: str, depth: int, feedback: str = "") -> dict[str, float]:
    """The hits of Anserini's ``SimpleSearcher``, best first; ``language`` as its analysers name it, such as ``zh``."""
    searcher = java("io.anserini.search.SimpleSearcher")(str(index / "lucene"))
    if language != "en":
        searcher.set_language(language)
    searcher.set_bm25(0.9, 0.4)
    if feedback:
        getattr(searcher, f"set_{feedback}")()
    return {hit.docid: float(f"{hit.score:f}") for hit in searcher.search(query, depth)}  # as its run files have it


class ByLucene(LuceneSearch):
    """An index as Lucene itself searches it, without Heed's matrix."""

    def __init__(self, folder: Path, lang: str, settings: Bm25Settings) -> None:
        super().__init__(folder, FIELD, settings.k1, settings.b, Analysis(language(lang)))

    def search(self, queries: Mapping[str, str], depth: int, fields: Mapping[str, float] | None = None) -> Run:
        return {
            qid: self.break_ties(self.first_hits(self._query(text, fields), depth)) for qid, text in queries.items()
        }

    def _query(self, text: str, fields: Mapping[str, float] | None) -> Any:
        generator = java("io.anserini.search.query.BagOfWordsQueryGenerator")()
        if fields is None:
            return generator.buildQuery(self.field, self.analyzer, text)
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

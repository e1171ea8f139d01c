"""Search by Lucene itself, through Anserini's classes, with feedback too; scores are those of Anserini's run files."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from ctypes import c_float
from functools import cached_property
from math import log
from pathlib import Path
from typing import Any, TypeVar

from heed.progress import bar
from heed.retrieval.lucene.analysis import Analysis
from heed.retrieval.lucene.index_files import ID, combined_reader, open_reader
from heed.retrieval.lucene.jvm import java, java_errors
from heed.types import Run

PLACES = 6  # after the point in Anserini's run files (%f): beyond them its ties are ties again
FEEDBACK = ("rm3", "rocchio")  # Anserini's, with its default settings
MAX_CLAUSES = 1 << 20  # of a query: a long instruction has more terms than Lucene's default, 1024

Item = TypeVar("Item")
Result = TypeVar("Result")


class LuceneSearch:
    """An open index, in one or more shards; thread-safe."""

    def __init__(self, folders: Sequence[Path], field: str, k1: float, b: float, analysis: Analysis) -> None:
        """Open the shards in ``folders``; a text without fields is searched in ``field``."""
        self.field, self._analysis = field, analysis
        with java_errors("opening the index"):
            index_searcher = java("org.apache.lucene.search.IndexSearcher")
            index_searcher.setMaxClauseCount(MAX_CLAUSES)
            self.index_searcher = index_searcher(combined_reader([open_reader(folder) for folder in folders]))
            self.index_searcher.setSimilarity(java("org.apache.lucene.search.similarities.BM25Similarity")(k1, b))

    @property
    def analyzer(self) -> Any:
        """Anserini's analyser of the language."""
        return self._analysis.analyzer

    def search(
        self, texts: Iterable[str], depth: int, threads: int, fields: Mapping[str, float] | None
    ) -> Iterator[dict[str, float]]:
        """Yield the ``depth`` best documents of each text, docid -> score, in weighted ``fields`` if there are any."""
        with java_errors("searching"):
            # made by this thread, and the tie breaker opened before the threads begin: pyjnius mixes up two objects
            # of one class whose methods are called at the same time
            queries, _ = (self.query(text, fields) for text in texts), self._tie_breaker
            yield from map_in_threads(lambda query: self.break_ties(self.first_hits(query, depth)), queries, threads)

    def score(self, weighted: Mapping[tuple[str, str], float], docid_filter: Any, depth: int) -> dict[str, float]:
        """Return BM25 of weighted terms, ``(field, term) -> weight``, for the documents of ``docid_filter``.

        Documents without any of the terms are left out; ``depth`` is the number of the others at most.
        """
        occur = java("org.apache.lucene.search.BooleanClause$Occur")
        with java_errors("scoring"):
            builder = java("org.apache.lucene.search.BooleanQuery$Builder")()
            builder.add(docid_filter, occur.FILTER)
            term, term_query = (java("org.apache.lucene.index.Term"), java("org.apache.lucene.search.TermQuery"))
            boost = java("org.apache.lucene.search.BoostQuery")
            for (field, text), weight in weighted.items():
                builder.add(boost(term_query(term(field, text)), weight), occur.SHOULD)
            return _scores(self.first_hits(builder.build(), depth))

    def idf(self, name: str, terms: Iterable[str]) -> dict[str, float]:
        """Return the idf of terms in a field, in single precision as Lucene computes it."""
        reader, term = self.index_searcher.getIndexReader(), java("org.apache.lucene.index.Term")
        with java_errors("counting documents"):
            count = reader.getDocCount(name)
            sizes = {text: reader.docFreq(term(name, text)) for text in terms}
        return {text: c_float(log(1 + (count - size + 0.5) / (size + 0.5))).value for text, size in sizes.items()}

    def query(self, text: str, fields: Mapping[str, float] | None = None) -> Any:
        """Return the bag of words of ``text`` as Anserini builds it, in the index's field or in weighted ``fields``."""
        generator = java("io.anserini.search.query.BagOfWordsQueryGenerator")()
        if fields is None:
            return generator.buildQuery(self.field, self.analyzer, text)
        weights, java_float = java("java.util.TreeMap")(), java("java.lang.Float")
        for name, weight in fields.items():
            weights.put(name, java_float(weight))
        return generator.buildQuery(weights, self.analyzer, text)

    def first_hits(self, query: Any, depth: int) -> Any:
        """Return the ``depth`` best documents of a Lucene query as Anserini's ``ScoredDocs``."""
        order = java("io.anserini.search.SearchCollection").BREAK_SCORE_TIES_BY_DOCID
        hits = self.index_searcher.search(query, depth, order, True)
        return java("io.anserini.search.ScoredDocs").fromTopDocs(hits, self.index_searcher)

    def break_ties(self, hits: Any) -> dict[str, float]:
        """Return ``ScoredDocs`` as docid -> score, best first, with ties broken and rounded as Anserini does."""
        scores = _scores(self._tie_breaker.rerank(hits, None)) if hits.docids else {}
        return {docid: round(score, PLACES) for docid, score in scores.items()}

    @cached_property
    def _tie_breaker(self) -> Any:
        return java("io.anserini.rerank.lib.ScoreTiesAdjusterReranker")()


def docid_filter(docids: Iterable[str]) -> Any:
    """Return a Lucene filter that lets ``docids`` through."""
    ids, bytes_ref = (java("java.util.ArrayList")(), java("org.apache.lucene.util.BytesRef"))
    for docid in docids:
        ids.add(bytes_ref(docid.encode()))
    return java("org.apache.lucene.search.TermInSetQuery")(ID, ids)


def map_in_threads(function: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """Yield ``function`` of each of ``items``, in order; the calling thread alone makes the items, ahead of time."""
    if threads == 1:
        yield from map(function, items)
    else:
        with ThreadPoolExecutor(threads) as pool:
            yield from pool.map(function, items)


def _scores(hits: Any) -> dict[str, float]:
    """Return ``ScoredDocs`` as docid -> score, handed over as two whole arrays."""
    return dict(zip(hits.docids, hits.scores, strict=True))


def search_with_feedback(lucene: LuceneSearch, queries: Mapping[str, str], depth: int, method: str) -> Run:
    """Return the ``depth`` best documents of each query, expanded from its first hits and searched again.

    ``method`` is ``rm3`` or ``rocchio``; the index must have been built with vectors. Scores are those of
    Anserini's run files.
    """
    defaults = java("io.anserini.search.SearchCollection$Args")()
    defaults.hits = depth
    reranker = _rm3(lucene, defaults) if method == "rm3" else _rocchio(lucene, defaults)
    steps = bar(queries.items(), len(queries), f"bm25+{method}", "topics")
    return {qid: _search(lucene, reranker, defaults, text) for qid, text in steps}


def _search(lucene: LuceneSearch, reranker: Any, settings: Any, text: str) -> dict[str, float]:
    with java_errors("searching with feedback"):
        query = lucene.query(text)
        tokens = java("io.anserini.analysis.AnalyzerUtils").analyze(lucene.analyzer, text)
        context = java("io.anserini.rerank.RerankerContext")(
            lucene.index_searcher, "topic", query, None, text, tokens, None, settings
        )
        first = lucene.first_hits(query, settings.rerankcutoff)
        return lucene.break_ties(reranker.rerank(first, context)) if first.docids else {}


def _rm3(lucene: LuceneSearch, settings: Any) -> Any:
    terms, documents = int(settings.rm3_fbTerms[0]), int(settings.rm3_fbDocs[0])
    weight = float(settings.rm3_originalQueryWeight[0])
    rm3 = java("io.anserini.rerank.lib.Rm3Reranker")
    return rm3(lucene.analyzer, None, lucene.field, terms, documents, weight, False, not settings.rm3_noTermFilter)


def _rocchio(lucene: LuceneSearch, settings: Any) -> Any:
    return java("io.anserini.rerank.lib.RocchioReranker")(
        lucene.analyzer,
        None,
        lucene.field,
        int(settings.rocchio_topFbTerms[0]),
        int(settings.rocchio_topFbDocs[0]),
        int(settings.rocchio_bottomFbTerms[0]),
        int(settings.rocchio_bottomFbDocs[0]),
        float(settings.rocchio_alpha[0]),
        float(settings.rocchio_beta[0]),
        float(settings.rocchio_gamma[0]),
        False,
        settings.rocchio_useNegative,
    )

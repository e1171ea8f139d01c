"""Search with feedback, by Lucene itself through Anserini's classes; scores are those of Anserini's run files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heed.progress import bar
from heed.retrieval.lucene.analysis import Analysis
from heed.retrieval.lucene.index_files import open_reader
from heed.retrieval.lucene.jvm import java, java_errors
from heed.types import Run

PLACES = 6  # after the point in Anserini's run files (%f): beyond them its ties are ties again
MAX_CLAUSES = 1 << 20  # of a query: a long instruction has more terms than Lucene's default, 1024


class LuceneSearch:
    """An open index as Lucene searches it."""

    def __init__(self, folder: Path, field: str, k1: float, b: float, analysis: Analysis) -> None:
        """Open the index in ``folder``, whose ``field`` has the whole texts."""
        self.field, self._analysis = field, analysis
        with java_errors("opening the index"):
            index_searcher = java("org.apache.lucene.search.IndexSearcher")
            index_searcher.setMaxClauseCount(MAX_CLAUSES)
            self.index_searcher = index_searcher(open_reader(folder))
            self.index_searcher.setSimilarity(java("org.apache.lucene.search.similarities.BM25Similarity")(k1, b))
            self._tie_breaker = java("io.anserini.rerank.lib.ScoreTiesAdjusterReranker")()

    @property
    def analyzer(self) -> Any:
        """Anserini's analyser of the language."""
        return self._analysis.analyzer

    def with_feedback(self, queries: Mapping[str, str], depth: int, method: str) -> Run:
        """Return the ``depth`` best documents of each query, expanded from its first hits and searched again.

        ``method`` is ``rm3`` or ``rocchio``, with Anserini's default settings; the index must have been built with
        vectors. Scores are those of Anserini's run files.
        """
        settings = java("io.anserini.search.SearchCollection$Args")()
        settings.hits = depth
        reranker = _rm3(self, settings) if method == "rm3" else _rocchio(self, settings)
        steps = bar(queries.items(), len(queries), f"bm25+{method}", "topics")
        return {qid: self._expanded(reranker, settings, text) for qid, text in steps}

    def _expanded(self, reranker: Any, settings: Any, text: str) -> dict[str, float]:
        with java_errors("searching with feedback"):
            query = java("io.anserini.search.query.BagOfWordsQueryGenerator")().buildQuery(
                self.field, self.analyzer, text
            )
            tokens = java("io.anserini.analysis.AnalyzerUtils").analyze(self.analyzer, text)
            context = java("io.anserini.rerank.RerankerContext")(
                self.index_searcher, "topic", query, None, text, tokens, None, settings
            )
            first = self.first_hits(query, settings.rerankcutoff)
            return self.break_ties(reranker.rerank(first, context)) if first.docids else {}

    def first_hits(self, query: Any, depth: int) -> Any:
        """Return the ``depth`` best documents of a Lucene query as Anserini's ``ScoredDocs``."""
        order = java("io.anserini.search.SearchCollection").BREAK_SCORE_TIES_BY_DOCID
        hits = self.index_searcher.search(query, depth, order, True)
        return java("io.anserini.search.ScoredDocs").fromTopDocs(hits, self.index_searcher)

    def break_ties(self, hits: Any) -> dict[str, float]:
        """Return ``ScoredDocs`` as docid -> score, best first, with ties broken and rounded as Anserini does."""
        if not hits.docids:
            return {}
        hits = self._tie_breaker.rerank(hits, None)
        return {docid: round(score, PLACES) for docid, score in zip(hits.docids, hits.scores, strict=True)}


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

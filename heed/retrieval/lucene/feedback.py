"""Pseudo-relevance feedback after BM25: Anserini's RM3 and Rocchio, with Anserini's default settings."""

from collections.abc import Mapping
from typing import Any

from heed.progress import bar
from heed.retrieval.bm25_index import FIELD, Searcher
from heed.retrieval.lucene.jvm import java, java_errors
from heed.types import Run

FEEDBACK = ("rm3", "rocchio")


def search_with_feedback(searcher: Searcher, queries: Mapping[str, str], depth: int, method: str) -> Run:
    """Search each query, expand it from its first hits, search again; needs an index with vectors.

    ``method`` is ``rm3`` or ``rocchio``; scores as in :class:`heed.retrieval.bm25.Searcher`.
    """
    defaults = java("io.anserini.search.SearchCollection$Args")()
    defaults.hits = depth
    reranker = _rm3(searcher, defaults) if method == "rm3" else _rocchio(searcher, defaults)
    steps = bar(queries.items(), len(queries), f"bm25+{method}", "topics")
    return {qid: _expand(searcher, reranker, defaults, text) for qid, text in steps}


def _expand(searcher: Searcher, reranker: Any, settings: Any, text: str) -> dict[str, float]:
    with java_errors("searching with feedback"):
        query = searcher.query(text)
        tokens = java("io.anserini.analysis.AnalyzerUtils").analyze(searcher.analyzer, text)
        context = java("io.anserini.rerank.RerankerContext")(
            searcher.lucene, "topic", query, None, text, tokens, None, settings
        )
        first = searcher.first_hits(query, settings.rerankcutoff)
        return searcher.untied(reranker.rerank(first, context)) if first.docids else {}


def _rm3(searcher: Searcher, settings: Any) -> Any:
    terms, documents = int(settings.rm3_fbTerms[0]), int(settings.rm3_fbDocs[0])
    weight = float(settings.rm3_originalQueryWeight[0])
    rm3 = java("io.anserini.rerank.lib.Rm3Reranker")
    return rm3(searcher.analyzer, None, FIELD, terms, documents, weight, False, not settings.rm3_noTermFilter)


def _rocchio(searcher: Searcher, settings: Any) -> Any:
    return java("io.anserini.rerank.lib.RocchioReranker")(
        searcher.analyzer,
        None,
        FIELD,
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

"""Pseudo-relevance feedback after BM25: Anserini's RM3 and Rocchio, with Anserini's default settings."""

from collections.abc import Mapping
from typing import Any

from heed.progress import bar
from heed.retrieval.lucene.jvm import java, java_errors
from heed.retrieval.lucene.search import LuceneSearch
from heed.types import Run

FEEDBACK = ("rm3", "rocchio")


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

"""Lucene's query objects: a bag of words as Anserini builds it, weighted terms, and a choice of documents."""

from collections.abc import Iterable, Mapping
from typing import Any

from heed.retrieval.lucene.jvm import java


def bag_of_words(analyzer: Any, text: str, field: str, fields: Mapping[str, float] | None = None) -> Any:
    """The words of ``text``, weighted by their count, in ``field``, or instead in weighted ``fields``."""
    generator = java("io.anserini.search.query.BagOfWordsQueryGenerator")()
    if fields is None:
        return generator.buildQuery(field, analyzer, text)
    weights, number = java("java.util.TreeMap")(), java("java.lang.Float")
    for name, weight in fields.items():
        weights.put(name, number(weight))
    return generator.buildQuery(weights, analyzer, text)


def weighted_terms(weighted: Mapping[tuple[str, str], float], among: Any) -> Any:
    """Weighted terms, ``(field, term) -> weight``, for all the documents that the filter ``among`` lets through."""
    occur = java("org.apache.lucene.search.BooleanClause$Occur")
    builder = java("org.apache.lucene.search.BooleanQuery$Builder")()
    builder.add(among, occur.FILTER)
    term, term_query = java("org.apache.lucene.index.Term"), java("org.apache.lucene.search.TermQuery")
    boost = java("org.apache.lucene.search.BoostQuery")
    for (field, text), weight in weighted.items():
        builder.add(boost(term_query(term(field, text)), weight), occur.SHOULD)
    return builder.build()


def one_of(docids: Iterable[str]) -> Any:
    """A filter that lets ``docids`` through."""
    ids, ref = java("java.util.ArrayList")(), java("org.apache.lucene.util.BytesRef")
    for docid in docids:
        ids.add(ref(docid.encode()))
    return java("org.apache.lucene.search.TermInSetQuery")("id", ids)

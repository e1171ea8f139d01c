"""Which words of a query and an instruction documents hold, as the index and ``polarity`` read them."""

import re
from collections.abc import Sequence
from typing import TypedDict

from heed.reranking.polarity.terms import topic_terms
from heed.retrieval.bm25.index import FIELD, TABLE_FIELDS, Searcher, Subset
from heed.types import Query

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


class Words(TypedDict):
    """The words of a topic that a document holds: of its query, of what is asked for, and of what is excluded."""

    query: list[str]
    asked: list[str]
    excluded: list[str]


def matched(searcher: Searcher, query: Query, docids: Sequence[str]) -> list[Words]:
    """Return for each of ``docids`` the words that it holds, in the order of the query and the instruction."""
    subset = Subset(docids)
    words = [Words(query=[], asked=[], excluded=[]) for _ in docids]
    written = _written(searcher, f"{query.query}\n{query.instruction}")
    place = {term: number for number, term in enumerate(written)}
    terms_of = topic_terms(searcher.terms_of_each, query.query, query.instruction, query.lang)
    for kind, terms in terms_of._asdict().items():
        for term in sorted(terms, key=lambda term: place.get(term, len(place))):
            # an index of fields has no whole texts, others not all fields
            scores = searcher.score({(field, term): 1.0 for field in (FIELD, *TABLE_FIELDS)}, subset)
            for of_document, docid in zip(words, docids, strict=True):
                if scores[docid] > 0:
                    of_document[kind].append(written.get(term, term))  # type: ignore[literal-required]
    return words


def _written(searcher: Searcher, text: str) -> dict[str, str]:
    """Return terms of the index as ``text`` has them, in its order; one of several terms in a word is written alone."""
    written: dict[str, str] = {}
    for word in WORD.findall(text):
        terms = searcher.terms(word)
        for term in terms:
            written.setdefault(term, word if len(terms) == 1 else term)
    return written

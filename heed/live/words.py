"""Which words of a query and an instruction documents hold, as the index and ``polarity`` read them."""

import re
from collections.abc import Mapping, Sequence
from typing import TypedDict

from heed.reranking.polarity import parts_of
from heed.retrieval.bm25_index import FIELD, Searcher, Subset
from heed.types import Query

WORD = re.compile(r"[^\W_]+")


class Words(TypedDict):
    """The words of a topic that a document holds: of its query, of what is asked for, and of what is excluded."""

    query: list[str]
    asked: list[str]
    excluded: list[str]


def matched(searcher: Searcher, query: Query, docids: Sequence[str]) -> list[Words]:
    """Return for each of ``docids`` the words that it holds, in the order of the query and the instruction."""
    written = _written(searcher, f"{query.query}\n{query.instruction}")
    parts = parts_of(searcher, query.query, query.instruction, lang=query.lang)
    subset = Subset(docids)
    words = [Words(query=[], asked=[], excluded=[]) for _ in docids]
    place = {term: number for number, term in enumerate(written)}
    held: tuple[Mapping[tuple[str, str], float], ...] = (parts.query, parts.asked, parts.excluded)
    for kind, terms in zip(("query", "asked", "excluded"), held, strict=True):
        for _, term in sorted(terms, key=lambda term: place.get(term[1], len(place))):
            scores = searcher.score({(FIELD, term): 1.0}, subset)
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

"""Which words of a query and an instruction documents hold, as the index and ``polarity`` read them."""

import re
from collections.abc import Sequence
from typing import TypedDict

from heed.languages import script_language
from heed.reranking.clauses import stretches
from heed.reranking.cues import cues
from heed.retrieval.bm25_index import FIELD, Searcher, Subset
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
    for kind, written in _kinds(searcher, query).items():
        for term, word in written.items():
            scores = searcher.score({(FIELD, term): 1.0}, subset)
            for of_document, docid in zip(words, docids, strict=True):
                if scores[docid] > 0:
                    of_document[kind].append(word)  # type: ignore[literal-required]
    return words


def _kinds(searcher: Searcher, query: Query) -> dict[str, dict[str, str]]:
    """Return the terms of the query, and those that its instruction asks for and excludes beside, as it has them.

    Words about the task itself ("document", "relevant") are left out, as ``polarity`` does.
    """
    texts = {1: "", -1: ""}
    for start, end, sign in stretches(query.instruction, query.lang):
        texts[sign] += query.instruction[start:end] + "\n"
    wanted, asked, excluded = (_written(searcher, text) for text in (query.query, texts[1], texts[-1]))
    task = set(searcher.terms("\n".join(cues(script_language(query.instruction, query.lang)).task)))
    beside = {term: word for term, word in asked.items() if term not in wanted.keys() | task}
    against = {term: word for term, word in excluded.items() if term not in wanted.keys() | task | asked.keys()}
    return {"query": wanted, "asked": beside, "excluded": against}


def _written(searcher: Searcher, text: str) -> dict[str, str]:
    """Return terms of the index as ``text`` has them, in its order; one of several terms in a word is written alone."""
    written: dict[str, str] = {}
    for word in WORD.findall(text):
        terms = searcher.terms(word)
        for term in terms:
            written.setdefault(term, word if len(terms) == 1 else term)
    return written

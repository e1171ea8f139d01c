"""Search a results folder: its topics by their words, its documents by BM25 where there is an index of it."""

import time
from collections.abc import Iterator, Sequence
from typing import TypedDict

from heed.errors import HeedError
from heed.progress import warn
from heed.report.topics.explored import Explored
from heed.report.topics.views import title_of
from heed.types import Document, Topic
from heed.web.playground.loaded_systems import LiveSystems

MOST = 20  # topics, and documents, of an answer
AROUND = 70  # characters before and after the first word that was found
PATIENCE = 1.0  # seconds of reading documents one by one


class FoundTopic(TypedDict):
    """A topic with the piece of its text that was found; ``condition`` of the instruction that has it, or empty."""

    qid: str
    query: str
    condition: str
    excerpt: str


class FoundDocument(TypedDict):
    """A document with the piece of its text that was found."""

    docid: str
    title: str
    excerpt: str


class SearchResult(TypedDict):
    """The topics and documents of a search; ``way`` says in a sentence how documents were searched."""

    topics: list[FoundTopic]
    documents: list[FoundDocument]
    way: str


def search(explored: Explored, live: LiveSystems | None, text: str) -> SearchResult:
    """Return the topics and documents with ``text``: topics that hold all its words, documents best first.

    ``live`` has the index, None where there is none: documents are then read one by one for a second.
    """
    words = text.casefold().split()
    topics = [match for topic in explored.topics.values() if (match := _in_topic(topic, words, text))][:MOST]
    store = explored.store
    if store is None or not words:
        return SearchResult(topics=topics, documents=[], way=" ".join(explored.notes))
    named = [*store.find([text.strip()]).values()]
    docids = _by_bm25(live, text)
    if docids is None:
        listed, way = _scanned(explored, words)
    else:
        by_docid = store.find(docids)
        listed, way = [by_docid[docid] for docid in docids], "Documents by BM25, best first."
    documents = dict.fromkeys([*named, *listed])
    return SearchResult(topics=topics, documents=[_document(each, words) for each in documents][:MOST], way=way)


def _by_bm25(live: LiveSystems | None, text: str) -> list[str] | None:
    """Return the docids that BM25 finds; None where its index is not here, or is being written by a command."""
    if live is None or not live.indexed:
        return None
    try:
        return live.search(text, MOST)
    except (HeedError, OSError) as error:
        warn(f"documents are read one by one, as BM25's index cannot be opened: {error}")
        return None


def _in_topic(topic: Topic, words: Sequence[str], text: str) -> FoundTopic | None:
    if topic.qid == text.strip():
        return FoundTopic(qid=topic.qid, query=topic.query, condition="", excerpt="")
    for condition, written in (("", topic.query), *topic.instructions.items()):
        together = f"{topic.query}\n{written}".casefold()
        if words and all(word in together for word in words):
            return FoundTopic(
                qid=topic.qid,
                query=topic.query,
                condition=condition,
                excerpt=_excerpt(written, words) if condition else "",
            )
    return None


def _scanned(explored: Explored, words: Sequence[str]) -> tuple[list[Document], str]:
    """Return the documents with all ``words`` that are found in a second, in the order of docids."""
    matches: list[Document] = []
    read, end = 0, time.monotonic() + PATIENCE
    for document in explored.store or ():
        read += 1
        text = document.contents().casefold()
        if all(word in text for word in words):
            matches.append(document)
        if len(matches) == MOST or time.monotonic() > end:
            break
    count = explored.store.count if explored.store else 0
    part = f"the first {read} of {count}" if read < count else f"all {count}"
    return matches, f"Documents with all words, among {part} by docid: there is no index of BM25."


def _document(document: Document, words: Sequence[str]) -> FoundDocument:
    return FoundDocument(docid=document.docid, title=title_of(document), excerpt=_excerpt(document.text, words))


def _excerpt(text: str, words: Sequence[str]) -> str:
    """Return ``text`` around the first of ``words`` in it, else its beginning."""
    low = text.casefold()
    positions: Iterator[int] = (low.find(word) for word in words) if len(low) == len(text) else iter(())
    start = max(min((position for position in positions if position >= 0), default=0) - AROUND, 0)
    end = start + 2 * AROUND + 60
    return f"{'…' if start else ''}{' '.join(text[start:end].split())}{'…' if end < len(text) else ''}"

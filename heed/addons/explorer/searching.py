"""Search a results folder: its topics by their words, its documents by BM25."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from heed.addons.explorer.explored import Explored
from heed.errors import HeedError
from heed.experiment.hits import title_of
from heed.types import Document, Topic

MOST = 20  # topics, and documents, of an answer
AROUND = 70  # characters before and after the first word that was found


def search(explored: Explored, by_bm25: Callable[[str, int], list[str]], text: str) -> dict[str, Any]:
    """Return the topics that hold all words of ``text``, and the documents that BM25 finds, best first, for JSON.

    ``topics`` have qid, query, excerpt and the condition of the instruction that holds the words, or an empty one;
    ``documents`` docid, title and excerpt; ``way`` says in a sentence how documents were searched. ``by_bm25``
    returns as many docids that BM25 finds as it is asked for; where it raises :class:`HeedError`, ``way`` says why.
    """
    words = text.casefold().split()
    topics = [match for topic in explored.topics.values() if (match := _in_topic(topic, words, text))][:MOST]
    if explored.store is None or not words:
        return {"topics": topics, "documents": [], "way": " ".join(explored.notes)}
    docids, way = [text.strip()], "Documents by BM25, best first."
    try:
        docids += by_bm25(text, MOST)
    except (HeedError, OSError) as error:  # no index of Heed's own, or a command is writing it
        way = f"Documents are not searched: {error}."
    by_docid = explored.store.find(docids)
    documents = [by_docid[docid] for docid in dict.fromkeys(docids) if docid in by_docid][:MOST]
    return {"topics": topics, "documents": [_document(each, words) for each in documents], "way": way}


def _in_topic(topic: Topic, words: Sequence[str], text: str) -> dict[str, str] | None:
    match = {"qid": topic.qid, "query": topic.query, "condition": "", "excerpt": ""}
    if topic.qid == text.strip():
        return match
    for condition, written in (("", topic.query), *topic.instructions.items()):
        together = f"{topic.query}\n{written}".casefold()
        if words and all(word in together for word in words):
            return match | {"condition": condition, "excerpt": _excerpt(written, words) if condition else ""}
    return None


def _document(document: Document, words: Sequence[str]) -> dict[str, str]:
    return {"docid": document.docid, "title": title_of(document), "excerpt": _excerpt(document.text, words)}


def _excerpt(text: str, words: Sequence[str]) -> str:
    """Return ``text`` around the first of ``words`` in it, else its beginning."""
    low = text.casefold()
    positions: Iterator[int] = (low.find(word) for word in words) if len(low) == len(text) else iter(())
    start = max(min((position for position in positions if position >= 0), default=0) - AROUND, 0)
    end = start + 2 * AROUND + 60
    return f"{'…' if start else ''}{' '.join(text[start:end].split())}{'…' if end < len(text) else ''}"

"""Answers of the server: a system's ranking before and after a change, its reasons, and what a search finds."""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from heed.addons.explorer.explored import Explored
from heed.addons.explorer.live_systems import LiveSystems, Question
from heed.addons.explorer.views import View
from heed.errors import HeedError
from heed.formats.document_store import title_of
from heed.instructions.reader import InstructionPart
from heed.ranking import ranked
from heed.reranking.polarity import topic_terms
from heed.retrieval.bm25.index import FIELD, TABLE_FIELDS, Searcher, Subset
from heed.types import Query, Topic

SHOWN = 50  # documents of a ranking, and all judged ones
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
KINDS = ("query", "asked", "excluded")  # of words, in the order of TopicTerms
MOST = 20  # topics, and documents, of a search
AROUND = 70  # characters before and after the first word that was found
Words = dict[str, list[str]]  # of a topic that a document holds, by kind


def answer(live: LiveSystems, system: str, question: Question, shown: int = SHOWN) -> View:
    """Return the ranking of ``system`` for ``question`` (``after``), and for the topic as it is (``before``), for JSON.

    ``titles`` and ``grades`` (null: unjudged) are parallel to ``docids``; both sides have the query, a ranking as in a
    topic's view, and the ``words`` of each of the ``docids``; ``seconds`` is how long both took. A system that
    ``explains`` can be asked why a document has its score. Raises :class:`DataError` for an unknown topic or system and
    a condition that the topic does not have.
    """
    started = time.perf_counter()
    explored = live.explored
    topic = live.topic(question)
    stored = explored.topics[question.qid]
    condition = question.condition
    instruction, reading = stored.instructions.get(condition, ""), stored.readings.get(condition, ())
    unchanged = Question(topic.qid, condition, stored.query, instruction, reading)
    before, after = live.scores(system, unchanged), live.scores(system, question)
    grades = explored.grades(topic, condition) or {}
    docids = [*dict.fromkeys([*ranked(after)[:shown], *ranked(before)[:shown], *sorted(grades)])]
    documents = live.documents.find(docids)
    return {
        "system": system,
        "explains": live.explains(system),
        "docids": docids,
        "titles": [title_of(documents[docid]) if docid in documents else "" for docid in docids],
        "grades": [grades.get(docid) for docid in docids],
        "before": _side(live, unchanged, before, docids),
        "after": _side(live, question, after, docids),
        "seconds": round(time.perf_counter() - started, 4),
    }


def _side(live: LiveSystems, question: Question, scores: Mapping[str, float], docids: Sequence[str]) -> View:
    """Return a question and its answer, with the ranks of those of ``docids`` that have a score."""
    query = live.query(question)
    index_of = {docid: index for index, docid in enumerate(docids)}
    rows = [(index_of[docid], rank) for rank, docid in enumerate(ranked(scores), 1) if docid in index_of]
    ranking = {
        "length": len(scores),
        "documents": [index for index, _ in rows],
        "ranks": [rank for _, rank in rows],
        "scores": [scores[docids[index]] for index, _ in rows],
    }
    words = matched_words(live.searcher, query, live.reader.parts(query), docids)
    return {"query": query.query, "ranking": ranking, "words": words}


def matched_words(
    searcher: Searcher, query: Query, parts: Sequence[InstructionPart], docids: Sequence[str]
) -> list[Words]:
    """Return for each of ``docids`` the words of the query, and of the ``parts`` of its instruction, that it holds.

    Words are those of the query, those asked for and those excluded, in their order, as the index has them.
    """
    subset = Subset(docids)
    words: list[Words] = [{kind: [] for kind in KINDS} for _ in docids]
    written = _written_terms(searcher, f"{query.query}\n{query.instruction}")
    position = {term: number for number, term in enumerate(written)}
    terms_of = topic_terms(searcher.terms_of_each, query.query, parts)
    for kind, terms in zip(KINDS, terms_of, strict=True):
        for term in sorted(terms, key=lambda term: position.get(term, len(position))):
            # an index of fields has no whole texts, others not all fields
            scores = searcher.score({(field, term): 1.0 for field in (FIELD, *TABLE_FIELDS)}, subset)
            for of_document, docid in zip(words, docids, strict=True):
                if scores[docid] > 0:
                    of_document[kind].append(written.get(term, term))
    return words


def _written_terms(searcher: Searcher, text: str) -> dict[str, str]:
    """Return terms of the index as ``text`` has them, in its order; one of several terms in a word is written alone."""
    written: dict[str, str] = {}
    for word in WORD.findall(text):
        terms = searcher.terms(word)
        for term in terms:
            written.setdefault(term, word if len(terms) == 1 else term)
    return written


def reason(live: LiveSystems, system: str, question: Question, docid: str) -> dict[str, object]:
    """Return the score of ``docid`` by ``system`` for ``question``, and the contributions to it, largest first.

    These are as in :class:`heed.reranking.polarity.Contribution`. Raises :class:`HeedError` for a system that
    gives no reasons, and a document that it did not rank.
    """
    explanation = live.explained(system, question, docid)
    contributions = [each._asdict() | {"value": round(each.value, 5)} for each in explanation.contributions]
    return {"score": explanation.score, "contributions": contributions}


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
    stored = [by_docid[docid] for docid in dict.fromkeys(docids) if docid in by_docid][:MOST]
    documents = [
        {"docid": each.docid, "title": title_of(each), "excerpt": _excerpt(each.text, words)} for each in stored
    ]
    return {"topics": topics, "documents": documents, "way": way}


def _in_topic(topic: Topic, words: Sequence[str], text: str) -> dict[str, str] | None:
    match = {"qid": topic.qid, "query": topic.query, "condition": "", "excerpt": ""}
    if topic.qid == text.strip():
        return match
    for condition, written in (("", topic.query), *topic.instructions.items()):
        together = f"{topic.query}\n{written}".casefold()
        if words and all(word in together for word in words):
            return match | {"condition": condition, "excerpt": _excerpt(written, words) if condition else ""}
    return None


def _excerpt(text: str, words: Sequence[str]) -> str:
    """Return ``text`` around the first of ``words`` in it, else its beginning."""
    low = text.casefold()
    positions: Iterator[int] = (low.find(word) for word in words) if len(low) == len(text) else iter(())
    start = max(min((position for position in positions if position >= 0), default=0) - AROUND, 0)
    end = start + 2 * AROUND + 60
    return f"{'…' if start else ''}{' '.join(text[start:end].split())}{'…' if end < len(text) else ''}"

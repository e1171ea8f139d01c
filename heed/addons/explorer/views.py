"""The views of a results folder, made from what is on disk: the folder, its topics and documents, as JSON for pages.

The report carries these, packed; the server answers with them. In lists of documents a document is its index in the
topic's ``docids``, so that an id is written once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from heed.addons.explorer.explored import Explored, RankedList, first_and_judged
from heed.errors import DataError
from heed.formats.document_store import title_of
from heed.languages import language_data
from heed.measures.per_topic import no_longer_relevant, not_judged, still_relevant
from heed.measures.summary import factor
from heed.progress import counted
from heed.tables.markup import as_table
from heed.types import Document, Span, Topic

DEPTH = 20  # documents of a list that are shown; judged ones are further down too

Lists = Mapping[tuple[str, str], RankedList]  # (system, condition) -> ranking
View = dict[str, Any]  # for JSON


def folder_view(explored: Explored) -> View:
    """Return the systems, conditions, topics and figures of a results folder: what can be looked at in it.

    ``folder`` as :attr:`heed.report.results.ResultsFolder.folder`; ``conditions`` are those of the runs, and ``pairs``
    those of them to be shown side by side, ``[base, new]``, those that are compared first; ``language`` is the
    documents'. Of ``topics``, ``base`` is the qid of the one that asks the same query alone, or empty. ``keys`` are
    system, condition (or pair, ``original>changed``) and measure; ``lower`` says of each key whether lower values are
    better, and ``values`` has one for each topic, on the measure's own scale, or null; ``factors`` by measure are those
    of printed values. ``notes`` say in a sentence each what cannot be shown, and why.
    """
    values = [[explored.value(key, topic) for topic in explored.topics.values()] for key in explored.values]
    return {
        "folder": explored.results.folder,
        "title": explored.results.title,
        "systems": explored.systems,
        "conditions": explored.conditions,
        "pairs": explored.pairs,
        "language": language_data(explored.language),
        "topics": [_entry(topic) for topic in explored.topics.values()],
        "keys": [*explored.values],
        "lower": [explored.results.is_lower_better(key.measure) for key in explored.values],
        "factors": {key.measure: factor(key.measure) for key in explored.values},
        "values": [[value and float(f"{value:.5g}") for value in row] for row in values],  # more than a reader compares
        "notes": [*explored.notes],
    }


def _entry(topic: Topic) -> View:
    about = {"qid": topic.qid, "base": topic.base, "type": topic.type, "query": topic.query}
    return about | {"language": language_data(topic.lang)}


def topic_view(explored: Explored, qid: str, depth: int = DEPTH) -> View:
    """Return a topic with the first ``depth`` and all judged documents of every list.

    It has what :func:`folder_view` says of it, and ``narratives`` by condition, without ``query``; ``titles`` parallel
    to ``docids``, first words where there is none; ``grades`` by condition, parallel to ``docids``, null without a
    judgement; ``rankings`` by system and condition, each with parallel lists by rank; ``values`` by system, condition
    (or pair, ``original>changed``) and measure, on the measures' own scales; ``absent`` reasons. Raises
    :class:`DataError` for an unknown topic.
    """
    if qid not in explored.topics:
        raise DataError(f"{explored.path}: no topic {qid!r}; expected one of its {len(explored.topics)} topics")
    topic = explored.topics[qid]
    judged = explored.judged(topic)
    lists = {
        key: first_and_judged(scores, depth, judged)
        for key in explored.runs
        if (scores := explored.run(key).get(explored.qid_under(topic, key[1])))
    }
    docids = shown_docids(explored, topic, lists)
    documents = explored.store.find(docids) if explored.store else {}
    values: dict[str, dict[str, dict[str, float]]] = {}
    for key in explored.values:
        if (value := explored.value(key, topic)) is not None:
            values.setdefault(key.system, {}).setdefault(key.condition, {})[key.measure] = value
    index_of = {docid: index for index, docid in enumerate(docids)}
    rankings: dict[str, View] = {}
    for (system, condition), listed in lists.items():
        places = [index_of[docid] for docid in listed.docids]
        ranking = {"length": listed.length, "documents": places, "ranks": listed.ranks, "scores": [*listed.scores]}
        rankings.setdefault(system, {})[condition] = ranking
    return _entry(topic) | {
        "narratives": narratives(explored, topic),
        "docids": docids,
        "titles": [title_of(documents[docid]) if docid in documents else "" for docid in docids],
        "grades": grades(explored, topic, docids),
        "rankings": rankings,
        "values": values,
        "absent": absences(explored, topic),
    }


def shown_docids(explored: Explored, topic: Topic, lists: Lists) -> list[str]:
    """Return the documents of a topic's lists, and those that are judged, each once."""
    listed = dict.fromkeys(chain.from_iterable(each.docids for each in lists.values()))
    return [*(listed | dict.fromkeys(sorted(explored.judged(topic))))]


def grades(explored: Explored, topic: Topic, docids: Sequence[str]) -> dict[str, list[int | None]]:
    """Return the grades of ``docids`` by condition, where the topic is judged."""
    by_condition = {condition: explored.grades(topic, condition) for condition in explored.conditions}
    return {
        condition: [of_condition.get(docid) for docid in docids]
        for condition, of_condition in by_condition.items()
        if of_condition is not None
    }


def narratives(explored: Explored, topic: Topic) -> dict[str, View]:
    """Return the topic's instructions by condition of the runs, each with its spans."""
    return {
        condition: narrative_of(text, explored.spans_of(text), topic.readings.get(condition, ()))
        for condition in explored.conditions
        if (text := topic.instructions.get(condition))
    }


def narrative_of(text: str, read: Sequence[Span], corrections: Sequence[Span] = ()) -> View:
    """Return an instruction with its ``spans``, ``[start, end, kind]``, and those of them that a person has corrected.

    Those that a reader has ``read`` come in between. ``start`` and ``end`` count characters as Python does, not UTF-16
    units.
    """
    spans = corrected(read, corrections)
    return {"text": text, "spans": [span[:3] for span in spans], "corrected": [span[:3] for span in corrections]}


def corrected(spans: Iterable[Span], corrections: Sequence[Span]) -> tuple[Span, ...]:
    """Return ``spans`` with ``corrections`` in their places; both are in the order of the text."""
    rest = list[Span]()
    for span in spans:
        start = span.start
        for correction in corrections:
            if start < correction.end and correction.start < span.end:
                rest.append(span._replace(start=start, end=correction.start))
                start = correction.end
        rest.append(span._replace(start=start))
    return tuple(sorted((*corrections, *(span for span in rest if span.start < span.end))))


def absences(explored: Explored, topic: Topic) -> list[dict[str, str]]:
    """Return the reasons why measures are undefined or constant for a topic, by condition and pair that have runs."""
    conditions = [name for name in explored.conditions if topic.has(name) or (name == "query" and topic.base)]
    reasons = [(name, reason) for name in conditions for reason in _of_condition(explored, topic, name)]
    for base, new in explored.compared:
        if base in conditions and new in conditions:
            reasons += [(f"{base}>{new}", reason) for reason in _of_pair(explored, topic, base, new)]
    return [{"condition": condition, "reason": reason} for condition, reason in reasons]


def _of_condition(explored: Explored, topic: Topic, condition: str) -> Iterator[str]:
    grades = explored.grades(topic, condition)
    if grades is None:
        yield f"Not judged under {condition}: it is in no mean of that condition."
    elif not any(grade > 0 for grade in grades.values()):
        yield f"No document is relevant under {condition}: nDCG, AP and recall are 0 whatever is found."


def _of_pair(explored: Explored, topic: Topic, base: str, new: str) -> Iterator[str]:
    before, after = explored.grades(topic, base), explored.grades(topic, new)
    if before is None or after is None:
        missing = " and ".join(name for name, grades in ((base, before), (new, after)) if grades is None)
        yield f"Not judged under {missing}: the two are not compared."
        return
    judged = {topic.qid: {**before}}, {topic.qid: {**after}}
    if not no_longer_relevant(*judged):
        yield f"No document that is relevant under {base} is ruled out under {new}: p-MRR has nothing that should fall."
    elif not still_relevant(*judged):
        yield f"No document is relevant under both {base} and {new}: selectivity has nothing that should stay."
    for docids in not_judged(*judged).values():
        count = counted(len(docids), "document")
        yield f"{count} relevant under {base} and not judged under {new}: neither ruled out nor kept."


def document_view(explored: Explored, docid: str) -> View:
    """Return a document; ``table`` is null unless it is displayed as one. :class:`DataError` if it is not here."""
    documents = explored.store.find([docid]) if explored.store else {}
    if docid not in documents:
        notes = " ".join(explored.notes) or "expected one of the collection"
        raise DataError(f"{explored.path}: no document {docid!r}; {notes}")
    document = documents[docid]
    table = table_of(document) if document.is_table else None
    return {"docid": docid, "title": document.title or document.caption, "text": document.text, "table": table}


def table_of(document: Document) -> View | None:
    """Return the table that a document's text is; None where most of the text would be lost by it.

    All rows of its ``header`` and ``body`` have the same number of cells.
    """
    table = as_table(document.text, known=True)
    return {"caption": table.caption, "header": table.header, "body": table.body} if table else None

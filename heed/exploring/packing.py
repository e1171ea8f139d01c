"""The views of a results folder in the fewest bytes, for a file that carries them all; ``page/packed.js`` reads them.

A folder is an index and blocks, each JSON, gzip and base64. The index is the
:class:`~heed.exploring.views.FolderView` with ``docids`` of all documents that are shown and ``titles`` of those that
are carried; and for topics and documents the number of each block's first (``topicBlocks``, ``documentBlocks``) and how
many are in blocks (``topicCount``, ``documentCount``).

A topic is ``[narratives, absent, documents, grades, lists]``: its documents as places in ``docids``, its grades by
condition, and by system and condition, in the index's order, 0 or ``[length, places, ranks, scores]``, where a place is
one among the topic's documents, ``ranks`` are those after the first ones and ``scores`` those of the first ones.
A document is 0 if the collection does not have it, ``[text, 0]``, ``[text, 1]`` of a table in Markdown, which the page
reads itself since that takes long for many, or ``["", table]``.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec.json import encode

from heed.exploring.absences import absences
from heed.exploring.blocks import pack, pack_blocks
from heed.exploring.folder import Explored
from heed.exploring.lists import Listed, read_lists
from heed.exploring.making import DEPTH, Lists, folder_view, grades, narratives, short, shown_docids, table_of, title_of
from heed.tables.markup import HTML_TABLE
from heed.types import Document, Topic

BATCH = 200  # documents read at once
PIPED = re.compile(r"^ *\|", re.MULTILINE)  # a row of a table in Markdown
RELEVANT = 0  # before all ranks, in the order in which documents are carried


class Packed(NamedTuple):
    """A folder for the page: ``data`` is JSON-able; how many topics and documents' texts were left out."""

    data: dict[str, Any]
    size: int
    topics_left_out: int
    documents_left_out: int


def packed(explored: Explored, limit: int) -> Packed:
    """Return the folder in at most ``limit`` characters, topics before documents and these by their best rank."""
    topics = [*explored.topics.values()]
    lists = _lists(explored)
    docids = _by_importance(explored, lists)
    number = {docid: place for place, docid in enumerate(docids)}
    about = {**folder_view(explored)}
    titles: list[str] = []
    room = limit - len(pack(encode([about, docids])))
    topic_blocks = pack_blocks((_topic(explored, topic, lists[topic.qid], number) for topic in topics), room)
    # titles are in the index, which is packed last: half of their length is enough for them
    document_blocks = pack_blocks(_documents(explored, docids, titles), room - topic_blocks.size)
    index = about | {
        "docids": docids,
        "titles": titles[: document_blocks.items],
        "topicBlocks": topic_blocks.firsts,
        "topicCount": topic_blocks.items,
        "documentBlocks": document_blocks.firsts,
        "documentCount": document_blocks.items,
    }
    data = {
        "folder": explored.results.folder,
        "index": pack(encode(index)),
        "topics": topic_blocks.packed,
        "documents": document_blocks.packed,
    }
    return Packed(
        data,
        len(data["index"]) + topic_blocks.size + document_blocks.size,
        len(topics) - topic_blocks.items,
        len(docids) - document_blocks.items if explored.store else 0,
    )


def _lists(explored: Explored) -> dict[str, Lists]:
    """Return for each topic its lists, by system and condition."""
    by_topic: dict[str, dict[tuple[str, str], Listed]] = {qid: {} for qid in explored.topics}
    known: dict[str, str] = {}  # one object for each docid
    for condition in explored.conditions:
        asked: dict[str, list[Topic]] = defaultdict(list)
        judged: dict[str, set[str]] = defaultdict(set)
        for topic in explored.topics.values():
            qid = explored.qid_under(topic, condition)
            asked[qid].append(topic)
            judged[qid] |= explored.judged(topic)
        for (system, of_run), path in explored.runs.items():
            if of_run != condition:
                continue
            for qid, listed in read_lists(path, DEPTH, judged).items():
                shared = listed._replace(docids=[known.setdefault(docid, docid) for docid in listed.docids])
                for topic in asked.get(qid, ()):
                    own = shared if len(asked[qid]) == 1 else shared.only(DEPTH, explored.judged(topic))
                    by_topic[topic.qid][system, condition] = own
    return {**by_topic}


def _by_importance(explored: Explored, lists: dict[str, Lists]) -> list[str]:
    """Return all documents that are shown: relevant ones, others by their best rank, judged ones in no list."""
    best: dict[str, int] = {}
    for qid, of_topic in lists.items():
        topic = explored.topics[qid]
        for condition in explored.conditions:
            for docid, grade in (explored.grades(topic, condition) or {}).items():
                if grade > 0:
                    best[docid] = RELEVANT
        for listed in of_topic.values():
            for docid, rank in zip(listed.docids, listed.ranks, strict=True):
                if rank < best.get(docid, DEPTH + 1):
                    best[docid] = rank
        for docid in shown_docids(explored, topic, of_topic):
            best.setdefault(docid, DEPTH + 1)
    return sorted(best, key=lambda docid: best[docid])


def _topic(explored: Explored, topic: Topic, lists: Lists, number: dict[str, int]) -> bytes:
    docids = shown_docids(explored, topic, lists)
    place = {docid: index for index, docid in enumerate(docids)}
    rows = [
        [_list(lists.get((system, condition)), place) for condition in explored.conditions]
        for system in explored.systems
    ]
    numbers = [number[docid] for docid in docids]
    return encode(
        [narratives(explored, topic), absences(explored, topic), numbers, grades(explored, topic, docids), rows]
    )


def _list(listed: Listed | None, place: dict[str, int]) -> object:
    if listed is None:
        return 0
    first = min(listed.length, DEPTH)
    places = [place[docid] for docid in listed.docids]
    return [listed.length, places, listed.ranks[first:], [short(score) for score in listed.scores[:first]]]


def _documents(explored: Explored, docids: list[str], titles: list[str]) -> Iterator[bytes]:
    """Yield the documents in order, and add their titles to ``titles``."""
    if explored.store is None:
        return
    for start in range(0, len(docids), BATCH):
        batch = docids[start : start + BATCH]
        found = explored.store.find(batch)
        for docid in batch:
            if docid not in found:  # judged, but not in the collection
                titles.append("")
                yield b"0"
                continue
            document = found[docid]
            titles.append(title_of(document))
            yield encode(_packed_document(document))


def _packed_document(document: Document) -> list[object]:
    if not document.is_table:
        return [document.text, 0]
    if PIPED.search(document.text) and not HTML_TABLE.search(document.text):
        return [document.text, 1]
    table = table_of(document)
    return ["", table] if table else [document.text, 0]

"""The explorer as a part of a page that needs nothing else: topics, rankings and documents, its style and its script.

The script is all modules of ``page/``, and those that the explorer shares with the annotation page, as one text. The
views of a results folder are carried in the fewest bytes, which ``page/packed.js`` reads:

A folder is an index and blocks, each JSON, gzip and base64. The index is the
:func:`~heed.addons.explorer.views.folder_view` with ``docids`` of all documents that are shown and ``titles`` of
those that are carried; and for topics and documents the number of each block's first (``topicBlocks``,
``documentBlocks``) and how many are in blocks (``topicCount``, ``documentCount``).

A topic is ``[narratives, absent, documents, grades, lists]``: its documents as places in ``docids``, its grades by
condition, and by system and condition, in the index's order, 0 or ``[length, places, ranks, scores]``, where a place is
one among the topic's documents, ``ranks`` are those after the first ones and ``scores`` those of the first ones.
A document is 0 if the collection does not have it, ``[text, 0]``, ``[text, 1]`` of a table in Markdown, which the page
reads itself since that takes long for many, or ``["", table]``; one without a title of its own has a third item, 0.
Where not all texts fit, long ones are cut to an equal share; these have a fourth item, 1.
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, zip_longest
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from markupsafe import Markup
from msgspec import Raw
from msgspec.json import encode

from heed.addons.explorer.explored import Explored, RankedList, first_and_judged
from heed.addons.explorer.views import DEPTH, Lists, absences, folder_view, grades, narratives, shown_docids, table_of
from heed.formats.document_store import title_of
from heed.process import batches
from heed.progress import number_of
from heed.report.html import Part, json_text, pack, page_file, script
from heed.report.results import ResultsFolder
from heed.tables.markup import HTML_TABLE
from heed.types import Document, Topic

EACH = 50_000  # characters of a page for each topic,
LEAST, MOST = 5_000_000, 20_000_000  # in this range
PAGE = PurePosixPath("addons/explorer/page")
MAIN = PAGE / "explorer.js"
SHARED = PurePosixPath("report/page/shared")  # with the annotation page
SHEETS = ("explorer", "topic", "ranking", "document", "further", "narrow")
STYLES = tuple(PAGE / f"{name}.css" for name in SHEETS)
AFRESH = "*, *::before, *::after { all: revert; }"  # of what the page says of its own elements
MARKED = 1000  # instructions up to which a page has them read though no system has
TOGETHER = 1 << 16  # bytes of JSON that are packed as one
BATCH = 200  # documents read at once
SAFE = 0.95  # of the room, since beginnings pack a little worse than whole texts
SHORTEST = 400  # bytes of a text; where not even these fit, texts are left out
PIPED = re.compile(r"^ *\|", re.MULTILINE)  # a row of a table in Markdown
ALONE = """
[data-exploring] body { max-width: none; margin: 0; padding: 0; }
[data-exploring] body > :not(#explorer) { display: none; }
"""  # while the explorer shows something


class Blocks(NamedTuple):
    """Packed items: ``firsts`` has the number of each block's first item, ``items`` how many are in blocks.

    They have ``size`` characters, and had ``unpacked`` bytes.
    """

    firsts: list[int]
    packed: list[str]
    items: int
    size: int
    unpacked: int


class Packed(NamedTuple):
    """A folder for the page: ``data`` is JSON-able; how many topics and texts were left out, how many texts cut."""

    data: dict[str, Any]
    size: int
    topics_left_out: int
    documents_left_out: int
    documents_cut: int


def embedded(results: Sequence[ResultsFolder], others: int = 0, limit: int = 0) -> Part:
    """Return the part of a page that shows topics and documents of ``results``; empty if no folder has runs.

    It carries the first documents of every list and all judged ones. The page, of which ``others`` parts have so many
    characters, has at most ``limit`` in all, by default what suits the number of topics; a sentence says what was left
    out. Raises :class:`DataError` for a run or ``topics.json`` that Heed did not write.
    """
    explored = [folder for folder in map(Explored, results) if folder.runs and folder.topics]
    if not explored:
        return Part(Markup(), "", "")
    folders = list[Packed]()
    topics = sum(len(folder.topics) for folder in explored)
    limit = limit or min(max(LEAST, EACH * topics), MOST)
    room = max(limit - others - len(style()) - len(script(MAIN)), 0)
    for left, folder in zip(range(len(explored), 0, -1), explored, strict=True):
        folders.append(packed(folder, room // left))
        room -= folders[-1].size
    data = {"folders": [folder.data for folder in folders], "notes": list(_left_out(folders, limit))}
    return explorer("data", data)


def explorer(name: str, data: object) -> Part:
    """Return the explorer as a part of a page, with ``data`` in its element ``explorer-NAME``."""
    html = Markup('<div id="explorer" hidden></div>\n<script type="application/json" id="explorer-{}">{}</script>')
    return Part(html.format(name, json_text(data)), style(), script(MAIN))


def _left_out(folders: Sequence[Packed], limit: int) -> Iterator[str]:
    topics = sum(folder.topics_left_out for folder in folders)
    documents = sum(folder.documents_left_out for folder in folders)
    parts = [f"the rankings of {number_of(topics, 'topic')}"] if topics else []
    parts += [f"the texts of {number_of(documents, 'document')}"] if documents else []
    sentences = [f"{' and '.join(parts)} were left out"] if parts else []
    if cut := sum(folder.documents_cut for folder in folders):
        sentences.append(f"of {number_of(cut, 'long document')} only the beginning is here")
    if sentences:
        text = ", and ".join(sentences)
        yield f"This file has at most {limit / 1e6:g} MB: {text}. heed explore RUNS_DIR shows everything."


@cache
def style() -> str:
    """Return the style, its rules inside of ``#explorer``; the page itself has the colours, ``colours.css``."""
    inside = "\n".join(page_file(path) for path in (SHARED / "common.css", *STYLES))
    return f"#explorer {{\n{AFRESH}\n{inside}\n}}\n{ALONE}\n"


def packed(explored: Explored, limit: int) -> Packed:
    """Return the folder in at most ``limit`` characters, topics before documents and these by their best rank."""
    topics = [*explored.topics.values()]
    lists = _lists(explored)
    shown = {qid: shown_docids(explored, explored.topics[qid], of_topic) for qid, of_topic in lists.items()}
    docids = _by_importance(explored, lists, shown)
    number = {docid: index for index, docid in enumerate(docids)}
    instructions = sum(len(topic.instructions) for topic in topics)
    explored.marks = bool(explored.readers) or instructions <= MARKED
    if not explored.marks:
        why = f"no system of this folder has read them, and they are {instructions:,}"
        explored.notes.append(f"Instructions are not marked here: {why}. heed explore RUNS_DIR marks them.")
    about = folder_view(explored)
    room = limit - len(pack(encode([about, docids])))
    topic_blocks = pack_blocks(
        (_topic(explored, topic, lists[topic.qid], shown[topic.qid], number) for topic in topics), room
    )
    explored.keep_readings()
    document_blocks, titles, cut = _document_blocks(explored, docids, room - topic_blocks.size)
    index = about | {
        "docids": docids,
        "titles": titles,
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
        cut,
    )


def _lists(explored: Explored) -> dict[str, Lists]:
    """Return for each topic its lists, by system and condition."""
    by_topic: dict[str, dict[tuple[str, str], RankedList]] = {qid: {} for qid in explored.topics}
    judged = {qid: explored.judged(topic) for qid, topic in explored.topics.items()}
    for key in sorted(explored.runs, key=lambda key: explored.conditions.index(key[1])):
        run = explored.read(key)
        for qid, topic in explored.topics.items():
            if scores := run.get(explored.qid_under(topic, key[1])):
                by_topic[qid][key] = first_and_judged(scores, DEPTH, judged[qid])
    return {**by_topic}


def _by_importance(explored: Explored, lists: Mapping[str, Lists], shown: Mapping[str, list[str]]) -> list[str]:
    """Return all documents that are ``shown``: relevant ones, others by their best rank, judged ones in no list."""
    order: dict[str, None] = {}
    for qid in lists:
        for condition in explored.conditions:
            grades = explored.grades(explored.topics[qid], condition) or {}
            order |= dict.fromkeys(docid for docid, grade in grades.items() if grade > 0)
    every = [listed.docids[:DEPTH] for of_topic in lists.values() for listed in of_topic.values()]
    for of_rank in zip_longest(*every):
        order |= dict.fromkeys(of_rank)
    order |= dict.fromkeys(chain.from_iterable(shown.values()))
    order.pop(None, None)  # type: ignore[call-overload]  # of lists that are shorter than others
    return [*order]


def _topic(explored: Explored, topic: Topic, lists: Lists, docids: list[str], number: Mapping[str, int]) -> bytes:
    index_of = {docid: index for index, docid in enumerate(docids)}
    rows = [
        [_list(lists.get((system, condition)), index_of) for condition in explored.conditions]
        for system in explored.systems
    ]
    judged = grades(explored, topic, docids)
    return encode([narratives(explored, topic), absences(explored, topic), [*map(number.get, docids)], judged, rows])


def _list(listed: RankedList | None, index_of: Mapping[str, int]) -> object:
    if listed is None:
        return 0
    first = min(listed.length, DEPTH)
    scores = ",".join(["%.5g"] * first) % tuple(listed.scores[:first])  # in one go, since there are many
    return [
        listed.length,
        [index_of[docid] for docid in listed.docids],
        listed.ranks[first:],
        Raw(f"[{scores}]".encode()),
    ]


def _document_blocks(explored: Explored, docids: list[str], room: int) -> tuple[Blocks, list[str], int]:
    """Return the documents in at most ``room`` characters with their titles, which are packed in the index.

    Where not all fit, long texts are cut to a share that is the same for all; returned is also how many.
    """
    shown = list[tuple[str, bool]]()
    blocks = pack_blocks(_documents(explored, docids, shown, sys.maxsize), room)
    length = len(pack(encode([title for title, _ in shown])))
    if blocks.size + length > room or (explored.store and blocks.items < len(docids)):
        room -= length * len(docids) // (len(shown) or 1)
        share = SAFE * room * blocks.unpacked / (blocks.size or 1) / len(docids)
        shown = []
        blocks = pack_blocks(_documents(explored, docids, shown, max(SHORTEST, int(share))), room)
    shown = shown[: blocks.items]
    return blocks, [title for title, _ in shown], sum(is_cut for _, is_cut in shown)


def _documents(explored: Explored, docids: list[str], shown: list[tuple[str, bool]], most: int) -> Iterator[bytes]:
    """Yield the documents in order, each text to ``most`` bytes; add to ``shown`` titles and whether it was cut."""
    if explored.store is None:
        return
    for start in range(0, len(docids), BATCH):
        batch = docids[start : start + BATCH]
        stored = explored.store.find(batch)
        for docid in batch:
            if docid not in stored:  # judged, but not in the collection
                shown.append(("", False))
                yield b"0"
                continue
            document = stored[docid]
            form, is_cut = _packed_document(document, most)
            shown.append((title_of(document), is_cut))
            titled = int(bool(document.title or document.caption))
            yield encode([*form, titled, 1] if is_cut else form if titled else [*form, 0])


def _packed_document(document: Document, most: int) -> tuple[list[object], bool]:
    """Return text and form of a document, cut to about ``most`` bytes, a table behind a row, and whether it was cut."""
    text = document.text
    is_piped = document.is_table and PIPED.search(text) and not HTML_TABLE.search(text)
    if document.is_table and not is_piped and (table := table_of(document)):
        size = len(encode(table["body"]))
        body = table["body"][: 1 + len(table["body"]) * most // size] if size > most else table["body"]
        return ["", table | {"body": body}], len(body) < len(table["body"])
    beginning = text.encode()[:most].decode(errors="ignore") if len(text) > most // 4 else text
    if is_piped and len(beginning) < len(text):
        beginning = beginning[: beginning.rfind("\n")]
    return [beginning, int(bool(is_piped))], len(beginning) < len(text)


def pack_blocks(items: Iterator[bytes], limit: int) -> Blocks:
    """Return the first of ``items``, each JSON, in as many whole blocks as have at most ``limit`` characters in all."""
    firsts: list[int] = []
    packed_blocks: list[str] = []
    count = size = unpacked = 0
    for group in batches(items, TOGETHER):
        block = pack(b"[" + b",".join(group) + b"]")
        if size + len(block) > limit:
            break
        firsts.append(count)
        packed_blocks.append(block)
        count, size, unpacked = count + len(group), size + len(block), unpacked + sum(map(len, group))
    return Blocks(firsts, packed_blocks, count, size, unpacked)

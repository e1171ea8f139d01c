"""Topics in TREC's own forms, ``<top>`` or ``<topic number="1">`` with title, description and narrative."""

import html
import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from heed.errors import DataError
from heed.files import read_text
from heed.formats.topics import Row, topics_from_rows
from heed.templates import paragraphs
from heed.types import Topic

# (?![\w-]) ends the name: a "<" that opens no tag must not be tried with each of its beginnings.
TAG = re.compile(r"<(/?)([a-z][\w-]*)(?![\w-])[^<>]*>", re.IGNORECASE)
NAMES = {"query": "title", "question": "desc", "description": "desc", "narrative": "narr", "identifier": "num"}
LABELS = {  # what the files repeat after the tag: with a colon, or alone in its line
    "num": re.compile(r"number(?:\s*:|\s)", re.IGNORECASE),
    "title": re.compile(r"topic\s*:", re.IGNORECASE),
    "desc": re.compile(r"description(?:\s*:|[^\S\n]*(?:\n|$))", re.IGNORECASE),
    "narr": re.compile(r"narrative(?:\s*:|[^\S\n]*(?:\n|$))", re.IGNORECASE),
}
NUMBER = re.compile(r"""\bnumber\s*=\s*["']?([^"'<>\s]+)""", re.IGNORECASE)  # in the tag of a topic
ENTITY = re.compile(r"&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z]\w{1,31});", re.IGNORECASE)


class Tag(NamedTuple):
    """A tag that opens or ends a part of a topic, lowercased, closing ones with their slash."""

    name: str
    start: int
    end: int


class Top(NamedTuple):
    """One ``<top>`` or ``<topic>``: its line, its fields, and the names of repeated fields."""

    line_no: int
    fields: dict[str, str]
    repeated: list[str]


def read_trec_topics(path: Path, lang: str, fields: str, encoding: str | None = None) -> list[Topic]:
    """Return the topics of a file; the narrative, if any, is the original instruction.

    The query is the title, the description or both, as ``fields`` says. Raises :class:`DataError` for a file without
    ``<top>`` and ``<topic>``, for topics without number or with a field twice, and as
    :func:`heed.formats.topics.topics_from_rows` does.
    """
    rows = [(top.line_no, _row(top)) for top in _tops(read_text(path, encoding or lang))]
    if not rows:
        raise DataError(f"{path}: no <top>; expected TREC topics: <top> <num> <title> …, or another --topics-format")
    return topics_from_rows(path, lang, fields, rows)


def _row(top: Top) -> Row:
    if "num" not in top.fields:
        return "this <top> has no <num>"
    if top.repeated:
        return f"topic {top.fields['num']} has <{'>, <'.join(top.repeated)}> twice; keep one"
    keys = {"_id": "num", "query": "title", "description": "desc", "instruction": "narr"}
    return {key: top.fields.get(name) for key, name in keys.items()}


def _tops(text: str) -> list[Top]:
    lines = [0, *(match.end() for match in re.finditer("\n", text))]
    tops: list[Top] = []
    inside = False
    whole = "top" if re.search(r"<top(?![\w-])", text, re.IGNORECASE) else "topic"
    for tag, following in pairwise([*_tags(text, whole), Tag("", len(text), len(text))]):
        if tag.name in (whole, f"/{whole}"):
            inside = tag.name == whole
            if inside:
                number = NUMBER.search(text, tag.start, tag.end)
                tops.append(Top(bisect_right(lines, tag.start), {"num": number[1]} if number else {}, []))
        elif inside and tag.name in LABELS:
            top = tops[-1]
            if tag.name in top.fields:
                top.repeated.append(tag.name)
            top.fields[tag.name] = _clean(tag.name, text[tag.end : following.start])
    return tops


def _tags(text: str, whole: str) -> Iterator[Tag]:
    """Yield the tags that end the field before them: ``whole`` and its parts anywhere, others at the start of a line.

    An unknown tag within a line, such as ``<b>``, is a part of the text.
    """
    for match in TAG.finditer(text):
        name = NAMES.get(match[2].lower(), match[2].lower())
        before = text[max(0, match.start() - 1) : match.start()]
        if name in LABELS or name == whole or before in ("", "\n"):
            yield Tag(match[1] + name, match.start(), match.end())


def _clean(name: str, text: str) -> str:
    text = ENTITY.sub(lambda match: html.unescape(match[0]), text).strip()
    label = LABELS[name].match(text)
    text = text[label.end() if label else 0 :]
    return paragraphs(text) if name == "narr" else " ".join(text.split())

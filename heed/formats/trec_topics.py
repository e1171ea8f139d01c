"""Topics in TREC's own form, ``<top>`` with number, title, description and narrative."""

import html
import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from heed.errors import DataError, fail
from heed.files import read_text
from heed.formats.topics import FIELDS, query_and_description
from heed.types import Topic

# (?![\w-]) ends the name: a "<" that opens no tag must not be tried with each of its beginnings.
TAG = re.compile(r"<(/?)([a-z][\w-]*)(?![\w-])[^<>]*>", re.IGNORECASE)
LABELS = {  # what the files repeat after the tag
    "num": re.compile(r"number\s*:", re.IGNORECASE),
    "title": re.compile(r"topic\s*:", re.IGNORECASE),
    "desc": re.compile(r"description\s*:", re.IGNORECASE),
    "narr": re.compile(r"narrative\s*:", re.IGNORECASE),
}
ENTITY = re.compile(r"&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z]\w{1,31});", re.IGNORECASE)


class Tag(NamedTuple):
    """A tag that opens or ends a part of a topic, lowercased, closing ones with their slash."""

    name: str
    start: int
    end: int


class Top(NamedTuple):
    """One ``<top>``: its line, its fields, and the names of repeated fields."""

    line_no: int
    fields: dict[str, str]
    repeated: list[str]


def read_trec_topics(path: Path, lang: str, fields: str, encoding: str | None = None) -> list[Topic]:
    """Return the topics of a file; the narrative, if any, is the original instruction.

    The query is the title, the description or both, as ``fields`` says. Raises :class:`DataError`
    for a file without ``<top>``, and naming each topic that lacks its number or the text of the
    query, has a field twice, or repeats a number.
    """
    topics: dict[str, Topic] = {}
    problems = []
    tops = _tops(read_text(path, encoding or lang))
    for top in tops:
        qid = top.fields.get("num", "")
        query, description = query_and_description(top.fields.get("title"), top.fields.get("desc"), fields)
        where = f"{path}, line {top.line_no}"
        if "num" not in top.fields:
            problems.append(f"{where}: this <top> has no <num>")
        elif qid.split() != [qid]:
            problems.append(f"{where}: <num> is {qid[:60]!r}, expected a word")
        elif top.repeated:
            problems.append(f"{where}: topic {qid} has <{'>, <'.join(top.repeated)}> twice; keep one")
        elif not query:
            problems.append(f"{where}: topic {qid} has no {FIELDS[fields]}")
        elif qid in topics:
            problems.append(f"{where}: topic {qid} comes twice; keep one")
        else:
            narrative = top.fields.get("narr")
            instructions = {"original": narrative} if narrative else {}
            topics[qid] = Topic(qid, lang, query, instructions, description=description)
    fail(problems)
    if not tops:
        raise DataError(f"{path}: no <top>; expected TREC topics: <top> <num> <title> <desc> <narr> </top>")
    return list(topics.values())


def _tops(text: str) -> list[Top]:
    lines = [0, *(match.end() for match in re.finditer("\n", text))]
    tops: list[Top] = []
    inside = False
    for tag, following in pairwise([*_tags(text), Tag("", len(text), len(text))]):
        if tag.name in ("top", "/top"):
            inside = tag.name == "top"
            if inside:
                tops.append(Top(bisect_right(lines, tag.start), {}, []))
        elif inside and tag.name in LABELS:
            top = tops[-1]
            if tag.name in top.fields:
                top.repeated.append(tag.name)
            top.fields[tag.name] = _clean(tag.name, text[tag.end : following.start])
    return tops


def _tags(text: str) -> Iterator[Tag]:
    """Yield the tags that end the field before them: those of topics anywhere, others at the start of a line.

    An unknown tag within a line, such as ``<b>``, is a part of the text.
    """
    for match in TAG.finditer(text):
        name = match[2].lower()
        before = text[max(0, match.start() - 1) : match.start()]
        if name in LABELS or name == "top" or before in ("", "\n"):
            yield Tag(match[1] + name, match.start(), match.end())


def _clean(name: str, text: str) -> str:
    text = ENTITY.sub(lambda match: html.unescape(match[0]), text).strip()
    label = LABELS[name].match(text)
    return " ".join(text[label.end() if label else 0 :].split())

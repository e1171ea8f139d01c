"""Topics from JSON Lines, TSV and TREC's ``<top>``: queries, and their instructions by condition."""

import difflib
import html
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from heed.errors import DataError, UsageError, fail
from heed.files import parse_json, read_bytes, read_lines
from heed.languages import known_language
from heed.types import INSTRUCTED, Topic

FIELDS = ("title", "description", "both")
KEYS: tuple[str, ...] = ("qid", "lang", "query", "description", "instructions", "type")
BEIR_KEYS: tuple[str, ...] = ("_id", "text", "title", "metadata", "language", "instruction", *KEYS[1:])  # and MTEB's

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


def read_jsonl_topics(path: Path, lang: str, fields: str) -> list[Topic]:
    """Return topics in Heed's own form or BEIR's (``_id``, ``text``); of lines with a ``lang``, those in ``lang``.

    Raises :class:`DataError` naming each line that lacks ``qid`` or the text that ``fields`` names,
    or that repeats a qid; and each key that neither form has, so that no instruction is lost to a slip.
    """
    topics: dict[str, Topic] = {}
    problems = []
    unknown: dict[tuple[str, str], list[int]] = {}  # (object and key, nearest keys) -> lines
    for line_no, record in read_objects(path):
        for slip in _slips(record):
            unknown.setdefault(slip, []).append(line_no)
        if not _is_language(record.get("lang", lang), lang):
            continue
        qid, title = record.get("qid", record.get("_id")), record.get("query", record.get("text"))
        query = query_text(title, record.get("description"), fields)
        instructions = record.get("instructions") or {}
        if "_id" in record and not instructions:
            instructions = {"original": record.get("instruction")}  # of MTEB's data sets
        if isinstance(qid, int) and not isinstance(qid, bool):
            qid = str(qid)
        if not isinstance(qid, str) or qid.split() != [qid]:
            problems.append(f"{path}, line {line_no}: qid is {qid!r}, expected a word")
        elif not query:
            problems.append(f"{path}, line {line_no}: topic {qid} has no {missing_field(fields)}")
        elif qid in topics:
            problems.append(f"{path}, line {line_no}: topic {qid} comes twice; keep one")
        elif not isinstance(instructions, dict):
            problems.append(f"{path}, line {line_no}: instructions must be an object with {', '.join(INSTRUCTED)}")
        elif not all(isinstance(text, str | None) for text in instructions.values()):
            problems.append(f"{path}, line {line_no}: instructions of topic {qid} must be texts")
        else:
            texts = {name: text for name in INSTRUCTED if (text := instructions.get(name))}
            topics[qid] = Topic(qid, lang, query, texts, str(record.get("type") or ""))
    fail([*problems, *(_unknown(path, *slip, lines) for slip, lines in unknown.items())])
    return with_bases(topics.values())


def _slips(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the keys of a topic that its form does not have, each with the nearest ones, else with all."""
    instructions = record.get("instructions")
    objects = [("the topic", record, BEIR_KEYS if "_id" in record else KEYS)]
    if isinstance(instructions, dict):
        objects.append(("instructions", instructions, INSTRUCTED))
    for part, keys, known in objects:
        for key in keys:
            if key not in known:
                near = difflib.get_close_matches(str(key), known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
                yield f"key {key!r} of {part}", hint


def _unknown(path: Path, key: str, hint: str, lines: list[int]) -> str:
    others = f" and {len(lines) - 1} more lines" if len(lines) > 1 else ""
    return f"{path}, line {lines[0]}{others}: {key} is not known; {hint}"


def with_bases(topics: Collection[Topic]) -> list[Topic]:
    """Return the topics, each with the qid of its bare query as ``base`` where that is among them.

    The bare query of ``3_0`` is ``3``, if it is the same query without instructions.
    """
    bare = {topic.qid: topic.query for topic in topics if not topic.instructions}
    linked = []
    for topic in topics:
        stem = topic.qid.rpartition("_")[0]
        has_base = topic.instructions and bare.get(stem) == topic.query
        linked.append(topic._replace(base=stem) if has_base else topic)
    return linked


def _is_language(code: object, lang: str) -> bool:
    """Return whether a topic's ``lang``, an ISO 639-3 or 639-1 code, is the language ``lang``."""
    known = known_language(code) if isinstance(code, str) else None
    return (known.code if known else code) == lang


def read_tsv_topics(path: Path, lang: str) -> list[Topic]:
    """Return topics from ``qid<TAB>query`` lines; they carry no instruction."""
    topics: dict[str, Topic] = {}
    problems = []
    for line_no, line in read_lines(path):
        if not line.strip():
            continue
        qid, _, query = (part.strip() for part in line.partition("\t"))
        if not qid or not query:
            problems.append(f"{path}, line {line_no}: expected qid, a tab, and the query (found {line[:60]!r})")
        elif qid in topics:
            problems.append(f"{path}, line {line_no}: topic {qid} comes twice; keep one")
        topics[qid] = Topic(qid, lang, query, {})
    fail(problems)
    return list(topics.values())


def read_objects(path: Path) -> Iterable[tuple[int, dict[str, Any]]]:
    """Yield ``(line number, JSON object)`` for each line that is not blank; raises :class:`DataError` for another."""
    for line_no, line in read_lines(path):
        if not line.strip():
            continue
        try:
            record = parse_json(line)
        except ValueError as error:
            raise DataError(f"{path}, line {line_no}: not JSON ({error}); expected one object a line") from error
        if not isinstance(record, dict):
            raise DataError(f"{path}, line {line_no}: found {type(record).__name__}, expected a JSON object")
        yield line_no, record


def query_text(title: Any, description: Any, fields: str) -> str:
    """Return the query: title, description or both (title first); empty if ``fields`` names a missing text.

    Raises :class:`UsageError` for ``fields`` that are none of ``FIELDS``.
    """
    if fields not in FIELDS:
        raise UsageError(f"fields: found {fields!r}, expected one of {', '.join(FIELDS)}")
    parts = {"title": [title], "description": [description], "both": [title, description]}[fields]
    if not all(isinstance(part, str) and part.strip() for part in parts):
        return ""
    return " ".join(part.strip() for part in parts)


def missing_field(fields: str) -> str:
    """Return the name of the missing text in an error."""
    return {"title": "title (query)", "description": "description", "both": "title and description"}[fields]


def read_trec_topics(path: Path, lang: str, fields: str) -> list[Topic]:
    """Return the topics of a file in UTF-8 or else Latin-1; the narrative, if any, is the original instruction.

    The query is the title, the description or both, as ``fields`` says. Raises :class:`DataError`
    for a file without ``<top>``, and naming each topic that lacks its number or the text of the
    query, has a field twice, or repeats a number.
    """
    topics: dict[str, Topic] = {}
    problems = []
    tops = _tops(_decoded(read_bytes(path)))
    for top in tops:
        qid = top.fields.get("num", "")
        query = query_text(top.fields.get("title"), top.fields.get("desc"), fields)
        where = f"{path}, line {top.line_no}"
        if "num" not in top.fields:
            problems.append(f"{where}: this <top> has no <num>")
        elif qid.split() != [qid]:
            problems.append(f"{where}: <num> is {qid[:60]!r}, expected a word")
        elif top.repeated:
            problems.append(f"{where}: topic {qid} has <{'>, <'.join(top.repeated)}> twice; keep one")
        elif not query:
            problems.append(f"{where}: topic {qid} has no {missing_field(fields)}")
        elif qid in topics:
            problems.append(f"{where}: topic {qid} comes twice; keep one")
        else:
            narrative = top.fields.get("narr")
            topics[qid] = Topic(qid, lang, query, {"original": narrative} if narrative else {})
    fail(problems)
    if not tops:
        raise DataError(f"{path}: no <top>; expected TREC topics: <top> <num> <title> <desc> <narr> </top>")
    return list(topics.values())


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


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

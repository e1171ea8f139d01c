"""Topics from JSON Lines and TSV: queries, and their instructions by condition."""

import difflib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from heed.errors import UsageError, fail
from heed.files import read_lines, read_objects
from heed.languages import known_language
from heed.types import INSTRUCTED, Topic

FIELDS = {"title": "title (query)", "description": "description", "both": "title and description"}  # of the query
KEYS: tuple[str, ...] = ("qid", "lang", "query", "description", "instructions", "type")
BEIR_KEYS: tuple[str, ...] = ("_id", "text", "title", "metadata", "language", "instruction", *KEYS[1:])  # and MTEB's


def read_jsonl_topics(path: Path, lang: str, fields: str, encoding: str | None = None) -> list[Topic]:
    """Return topics in Heed's own form or BEIR's (``_id``, ``text``); of lines with a ``lang``, those in ``lang``.

    Raises :class:`DataError` naming each line that lacks ``qid`` or the text that ``fields`` names,
    or that repeats a qid; and each key that neither form has, so that no instruction is lost to a slip.
    """
    topics: dict[str, Topic] = {}
    problems = []
    for line_no, record in read_objects(path, encoding or lang):
        problems += [f"{path}, line {line_no}: {slip}" for slip in _slips(record)]
        if not _is_language(record.get("lang", lang), lang):
            continue
        qid, title = record.get("qid", record.get("_id")), record.get("query", record.get("text"))
        query, description = query_and_description(title, record.get("description"), fields)
        instructions = record.get("instructions") or {}
        if "_id" in record and not instructions:
            instructions = {"original": record.get("instruction")}  # of MTEB's data sets
        if isinstance(qid, int) and not isinstance(qid, bool):
            qid = str(qid)
        if not isinstance(qid, str) or qid.split() != [qid]:
            problems.append(f"{path}, line {line_no}: qid is {qid!r}, expected a word")
        elif not query:
            problems.append(f"{path}, line {line_no}: topic {qid} has no {FIELDS[fields]}")
        elif qid in topics:
            problems.append(f"{path}, line {line_no}: topic {qid} comes twice; keep one")
        elif not isinstance(instructions, dict):
            problems.append(f"{path}, line {line_no}: instructions must be an object with {', '.join(INSTRUCTED)}")
        elif not all(isinstance(text, str | None) for text in instructions.values()):
            problems.append(f"{path}, line {line_no}: instructions of topic {qid} must be texts")
        else:
            texts = {name: text for name in INSTRUCTED if (text := instructions.get(name))}
            topics[qid] = Topic(qid, lang, query, texts, str(record.get("type") or ""), description=description)
    fail(problems)
    return with_bases(topics.values())


def _slips(record: dict[str, Any]) -> Iterator[str]:
    """Yield the problem with each key of a topic that its form does not have, with the nearest key, else with all."""
    instructions = record.get("instructions")
    objects = [("the topic", record, BEIR_KEYS if "_id" in record else KEYS)]
    if isinstance(instructions, dict):
        objects.append(("instructions", instructions, INSTRUCTED))
    for part, keys, known in objects:
        for key in keys:
            if key not in known:
                near = difflib.get_close_matches(str(key), known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
                yield f"key {key!r} of {part} is not known; {hint}"


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


def read_tsv_topics(path: Path, lang: str, encoding: str | None = None) -> list[Topic]:
    """Return topics from ``qid<TAB>query`` lines; they carry no instruction."""
    topics: dict[str, Topic] = {}
    problems = []
    for line_no, line in read_lines(path, encoding or lang):
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


def query_and_description(title: Any, description: Any, fields: str) -> tuple[str, str]:
    """Return the query and a topic's description; either may be empty.

    The query is the title, the description or both (title first); empty if ``fields`` names a missing text. The
    description is empty where the query holds it. Raises :class:`UsageError` for other ``fields`` than ``FIELDS``.
    """
    if fields not in FIELDS:
        raise UsageError(f"fields: found {fields!r}, expected one of {', '.join(FIELDS)}")
    title, description = (text.strip() if isinstance(text, str) else "" for text in (title, description))
    if fields == "title":
        return title, description if title else ""
    parts = [description] if fields == "description" else [title, description]
    return " ".join(parts) if all(parts) else "", ""

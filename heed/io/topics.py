"""Topics from JSON Lines and TSV: a query, and the instruction that goes with it under each condition."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from heed.errors import DataError, UsageError, fail
from heed.io.files import parse_json, read_lines
from heed.types import INSTRUCTED, Topic

FIELDS = ("title", "description", "both")


def read_jsonl_topics(path: Path, lang: str, fields: str) -> list[Topic]:
    """Return topics in Heed's own form or BEIR's (``_id``, ``text``); of lines with a ``lang``, those in ``lang``.

    Raises :class:`DataError` naming each line that lacks ``qid`` or the text that ``fields`` names,
    or that repeats a qid.
    """
    topics: dict[str, Topic] = {}
    problems = []
    for line_no, record in read_objects(path):
        if record.get("lang", lang) != lang:
            continue
        qid, title = record.get("qid", record.get("_id")), record.get("query", record.get("text"))
        query = query_text(title, record.get("description"), fields)
        instructions = record.get("instructions") or {}
        if isinstance(qid, int) and not isinstance(qid, bool):
            qid = str(qid)
        if not isinstance(qid, str) or qid.split() != [qid]:
            problems.append(f"{path}, line {line_no}: qid is {qid!r}, expected a word")
        elif not query:
            problems.append(f"{path}, line {line_no}: topic {qid} has no {missing_field(fields)}")
        elif qid in topics:
            problems.append(f"{path}, line {line_no}: topic {qid} comes twice; keep one")
        elif not isinstance(instructions, dict) or set(instructions) - set(INSTRUCTED):
            problems.append(f"{path}, line {line_no}: instructions must be an object with {', '.join(INSTRUCTED)}")
        elif not all(isinstance(text, str | None) for text in instructions.values()):
            problems.append(f"{path}, line {line_no}: instructions of topic {qid} must be texts")
        else:
            texts = {name: text for name in INSTRUCTED if (text := instructions.get(name))}
            topics[qid] = Topic(qid, lang, query, texts, str(record.get("type") or ""))
    fail(problems)
    return with_bases(topics.values())


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
    """Return what to call the missing text in an error."""
    return {"title": "title (query)", "description": "description", "both": "title and description"}[fields]

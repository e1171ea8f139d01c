"""Topics from JSON Lines and TSV: queries, and their instructions by condition."""

import difflib
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from heed.errors import DataError, UsageError, fail
from heed.files import read_lines, read_objects
from heed.languages import code_of
from heed.progress import counted, log
from heed.types import INSTRUCTED, Topic

FIELDS = {"title": "title (query)", "description": "description", "both": "title and description"}  # of the query
KEYS: tuple[str, ...] = ("qid", "lang", "query", "description", "instructions", "type")
BEIR_KEYS = ("_id", "text", "title", "metadata", "language", "instruction", *KEYS[1:])  # and MTEB's
FORMS = {"qid": KEYS, "_id": BEIR_KEYS, "id": ("id", "title", *KEYS[1:])}  # by the id's key; the last of RAG tracks
TSV_IDS = (*FORMS, "query_id", "query-id", "topic_id")  # what the first column of a header is called
WEB = re.compile(r"([\w-]*\d):(?!\d+:)(\S[^\t]*)")  # of the Web tracks; the Million Query track has a column between
Row = dict[str, Any] | str  # a topic's texts by key, or the problem with them


def read_jsonl_topics(path: Path, lang: str, fields: str, encoding: str | None = None) -> list[Topic]:
    """Return topics in one of ``FORMS``, as :func:`topics_from_rows` does.

    Raises :class:`DataError` also for each key that its form does not have, so that no instruction is lost to a slip.
    """
    rows: list[tuple[int, Row]] = []
    for line_no, record in read_objects(path, encoding or lang):
        rows += [*((line_no, slip) for slip in _slips(record)), (line_no, record)]
    return topics_from_rows(path, lang, fields, rows)


def topics_from_rows(path: Path, lang: str, fields: str, rows: Iterable[tuple[int, Row]]) -> list[Topic]:
    """Return the topics of numbered rows that are in ``lang``, all for an empty one. A blank instruction is none.

    Raises :class:`DataError` for rows that are problems, for each that lacks an id or the text that ``fields`` names,
    or that repeats a qid, and where no topic is in ``lang``; how many others were left out is logged.
    """
    topics: dict[tuple[str, str], Topic] = {}
    problems, others = [], []
    for line_no, record in rows:
        if isinstance(record, str):
            problems.append(f"{path}, line {line_no}: {record}")
            continue
        spoken = code_of(str(record.get("lang", lang)))
        if lang and spoken != lang:
            others.append(str(record["lang"]))
            continue
        qid = next((record[key] for key in FORMS if key in record), None)
        title = record.get("query", record.get("text", record.get("title")))
        query, description = query_and_description(title, record.get("description"), fields)
        instructions = record.get("instructions") or {}
        if "qid" not in record and not instructions:
            instructions = {"original": record.get("instruction")}  # of MTEB's data sets
        if isinstance(qid, int) and not isinstance(qid, bool):
            qid = str(qid)
        if not isinstance(qid, str) or qid.split() != [qid]:
            problems.append(f"{path}, line {line_no}: qid is {repr(qid)[:60]}, expected a word")
        elif not query:
            problems.append(f"{path}, line {line_no}: topic {qid} has no {FIELDS[fields]}")
        elif (spoken, qid) in topics:
            problems.append(f"{path}, line {line_no}: topic {qid} comes twice; keep one")
        elif not isinstance(instructions, dict):
            problems.append(f"{path}, line {line_no}: instructions must be an object with {', '.join(INSTRUCTED)}")
        elif not all(isinstance(text, str | None) for text in instructions.values()):
            problems.append(f"{path}, line {line_no}: instructions of topic {qid} must be texts")
        else:
            texts = {name: text for name in INSTRUCTED if (text := instructions.get(name)) and text.strip()}
            kind = str(record.get("type") or "")
            topics[spoken, qid] = Topic(qid, spoken, query, texts, kind, description=description)
    fail(problems)
    reason = f"{counted(len(others), 'topic')} in {', '.join(dict.fromkeys(others))}" if others else "there is none"
    if not topics:
        raise DataError(f"{path}: no topic in {lang}; {reason}; name their language with --lang")
    if others:
        log.info(f"{path}: {reason}, not in {lang}, and left out")
    return with_bases(topics.values())


def _slips(record: dict[str, Any]) -> Iterator[str]:
    """Yield the problem with each key of a topic that its form does not have, with the nearest key, else with all."""
    instructions = record.get("instructions")
    objects = [("the topic", record, next((FORMS[key] for key in FORMS if key in record), KEYS))]
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


def read_tsv_topics(path: Path, lang: str, fields: str = "title", encoding: str | None = None) -> list[Topic]:
    """Return topics from lines of qid, tab and query, or of the columns that a first line names.

    ``fields`` counts where there is a description. Raises :class:`DataError` as :func:`topics_from_rows` does.
    """
    rows: list[tuple[int, Row]] = []
    names, expected = ["qid", "query"], "qid, a tab, and the query, or a first line that names the columns"
    for line_no, line in read_lines(path, encoding or lang):
        web = WEB.fullmatch(line)
        text = line.rstrip() if len(names) == 2 else line
        cells = [cell.strip() for cell in (web.groups() if web else text.split("\t"))]
        if line_no == 1 and len(cells) > 1 and cells[0].lower() in TSV_IDS:
            names = ["_id", *map(str.lower, cells[1:])]
            rows += [(line_no, slip) for slip in _slips(dict.fromkeys(names))]
        elif len(cells) == len(names):
            rows.append((line_no, dict(zip(names, cells, strict=True))))
        elif line.strip():
            rows.append((line_no, f"expected {expected} (found {line[:60]!r})"))
    return topics_from_rows(path, lang, fields if "description" in names else "title", rows)


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

"""Topics in all forms: queries, and their instructions by condition."""

import csv
import html
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from heed.data import FIELDS
from heed.errors import DataError, UsageError, did_you_mean, fail
from heed.files import parse_json, read_lines, read_objects, read_pieces, read_text, unpacked_name, word_of
from heed.formats.data_set_folders import is_data_set
from heed.formats.data_sets import read_queries
from heed.formats.topic_ids import topics_with_ids
from heed.languages import code_of, known_language, suggestion
from heed.progress import brief, counted, log, number_of, warn
from heed.types import INSTRUCTED, KINDS, Span, Topic, paragraphs

KEYS: tuple[str, ...] = ("qid", "lang", "query", "description", "instructions", "readings", "type")
BEIR_KEYS = ("_id", "text", "title", "metadata", "language", "instruction", *KEYS[1:])  # and MTEB's
FORMS = {"qid": KEYS, "_id": BEIR_KEYS, "id": ("id", "title", *KEYS[1:])}  # by the id's key; the last of RAG tracks
TSV_IDS = (*FORMS, "query_id", "query-id", "topic_id")  # what the first column of a header is called
WEB = re.compile(r"([\w-]*\d):(?!\d+:)(\S[^\t]*)")  # of the Web tracks; the Million Query track has a column between
JSON, CSV = (".json", ".jsonl"), ".csv"
Row = dict[str, Any] | str  # a topic's texts by key, or the problem with them


def read_topics(
    path: Path,
    lang: str,
    fields: str,
    form: str = "",
    encoding: str | None = None,
    *,
    collection: str = "",
    translation: str = "any",
) -> list[Topic]:
    """Return the topics of ``path`` in language ``lang``; their form is recognised unless ``form`` names it.

    ``path`` is a file, or the folder of a data set in BEIR's or MTEB's layout. A file that is not UTF-8 is in
    ``encoding`` or, without one, in one of the language's. ``collection`` and ``translation`` are those of
    :func:`read_neuclir_topics`. Raises :class:`DataError` for bad lines and a file without topics, :class:`UsageError`
    for another form.
    """
    encoding = encoding or lang
    if not form and is_data_set(path):
        if fields != "title":
            raise UsageError(f"{path}: queries of a data set have one text, no {fields}; expected fields=title")
        return read_queries(path, lang, encoding=encoding)
    form = form or recognised(path, encoding)
    if form == "neuclir":
        return read_neuclir_topics(path, lang, fields, encoding, collection=collection, translation=translation)
    if form not in ROWS:
        raise UsageError(f"{path}: topics in {form}'s form; they belong to heed neuclir")
    rows = list(ROWS[form](path, encoding))
    if form == "tsv" and not any("description" in row for _, row in rows if isinstance(row, dict)):
        fields = "title"
    return topics_with_ids(_topics_of(path, lang, fields, rows), path)


def recognised(path: Path, encoding: str | None = None) -> str:
    """Return the form of a topics file: by its beginning and suffix, and of JSON by the keys of its first object."""
    head, name = next(read_pieces(path), (1, b""))[1], unpacked_name(path)
    first = head.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0].decode(errors="replace").rstrip()
    if not name.endswith(JSON) and not first.startswith("{"):
        if first.startswith("<") or b"\n<top" in head.lower():
            return "trec"
        if name.endswith((".tsv", ".txt", CSV)) or "\t" in first or WEB.fullmatch(first):
            return "tsv"
        expected = "TREC's <top>, JSON lines, or qid, tab and query; topics_format=FORM says which"
        hint = ", as judgements do" if re.fullmatch(r"\S+\s+\S+\s+\S+\s+-?\d+", first) else ""
        raise DataError(f"{path}: begins {first[:60]!r}{hint}; expected {expected}")
    record = next(iter(_objects(path, encoding)), None)
    if record is None:
        raise DataError(f"{path}: empty; expected one topic a line")
    return "neuclir" if "topic_id" in record[1] else "heed"


def _json_rows(path: Path, encoding: str) -> Iterator[tuple[int, Row]]:
    """Yield topics in one of ``FORMS``, and each key that its form does not have: no instruction is lost to a slip."""
    for line_no, record in _objects(path, encoding):
        yield from ((line_no, slip) for slip in _slips(record))
        yield line_no, record


def _objects(path: Path, encoding: str | None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of JSON lines, or of a ``.json`` file: of one array, or of one object with a text by qid."""
    try:
        whole = parse_json(read_text(path, encoding)) if unpacked_name(path).endswith(".json") else None
    except ValueError:  # lines, or no JSON, which is said by its line
        whole = None
    if isinstance(whole, dict):
        is_topic = whole.keys() & {*FORMS, "topic_id"}
        whole = [whole] if is_topic else [{"qid": qid, "query": text} for qid, text in whole.items()]
    if isinstance(whole, list) and all(isinstance(record, dict) for record in whole):
        yield from enumerate(whole, 1)
    else:
        yield from read_objects(path, encoding)


def _topics_of(path: Path, lang: str, fields: str, rows: Iterable[tuple[int, Row]]) -> list[Topic]:
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
        spoken = code_of(str(record["lang"])) if "lang" in record else lang
        if lang and spoken != lang:
            others.append(str(record["lang"]))
            continue
        given_id = next((record[key] for key in FORMS if key in record), None)
        title = record.get("query", record.get("text", record.get("title")))
        query, description = query_and_description(title, record.get("description"), fields)
        instructions = record.get("instructions") or {}
        if "qid" not in record and not instructions:
            instructions = {"original": record.get("instruction")}  # of MTEB's data sets
        qid = word_of(given_id)
        if not qid:
            problems.append(f"{path}, line {line_no}: qid is {repr(given_id)[:60]}, expected a word")
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
            readings, wrong = _readings(record.get("readings") or {}, texts)
            problems += [f"{path}, line {line_no}: topic {qid}: {problem}" for problem in wrong]
            topics[spoken, qid] = Topic(qid, spoken, query, texts, kind, "", description, readings)
    fail(problems)
    reason = f"{counted(len(others), 'topic')} in {', '.join(dict.fromkeys(others))}" if others else "there is none"
    if not topics:
        raise DataError(f"{path}: no topic in {lang}; {reason}; {_advice(others)}")
    if others:
        log.info(f"{path}: {reason}, not in {lang}, and left out")
    return with_bases(topics.values())


def _advice(langs: list[str]) -> str:
    """Return advice where topics are in ``langs`` alone, not in the language that was asked for."""
    if not langs:
        return "give a file with topics"
    if not (known := known_language(langs[0])):
        return f"{langs[0]} is no code of a language{suggestion(langs[0])}"
    return (
        f"give lang={known.code} if the documents are in {known.name} too; heed neuclir takes topics in another "
        "language than theirs"
    )


def _slips(record: dict[str, Any]) -> Iterator[str]:
    """Yield the problem with each key of a topic that its form does not have, with the nearest key, else with all."""
    objects = [("the topic", record, next((FORMS[key] for key in FORMS if key in record), KEYS))]
    by_condition = ((part, record.get(part)) for part in ("instructions", "readings"))
    objects += [(part, texts, INSTRUCTED) for part, texts in by_condition if isinstance(texts, dict)]
    for part, keys, known in objects:
        for key in keys:
            if key not in known:
                hint = did_you_mean(str(key), known) or f"known are {', '.join(known)}"
                if key in ("narrative", "narr"):
                    hint = 'a narrative is "instructions": {"original": "…"}'
                yield f"key {key!r} of {part} is not known; {hint}"


def _readings(record: Any, texts: dict[str, str]) -> tuple[dict[str, tuple[Span, ...]], list[str]]:
    """Return the readings of instructions by a topic's ``record``, and the problems with it."""
    if not isinstance(record, dict):
        return {}, [f"readings are {repr(record)[:60]}, expected an object with {', '.join(INSTRUCTED)}"]
    readings, problems = {}, []
    for condition, text in texts.items():
        if condition in record:
            spans, wrong = _spans(record[condition], len(text))
            readings[condition] = spans
            problems += [f"reading of {condition}: {problem}" for problem in wrong]
    missing = [name for name in INSTRUCTED if name in record and name not in texts]
    return readings, problems + [f"a reading of {name}, but no instruction for it" for name in missing]


def _spans(record: Any, length: int) -> tuple[tuple[Span, ...], list[str]]:
    """Return spans that cover a text of ``length`` characters, neutral ones between those of the ``record``."""
    if not isinstance(record, list):
        return (), [f"is {repr(record)[:60]}, expected a list of [start, end, kind]"]
    spans, problems, last = list[Span](), list[str](), 0
    for span in record:
        match span:
            case [int(start), int(end), str(kind)] if kind in KINDS and last <= start < end <= length:
                spans += [*_neutral(last, start), Span(start, end, kind)]
                last = end
            case _:
                expected = f"[start, end, kind] with {last} ≤ start < end ≤ {length} and kind one of {', '.join(KINDS)}"
                problems.append(f"found {repr(span)[:60]}, expected {expected}")
    return (*spans, *_neutral(last, length)), problems


def _neutral(start: int, end: int) -> list[Span]:
    return [Span(start, end, "neutral")] if start < end else []


def readings_of(topic: Topic) -> dict[str, list[list[Any]]]:
    """Return a topic's readings as its file has them, ``[start, end, kind]`` of each span."""
    return {condition: [[*span[:3]] for span in spans] for condition, spans in topic.readings.items()}


def record_of(topic: Topic) -> dict[str, Any]:
    """Return a topic as a line of Heed's own form, without what is empty."""
    record = {**topic._asdict(), "readings": readings_of(topic)}
    return {key: record[key] for key in KEYS if record[key]}


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


def _tab_rows(path: Path, encoding: str) -> Iterator[tuple[int, Row]]:
    """Yield lines of qid, tab and query, or of the columns that a first line names."""
    names, expected = ["qid", "query"], "qid, a tab, and the query, or a first line that names the columns"
    is_csv = unpacked_name(path).endswith(CSV)
    for line_no, line in (_csv_lines if is_csv else read_lines)(path, encoding):
        web = WEB.fullmatch(line)
        text = line.rstrip() if len(names) == 2 else line
        cells = [cell.strip() for cell in (web.groups() if web else text.split("\t"))]
        if line_no == 1 and len(cells) > 1 and cells[0].lower() in TSV_IDS:
            names = ["_id", *map(str.lower, cells[1:])]
            yield from ((line_no, slip) for slip in _slips(dict.fromkeys(names)))
        elif len(cells) == len(names):
            yield line_no, dict(zip(names, cells, strict=True))
        elif line.strip():
            yield line_no, f"expected {expected} (found {line[:60]!r})"


def _csv_lines(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    """Yield the rows of a CSV file with tabs between their cells, each by the number of its last line."""
    rows = csv.reader(f"{line}\n" for _, line in read_lines(path, encoding))
    try:
        yield from ((rows.line_num, "\t".join(cell.replace("\t", " ") for cell in row)) for row in rows)
    except csv.Error as error:
        raise DataError(f"{path}, line {rows.line_num}: not CSV ({error}); is a quotation mark missing?") from error


def query_and_description(title: Any, description: Any, fields: str) -> tuple[str, str]:
    """Return the query and a topic's description; either may be empty.

    The query is the title, the description or both (title first); empty if ``fields`` names a missing text. The
    description is empty where the query holds it.
    """
    title, description = (text.strip() if isinstance(text, str) else "" for text in (title, description))
    if fields == "title":
        return title, description if title else ""
    parts = [description] if fields == "description" else [title, description]
    return " ".join(parts) if all(parts) else "", ""


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


def _trec_rows(path: Path, encoding: str) -> Iterator[tuple[int, Row]]:
    """Yield the topics of a file with ``<top>`` or ``<topic>``; the narrative, if any, is the original instruction."""
    text = read_text(path, encoding)
    tops = _tops(text)
    if not tops:
        raise DataError(f"{path}: no <top>; expected TREC topics: <top> <num> <title> …, or another topics_format=FORM")
    lines = [0, *(match.end() for match in re.finditer("\n", text))]
    keys = {"_id": "num", "query": "title", "description": "desc", "instruction": "narr"}
    for start, texts, repeated in tops:
        row: Row = {key: texts.get(name) for key, name in keys.items()}
        if "num" not in texts:
            row = "this <top> has no <num>"
        elif repeated:
            row = f"topic {texts['num']} has <{'>, <'.join(repeated)}> twice; keep one"
        yield bisect_right(lines, start), row


def _tops(text: str) -> list[tuple[int, dict[str, str], list[str]]]:
    """Return where each ``<top>`` or ``<topic>`` begins, its texts, and the names of repeated ones."""
    tops: list[tuple[int, dict[str, str], list[str]]] = []
    inside = False
    whole = "top" if re.search(r"<top(?![\w-])", text, re.IGNORECASE) else "topic"
    for (name, start, end), (_, following, _) in pairwise([*_tags(text, whole), ("", len(text), len(text))]):
        if name in (whole, f"/{whole}"):
            inside = name == whole
            if inside:
                number = NUMBER.search(text, start, end)
                tops.append((start, {"num": number[1]} if number else {}, []))
        elif inside and name in LABELS:
            _, texts, repeated = tops[-1]
            if name in texts:
                repeated.append(name)
            texts[name] = _clean(name, text[end:following])
    return tops


def _tags(text: str, whole: str) -> Iterator[tuple[str, int, int]]:
    """Yield name, start and end of the tags that end the field before them.

    These are ``whole`` and its parts anywhere, others at the start of a line: an unknown tag within a line, such as
    ``<b>``, is a part of the text. Names are lowercased, those of closing tags with their slash.
    """
    for match in TAG.finditer(text):
        name = NAMES.get(match[2].lower(), match[2].lower())
        before = text[max(0, match.start() - 1) : match.start()]
        if name in LABELS or name == whole or before in ("", "\n"):
            yield match[1] + name, match.start(), match.end()


def _clean(name: str, text: str) -> str:
    text = ENTITY.sub(lambda match: html.unescape(match[0]), text).strip()
    label = LABELS[name].match(text)
    text = text[label.end() if label else 0 :]
    return paragraphs(text) if name == "narr" else " ".join(text.split())


ORIGINALS, LEVELLED = "English originals", "HC4's four levels, in English"  # kinds of narratives
ORIGINAL, HUMAN = "original", "human translation"  # the files' own names; any other source is a machine

# HC4's four levels of value as one instruction. "Not that valuable" becomes grade 0 when HC4 and
# NeuCLIR grade (guidelines 2022), so it comes under what is not relevant.
LEVELS = (
    ("very_valuable", "Highly relevant: {}"),
    ("somewhat_valuable", "Also relevant: {}"),
    ("not_that_valuable", "Not relevant: {}"),
    ("non_relevant", "Not relevant: {}"),
)


def read_neuclir_topics(
    path: Path,
    lang: str,
    fields: str = "title",
    encoding: str | None = None,
    *,
    collection: str = "",
    translation: str = "any",
) -> list[Topic]:
    """Return the topics of a NeuCLIR or HC4 file in ``lang``, with the narrative as the original instruction.

    ``collection`` is the documents' language, by which HC4 keeps narratives; ``translation`` is human, machine, or any,
    which is human where there is one; ``fields`` are the title, the description or both.
    A topic without a text in the wanted language and translation is left out, with a warning. Where the
    narrative exists in another form only (2023 has no human translation of it, HC4 has English
    alone), that one is used and logged. Raises :class:`DataError` naming each line that is not of
    these files' form, and if no topic is left.
    """
    topics: list[Topic] = []
    problems: list[str] = []
    left_out: list[str] = []
    forms: dict[str, list[str]] = {}
    in_english: list[str] = []
    for line_no, record in read_objects(path, encoding or lang):
        problem = _problem(record)
        if problem:
            problems.append(f"{path}, line {line_no}: {problem}")
            continue
        qid = str(record.get("topic_id", ""))
        form, text = _text(record, lang, translation)
        query, description = query_and_description(text.get("topic_title"), text.get("topic_description"), fields)
        if not qid or not query:
            left_out.append(qid or f"line {line_no}")
            continue
        narrated, narrative = _narrative(record, lang, translation, collection or lang)
        in_english += [qid] if lang != "eng" and narrated in (ORIGINALS, LEVELLED) else []
        if form != narrated:
            form = f"{form}, {f'with the instruction as {narrated}' if narrated else 'without an instruction'}"
        forms.setdefault(form, []).append(qid)
        instructions = {"original": narrative} if narrative else {}
        topics.append(Topic(qid, lang, query, instructions, description=description))
    fail(problems)
    for form, qids in forms.items():
        log.info(f"{path}: {number_of(len(qids), 'topic')} as {form}")
    if in_english:
        warn(f"{path}: instructions of {number_of(len(in_english), 'topic')} are in English, the queries in {lang}")
    if left_out:
        warn(f"{path}: {len(left_out)} topics have no such text and are left out: {brief(left_out)}")
    sought = f"in {lang}, translation {translation}, with {fields}"
    fail([] if topics else [f"{path}: no topic {sought}; try another query_lang=, translation= or fields="])
    return topics_with_ids(topics, path)


def _problem(record: dict[str, Any]) -> str:
    """Return the problem with the ids, texts or narratives of a line, else an empty text; all may be missing."""
    qid, entries, narratives = record.get("topic_id", ""), record.get("topics"), record.get("narratives")
    if qid != "" and not word_of(qid):
        return f"topic_id is {qid!r}, expected a word"
    if not isinstance(entries, list | None) or not all(isinstance(entry, dict) for entry in entries or []):
        return f"topics is {repr(entries)[:60]}, expected a list of objects"
    if not all(isinstance(entry.get("topic_narrative"), str | None) for entry in entries or []):
        return f"topic {qid}: a topic_narrative is no text"
    if not isinstance(narratives, dict | None):
        return f"narratives is {repr(narratives)[:60]}, expected an object"
    for narrative in (narratives or {}).values():
        if not isinstance(narrative, dict | None) or not all(
            isinstance(text, str | None) for text in (narrative or {}).values()
        ):
            return f"topic {qid}: narratives hold {repr(narrative)[:60]}, expected texts by level"
    return ""


def _text(record: dict[str, Any], lang: str, translation: str) -> tuple[str, dict[str, Any]]:
    """Return the kind of translation and its entry; of several machines' the one with the latest tag."""
    in_lang = (entry for entry in record.get("topics") or [] if code_of(str(entry.get("lang"))) == lang)
    entries = {str(entry.get("source")): entry for entry in in_lang}
    if lang == "eng":
        return ORIGINALS, entries.get(ORIGINAL, {})
    machines = sorted(entries.keys() - {HUMAN, ORIGINAL})
    if translation == "human" or (translation == "any" and (HUMAN in entries or not machines)):
        return "human translations", entries.get(HUMAN, {})
    return "machine translations", entries[machines[-1]] if machines else {}


def _narrative(record: dict[str, Any], lang: str, translation: str, collection: str) -> tuple[str, str]:
    """Return the kind of narrative and the instruction: the entry's own narrative first, then the nearest other."""
    for spoken, kind in ((lang, translation), (lang, "machine"), ("eng", "any")):
        form, entry = _text(record, spoken, kind)
        if (entry.get("topic_narrative") or "").strip():
            return form, entry["topic_narrative"].strip()
    levels = (record.get("narratives") or {}).get(collection)
    return (LEVELLED, instruction_of_levels(levels)) if levels else ("", "")


def instruction_of_levels(levels: dict[str, str]) -> str:
    """Return one instruction made of HC4's four levels: what is relevant, what is less so, what is not."""
    parts = []
    for name, form in LEVELS:
        lines = [line.strip(" \t-•") for line in (levels.get(name) or "").splitlines()]
        lines_with_text = [line for line in lines if line and line.upper().rstrip(".") not in ("N/A", "NA", "NONE")]
        if lines_with_text:
            parts.append(form.format(" ".join(line if line[-1] in ".!?" else f"{line}." for line in lines_with_text)))
    return " ".join(parts)


ROWS = {"heed": _json_rows, "tsv": _tab_rows, "trec": _trec_rows}  # by form

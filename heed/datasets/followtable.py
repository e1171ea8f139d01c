"""FollowTable in its two published layouts: the BEIR form, and the raw release."""

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from heed.errors import DataError, fail
from heed.io.files import parse_json, read_bytes
from heed.io.topics import read_objects, with_bases
from heed.io.trec_files import read_qrels
from heed.types import Qrels, Topic

SUBSETS = ("WQT", "WTR", "TArX", "IndusTR")
JOIN = "{instruction} [SEP] {query}"  # of the published queries.jsonl
# The release's README: content boundary and exclusion, then attributes, entities and granularity of the schema
TYPES = {"1.1": "C1", "1.2": "C2", "2.1": "S1", "2.2": "S2", "2.3": "S3"}
RAW = "query_instruction.json"


class FollowTable(NamedTuple):
    """One subset: topics (``3`` asks a query alone, ``3_0`` with an instruction), qrels by condition, tables."""

    topics: list[Topic]
    qrels: dict[str, Qrels]
    tables: list[Path]


def is_followtable(folder: Path) -> bool:
    """Return whether ``folder`` holds a subset in one of the two layouts."""
    return (folder / RAW).is_file() or (folder / "only_queries.jsonl").is_file()


def read_followtable(folder: Path) -> FollowTable:
    """Read a subset; raises :class:`DataError` naming file and place of what is missing, malformed or repeated."""
    subset = _read_raw(folder) if (folder / RAW).is_file() else _read_beir(folder)
    times = Counter(topic.qid for topic in subset.topics)
    fail(f"{folder}: topic {qid} comes twice; keep one" for qid in sorted(times) if times[qid] > 1)
    alone = [topic.qid for topic in subset.topics if topic.instructions and not topic.base]
    fail(f"{folder}: topic {qid} has no query of its own, with the same text, in only_queries.jsonl" for qid in alone)
    if not any(topic.instructions for topic in subset.topics):
        raise DataError(f"{folder}: no query with an instruction in it")
    return subset


def constraint(raw: object) -> str:
    """Return the constraint C1, C2, S1, S2 or S3 of a raw type such as ``2.3.1``; empty for another."""
    return next((name for start, name in TYPES.items() if str(raw).startswith(start)), "")


def _read_beir(folder: Path) -> FollowTable:
    corpus = [path for path in (folder / "corpus.jsonl.gz", folder / "corpus.jsonl") if path.is_file()]
    fail([] if corpus else [f"{folder}: no corpus.jsonl or corpus.jsonl.gz beside only_queries.jsonl"])
    topics = []
    for line_no, record in read_objects(folder / "only_queries.jsonl"):
        place = f"{folder / 'only_queries.jsonl'}, line {line_no}"
        topics.append(Topic(_word(record, "_id", place), "eng", _text(record, "text", place), {}))
    path = folder / "queries.jsonl"
    for line_no, record in read_objects(path):
        topics.append(_instructed(record, f"{path}, line {line_no}"))
    qrels = {"query": read_qrels(folder / "qrels" / "for_only_query_test.tsv")}
    return FollowTable(with_bases(topics), qrels | {"original": read_qrels(folder / "qrels" / "test.tsv")}, corpus[:1])


def _instructed(record: dict[str, Any], place: str) -> Topic:
    """Return the topic of a line of queries.jsonl; without metadata its text is split at the separator."""
    about = record.get("metadata")
    if not about:
        instruction, mark, query = _text(record, "text", place).rpartition(" [SEP] ")
        if not mark or not query.strip() or not instruction.strip():
            raise DataError(f"{place}: no metadata and no instruction [SEP] query in text")
        about = {"origin_query": query, "instruction": instruction}
    [about] = _objects([about], "metadata", place)
    instructions = {"original": _text(about, "instruction", place)}
    query = _text(about, "origin_query", place)
    return Topic(_word(record, "_id", place), "eng", query, instructions, constraint(about.get("instruction_type", "")))


def _read_raw(folder: Path) -> FollowTable:
    path = folder / RAW
    try:
        entries = parse_json(read_bytes(path).decode("utf-8-sig"))
    except ValueError as error:
        raise DataError(f"{path}: not JSON ({error}); expected a list of queries") from error
    topics: list[Topic] = []
    qrels: dict[str, Qrels] = {"query": {}, "original": {}}
    for number, entry in enumerate(_objects(entries, "the file", str(path))):
        place, qid = f"{path}, query {number}", str(number)
        outs = _objects(entry.get("outs"), "outs", place)
        if not outs:
            continue  # released without instructions: published subsets leave such queries out
        query = _text(entry, "query", place)
        topics.append(Topic(qid, "eng", query, {}))
        qrels["query"][qid] = dict.fromkeys(_docids(entry, "query_positive", place), 1)
        for index, out in enumerate(outs):
            full_qid, of_out = f"{qid}_{index}", f"{place}, outs {index}"
            instructions = {"original": _text(out, "instruction", of_out)}
            topics.append(Topic(full_qid, "eng", query, instructions, constraint(out.get("instruction_type")), qid))
            qrels["original"][full_qid] = dict.fromkeys(_docids(out, "instruction_positive", of_out), 1)
    return FollowTable(topics, qrels, [folder / "tables"])


def _objects(value: Any, name: str, place: str) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise DataError(f"{place}: {name} is {repr(value)[:60]}, expected objects with text fields")
    return value


def _docids(record: dict[str, Any], name: str, place: str) -> list[str]:
    files = record.get(name)
    if not isinstance(files, list) or not all(isinstance(file, str) and file.split() == [file] for file in files):
        raise DataError(f"{place}: {name} is not a list of table files")
    return [file.removesuffix(".txt") for file in files]


def _word(record: dict[str, Any], name: str, place: str) -> str:
    word = _text(record, name, place)
    if word.split() != [record[name]]:
        raise DataError(f"{place}: {name} is {record[name]!r}, expected a word")
    return word


def _text(record: dict[str, Any], name: str, place: str) -> str:
    text = record.get(name)
    if not isinstance(text, str) or not text.strip():
        raise DataError(f"{place}: no text in {name} (found {', '.join(record) or 'no field'})")
    return text.strip()

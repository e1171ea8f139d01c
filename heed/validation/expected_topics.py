"""The topics that a run must answer and the documents that it may rerank, from files of any form."""

from pathlib import Path

from heed.errors import DataError, UsageError
from heed.io.files import read_lines
from heed.io.pools import read_pool
from heed.io.run_formats import read_any_run
from heed.io.topic_files import read_topics, recognised
from heed.io.topics import read_jsonl_topics, read_objects

Topics = dict[str, frozenset[str]]  # qid -> languages of the topic, as far as they are known
NONE: frozenset[str] = frozenset()


def expected_topics(path: Path, condition: str | None = None) -> Topics:
    """Read the topics of a file in any form that the commands read, or of a plain list of ids.

    With ``condition``, only those that have it. Raises :class:`DataError` for bad lines, and if
    there is no topic.
    """
    ids = _plain_list(path)
    form = "list" if ids else recognised(path)
    if form in ("list", "tsv", "trec"):
        if condition not in (None, "query"):
            raise UsageError(f"{path}: a {form} of topics has no conditions; leave --condition out")
        topics = dict.fromkeys(ids or (topic.qid for topic in read_topics(path, "", "title", form)), NONE)
    else:
        topics = _neuclir(path) if form == "neuclir" else _heed(path, condition)
    if not topics:
        raise DataError(f"{path}: no topic{f' under condition {condition}' if condition else ''} in it")
    return topics


def _plain_list(path: Path) -> list[str]:
    """Return the ids of a file with one word a line; nothing for another file."""
    if path.name.removesuffix(".gz").endswith((".json", ".jsonl")):
        return []
    ids = []
    for _, line in read_lines(path):
        words = line.split()
        if len(words) > 1 or words[:1] == ["<top>"]:
            return []
        ids += words
    return ids


def _neuclir(path: Path) -> Topics:
    topics: Topics = {}
    for line_no, record in read_objects(path):
        qid = record.get("topic_id")
        if not isinstance(qid, str | int) or not str(qid):
            raise DataError(f"{path}, line {line_no}: topic_id is {qid!r}, expected an id")
        entries = record.get("topics")
        texts = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
        topics[str(qid)] = frozenset(str(text["lang"]) for text in texts if text.get("lang"))
    return topics


def _heed(path: Path, condition: str | None) -> Topics:
    languages = sorted({str(record.get("lang", "")) for _, record in read_objects(path)})
    topics: dict[str, set[str]] = {}
    for lang in languages:
        for topic in read_jsonl_topics(path, lang, "title"):
            if condition is None or topic.has(condition):
                topics.setdefault(topic.qid, set()).update({lang} - {""})
    return {qid: frozenset(langs) for qid, langs in topics.items()}


def read_candidates(path: Path) -> dict[str, set[str]]:
    """Read the documents that may be reranked, by topic, from a run or a pool (.jsonl)."""
    is_pool = path.name.endswith((".jsonl", ".jsonl.gz"))
    lists = read_pool(path) if is_pool else read_any_run(path)
    return {qid: set(docids) for qid, docids in lists.items()}

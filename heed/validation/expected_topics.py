"""Which topics a run must answer, from whatever file the user has of them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from heed.errors import HeedError
from heed.io.files import read_lines
from heed.io.topic_files import read_topics, recognised
from heed.io.topics import read_jsonl_topics, read_objects
from heed.types import Topic, under

Topics = dict[str, frozenset[str]]  # qid -> languages that the topic is written in, as far as they are told
NONE: frozenset[str] = frozenset()


def expected_topics(path: Path, condition: str | None = None) -> Topics:
    """The topics of a file in any form that the commands read, or of a plain list of ids.

    With ``condition``, those that can be asked under it. Raises :class:`HeedError` for bad lines, and if
    there is no topic.
    """
    ids = _plain_list(path)
    form = "list" if ids else recognised(path)
    if form in ("list", "tsv", "trec"):
        if condition not in (None, "query"):
            raise HeedError(f"{path}: a {form} of topics has no conditions; leave --condition out")
        found = dict.fromkeys(ids or (topic.qid for topic in read_topics(path, "", "title", form)), NONE)
    elif form == "neuclir":
        found = _neuclir(path)
    else:
        found = _heed(path, condition)
    if not found:
        raise HeedError(f"{path}: no topic{f' under condition {condition}' if condition else ''} in it")
    return found


def _plain_list(path: Path) -> list[str]:
    """The ids of a file with one word a line, else nothing."""
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
    found: Topics = {}
    for line_no, record in read_objects(path):
        qid = record.get("topic_id")
        if not isinstance(qid, str | int) or not str(qid):
            raise HeedError(f"{path}, line {line_no}: topic_id is {qid!r}, expected an id")
        entries = record.get("topics")
        texts = [one for one in entries if isinstance(one, dict)] if isinstance(entries, list) else []
        found[str(qid)] = frozenset(str(one["lang"]) for one in texts if one.get("lang"))
    return found


def _heed(path: Path, condition: str | None) -> Topics:
    languages = sorted({str(record.get("lang", "")) for _, record in read_objects(path)})
    found: dict[str, set[str]] = {}
    for lang in languages:
        topics: Iterable[Topic] = _asked(read_jsonl_topics(path, lang, "title"), condition)
        for topic in topics:
            found.setdefault(topic.qid, set()).update({lang} - {""})
    return {qid: frozenset(spoken) for qid, spoken in found.items()}


def _asked(topics: Sequence[Topic], condition: str | None) -> Sequence[Topic]:
    return under(topics, condition) if condition else topics

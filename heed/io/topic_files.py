"""Topics, judgements and lists of documents that the user names, whatever their form."""

import argparse
from pathlib import Path

from heed.errors import HeedError, fail
from heed.io.files import UNREADABLE, open_packed
from heed.io.neuclir_topics import Wanted, read_neuclir_topics
from heed.io.topics import read_jsonl_topics, read_objects, read_tsv_topics
from heed.io.trec_files import read_qrels
from heed.io.trec_topics import read_trec_topics
from heed.types import Qrels, Topic

HEAD = 1 << 16
JSON = (".json", ".jsonl", ".json.gz", ".jsonl.gz")


def read_topics(path: Path, lang: str, fields: str, form: str | None = None) -> list[Topic]:
    """The topics of ``path`` in language ``lang``; their form is recognised unless ``form`` names it.

    Raises :class:`HeedError` for bad lines, for a form that this command does not read, and if
    there is no topic.
    """
    form = form or recognised(path)
    if form == "tsv":
        topics = read_tsv_topics(path, lang)
    elif form == "trec":
        topics = read_trec_topics(path, lang, fields)
    elif form == "heed":
        topics = read_jsonl_topics(path, lang, fields)
    elif form == "neuclir":
        topics = read_neuclir_topics(path, Wanted(lang, lang, "any", fields))
    else:
        raise HeedError(f"{path}: topics in {form}'s form; they belong to python -m pipelines.neuclir")
    fail([] if topics else [f"{path}: no topic in {lang}; expected at least one; name their language with --lang"])
    return topics


def recognised(path: Path) -> str:
    """The form of a topics file: by its suffix and first lines, else by the fields of its first object."""
    if b"<top" in _head(path).lower() and not path.name.endswith(JSON):  # TREC's own names have no suffix
        return "trec"
    if path.name.removesuffix(".gz").endswith((".tsv", ".txt")):
        return "tsv"
    first = next(iter(read_objects(path)), None)
    if first is None:
        raise HeedError(f"{path}: empty; expected one topic a line")
    return "neuclir" if "topic_id" in first[1] else "heed"


def _head(path: Path) -> bytes:
    """The first bytes, whatever their encoding: TREC's own files are older than UTF-8."""
    try:
        with open_packed(path) as stream:
            return stream.read(HEAD)
    except UNREADABLE as error:
        raise HeedError(f"{path}: cannot be read ({error})") from error


def given_qrels(options: argparse.Namespace, only_language: str | None = None) -> dict[str, Qrels]:
    """The judgements that --qrels, --changed-qrels and --reversed-qrels name, by condition."""
    given = {"original": options.qrels, "changed": options.changed_qrels, "reversed": options.reversed_qrels}
    return {name: read_qrels(path, only_language) for name, path in given.items() if path}


def read_listed(path: Path) -> dict[str, set[str]]:
    """Documents by qid from JSON lines of ``query-id`` and ``corpus-ids``, as MTEB's ``qrel_diff`` has them."""
    listed: dict[str, set[str]] = {}
    for line_no, record in read_objects(path):
        qid, docids = record.get("query-id"), record.get("corpus-ids")
        if not isinstance(qid, str) or not isinstance(docids, list) or not all(isinstance(one, str) for one in docids):
            raise HeedError(f"{path}, line {line_no}: expected query-id and corpus-ids, a list of docids in quotes")
        listed.setdefault(qid, set()).update(docids)
    return listed

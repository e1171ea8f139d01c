"""Topics, judgements and lists of documents in the user's files, in any form that Heed reads."""

from dataclasses import dataclass
from pathlib import Path

from heed.errors import DataError, UsageError, fail
from heed.io.files import UNREADABLE, open_packed
from heed.io.neuclir_topics import Wanted, read_neuclir_topics
from heed.io.topics import read_jsonl_topics, read_objects, read_trec_topics, read_tsv_topics
from heed.io.trec_files import read_qrels
from heed.types import Qrels, Topic

HEAD = 1 << 16
JSON = (".json", ".jsonl", ".json.gz", ".jsonl.gz")


def read_topics(path: Path, lang: str, fields: str, form: str | None = None) -> list[Topic]:
    """Return the topics of ``path`` in language ``lang``; their form is recognised unless ``form`` names it.

    Raises :class:`DataError` for bad lines and a file without topics, :class:`UsageError` for another form.
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
        raise UsageError(f"{path}: topics in {form}'s form; they belong to python -m pipelines.neuclir")
    fail([] if topics else [f"{path}: no topic in {lang}; expected at least one; name their language with --lang"])
    return topics


def recognised(path: Path) -> str:
    """Return the form of a topics file: by its suffix and first lines, else by the fields of its first object."""
    if b"<top" in _head(path).lower() and not path.name.endswith(JSON):  # TREC's own names have no suffix
        return "trec"
    if path.name.removesuffix(".gz").endswith((".tsv", ".txt")):
        return "tsv"
    first = next(iter(read_objects(path)), None)
    if first is None:
        raise DataError(f"{path}: empty; expected one topic a line")
    return "neuclir" if "topic_id" in first[1] else "heed"


def _head(path: Path) -> bytes:
    """Return the first bytes, whatever their encoding: TREC's own files are older than UTF-8."""
    try:
        with open_packed(path) as stream:
            return stream.read(HEAD)
    except UNREADABLE as error:
        raise DataError(f"{path}: cannot be read ({error})") from error


@dataclass(frozen=True)
class OwnFiles:
    """Documents, topics and judgements of the user's own; ``docs`` and ``topics`` may also be ids of ir_datasets."""

    docs: tuple[str, ...] = ()
    topics: str | None = None
    topics_format: str | None = None
    qrels: Path | None = None
    changed_qrels: Path | None = None
    reversed_qrels: Path | None = None

    def judgements(self, only_language: str | None = None) -> dict[str, Qrels]:
        """Read the judgements by condition; see :func:`heed.io.trec_files.read_qrels` for ``only_language``."""
        paths = {"original": self.qrels, "changed": self.changed_qrels, "reversed": self.reversed_qrels}
        return {condition: read_qrels(path, only_language) for condition, path in paths.items() if path}


NO_FILES = OwnFiles()


def read_listed(path: Path) -> dict[str, set[str]]:
    """Return documents by qid from JSON lines of ``query-id`` and ``corpus-ids``, as MTEB's ``qrel_diff`` has them."""
    listed: dict[str, set[str]] = {}
    for line_no, record in read_objects(path):
        qid, docids = record.get("query-id"), record.get("corpus-ids")
        if (
            not isinstance(qid, str)
            or not isinstance(docids, list)
            or not all(isinstance(docid, str) for docid in docids)
        ):
            raise DataError(f"{path}, line {line_no}: expected query-id and corpus-ids, a list of docids in quotes")
        listed.setdefault(qid, set()).update(docids)
    return listed

"""Topics, judgements and lists of documents in the user's files, in any form that Heed reads."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from heed.data import Data
from heed.errors import DataError, UsageError, fail
from heed.files import read_objects, read_pieces, read_text, unpacked_name
from heed.formats.data_set_folders import is_data_set, test_qrels
from heed.formats.data_set_rows import grades_of, parsed, read_queries, read_rows
from heed.formats.neuclir_topics import TopicTexts, read_neuclir_topics
from heed.formats.topic_ids import topics_with_ids, with_ids
from heed.formats.topics import WEB, read_jsonl_topics, read_tsv_topics
from heed.formats.trec_files import as_judged, read_qrels
from heed.formats.trec_topics import read_trec_topics
from heed.types import Qrels, Topic

JSON = (".json", ".jsonl")
ROWS = (".jsonl", ".parquet")


def read_topics(path: Path, lang: str, fields: str, form: str = "", encoding: str | None = None) -> list[Topic]:
    """Return the topics of ``path`` in language ``lang``; their form is recognised unless ``form`` names it.

    ``path`` is a file, or the folder of a data set in BEIR's or MTEB's layout. A file that is not UTF-8 is in
    ``encoding`` or, without one, in one of the language's. Raises :class:`DataError` for bad lines and a file without
    topics, :class:`UsageError` for another form.
    """
    encoding = encoding or lang
    if not form and is_data_set(path):
        if fields != "title":
            raise UsageError(f"{path}: queries of a data set have one text, no {fields}; expected fields title")
        return read_queries(path, lang, encoding=encoding)
    form = form or recognised(path, encoding)
    if form == "tsv":
        topics = read_tsv_topics(path, lang, fields, encoding)
    elif form == "trec":
        topics = read_trec_topics(path, lang, fields, encoding)
    elif form == "heed":
        topics = read_jsonl_topics(path, lang, fields, encoding)
    elif form == "neuclir":
        topics = read_neuclir_topics(path, TopicTexts(lang, lang, "any", fields), encoding)
    else:
        raise UsageError(f"{path}: topics in {form}'s form; they belong to heed neuclir")
    return topics_with_ids(topics, path)


def recognised(path: Path, encoding: str | None = None) -> str:
    """Return the form of a topics file: by its beginning and suffix, and of JSON by the keys of its first object."""
    head, name = next(read_pieces(path), (1, b""))[1], unpacked_name(path)
    first = head.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0].decode(errors="replace").rstrip()
    if not name.endswith(JSON) and not first.startswith("{"):
        if first.startswith("<") or b"\n<top" in head.lower():
            return "trec"
        if name.endswith((".tsv", ".txt")) or "\t" in first or WEB.fullmatch(first):
            return "tsv"
        expected = "TREC's <top>, JSON lines, or qid, tab and query; topics_format names the form"
        raise DataError(f"{path}: begins {first[:60]!r}; expected {expected}")
    record = next(iter(read_objects(path, encoding)), None)
    if record is None:
        raise DataError(f"{path}: empty; expected one topic a line")
    return "neuclir" if "topic_id" in record[1] else "heed"


def read_judgements(path: Path, only_language: str | None = None, encoding: str | None = None) -> Qrels:
    """Return the qrels of a file in TREC's, BEIR's, MTEB's or JSON's form, or of the test split of a data set's folder.

    Raises :class:`DataError` as the readers of these forms do; see :func:`heed.formats.trec_files.read_qrels` for
    ``only_language``.
    """
    files = test_qrels(path) if is_data_set(path) else [path]
    fail([] if files else [f"{path}: no judgements in it; expected qrels/test.tsv"])
    if len(files) == 1 and unpacked_name(files[0]).endswith(".json"):
        try:  # as pytrec_eval, ranx and BEIR take them
            content = read_text(files[0], encoding)
            return as_judged(msgspec.json.decode(content, type=Qrels, strict=False), files[0])
        except (msgspec.MsgspecError, ValueError) as error:
            raise DataError(f'{path}: {error}; expected grades by docid by qid, as {{"1": {{"d1": 2}}}}') from error
    if len(files) == 1 and not unpacked_name(files[0]).endswith(ROWS):
        return read_qrels(files[0], only_language, encoding)
    return grades_of(read_rows(files, encoding))


def given_judgements(data: Data, lang: str, only_language: str | None = None) -> dict[str, Qrels]:
    """Return the judgements that ``data`` names, by condition; see :func:`read_judgements`."""
    encoding = data.encoding or lang
    return {condition: read_judgements(path, only_language, encoding) for condition, path in data.judged.items()}


def judged_topics(topics: list[Topic], qrels: Mapping[str, Qrels]) -> list[Topic]:
    """Return the topics that are judged under some condition, or all if none is."""
    judged = {qid for grades in qrels.values() for qid in grades}
    return [topic for topic in topics if topic.qid in judged] or topics


def read_listed(path: Path) -> dict[str, set[str]]:
    """Return documents by qid from rows of ``query-id`` and ``corpus-ids``, as MTEB's ``qrel_diff`` has them."""
    listed: dict[str, set[str]] = {}
    for qid, docids in parsed(read_rows([path]), lambda row: (row.word("query-id"), row.words("corpus-ids"))):
        listed.setdefault(qid, set()).update(docids)
    return with_ids(listed, path)

"""A pool as a folder, in the layout of MTEB and FollowIR's data and in Relevation's, and the results of Relevation."""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from heed.errors import DataError, UsageError, fail
from heed.files import digest, parse_json, read_text, write_bytes, write_json
from heed.judging.exchange.exported_pool import ExportedPool, documents, new_folder
from heed.judging.exchange.records import Label, Record, label_of
from heed.progress import log
from heed.types import UNJUDGED

Row = dict[str, Any]

SPLIT = "test"
GROUP = 2000  # rows in memory
# the queries of each condition with FollowIR's endings: its measure compares changed with original
ENDINGS = {
    "query": {"query": ""},
    "original": {"original": "-og"},
    "changed": {"original": "-og", "changed": "-changed"},
}
README = """---
configs:
{configs}
---
A pool of {documents} documents for {topics} topics, exported by Heed (python -m pipelines.pool).
All judgements in `default` are {unjudged}, unjudged: once they are made, put a file with them in its place
and its name in the list above.
"""
README_CONFIG = """- config_name: {name}
  data_files:
  - split: {split}
    path: {name}/{file}"""

ID_MAP = "ids.json"
QUERY_LENGTH = 250  # characters, Query.text of Relevation's models.py
NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")  # Query.qId, an integer of 31 bits
FILE_NAME = re.compile(r"[A-Za-z0-9_+][A-Za-z0-9_+.-]{0,199}")  # a first dot hides a file, a first dash is an option


def write_mteb(path: Path, exported: ExportedPool) -> None:
    """Write ``corpus``, ``queries``, ``top_ranked``, ``default`` (qrels) and ``instruction`` as Parquet in a folder.

    Under ``query`` there is no ``instruction`` and the query ids are the topics'. Under ``original``
    they end in ``-og``; ``changed`` gives the pair, ``-og`` and ``-changed``, as FollowIR has it (of
    a topic without an original instruction only ``-changed``). Every document of the pool has
    grade -1 in the qrels, unjudged: MTEB drops topics without any. Raises :class:`UsageError` for
    other conditions, which the layout does not have.
    """
    if exported.condition not in ENDINGS:
        raise UsageError(f"condition {exported.condition}: not in MTEB's layout; export {', '.join(ENDINGS)}")
    queries = {
        qid + ending: (qid, condition)
        for qid in exported.pool
        for condition, ending in ENDINGS[exported.condition].items()
        if condition == "query" or condition in exported.topics[qid].instructions
    }
    with new_folder(path) as part:
        files = {config: _write_parquet(part / config, rows) for config, rows in _configs(exported, queries).items()}
        write_bytes(part / "README.md", _readme(files, exported).encode())


def _configs(exported: ExportedPool, queries: dict[str, tuple[str, str]]) -> dict[str, Iterator[Row]]:
    """Return the rows of each config; ``queries`` holds topic and condition by query id."""
    topics, pool = exported.topics, exported.pool
    listed = {full: pool[qid] for full, (qid, _) in queries.items()}
    corpus = documents(exported, list(dict.fromkeys(chain.from_iterable(pool.values()))))
    configs: dict[str, Iterator[Row]] = {
        "corpus": ({"_id": docid, "title": title, "text": text} for docid, title, text, *_ in corpus),
        "queries": ({"_id": full, "text": topics[qid].query} for full, (qid, _) in queries.items()),
        "top_ranked": ({"query-id": full, "corpus-ids": docids} for full, docids in listed.items()),
        "default": (
            {"query-id": full, "corpus-id": docid, "score": UNJUDGED}
            for full, docids in listed.items()
            for docid in docids
        ),
    }
    if exported.condition != "query":
        texts_of = ((full, topics[qid].instructions[condition]) for full, (qid, condition) in queries.items())
        configs["instruction"] = ({"query-id": full, "instruction": text} for full, text in texts_of)
    return configs


def _write_parquet(folder: Path, rows: Iterator[Row]) -> str:
    """Write one config and return its file's name; its columns have MTEB's types, so that no id becomes a number."""
    import pyarrow
    import pyarrow.parquet

    types = {"corpus-ids": pyarrow.list_(pyarrow.string()), "score": pyarrow.int32()}
    group = list(islice(rows, GROUP))
    schema = pyarrow.schema([(name, types.get(name, pyarrow.string())) for name in group[0]])
    folder.mkdir()
    draft = folder / "draft.parquet"
    with pyarrow.parquet.ParquetWriter(draft, schema) as writer:
        while group:
            writer.write_table(pyarrow.Table.from_pylist(group, schema))
            group = list(islice(rows, GROUP))
    # the digest, as in hub repositories: the datasets library caches a local folder by the names in its
    # README alone, and would return the data of an earlier export to the same place
    return draft.rename(folder / f"{SPLIT}-00000-of-00001-{digest(draft)[:16]}.parquet").name


def _readme(files: dict[str, str], exported: ExportedPool) -> str:
    configs = "\n".join(README_CONFIG.format(name=name, split=SPLIT, file=file) for name, file in files.items())
    count = len(set(chain.from_iterable(exported.pool.values())))
    return README.format(configs=configs, documents=count, topics=len(exported.pool), unjudged=UNJUDGED)


def write_relevation(path: Path, exported: ExportedPool) -> None:
    """Write ``queries.tsv``, ``pool.txt``, ``documents/``, ``ids.json`` and, with a condition, ``instructions.txt``.

    Relevation (Koopman and Zuccon, SIGIR 2014; Python 2.7 and Django 1) has whole numbers as topics, and documents
    that are files named in its URLs with letters, digits, ``_ - + .`` (judgementapp/models.py and urls.py), so other
    ids are renamed. It holds 250 characters of a query and no instruction: the instructions are written to a file for
    the assessors to read.

    Raises :class:`DataError` for a query of more than 250 characters, or one that holds a tab or line end.
    """
    queries = {qid: exported.topics[qid].query for qid in exported.pool}
    fail(
        f"topic {qid}: its query has {len(query)} characters and {len(query.splitlines())} lines; "
        f"Relevation takes one line of {QUERY_LENGTH} characters at most, shorten the query"
        for qid, query in queries.items()
        if len(query) > QUERY_LENGTH or len(query.splitlines()) != 1 or "\t" in query
    )
    numbers = _numbers(list(exported.pool))
    docids = list(dict.fromkeys(chain.from_iterable(exported.pool.values())))
    names = _file_names(docids)
    with new_folder(path) as part:
        _write_lines(part / "queries.tsv", (f"{numbers[qid]}\t{query}" for qid, query in queries.items()))
        _write_lines(part / "pool.txt", _pool_lines(exported, numbers, names))
        if exported.condition != "query":
            texts_of = {qid: exported.topics[qid].instructions[exported.condition] for qid in exported.pool}
            _write_lines(part / "instructions.txt", (f"{numbers[qid]}\n{text}\n" for qid, text in texts_of.items()))
        (part / "documents").mkdir()
        for document in documents(exported, docids):
            (part / "documents" / names[document.docid]).write_bytes(document.contents().encode())
        inverted = [{new: old for old, new in ids.items()} for ids in (numbers, names)]
        write_json(part / ID_MAP, dict(zip(("topics", "documents"), inverted, strict=True)))
    renamed = sum(name != docid for docid, name in names.items())
    log.info(
        f"{path / ID_MAP}: {renamed} of {len(names)} documents are renamed; give it with Relevation's qrels (--map)"
    )


def _pool_lines(exported: ExportedPool, numbers: dict[str, str], names: dict[str, str]) -> Iterable[str]:
    for qid, docids in exported.pool.items():
        for rank, docid in enumerate(docids, 1):
            yield f"{numbers[qid]} Q0 {names[docid]} {rank} {len(docids) - rank + 1} pool"


def _numbers(qids: list[str]) -> dict[str, str]:
    """Return each qid as a whole number: itself if all are numbers, else its position in the pool."""
    if all(map(NUMBER.fullmatch, qids)):
        return {qid: qid for qid in qids}
    return {qid: str(number) for number, qid in enumerate(qids, 1)}


def _file_names(docids: list[str]) -> dict[str, str]:
    """Return each docid as the name of a file: itself where it can be one, else a unique number.

    Two names must differ in more than capital letters, which some file systems ignore.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for docid in docids:
        if FILE_NAME.fullmatch(docid) and docid.lower() not in taken:
            names[docid] = docid
            taken.add(docid.lower())
    number = 0
    for docid in docids:
        while docid not in names:
            number += 1
            if f"document-{number}" not in taken:
                names[docid] = f"document-{number}"
    return {docid: names[docid] for docid in docids}


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    write_bytes(path, "".join(f"{line}\n" for line in lines).encode())


def relevation_parser(id_map: Path) -> Callable[[Record], list[Label]]:
    """Return the parser of Relevation's qrels, with the pool's ids from the map that the export wrote.

    Column 2 is the assessor in later versions of Relevation, else Q0. Raises :class:`DataError` for a file that is no
    map and for an unknown id.
    """
    try:
        ids = parse_json(read_text(id_map))
        names = {"qid": dict(ids["topics"]), "docid": dict(ids["documents"])}
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{id_map}: not a map of ids ({error!r}); give ids.json of the export for Relevation"
        ) from error

    def parse(record: Record) -> list[Label]:
        fields = record.fields
        unknown = [f"{field} {fields[field]}" for field, known in names.items() if fields[field] not in known]
        if unknown:
            raise record.problem(f"{' and '.join(unknown)} not in {id_map}; give ids.json of the same export")
        renamed = record._replace(fields={field: known[fields[field]] for field, known in names.items()})
        who = "" if fields["second"] in ("0", "Q0") else fields["second"]
        return [label_of(renamed, fields["grade"], {"assessor": who})]

    return parse

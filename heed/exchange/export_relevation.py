"""A pool as a folder for Relevation (Koopman and Zuccon, SIGIR 2014), with the map back to the pool's ids.

Relevation's topics are whole numbers, and its documents are files named in its URLs with letters,
digits, ``_ - + .`` (judgementapp/models.py and urls.py), so other ids are renamed. It
holds 250 characters of a query and no instruction: the instructions are written to a file
for the assessors to read. It runs on Python 2.7 and Django 1.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from heed.errors import fail
from heed.exchange.exported_pool import ExportedPool, new_folder, texts
from heed.io.files import write_bytes, write_json
from heed.progress import log

MAP = "ids.json"
QUERY = 250  # characters, Query.text of Relevation's models.py
NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")  # Query.qId, an integer of 31 bits
NAME = re.compile(r"[A-Za-z0-9_+][A-Za-z0-9_+.-]{0,199}")  # a first dot hides a file, a first dash is an option


def write_relevation(path: Path, exported: ExportedPool) -> None:
    """Write ``queries.tsv``, ``pool.txt``, ``documents/``, ``ids.json`` and, with a condition, ``instructions.txt``.

    Raises :class:`DataError` for a query of more than 250 characters, or one that holds a tab or line end.
    """
    queries = {qid: exported.topics[qid].query for qid in exported.pool}
    fail(
        f"topic {qid}: its query has {len(query)} characters and {len(query.splitlines())} lines; "
        f"Relevation takes one line of {QUERY} characters at most, shorten the query"
        for qid, query in queries.items()
        if len(query) > QUERY or len(query.splitlines()) != 1 or "\t" in query
    )
    numbers = _numbers(list(exported.pool))
    docids = list(dict.fromkeys(docid for docids in exported.pool.values() for docid in docids))
    names = _names(docids)
    with new_folder(path) as part:
        _write_lines(part / "queries.tsv", (f"{numbers[qid]}\t{query}" for qid, query in queries.items()))
        _write_lines(part / "pool.txt", _pool_lines(exported, numbers, names))
        if exported.condition != "query":
            instructions = (
                (numbers[qid], exported.topics[qid].instructions[exported.condition]) for qid in exported.pool
            )
            _write_lines(part / "instructions.txt", (f"{number}\n{text}\n" for number, text in instructions))
        (part / "documents").mkdir()
        for docid, title, text in texts(exported, docids):
            content = f"{title}\n{text}" if title else text
            (part / "documents" / names[docid]).write_bytes(content.encode())
        write_json(part / MAP, {"topics": _inverse(numbers), "documents": _inverse(names)})
    renamed = sum(name != docid for docid, name in names.items())
    log.info(f"{path / MAP}: {renamed} of {len(names)} documents are renamed; give it with Relevation's qrels (--map)")


def _pool_lines(exported: ExportedPool, numbers: dict[str, str], names: dict[str, str]) -> Iterable[str]:
    for qid, docids in exported.pool.items():
        for rank, docid in enumerate(docids, 1):
            yield f"{numbers[qid]} Q0 {names[docid]} {rank} {len(docids) - rank + 1} pool"


def _numbers(qids: list[str]) -> dict[str, str]:
    """Return each qid as a whole number: itself if all are numbers, else its position in the pool."""
    if all(map(NUMBER.fullmatch, qids)):
        return {qid: qid for qid in qids}
    return {qid: str(number) for number, qid in enumerate(qids, 1)}


def _names(docids: list[str]) -> dict[str, str]:
    """Return each docid as the name of a file: itself where it can be one, else a unique number.

    Two names must differ in more than capital letters, which some file systems ignore.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for docid in docids:
        if NAME.fullmatch(docid) and docid.lower() not in taken:
            names[docid] = docid
            taken.add(docid.lower())
    number = 0
    for docid in docids:
        while docid not in names:
            number += 1
            if f"document-{number}" not in taken:
                names[docid] = f"document-{number}"
    return {docid: names[docid] for docid in docids}


def _inverse(given: dict[str, str]) -> dict[str, str]:
    return {new: old for old, new in given.items()}


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    write_bytes(path, "".join(f"{line}\n" for line in lines).encode())

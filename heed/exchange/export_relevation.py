"""A pool as a folder for Relevation (Koopman and Zuccon, SIGIR 2014), with the map back to the pool's ids.

Relevation's topics are whole numbers and its documents are files that its addresses name, letters,
digits, ``_ - + .`` (judgementapp/models.py and urls.py), so other ids get a name of their own. It
holds 250 characters of a query and has no place for an instruction: the instructions lie in a file
for the assessors to read. It is Python 2.7 and Django 1.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from heed.errors import fail
from heed.exchange.export_tasks import Material, new_folder, texts
from heed.io.files import write_bytes, write_json
from heed.progress import log

MAP = "ids.json"
QUERY = 250  # characters, Query.text of Relevation's models.py
NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")  # Query.qId, an integer of 31 bits
NAME = re.compile(r"[A-Za-z0-9_+][A-Za-z0-9_+.-]{0,199}")  # a first dot hides a file, a first dash is an option


def write_relevation(path: Path, material: Material) -> None:
    """Write ``queries.tsv``, ``pool.txt``, ``documents/``, ``ids.json`` and, with a condition, ``instructions.txt``.

    Raises :class:`HeedError` for a query of more than 250 characters, or one that holds a tab or line end.
    """
    queries = {qid: material.topics[qid].query for qid in material.pool}
    fail(
        f"topic {qid}: its query has {len(query)} characters and {len(query.splitlines())} lines; "
        f"Relevation takes one line of {QUERY} characters at most, shorten the query"
        for qid, query in queries.items()
        if len(query) > QUERY or len(query.splitlines()) != 1 or "\t" in query
    )
    numbers = _numbers(list(material.pool))
    docids = list(dict.fromkeys(docid for docids in material.pool.values() for docid in docids))
    names = _names(docids)
    with new_folder(path) as part:
        _write_lines(part / "queries.tsv", (f"{numbers[qid]}\t{query}" for qid, query in queries.items()))
        _write_lines(part / "pool.txt", _pool_lines(material, numbers, names))
        if material.condition != "query":
            told = ((numbers[qid], material.topics[qid].instructions[material.condition]) for qid in material.pool)
            _write_lines(part / "instructions.txt", (f"{number}\n{instruction}\n" for number, instruction in told))
        (part / "documents").mkdir()
        for docid, title, text in texts(material, docids):
            content = f"{title}\n{text}" if title else text
            (part / "documents" / names[docid]).write_bytes(content.encode())
        write_json(part / MAP, {"topics": _inverse(numbers), "documents": _inverse(names)})
    renamed = sum(name != docid for docid, name in names.items())
    log.info(f"{path / MAP}: {renamed} of {len(names)} documents are renamed; give it with Relevation's qrels (--map)")


def _pool_lines(material: Material, numbers: dict[str, str], names: dict[str, str]) -> Iterable[str]:
    for qid, docids in material.pool.items():
        for rank, docid in enumerate(docids, 1):
            yield f"{numbers[qid]} Q0 {names[docid]} {rank} {len(docids) - rank + 1} pool"


def _numbers(qids: list[str]) -> dict[str, str]:
    """Each qid as Relevation's whole number: itself if all are, else its place in the pool."""
    if all(map(NUMBER.fullmatch, qids)):
        return {qid: qid for qid in qids}
    return {qid: str(number) for number, qid in enumerate(qids, 1)}


def _names(docids: list[str]) -> dict[str, str]:
    """Each docid as the name of a file: itself where it can be one, else a number that no other has.

    Two names must differ in more than capital letters, which some file systems do not tell apart.
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

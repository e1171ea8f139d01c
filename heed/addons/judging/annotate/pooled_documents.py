"""Read the documents of a pool from any kind of collection, with dates."""

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from heed.datasets import irds
from heed.datasets.irds import IrDataset
from heed.errors import DataError, fail
from heed.files import unpacked_name
from heed.formats.documents import SUFFIXES, DocumentLine, corpus_files, read_with_records
from heed.formats.trec_documents import is_trec_documents
from heed.progress import bar
from heed.tables.documents import ONE_TABLE, TABLE_SUFFIXES, Tables
from heed.tables.recognition import as_table

DATES = ("time", "date", "published", "timestamp")  # NeuCLIR1 and HC4 have time, Patapsco and the guidelines date
DAY = re.compile(r"\d{4}-\d\d-\d\d")
LONGEST_DATE = 40


class PooledDocument(NamedTuple):
    """A document as an assessor sees it; ``date`` may be empty, ``tabular`` says that it is displayed as a table."""

    docid: str
    title: str
    date: str
    text: str
    tabular: bool


def read_pooled(docs: Sequence[str], docids: Collection[str], encoding: str | None = None) -> Iterator[PooledDocument]:
    """Yield the documents ``docids`` of ``docs`` (files, folders or ir_datasets ids), each once, in reading order.

    Reading stops when none is left to find. Raises :class:`DataError` naming all missing documents, and the lines that
    could not be read.
    """
    missing = dict.fromkeys(docids)
    problems = []
    for line, record in bar(_lines(docs, encoding), 0, "documents", "documents"):
        if not missing:
            break
        if line.document is None:
            problems.append(f"{line.path}, line {line.line_no}: {line.problem}")
        elif line.document.docid in missing:
            docid, title, text = line.document[:3]
            del missing[docid]
            tabular = line.document.is_table or as_table(text) is not None
            yield PooledDocument(docid, title, _date(record) if record else "", text, tabular)
    collections = ", ".join(docs)
    lost = [f"document {docid} of the pool: not in {collections}; name its collection with --docs" for docid in missing]
    fail([*lost, *problems] if lost else [])


def _lines(docs: Sequence[str], encoding: str | None) -> Iterator[tuple[DocumentLine, Any]]:
    """Yield every document with the record it was read from, None if it was read from something else."""
    for name in docs:
        path, known = Path(name), irds.parse_id(name)
        if not path.exists() and known is None:
            yield from ((line, None) for line in IrDataset(name).lines())
            continue
        if not path.exists() and known is not None:
            path = irds.documents_file(known[0], known[1])
            if not path.exists():
                raise DataError(f"{path}: no documents of {name}; heed fetch says how to get them")
        files = corpus_files([path], TABLE_SUFFIXES)
        records = [file for file in files if unpacked_name(file).endswith(SUFFIXES) or is_trec_documents(file)]
        for file in records or files:  # a text file beside records is a note on them, not a document
            is_table = not records and unpacked_name(file).endswith(ONE_TABLE)
            if not is_table or unpacked_name(file).endswith(".tsv"):  # whose lines may be documents
                yield from read_with_records(file, encoding)
            if is_table:
                yield from ((line, None) for line in Tables([file], "raw", encoding=encoding).lines())


def _date(fields: dict[str, Any]) -> str:
    """Return the day of a record's date if it is in ISO 8601, else the date as it is written."""
    dates = (fields[name].strip() for name in DATES if isinstance(fields.get(name), str))
    date = next(filter(None, dates), "")
    day = DAY.match(date)
    return day[0] if day else date[:LONGEST_DATE]

"""Read the documents of a pool from any kind of collection, with dates."""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from heed.datasets import irds
from heed.datasets.irds import IrDataset
from heed.errors import DataError, fail
from heed.files import read_lines, unpacked_name
from heed.formats.documents import SUFFIXES, Line, corpus_files, parse_line, read_corpus
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


def _lines(docs: Sequence[str], encoding: str | None) -> Iterator[tuple[Line, str]]:
    """Yield every document with the JSON it was read from, empty if it was read from something else."""
    for name in docs:
        path, known = Path(name), irds.parse_id(name)
        if not path.exists() and known is None:
            yield from ((line, "") for line in IrDataset(name).lines())
            continue
        if not path.exists() and known is not None:
            path = irds.documents_file(known[0], known[1])
            if not path.exists():
                raise DataError(f"{path}: no documents of {name}; heed fetch says how to get them")
        files = corpus_files([path], TABLE_SUFFIXES)
        records = [file for file in files if unpacked_name(file).endswith(SUFFIXES) or is_trec_documents(file)]
        for file in records or files:  # a text file beside records is a note on them, not a document
            if file.suffix == ".parquet" or is_trec_documents(file):  # the hub's mirrors have no column for a date
                yield from ((line, "") for line in read_corpus([file], encoding))
            elif unpacked_name(file).endswith(ONE_TABLE):
                yield from ((line, "") for line in Tables([file], "raw", encoding=encoding).lines())
            else:
                yield from (
                    (parse_line(file, line_no, text), text)
                    for line_no, text in read_lines(file, encoding)
                    if text.strip()
                )


def _date(record: str) -> str:
    """Return the day of a record's date if it is in ISO 8601, else the date as it is written."""
    fields = json.loads(record)
    dates = (fields[name].strip() for name in DATES if isinstance(fields.get(name), str))
    date = next(filter(None, dates), "")
    day = DAY.match(date)
    return day[0] if day else date[:LONGEST_DATE]

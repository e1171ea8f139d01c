"""The documents of a pool out of a collection of any kind: with their dates, and tables told from text."""

import html
import json
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from heed.datasets import neuclir_files as irds
from heed.datasets.irds import IrDataset
from heed.errors import HeedError, fail
from heed.io.documents import SUFFIXES, Line, Source, corpus_files, parse_line, read_corpus
from heed.io.files import read_lines
from heed.progress import bar
from heed.tables.documents import ONE_TABLE, TABLE_SUFFIXES, Tables
from heed.tables.markup import HTML_TABLE, Table, parse_table

DATES = ("time", "date", "published", "timestamp")  # NeuCLIR1 and HC4 have time, Patapsco and the guidelines date
DAY = re.compile(r"\d{4}-\d\d-\d\d")
LONGEST_DATE = 40
TAG = re.compile(r"<[^<>]*>")
DRAWN_SHARE = 0.9  # of a text's words: a table that would lose more of them is shown as text


class Shown(NamedTuple):
    """A document as an assessor sees it; ``date`` may be empty, ``tabular`` says that it is drawn as a table."""

    docid: str
    title: str
    date: str
    text: str
    tabular: bool


def read_shown(docs: Sequence[str], wanted: Collection[str]) -> Iterator[Shown]:
    """The documents ``wanted`` among ``docs`` (files, folders or ir_datasets ids), each once, as they are met.

    Reading ends when all are found. Raises :class:`HeedError` naming all that are not there, and what could not be
    read instead.
    """
    missing = dict.fromkeys(wanted)
    problems = []
    for line, record in bar(_lines(docs), 0, "documents", "documents"):
        if not missing:
            break
        if line.document is None:
            problems.append(f"{line.path}, line {line.line_no}: {line.problem}")
        elif line.document.docid in missing:
            docid, title, text = line.document[:3]
            del missing[docid]
            tabular = line.document.is_table or drawn(text) is not None
            yield Shown(docid, title, _date(record) if record else "", text, tabular)
    where = ", ".join(docs)
    lost = [f"document {docid} of the pool: not in {where}; name its collection with --docs" for docid in missing]
    fail([*lost, *problems] if lost else [])


def drawn(text: str) -> Table | None:
    """The table that ``text`` is, in HTML or Markdown; None for running text, also with a table inside.

    A table is drawn only where at most a tenth of the text's words are lost by it: an assessor must see them all.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if not HTML_TABLE.search(text) and 2 * sum("|" in line for line in lines) < len(lines):
        return None
    try:
        table = parse_table(text)
    except HeedError:  # a grid beyond any memory
        return None
    if len(table.header) + len(table.body) < 2:
        return None
    words = re.findall(r"\w+", html.unescape(TAG.sub(" ", text)))
    seen = {word for cell in _texts(table) for word in re.findall(r"\w+", cell)}
    kept = sum(word in seen for word in words)
    return table if kept >= DRAWN_SHARE * len(words) else None


def _texts(table: Table) -> Iterator[str]:
    yield table.caption
    for row in (*table.header, *table.body):
        yield from row


def _lines(docs: Sequence[str]) -> Iterator[tuple[Line, str]]:
    """Every document with the JSON that it was read from, empty where it was not."""
    for text in docs:
        source = _source(text)
        if isinstance(source, list):
            yield from _of_files(source)
        else:
            for line in source.lines():
                yield line, ""


def _source(text: str) -> list[Path] | Source:
    """Files of records, or what reads anything else: an ir_datasets id, files that are a table each."""
    path = Path(text)
    if not path.exists():
        known = irds.parse_id(text)
        if known is None:
            return IrDataset(text)
        path = irds.documents_file(known[0], known[1])
        if not path.exists():
            raise HeedError(f"{path}: no documents of {text}; python -m pipelines.fetch says how to get them")
    files = corpus_files([path], TABLE_SUFFIXES)
    records = [one for one in files if one.name.endswith(SUFFIXES)]
    single = [one for one in files if one.name.endswith(ONE_TABLE)]
    return records or (Tables(single, "raw") if single else files)


def _of_files(paths: Sequence[Path]) -> Iterator[tuple[Line, str]]:
    for path in paths:
        if path.suffix == ".parquet":  # the hub's mirrors have no column for a date
            for line in read_corpus([path]):
                yield line, ""
            continue
        for line_no, text in read_lines(path):
            if text.strip():
                yield parse_line(path, line_no, text), text


def _date(record: str) -> str:
    """The day where a record's time is written as ISO has it, else the time as it came."""
    fields = json.loads(record)
    told = next((fields[name] for name in DATES if isinstance(fields.get(name), str) and fields[name].strip()), "")
    day = DAY.match(told.strip())
    return day[0] if day else told.strip()[:LONGEST_DATE]

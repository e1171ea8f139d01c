"""Read the result files of annotation tools as records: rows, lines and items with their fields by name."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from heed.errors import DataError
from heed.files import LARGEST, LONGEST_LINE, UNREADABLE, check_unicode, open_packed, read_lines, unreadable
from heed.formats.topics import read_objects
from heed.judging.exchange.table_files import unguarded

CHUNK = 1 << 20  # characters of a JSON list in memory, unless an item is longer
DELIMITERS = (",", ";", "\t")  # ; is what spreadsheets write where , is the decimal sign; Label Studio has TSV too
GRADE_FIELDS = ("grade", "label")  # Heed's and Label Studio's name, doccano's
BETWEEN = re.compile(r"[\s,]*")


class Record(NamedTuple):
    """A row, line or item of a file, with its fields by name."""

    path: Path
    where: str
    fields: dict[str, Any]

    @property
    def place(self) -> str:
        """The file and the position in it."""
        return f"{self.path}, {self.where}"

    def problem(self, text: str) -> DataError:
        """Return the error for this record."""
        return DataError(f"{self.place}: {text}")

    def word(self, name: str) -> str:
        """Return an id; a whole number is accepted, since spreadsheets turn ids into numbers."""
        value = self.fields.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str) or value.split() != [value]:
            raise self.problem(f"{name} is {value!r}, expected an id as it was exported, one word")
        return value


def json_records(path: Path) -> Iterator[Record]:
    """Yield the objects of a JSON Lines file or, by the suffix, of a JSON list."""
    if path.name.removesuffix(".gz").endswith(".json"):
        yield from _items(path)
        return
    for line_no, fields in read_objects(path):
        yield Record(path, f"line {line_no}", fields)


def _items(path: Path) -> Iterator[Record]:
    """Yield the objects of a JSON list, read piece by piece: Label Studio's lists hold all texts."""
    decoder, number = json.JSONDecoder(), 0
    with _opened(path) as stream:
        buffer = stream.read(CHUNK).lstrip()
        if not buffer.startswith("["):
            raise DataError(f"{path}: begins with {buffer[:20]!r}, expected a JSON list; JSON lines end in .jsonl")
        position = 1
        while True:
            between = BETWEEN.match(buffer, position)
            position = between.end() if between else position
            if buffer.startswith("]", position):
                return
            try:
                fields, position = decoder.raw_decode(buffer, position)
            except (ValueError, RecursionError) as error:
                buffer, position = buffer[position:], 0
                # twice as much each time: an item is parsed again from its start
                more = stream.read(max(CHUNK, len(buffer))) if len(buffer) <= LONGEST_LINE else ""
                if not more:
                    raise DataError(f"{path}, item {number + 1}: not JSON ({error}); export it again") from error
                buffer += more
                continue
            number += 1
            yield _item(path, f"item {number}", fields)


def _item(path: Path, where: str, fields: Any) -> Record:
    if not isinstance(fields, dict):
        raise DataError(f"{path}, {where}: found {type(fields).__name__}, expected a JSON object")
    try:
        check_unicode(fields)
    except ValueError as error:
        raise DataError(f"{path}, {where}: holds {error}; repair the text") from error
    return Record(path, where, fields)


def csv_records(path: Path) -> Iterator[Record]:
    """Yield the rows of a CSV file with a header, which shows the separator: commas, semicolons or tabs."""
    csv.field_size_limit(LONGEST_LINE)  # a document is one cell, and Python's own limit is 128 KiB
    line_no = 1
    try:
        with _opened(path) as stream:
            lines = _lines(path, stream)
            header = next(lines, "")
            delimiter = max(DELIMITERS, key=header.count)
            names = next(csv.reader([header], delimiter=delimiter), [])
            _check_columns(path, names)
            rows = csv.reader(lines, delimiter=delimiter)
            for cells in rows:
                line_no = rows.line_num + 1
                if any(cells):
                    yield _row(path, f"line {line_no}", names, [unguarded(cell) for cell in cells])
    except csv.Error as error:
        raise DataError(f"{path}, after line {line_no}: not CSV ({error}); save it as CSV again") from error


def _lines(path: Path, stream: TextIO) -> Iterator[str]:
    for line_no, line in enumerate(iter(lambda: stream.readline(LONGEST_LINE + 1), ""), 1):
        if len(line) > LONGEST_LINE:
            raise DataError(f"{path}, line {line_no}: longer than {LONGEST_LINE} characters; save it as CSV again")
        yield line


def xlsx_records(path: Path) -> Iterator[Record]:
    """Yield the rows of a workbook's first sheet, whose first row is the header."""
    rows = _sheet(path)
    names = [str(name or "") for name in next(rows, ())]
    _check_columns(path, names)
    for number, cells in enumerate(rows, 2):
        if any(cell is not None for cell in cells):
            yield _row(path, f"row {number}", names, cells)


def _sheet(path: Path) -> Iterator[tuple[Any, ...]]:
    import zipfile

    from openpyxl import load_workbook

    try:
        with path.open("rb") as stream:
            size = sum(member.file_size for member in zipfile.ZipFile(stream).infolist())
            if size > LARGEST:  # zipfile never unpacks more than a member declares
                raise DataError(f"{path}: unpacks to {size} bytes, more than {LARGEST}; split the workbook")
            with closing(load_workbook(stream, read_only=True, data_only=True)) as book:
                yield from book.worksheets[0].iter_rows(values_only=True)
    except DataError:
        raise
    except Exception as error:  # openpyxl, zipfile and two XML parsers raise many kinds for a damaged file
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"{path}: not an Excel workbook ({reason}); save it as .xlsx") from error


def _check_columns(path: Path, names: list[str]) -> None:
    missing = [name for name in ("qid", "docid") if name not in names]
    if not set(GRADE_FIELDS) & set(names):
        missing.append(" or ".join(GRADE_FIELDS))
    if missing:
        raise DataError(f"{path}: no column {', '.join(missing)} in the first row (found {', '.join(names) or 'none'})")


def _row(path: Path, where: str, names: list[str], cells: Iterable[Any]) -> Record:
    filled = list(cells)
    if any(cell not in (None, "") for cell in filled[len(names) :]):
        raise DataError(f"{path}, {where}: {len(filled)} cells, and the first row has {len(names)}")
    return Record(path, where, dict(zip(names, filled, strict=False)))


def column_records(path: Path) -> Iterator[Record]:
    """Yield the lines of a qrels file, four columns."""
    for line_no, line in read_lines(path):
        columns = line.split()
        if not columns:
            continue
        record = Record(path, f"line {line_no}", {})
        if len(columns) != 4:
            raise record.problem(f"{len(columns)} columns, expected 4 (topic 0 docid grade)")
        yield record._replace(fields=dict(zip(("qid", "second", "docid", "grade"), columns, strict=True)))


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    """Open a UTF-8 file, gunzipped by suffix, with its line ends unchanged."""
    try:
        with open_packed(path) as stream, io.TextIOWrapper(stream, "utf-8-sig", newline="") as text:
            yield text
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 ({error.reason}); save it as UTF-8 (in Excel: CSV UTF-8)") from error
    except UNREADABLE as error:
        raise unreadable(path, error) from error

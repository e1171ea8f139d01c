"""Tables, as CSV and as Excel workbooks: a pool written to be filled in, and the rows of filled ones."""

import csv
import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from heed.errors import DataError, fail
from heed.files import LARGEST, LONGEST_LINE, finished, read_lines
from heed.judging.exchange.exported_pool import ExportedPool, ShownDocument, shown_documents
from heed.judging.exchange.records import GRADE_FIELDS, Record
from heed.progress import brief, counted, warn

if TYPE_CHECKING:
    from openpyxl import Workbook

ZipMode = Literal["r", "w"]

COLUMNS = ("qid", "docid", "condition", "query", "instruction", "grade", "title", "text")
WIDTHS = (12, 24, 12, 40, 60, 8, 40, 120)  # of the columns, in characters
HEIGHT = 120  # of a row, in points: the beginning of a document, not all of it
# what spreadsheets read as the beginning of a formula (OWASP, CSV Injection), and the quote that guards it
GUARDED = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "'")
CELL = 32_767  # UTF-16 units that an Excel cell holds (Microsoft, Excel specifications and limits)
ROWS = 1_048_576  # that an Excel sheet holds, with the header (ibid.)
CUT = "[cut]"  # at the end of a cell whose text is longer
UNXML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # not allowed by XML 1.0, section 2.2
DELIMITERS = (",", ";", "\t")  # ; is what spreadsheets write where , is the decimal sign; Label Studio has TSV too
EPOCH = datetime(1980, 1, 1)  # the first moment that a zip file can write


def write_csv(path: Path, exported: ExportedPool) -> None:
    """Write a CSV table in UTF-8 with a byte-order mark, by which Excel recognises UTF-8.

    A cell that a spreadsheet would read as a formula, or that begins with a single quote, gets a
    single quote in front, which :func:`unguarded` removes.
    """
    with finished(path) as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig", newline="")
        try:
            rows = csv.writer(text)
            rows.writerow(COLUMNS)
            rows.writerows([guarded(cell) for cell in _cells(document)] for document in shown_documents(exported))
        finally:
            text.detach()  # flushes, and leaves the stream open


def guarded(cell: str) -> str:
    """Return ``cell`` so that no spreadsheet reads it as a formula."""
    return f"'{cell}" if cell.startswith(GUARDED) else cell


def unguarded(cell: str) -> str:
    """Return the text that :func:`guarded` was given."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(GUARDED) else cell


def write_xlsx(path: Path, exported: ExportedPool) -> None:
    """Write an Excel workbook of one sheet; every cell is typed as text, so that ``007`` and ``=1`` are kept.

    A text longer than a cell holds ends in ``[cut]``, with a warning that names the documents. Control characters,
    which no workbook can hold, are replaced in texts by their pictures (U+2400 and on).
    Raises :class:`DataError` for an id with one, and for more documents than a sheet has rows.
    """
    count = sum(map(len, exported.pool.values()))
    fail([f"{path}: {count} documents, and an Excel sheet holds {ROWS - 1}; write csv"] if count >= ROWS else [])
    fail(
        f"{path}: {qid!r}, {docid!r}: an id with a control character, which no workbook holds; write csv"
        for qid, docids in exported.pool.items()
        for docid in docids
        if UNXML.search(qid + docid)
    )
    from openpyxl.writer.excel import ExcelWriter

    cut: dict[str, None] = {}
    with finished(path) as stream, _Timeless(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        ExcelWriter(_workbook(exported, cut), archive).write_data()
    if cut:
        documents = f"{counted(len(cut), 'document')} cut at Excel's {CELL:,} characters"
        warn(f"{path}: {documents}: {brief([*cut])}; csv and heed annotate show all of them")


class _Timeless(zipfile.ZipFile):
    """A zip file without times: the same pool gives the same bytes."""

    def open(
        self, name: str | zipfile.ZipInfo, mode: ZipMode = "r", pwd: bytes | None = None, *, force_zip64: bool = False
    ) -> IO[bytes]:
        if isinstance(name, zipfile.ZipInfo):
            name.date_time = EPOCH.timetuple()[:6]
        return super().open(name, mode, pwd, force_zip64=force_zip64)


def _workbook(exported: ExportedPool, cut: dict[str, None]) -> "Workbook":
    """Return the workbook; the docids of documents with a text that is cut are added to ``cut``."""
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Alignment, NamedStyle
    from openpyxl.utils import get_column_letter

    book = Workbook(write_only=True)
    book.properties.created = book.properties.modified = EPOCH
    # @: Excel's format of text, which remains text when it is edited
    book.add_named_style(NamedStyle("heed", number_format="@", alignment=Alignment(wrap_text=True, vertical="top")))
    sheet = book.create_sheet("pool")
    sheet.freeze_panes = "A2"
    sheet.sheet_format.defaultRowHeight, sheet.sheet_format.customHeight = HEIGHT, True
    for number, width in enumerate(WIDTHS, 1):
        sheet.column_dimensions[get_column_letter(number)].width = width
    sheet.append(COLUMNS)
    for document in shown_documents(exported):
        row = []
        for text in _cells(document):
            shown = _cut(text)
            cut |= {} if shown == text else {document.docid: None}
            cell = WriteOnlyCell(sheet, UNXML.sub(_picture, shown) or None)
            cell.style = "heed"
            cell.data_type = "s" if text else "n"
            row.append(cell)
        sheet.append(row)
    return book


def _cells(document: ShownDocument) -> Iterator[str]:
    fields = {**document._asdict(), "grade": ""}
    return (fields[name] for name in COLUMNS)


def _cut(text: str) -> str:
    """Return the text as far as it fits into a cell, marked where it is cut; letters beyond U+FFFF take two units."""
    size = CELL if len(text) <= CELL // 2 or max(text) <= "\uffff" else CELL // 2
    return text if len(text) <= size else text[: size - len(CUT)] + CUT


def _picture(match: re.Match[str]) -> str:
    letter = match[0]
    return chr(0x2400 + ord(letter)) if letter < " " else "\ufffd"


def csv_records(path: Path, encoding: str | None = None) -> Iterator[Record]:
    """Yield the rows of a CSV file with a header, which shows the separator: commas, semicolons or tabs."""
    csv.field_size_limit(LONGEST_LINE)  # a document is one cell, and Python's own limit is 128 KiB
    line_no = 1
    try:
        lines = (line for _, text in read_lines(path, encoding) for line in io.StringIO(f"{text}\n", newline=""))
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


def xlsx_records(path: Path, _: str | None = None) -> Iterator[Record]:
    """Yield the rows of a workbook's first sheet, whose first row is the header."""
    rows = _sheet(path)
    names = [str(name or "") for name in next(rows, ())]
    _check_columns(path, names)
    for number, cells in enumerate(rows, 2):
        if any(cell is not None for cell in cells):
            yield _row(path, f"row {number}", names, cells)


def _sheet(path: Path) -> Iterator[tuple[Any, ...]]:
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

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

from heed.addons.judging.exchange.exported_pool import ExportedPool, ShownDocument, shown_documents
from heed.addons.judging.exchange.records import GRADE_FIELDS, NAME_FIELDS, Record
from heed.errors import DataError, fail
from heed.files import LARGEST, LONGEST_LINE, finished, read_lines
from heed.progress import brief, counted, log, warn

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
READ = ("qid", "docid", "condition", "instruction", "note", *GRADE_FIELDS, *NAME_FIELDS)
FORMULA = "a formula without a value; calculate it in a spreadsheet program and save the workbook"
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
        fail([f"{path}: {missing}"] if (missing := _missing(names)) else [])
        rows = csv.reader(lines, delimiter=delimiter)
        for cells in rows:
            line_no = rows.line_num + 1
            if any(cells):
                yield _row(path, f"line {line_no}", names, [unguarded(cell) for cell in cells])
    except csv.Error as error:
        raise DataError(f"{path}, after line {line_no}: not CSV ({error}); save it as CSV again") from error


def xlsx_records(path: Path, _: str | None = None) -> Iterator[Record]:
    """Yield the rows of the sheets with judgements, whose first row is the header; of several each is an assessor.

    Raises :class:`DataError` naming every formula that has no value, in the columns that are read.
    """
    headers: dict[str, list[str]] = {}
    problems: list[str] = []
    for sheet, number, cells in _rows(path):
        names = headers.setdefault(sheet, [str(name or "") for name in cells])
        if number == 1 or _missing(names) or all(cell is None for cell in cells):
            continue
        row = _row(path, f"{sheet}row {number}", names, cells)
        problems += [f"{row.source}: {name} is {FORMULA}" for name in READ if row.fields.get(name) is FORMULA]
        if sheet and not any(map(row.fields.get, NAME_FIELDS)):
            row.fields["assessor"] = f"{path}, {sheet}".removesuffix(", ")
        yield row
    judged = [sheet for sheet, names in headers.items() if not _missing(names)]
    fail(problems or ([] if judged else [f"{path}: {_missing(next(iter(headers.values()), []))}"]))
    if len(headers) > 1:
        log.info(f"{path}: judgements in {''.join(judged)}of {len(headers)} sheets")


def _rows(path: Path) -> Iterator[tuple[str, int, list[Any]]]:
    """Yield sheet (empty for the only one), number and values of every row; formulas without a value are FORMULA."""
    from openpyxl import load_workbook

    try:
        with path.open("rb") as stream, path.open("rb") as again:
            size = sum(member.file_size for member in zipfile.ZipFile(stream).infolist())
            if size > LARGEST:  # zipfile never unpacks more than a member declares
                raise DataError(f"{path}: unpacks to {size} bytes, more than {LARGEST}; split the workbook")
            books = load_workbook(stream, read_only=True, data_only=True), load_workbook(again, read_only=True)
            with closing(books[0]), closing(books[1]):
                for sheet, other in zip(*(book.worksheets for book in books), strict=True):
                    title = f"sheet {sheet.title}, " if len(books[0].worksheets) > 1 else ""
                    for number, row in enumerate(map(zip, sheet.iter_rows(), other.iter_rows()), 1):
                        # by value, type, and type with formulas; an empty text that was calculated has the type str
                        empty = {(None, "n", "f"): FORMULA}
                        yield title, number, [empty.get((a.value, a.data_type, b.data_type), a.value) for a, b in row]
    except DataError:
        raise
    except Exception as error:  # openpyxl, zipfile and two XML parsers raise many kinds for a damaged file
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"{path}: not an Excel workbook ({reason}); save it as .xlsx") from error


def _missing(names: list[str]) -> str:
    """Return the problem of a header without the columns of judgements; empty for one that has them."""
    missing = [name for name in ("qid", "docid") if name not in names]
    if not set(GRADE_FIELDS) & set(names):
        missing.append(" or ".join(GRADE_FIELDS))
    return f"no column {', '.join(missing)} in the first row (found {', '.join(names) or 'none'})" if missing else ""


def _row(path: Path, where: str, names: list[str], cells: Iterable[Any]) -> Record:
    filled = list(cells)
    if any(cell not in (None, "") for cell in filled[len(names) :]):
        raise DataError(f"{path}, {where}: {len(filled)} cells, and the first row has {len(names)}")
    return Record(path, where, dict(zip(names, filled, strict=False)))

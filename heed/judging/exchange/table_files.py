"""A pool as a table to be filled in: CSV, and an Excel workbook; no text becomes a formula."""

import csv
import io
import re
import zipfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

from heed.errors import fail
from heed.files import finished
from heed.judging.exchange.exported_pool import ExportedPool, Task, open_export, tasks
from heed.progress import log

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
UNXML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # not allowed by XML 1.0, section 2.2
EPOCH = datetime(1980, 1, 1)  # the first moment that a zip file can write


def write_csv(path: Path, exported: ExportedPool) -> None:
    """Write a CSV table in UTF-8 with a byte-order mark (by which Excel recognises UTF-8), ``.gz`` by suffix.

    A cell that a spreadsheet would read as a formula, or that begins with a single quote, gets a
    single quote in front, which :func:`unguarded` removes.
    """
    with open_export(path) as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig", newline="")
        try:
            rows = csv.writer(text)
            rows.writerow(COLUMNS)
            rows.writerows([guarded(cell) for cell in _cells(task)] for task in tasks(exported))
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

    A text longer than a cell holds continues in further columns, ``text 2`` and so on. Control characters,
    which no workbook can hold, are replaced in texts by their pictures (U+2400 and on), which is logged.
    Raises :class:`DataError` for an id with one, for other fields that are too long for a cell, and for
    more documents than a sheet has rows.
    """
    longest = _check_cells(path, exported)
    from openpyxl.writer.excel import ExcelWriter

    with finished(path) as stream, _Timeless(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        ExcelWriter(_workbook(exported, longest), archive).write_data()


def _check_cells(path: Path, exported: ExportedPool) -> int:
    """Return how many cells the longest text needs; logs and raises as :func:`write_xlsx` says."""
    count = sum(map(len, exported.pool.values()))
    fail([f"{path}: {count} documents, and an Excel sheet holds {ROWS - 1}; write csv"] if count >= ROWS else [])
    longest, pictures = 1, 0
    problems = []
    for task in tasks(exported):
        longest = max(longest, len(_pieces(task.text)))
        pictures += any(map(UNXML.search, task))
        if UNXML.search(task.qid + task.docid):
            problems.append(f"{task.qid!r}, {task.docid!r}: an id with a control character, which no workbook holds")
        if any(len(_pieces(text)) > 1 for text in (task.query, task.instruction, task.title)):
            problems.append(
                f"topic {task.qid}, document {task.docid}: query, instruction or title is longer than a cell"
            )
    fail(f"{path}: {problem}; write csv" for problem in problems)
    if pictures:
        log.info(f"{path}: {pictures} documents hold control characters; they are shown by their pictures, as ␀")
    return longest


class _Timeless(zipfile.ZipFile):
    """A zip file without times: the same pool gives the same bytes."""

    def open(
        self, name: str | zipfile.ZipInfo, mode: ZipMode = "r", pwd: bytes | None = None, *, force_zip64: bool = False
    ) -> IO[bytes]:
        if isinstance(name, zipfile.ZipInfo):
            name.date_time = EPOCH.timetuple()[:6]
        return super().open(name, mode, pwd, force_zip64=force_zip64)


def _workbook(exported: ExportedPool, longest: int) -> "Workbook":
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
    header = [*COLUMNS, *(f"text {number}" for number in range(2, longest + 1))]
    for number in range(1, len(header) + 1):
        sheet.column_dimensions[get_column_letter(number)].width = WIDTHS[min(number, len(WIDTHS)) - 1]
    sheet.append(header)
    for task in tasks(exported):
        row = []
        for text in (*list(_cells(task))[:-1], *_pieces(task.text)):
            cell = WriteOnlyCell(sheet, UNXML.sub(_picture, text) or None)
            cell.style = "heed"
            cell.data_type = "s" if text else "n"
            row.append(cell)
        sheet.append(row)
    return book


def _cells(task: Task) -> Iterator[str]:
    fields = {**task._asdict(), "grade": ""}
    return (fields[name] for name in COLUMNS)


def _pieces(text: str) -> list[str]:
    """Return the text in pieces that fit into a cell; letters beyond U+FFFF take two units each."""
    size = CELL if len(text) <= CELL // 2 or max(text) <= "\uffff" else CELL // 2
    return [text[start : start + size] for start in range(0, len(text), size)] or [""]


def _picture(match: re.Match[str]) -> str:
    letter = match[0]
    return chr(0x2400 + ord(letter)) if letter < " " else "\ufffd"

"""Read the lines of a run byte by byte: damage that other readers repair or skip is reported."""

import gzip
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from heed.addons.submission.run_report import Report
from heed.files import UNREADABLE, why_unreadable

BLOCK = 1 << 20
LONGEST = 1 << 20  # bytes without a line end: longer, and the file is no run
ODD_BYTES = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")  # control characters but tab and newline
# The same, undecodable bytes (as Python's surrogateescape has them), white space other than ASCII's
# (trec_eval does not split there, Python does), and invisible characters
ODD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u2064\u2066-\u206f\u3000\ufeff\udc80-\udcff]"
)
BOM = b"\xef\xbb\xbf"
OTHER_FORMS = {
    b"\x1f\x8b": "gzip data in a file without .gz at the end of its name; add it",
    b"BZh": "bzip2 data, expected text or gzip; pack the file anew",
    b"\xfd7zXZ": "xz data, expected text or gzip; pack the file anew",
    b"(\xb5/\xfd": "zstd data, expected text or gzip; pack the file anew",
    b"PK\x03\x04": "a zip archive; unpack it",
    b"\xff\xfe": "UTF-16 text, expected UTF-8; convert the file",
    b"\xfe\xff": "UTF-16 text, expected UTF-8; convert the file",
}


def run_lines(path: Path, report: Report) -> Iterator[tuple[int, str | None]]:
    """Yield ``(line number, text)``; the text is None where the line is damaged, which is added to ``report``.

    Gunzipped by suffix, a block at a time in memory. Raises nothing: a file that cannot be read
    is an error in ``report`` too.
    """
    number = first_crlf = crlf = 0
    try:
        for block in _blocks(path, report):
            plain = block.isascii() and not ODD_BYTES.search(block)
            for text in block.decode("utf-8", "surrogateescape").split("\n"):
                number += 1
                if plain:
                    yield number, text
                    continue
                if text.endswith("\r"):
                    crlf, first_crlf = crlf + 1, first_crlf or number
                yield number, _checked(number, text.removesuffix("\r"), report)
    except UNREADABLE as error:
        remedy = "write the file again" if path.is_file() else "give the path of a run"
        report.error(0, "unreadable", f"{why_unreadable(error, f' after line {number}' if number else '')}; {remedy}")
        return
    if crlf:
        problem = f"found Windows line ends (CR LF) on {crlf} lines"
        report.warning(first_crlf, "crlf", f"{problem}, expected LF alone; convert the file")


def _blocks(path: Path, report: Report) -> Iterator[bytes]:
    """Yield blocks of complete lines, without the end of the last one."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:  # by its name, as tracks ask
        rest = _head(stream.read(BLOCK), report)
        while rest:
            lines, newline, rest = rest.rpartition(b"\n")
            if newline:
                yield lines
            more = stream.read(BLOCK)
            if not more and rest:
                report.warning(
                    0, "newline", "found no newline at the end, expected one; add it, or the file may be cut"
                )
                yield rest
            if not more:
                return
            rest += more
            if len(rest) > LONGEST and b"\n" not in rest:
                report.error(0, "unreadable", f"no line end in {LONGEST} bytes; expected topic Q0 docid rank score tag")
                return


def _head(start: bytes, report: Report) -> bytes:
    """Return the file's first bytes without a byte-order mark; empty if the file has another form."""
    for mark, description in OTHER_FORMS.items():
        if start.startswith(mark):
            report.error(0, "encoding", f"found {description}")
            return b""
    if start.startswith(BOM):
        report.error(1, "bom", "found a byte-order mark, expected the topic's first character; save without BOM")
    return start.removeprefix(BOM)


def _checked(number: int, text: str, report: Report) -> str | None:
    odd = ODD.search(text)
    if odd is None:
        return text
    column, code = odd.start() + 1, ord(odd[0])
    if 0xDC80 <= code <= 0xDCFF:
        problem = f"found byte 0x{code - 0xDC00:02X} at column {column}, which is not UTF-8"
        report.error(number, "encoding", f"{problem}; convert the file to UTF-8")
    else:
        problem = f"found {unicodedata.name(odd[0], 'a control character')} (U+{code:04X}) at column {column}"
        report.error(number, "character", f"{problem}, expected letters, spaces and tabs; remove it")
    return None

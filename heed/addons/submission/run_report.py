"""Read the lines of a run byte by byte, and collect its problems: some of each kind, the others counted."""

import gzip
import re
import unicodedata
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from heed.files import MARKS, PACKED, UNREADABLE, nearest, why_unreadable
from heed.progress import number_of

ERROR, WARNING = "error", "warning"
LONGEST_MESSAGE = 600  # characters of a message: an id in a damaged file can have a million
LONGEST_LINE = 1 << 20  # bytes without a line end: longer, and the file is no run
# Control characters but tab and newline, undecodable bytes (as Python's surrogateescape has them), white space other
# than ASCII's (trec_eval does not split there, Python does), and invisible characters
ODD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u2064\u2066-\u206f\u3000\ufeff\udc80-\udcff]"
)


class Problem(NamedTuple):
    """A problem; ``line`` is 0 for the file as a whole."""

    line: int
    kind: str
    severity: str
    message: str


class Report:
    """Collects the problems of the run ``path``; keeps ``limit`` of each kind and counts them all."""

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self.counts: Counter[tuple[str, str]] = Counter()  # by severity and kind
        self._limit = limit
        self._kept: list[Problem] = []

    def add(self, severity: str, line: int, kind: str, message: str) -> None:
        """Add a problem."""
        self.counts[severity, kind] += 1
        if self.counts[severity, kind] <= self._limit:
            if len(message) > LONGEST_MESSAGE:
                message = f"{message[: LONGEST_MESSAGE // 2]} … {message[-LONGEST_MESSAGE // 2 :]}"
            self._kept.append(Problem(line, kind, severity, message))

    def drop(self, kind: str) -> None:
        """Forget the problems of one kind, which another problem explains."""
        for severity in (ERROR, WARNING):
            self.counts.pop((severity, kind), None)
        self._kept = [problem for problem in self._kept if problem.kind != kind]

    def once(self, kind: str, more: str) -> None:
        """Keep the first problem of one kind alone, with ``more`` behind it."""
        severity, line, message = next(
            (each.severity, each.line, each.message) for each in self._kept if each.kind == kind
        )
        self.drop(kind)
        self.add(severity, line, kind, f"{message}; {more}")

    def error(self, line: int, kind: str, message: str) -> None:
        """Add a problem that makes the run invalid."""
        self.add(ERROR, line, kind, message)

    def warning(self, line: int, kind: str, message: str) -> None:
        """Add a problem that the track accepts."""
        self.add(WARNING, line, kind, message)

    def count(self, severity: str) -> int:
        """Return the number of problems of ``severity``."""
        return sum(times for (of_kind, _), times in self.counts.items() if of_kind == severity)

    def kinds(self, severity: str) -> dict[str, int]:
        """Return how often each kind of problem occurs, by name."""
        return {kind: times for (of_kind, kind), times in sorted(self.counts.items()) if of_kind == severity}

    def problems(self) -> list[Problem]:
        """Return the problems that were kept, by line."""
        return sorted(self._kept)

    def messages(self, severity: str) -> list[str]:
        """Return ``FILE, line N: …`` for each problem that was kept, and how many more there are of a kind."""
        lines = [
            f"{self.path}{f', line {line}' if line else ''}: {message}"
            for line, _, of_severity, message in self.problems()
            if of_severity == severity
        ]
        for kind, times in self.kinds(severity).items():
            if times > self._limit:
                lines.append(
                    f"{self.path}: … and {times - self._limit} more of the kind {kind}; a greater limit shows more"
                )
        return lines

    def as_data(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return {
            "errors": self.kinds(ERROR),
            "warnings": self.kinds(WARNING),
            "problems": [problem._asdict() for problem in self.problems()],
        }


class CheckedRun(NamedTuple):
    """A run that was checked: its tag, its documents by topic and by language, and its problems."""

    path: Path
    report: Report
    lines: int
    tag: str
    topics: dict[str, int]
    languages: dict[str, int]

    @property
    def unread(self) -> str:
        """What of the file could not be checked; empty for a file that was read to its end."""
        if self.tag and not self.report.counts[ERROR, "unreadable"]:
            return ""
        return f"{self.path} after line {self.lines}" if self.tag else str(self.path)

    def as_data(self) -> dict[str, Any]:
        """Return the result as JSON data."""
        facts = {"file": str(self.path), "tag": self.tag, "lines": self.lines, "topics": len(self.topics)}
        return {**facts, "documents": sum(self.topics.values()), "languages": self.languages, **self.report.as_data()}

    def as_text(self) -> str:
        """Return the result in one line."""
        languages = ", ".join(f"{code} {times}" for code, times in self.languages.items() if code)
        by_language = f"; documents by language: {languages}" if languages else ""
        problems = []
        for severity in (ERROR, WARNING):
            times, kinds = self.report.count(severity), ", ".join(self.report.kinds(severity))
            if times:
                problems.append(f"{times} {severity}{'s' if times > 1 else ''} ({kinds})")
        least, most = min(self.topics.values(), default=0), max(self.topics.values(), default=0)
        depth = f"{least} a topic" if least == most else f"{least} to {most} a topic"
        documents = number_of(sum(self.topics.values()), "document")
        counts = f"{number_of(len(self.topics), 'topic')}, {documents}, {depth}{by_language}"
        return f"{self.path}: tag {self.tag or '-'}, {counts}: {'; '.join(problems) or 'no problem'}"


def run_lines(path: Path, report: Report) -> Iterator[tuple[int, str | None]]:
    """Yield ``(line number, text)``; the text is None where the line is damaged, which is added to ``report``.

    Gunzipped by suffix, a line at a time in memory. Raises nothing: a file that cannot be read
    is an error in ``report`` too.
    """
    number = first_crlf = crlf = 0
    before = b""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:  # by its name, as tracks ask
            line = _head(stream.readline(LONGEST_LINE), report)
            while line:
                if len(line) == LONGEST_LINE:
                    problem = f"no line end in {LONGEST_LINE} bytes; expected topic Q0 docid rank score tag"
                    report.error(0, "unreadable", problem)
                    return
                number += 1
                text = line.removesuffix(b"\n").decode("utf-8", "surrogateescape")
                if text.endswith("\r"):
                    crlf, first_crlf = crlf + 1, first_crlf or number
                yield number, _checked(number, text.removesuffix("\r"), report)
                before, line = line, stream.readline(LONGEST_LINE)
            if before and not before.endswith(b"\n"):
                problem = "found no newline at the end, expected one; add it, or the file may be cut"
                report.warning(0, "newline", problem)
    except UNREADABLE as error:
        remedy = "write the file again" if path.is_file() else f"give the path of a run{nearest(path)}"
        if isinstance(error, gzip.BadGzipFile) and not number:
            remedy = f"if it is plain text, rename it to {path.stem}"
        report.error(0, "unreadable", f"{why_unreadable(error, f' after line {number}' if number else '')}; {remedy}")
        return
    if crlf:
        problem = f"found Windows line ends (CR LF) on {crlf} lines"
        report.warning(first_crlf, "crlf", f"{problem}, expected LF alone; convert the file (fixable)")


def _head(start: bytes, report: Report) -> bytes:
    """Return the file's first bytes without a byte-order mark; empty if the file has another form."""
    packed, mark = PACKED.match(start), next((mark for mark in MARKS if start.startswith(mark)), None)
    form = ""
    if packed and packed.lastgroup == "gzip":
        form = "gzip data in a file without .gz at the end of its name; add it"
    elif packed:
        form = f"{packed.lastgroup} data, expected text or gzip; pack the file anew"
    elif start.startswith(b"PK\x03\x04"):
        form = "a zip archive; unpack it"
    elif start.startswith(b"PAR1"):
        form = "a Parquet table, which other commands read; write it as lines of six columns"
    elif start[257:262] == b"ustar":
        form = "a tar archive; unpack it"
    elif mark:
        form = f"{MARKS[mark].upper()} text, expected UTF-8; convert the file"
    if form:
        report.error(0, "encoding", f"found {form}")
        return b""
    if start.startswith(BOM_UTF8):
        report.error(
            1, "bom", "found a byte-order mark, expected the topic's first character; save without BOM (fixable)"
        )
    return start.removeprefix(BOM_UTF8)


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

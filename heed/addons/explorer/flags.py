"""Judgements that somebody doubts: lines of JSON in a file, each on disk before it is answered.

The last line of a document under a topic and condition counts; one with ``"flagged": false`` takes the flag back.
"""

import fcntl
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec

from heed.errors import DataError
from heed.files import read_bytes
from heed.progress import brief, warn

FILE = "flags.jsonl"
LONGEST_NOTE = 4_000  # characters

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=1_000)]


class Flag(msgspec.Struct, frozen=True):
    """A doubt about the ``grade`` of a document under a condition; ``grade`` None for an unjudged document.

    ``folder`` as :attr:`heed.report.results.ResultsFolder.folder`; ``time`` in UTC, ISO 8601.
    """

    folder: Name
    topic: Name
    docid: Name
    condition: Name
    grade: int | None = None
    note: Annotated[str, msgspec.Meta(max_length=LONGEST_NOTE)] = ""
    flagged: bool = True
    time: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The folder, topic, document and condition that are flagged."""
        return self.folder, self.topic, self.docid, self.condition


class Flags:
    """The flags in a file, which appears with the first of them."""

    def __init__(self, path: Path) -> None:
        """Check that the file can be read, if it is there; raises :class:`DataError` if it cannot."""
        self.path = path
        if path.exists():
            self.all()

    def all(self) -> list[Flag]:
        """Return the flags that were not taken back, oldest first; warn of lines that are none."""
        if not self.path.exists():
            return []
        flags: dict[tuple[str, str, str, str], Flag] = {}
        bad = []
        for line_no, line in enumerate(read_bytes(self.path).split(b"\n"), 1):
            if not line.strip():
                continue
            try:
                flag = msgspec.json.decode(line, type=Flag)
            except (msgspec.DecodeError, UnicodeDecodeError):
                bad.append(str(line_no))
                continue
            flags.pop(flag.key, None)
            flags[flag.key] = flag
        if bad:
            warn(f"{self.path}: no flags in lines {brief(bad)}, left out")
        return [flag for flag in flags.values() if flag.flagged]

    def add(self, flag: Flag) -> Flag:
        """Append ``flag`` with the time of now, and return it; :class:`DataError` where the file cannot be written."""
        flag = msgspec.structs.replace(flag, time=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
        try:
            _append(self.path, msgspec.json.encode(flag))
        except OSError as error:
            raise DataError(f"{self.path}: cannot be written ({error.strerror}); name another file") from error
        return flag


def _append(path: Path, line: bytes) -> None:
    """Append a line in one piece and wait until it is on disk; a line that a kill has cut is ended first."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        size = os.fstat(descriptor).st_size
        cut = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        os.write(descriptor, (b"\n" if cut else b"") + line + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

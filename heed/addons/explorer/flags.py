"""Judgements that somebody doubts: lines of JSON in a file, each on disk before it is answered.

The last line of a document under a topic and condition counts; one with ``"flagged": false`` takes the flag back.
"""

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
    def key(self) -> tuple[str, ...]:
        """The folder, topic, document and condition that are flagged."""
        return self.folder, self.topic, self.docid, self.condition


class Flags:
    """The flags in a file, which appears with the first of them."""

    def __init__(self, path: Path) -> None:
        """Check that the file can be read, if it is there; raises :class:`DataError` if it cannot."""
        self.path = path
        self.all()

    def all(self) -> list[Flag]:
        """Return the flags that were not taken back, oldest first; warn of lines that cannot be read as flags."""
        flags, bad = dict[tuple[str, ...], Flag](), list[str]()
        lines = read_bytes(self.path).split(b"\n") if self.path.exists() else []
        for line_no, line in enumerate(lines, 1):
            try:
                flag = msgspec.json.decode(line, type=Flag) if line.strip() else None
            except (msgspec.DecodeError, UnicodeDecodeError):
                bad.append(str(line_no))
                continue
            if flag:
                flags.pop(flag.key, None)
                flags[flag.key] = flag
        if bad:
            warn(f"{self.path}: no flags in lines {brief(bad)}, left out")
        return [flag for flag in flags.values() if flag.flagged]

    def add(self, flag: Flag) -> Flag:
        """Append ``flag`` with the time of now, and return it; :class:`DataError` where the file cannot be written.

        The line is written in one piece, and is on disk when this returns; one that a kill has cut is ended first.
        """
        flag = msgspec.structs.replace(flag, time=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
        try:
            with self.path.open("ab+") as stream:
                stream.seek(max(stream.seek(0, os.SEEK_END) - 1, 0))
                end = b"\n" if stream.read() not in (b"", b"\n") else b""
                stream.write(end + msgspec.json.encode(flag) + b"\n")
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise DataError(f"{self.path}: cannot be written ({error.strerror}); name another file") from error
        return flag

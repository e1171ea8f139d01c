"""Files that are finished or not there: atomic writes, digests, gzip by suffix, one writer a folder."""

import fcntl
import gzip
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from pipelines.errors import HeedError


@contextmanager
def finished(path: Path) -> Iterator[IO[bytes]]:
    """Open ``path`` for writing bytes; it appears, whole and on disk, only when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")  # the same name again, so that a killed process leaves no heap of them
    try:
        with part.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def finished_folder(path: Path) -> Iterator[Path]:
    """Give an empty folder that takes the place of ``path`` only when the block ends well.

    What an earlier, killed process left half-built beside it is swept away first; callers hold
    :func:`locked` on the parent, so nobody else is writing there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part, old = path.with_name(f".{path.name}.part"), path.with_name(f".{path.name}.old")
    for left in (part, old):
        shutil.rmtree(left, ignore_errors=True)
    part.mkdir()
    try:
        yield part
        if path.exists():
            path.rename(old)
        part.rename(path)
    finally:
        for left in (part, old):
            shutil.rmtree(left, ignore_errors=True)


def write_bytes(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path``, whole or not at all."""
    with finished(path) as stream:
        stream.write(content)


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as indented UTF-8 JSON with the keys in the order given."""
    write_bytes(path, (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode())


def read_bytes(path: Path) -> bytes:
    """The content of a small file, gunzipped by suffix; a :class:`HeedError` if it cannot be read."""
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if path.suffix == ".gz" else content
    except (OSError, EOFError) as error:
        raise HeedError(f"{path}: cannot be read ({error}); give a readable file") from error


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield ``(line number from 1, line without its end)`` of a UTF-8 file, gunzipped by suffix.

    Raises :class:`HeedError` with the line number where the bytes are not UTF-8, and when the
    file is missing or its gzip stream is cut. A byte-order mark at the start is dropped.
    """
    line_no = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
            for line_no, raw in enumerate(stream, 1):
                text = raw.decode("utf-8-sig" if line_no == 1 else "utf-8")
                yield line_no, text.rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise HeedError(f"{path}, line {line_no}: not UTF-8 ({error.reason}); convert the file to UTF-8") from error
    except (OSError, EOFError) as error:
        raise HeedError(f"{path}: cannot be read after line {line_no} ({error})") from error


def digest(path: Path) -> str:
    """SHA-256 of the file's bytes, as hex."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise HeedError(f"{path}: cannot be read ({error})") from error


def digest_json(value: Any) -> str:
    """SHA-256 of ``value`` as JSON with sorted keys, as hex."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold ``folder`` for this process; a :class:`HeedError` at once if another process holds it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HeedError(
                f"{folder}: another Heed process is writing here; wait for it, or choose another folder"
            ) from None
        yield

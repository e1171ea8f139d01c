"""Files: atomic writes, digests, compression by the first bytes, encodings of texts, one writer a folder."""

import bz2
import codecs
import errno
import fcntl
import gzip
import hashlib
import io
import json
import lzma
import os
import re
import shutil
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import zstandard

from heed.errors import BusyError, DataError, HeedError, did_you_mean
from heed.languages import encoding_of, named
from heed.progress import log

MARKS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32"}
MARKS |= {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}  # after UTF-32's, one of which begins with it
SETTLED = 2 * 10**9  # nanoseconds after its last change in which a file may change again with the same time
LARGE = 64_000_000  # bytes of a file whose digest is noted, so that a later process does not read it again
NOTED = Path(".made") / "digests.json"  # in a folder of indexes
MOST_NOTED = 1_000  # digests, the last ones used
LONGEST_LINE = 1 << 26  # bytes: far above the documents of known collections, and fits into memory several times
LARGEST = 1 << 29  # unpacked bytes of a file that is read whole: a few kilobytes of gzip can be terabytes
PIECE = 1 << 20  # bytes
MOST = 1000  # files of a folder among which the name of a missing one is looked for
WINDOW = 1 << 27  # bytes of memory to unpack xz and zstd: zstd's own limit, twice that of xz -9
FED = 1 << 10  # packed bytes at once: no more than 32 MiB of zstd or xz
PACKED = re.compile(  # how compressed files begin; zstd's second form is of pzstd
    rb"(?P<gzip>\x1f\x8b)|(?P<bzip2>BZh[1-9][1\x17])|(?P<xz>\xfd7zXZ\0)|(?P<zstd>\(\xb5/\xfd|P\*M\x18)|"
    rb"(?P<lz4>\x04\"M\x18)"
)
OTHERS = {
    b"PK\x03\x04": "a ZIP archive, as .docx and .xlsx are: unpack it, or save it as text",
    b"%PDF-": "a PDF: save its text",
}
FULL = re.compile(r"No space left on device|Disk quota exceeded|disk is full|\d+ requested and \d+ written")
MAKE_ROOM = "make room, or choose a folder on another disk, then run again"
LOCKLESS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
SUFFIX = re.compile(r"\.(gz|bz2|xz|zst|lz4)$")
# what opening and reading raise, of compressed files too
UNREADABLE = (OSError, EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError)
CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")  # characters that no id may hold; white space apart
Seen = Callable[[Sequence[bytes]], Iterable[bool]]  # says of lines, with their ends, which have been read before
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def in_utf8(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the pieces of a file, those of a text in UTF-16 or UTF-32 as UTF-8; raises OSError where they are not."""
    first = next(pieces, b"")
    name = next((name for mark, name in MARKS.items() if first.startswith(mark)), "")
    content = chain([first], pieces)
    try:
        yield from map(str.encode, codecs.iterdecode(content, name)) if name else content
    except UnicodeDecodeError as error:
        raise OSError(f"not {name.upper()}, as its byte-order mark says: {error.reason}") from error


def make_folder(folder: Path) -> None:
    """Make a folder, where it is not there; raise :class:`DataError` where it, or one above it, is a file."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        file = next((path for path in (folder, *folder.parents) if path.is_file()), folder)
        raise DataError(f"{file}: is a file, expected a folder; choose another folder") from error


@contextmanager
def finished(path: Path) -> Iterator[IO[bytes]]:
    """Open ``path`` for writing bytes; it appears, whole and on disk, only when the block ends without an error.

    Raises :class:`DataError` while another process, or thread, is writing the same file.
    """
    make_folder(path.parent)
    part = path.with_name(f".{path.name}.part")  # always the same name, so that killed processes leave one at most
    with _open_locked(part) as stream:
        try:
            with on_disk(path):
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            part.replace(path)
        finally:
            if _is(part, stream):  # by now another process may have made one of the same name
                part.unlink()


def size_text(size: int | None) -> str:
    """Return a size in bytes, and in KiB, MiB or GiB from 1 KiB on."""
    if size is None:
        return "size unknown"
    power = min((size.bit_length() - 1) // 10, 4) if size else 0
    short = f" ({size / 1024**power:,.1f} {'KMGT'[power - 1]}iB)" if power else ""
    return f"{size:,} bytes{short}"


def folder_bytes(folder: Path) -> int:
    """Return the size of all files under ``folder``."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def free_space(path: Path) -> tuple[int, int]:
    """Return the device that ``path`` is or will be on, and the bytes free there."""
    existing = next(folder for folder in (path, *path.parents) if folder.exists())
    return existing.stat().st_dev, shutil.disk_usage(existing).free


@contextmanager
def on_disk(path: Path, need: int = 0) -> Iterator[None]:
    """Raise :class:`DataError` where the disk of ``path`` has less than ``need`` bytes, or becomes full in the block.

    The log says about how many bytes are needed, if that is known, and how many are free; of less than ``LARGE`` bytes
    the detailed log alone.
    """
    needed = f"about {size_text(need)} of disk are needed and " if need else ""
    if need:
        free = free_space(path)[1]
        (log.info if need >= LARGE else log.debug)(f"{path}: {needed}{size_text(free)} are free")
        if need > free:
            raise DataError(f"{path}: {needed}{size_text(free)} are free; {MAKE_ROOM}")
    try:
        yield
    except Exception as error:  # of Python, sqlite, numpy, Java or FAISS
        if not FULL.search(str(error)):
            raise
        free_now = size_text(free_space(path)[1])
        raise DataError(f"{path}: the disk is full; {needed}{free_now} are free; {MAKE_ROOM}") from error


def _open_locked(path: Path) -> IO[bytes]:
    """Open ``path`` emptied and locked: no other process can open it so until it is closed."""
    while True:
        stream = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "wb")
        try:
            _lock(path, stream)
            if _is(path, stream):
                stream.truncate()
                return stream
        except BlockingIOError:
            stream.close()
            raise BusyError(
                f"{path.parent}: another Heed process is writing here, or another experiment of this process; "
                "wait for it, or choose another folder"
            ) from None
        except BaseException:
            stream.close()
            raise
        stream.close()  # another process has just removed or renamed this file, and it locks nothing any more


def _lock(path: Path, stream: IO[bytes]) -> None:
    """Lock a file as it is open here; raises BlockingIOError while another opening, of this process too, has it."""
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in LOCKLESS:
            raise
        where = f"{path.parent}: this file system has no locks ({error.strerror})"
        raise DataError(f"{where}; choose a folder on another, or mount it with them (of Lustre: flock)") from error


def _is(path: Path, stream: IO[bytes]) -> bool:
    """Return whether the open file is still the one at ``path``."""
    try:
        return os.path.samestat(os.fstat(stream.fileno()), path.stat())
    except FileNotFoundError:
        return False


def part_and_old(path: Path) -> tuple[Path, Path]:
    """Return where a folder is made before it replaces ``path``, and where the replaced one is until it is removed."""
    return path.with_name(f".{path.name}.part"), path.with_name(f".{path.name}.old")


@contextmanager
def finished_folder(path: Path, is_begun: Callable[[Path], bool] | None = None) -> Iterator[Path]:
    """Yield a folder that replaces ``path`` only when the block ends without an error.

    It is empty, but for what an earlier process, stopped before the block's end, has left of work that ``is_begun``.
    Without that function nothing is left. Callers hold :func:`locked` on the parent, so nobody else is writing there.
    """
    make_folder(path.parent)
    part, old = part_and_old(path)

    def remove_remains() -> bool:
        goes_on = is_begun is not None and is_begun(part)
        for left in (old,) if goes_on else (part, old):
            shutil.rmtree(left, ignore_errors=True)
        return goes_on

    goes_on = remove_remains()
    try:
        part.mkdir(exist_ok=goes_on)  # not before: SIGTERM may come as soon as it is there
        yield part
        if path.exists():
            path.rename(old)
        part.rename(path)
    finally:
        remove_remains()


def write_bytes(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path``, whole or not at all."""
    with finished(path) as stream:
        stream.write(content)


def packed(path: Path, content: bytes) -> bytes:
    """Return ``content`` as ``path`` holds it, gzipped by suffix; the same whenever it is written."""
    return gzip.compress(content, mtime=0) if path.suffix == ".gz" else content


def write_packed(path: Path, texts: Iterable[str]) -> None:
    """Write ``texts`` one after the other, gzipped by suffix; else no two are in memory at once."""
    if path.suffix == ".gz":
        write_bytes(path, packed(path, "".join(texts).encode()))
        return
    with finished(path) as stream:
        stream.writelines(text.encode() for text in texts)


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as indented UTF-8 JSON with the keys in the order given."""
    write_bytes(path, _as_json(value))


def _as_json(value: Any) -> bytes:
    import msgspec  # whose indenting takes a twentieth of the time of Python's

    try:
        text = msgspec.json.format(json.dumps(value, ensure_ascii=False, allow_nan=False), indent=1)
    except ValueError:  # NaN or infinity, which are in no JSON but Python's
        text = json.dumps(value, ensure_ascii=False, indent=1)
    return f"{text}\n".encode()


def is_written_json(path: Path) -> bool:
    """Return whether a file is, byte for byte, as :func:`write_json` writes it."""
    try:
        content = path.read_bytes()
        return content == _as_json(parse_json(content.decode()))
    except ValueError:
        return False


def unpacked_name(path: Path) -> str:
    """Return the name of a file without the suffix of a compressed one, such as ``.gz``."""
    return SUFFIX.sub("", path.name)


def unpacked(path: Path) -> Iterator[bytes]:
    """Yield a file's bytes in pieces, unpacked if the first say gzip, bzip2, xz, zstd or lz4; raises ``UNREADABLE``."""
    with path.open("rb") as file:
        form = PACKED.match(file.peek(8))
        kind = form.lastgroup if form else ""
        if other := next((text for begin, text in OTHERS.items() if file.peek(8).startswith(begin)), ""):
            raise OSError(other)
        if kind == "xz":
            yield from _unpacked(file, lambda: lzma.LZMADecompressor(memlimit=WINDOW))
        elif kind == "zstd":
            yield from _unpacked(file, zstandard.ZstdDecompressor(max_window_size=WINDOW).decompressobj)
        elif kind == "lz4":
            import lz4.frame  # comes with ir_datasets

            yield from _unpacked(file, lz4.frame.LZ4FrameDecompressor)
        else:
            stream = gzip.GzipFile(fileobj=file) if kind == "gzip" else bz2.BZ2File(file) if kind == "bzip2" else file
            yield from iter(lambda: stream.read(PIECE), b"")


def _unpacked(file: IO[bytes], start: Callable[[], Any]) -> Iterator[bytes]:
    """Yield what is in a compressed file; ``start`` returns what unpacks one of the parts that it has."""
    unpacker, content = start(), bytearray()
    while packed := file.read(FED):
        while packed:
            unpacker = start() if unpacker.eof else unpacker
            try:
                content += unpacker.decompress(packed)
            except RuntimeError as error:  # lz4 has no class of its own
                raise OSError(str(error)) from error
            packed = unpacker.unused_data
        if len(content) >= PIECE:
            yield bytes(content)
            content.clear()
    if not unpacker.eof:
        raise EOFError("the compressed data end too early")
    yield bytes(content)


def why_unreadable(error: Exception, position: str = "") -> str:
    """Return why a file cannot be read, from one of ``UNREADABLE`` raised when it was read up to ``position``."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return "no such file"
    if isinstance(error, IsADirectoryError):
        return "is a folder, expected a file"
    return f"cannot be read{position} ({getattr(error, 'strerror', None) or error})"


def unreadable(path: Path, error: Exception, position: str = "") -> DataError:
    """Return the error for one of ``UNREADABLE``, raised when ``path`` was read up to ``position``."""
    why = why_unreadable(error, position)
    remedy = "it is cut short: copy it again" if isinstance(error, EOFError) else "give a readable file"
    hint = f"; {remedy}" if why.startswith("cannot") else "" if path.exists() else nearest(path)
    return DataError(f"{path}: {why}{hint}")


def nearest(path: Path, cutoff: float = 0.8) -> str:
    """Return "; did you mean …?" with the names nearest to that of a missing file or folder, or an empty text."""
    missing = next((each for each in (path, *path.parents) if each.parent.is_dir()), path)
    below = path.relative_to(missing)
    here = islice(missing.parent.iterdir(), MOST) if missing.parent.is_dir() else ()
    known = {each.name: str(each / below) for each in here if missing == path or (each / below).exists()}
    return did_you_mean(missing.name, known, cutoff=cutoff, before="; ")


def read_bytes(path: Path) -> bytes:
    """Return the content of a file, unpacked; raises :class:`DataError` above ``LARGEST`` bytes."""
    content = bytearray()
    try:
        for piece in in_utf8(unpacked(path)):
            content += piece
            if len(content) > LARGEST:
                raise DataError(f"{path}: unpacked more than {LARGEST} bytes, too much to be read at once")
    except UNREADABLE as error:
        raise unreadable(path, error) from error
    return bytes(content)


def parse_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises ValueError for text that is not JSON, nests deeper than Python reads, or holds half of a
    surrogate pair, which no file in UTF-8 could hold again.
    """
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg}, column {error.colno}" if error.lineno == 1 else str(error)) from error
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    if "\\u" in text and SURROGATE.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise ValueError("half of a surrogate pair, a broken \\u escape") from error
    return value


def read_by_name(path: Path, kind: str, example: Path) -> dict[str, Any]:
    """Return the entries by name of a JSON file of some ``kind``, such as the shipped ``example``.

    Raises :class:`DataError` for another file, and where an entry is no object.
    """
    try:
        entries = parse_json(read_text(path))
    except (ValueError, HeedError) as error:
        raise DataError(f"{path}: not a {kind} ({error}); its form is that of {example}") from error
    if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
        raise DataError(f"{path}: not a {kind} (no object of objects); its form is that of {example}")
    return entries


def read_text(path: Path, encoding: str | None = None) -> str:
    """Return the text of a file that is read whole; see :func:`read_lines`."""
    return "".join(text for _, text in _texts(path, encoding, [(1, read_bytes(path))]))


def read_pieces(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield a file, unpacked, in pieces of about ``PIECE`` bytes: ``(number of the first line from 1, whole lines)``.

    A text with the byte-order mark of UTF-16 or UTF-32 comes as UTF-8. Raises :class:`DataError` with the line number
    where a line is longer than ``LONGEST_LINE`` bytes, and when the file is missing or its compressed data are cut.
    """
    line_no, rest = 1, b""
    try:
        for piece in in_utf8(unpacked(path)):
            lines, newline, rest = (rest + piece).rpartition(b"\n")
            too_long = len(lines) + len(rest) > LONGEST_LINE  # or nearly so
            for number, line in enumerate((lines + newline + rest).split(b"\n") if too_long else (), line_no):
                if len(line) > LONGEST_LINE:
                    raise DataError(f"{path}, line {number}: longer than {LONGEST_LINE} bytes; is it a text file?")
            if newline:
                yield line_no, lines + newline
                line_no += lines.count(b"\n") + 1
        if rest:
            yield line_no, rest
    except UNREADABLE as error:
        raise unreadable(path, error, f" after line {line_no - 1}" if line_no > 1 else "") from error


def read_raw_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield ``(line number from 1, line with its end)`` of a file; see :func:`read_pieces`."""
    for line_no, piece in read_pieces(path):
        yield from enumerate(io.BytesIO(piece), line_no)


def read_lines(path: Path, encoding: str | None = None, seen: Seen | None = None) -> Iterator[tuple[int, str]]:
    """Yield ``(line number from 1, line without end)`` of a text file, but those ``seen``; see :func:`read_texts`."""
    pieces = _unseen(read_pieces(path), seen) if seen else read_pieces(path)
    for line_no, text in _texts(path, encoding, pieces):
        yield from numbered_lines(text, line_no)


def numbered_lines(text: str, first: int) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text without their ends, numbered from ``first`` on."""
    return enumerate((line.rstrip("\r\n") for line in io.StringIO(text, newline="\n")), first)


def read_texts(path: Path, encoding: str | None = None) -> Iterator[str]:
    """Yield a text file in pieces of whole lines; its byte-order mark is dropped.

    A file that is not UTF-8 is in ``encoding``: Python's name of one, or the code of a language, of whose encodings it
    is the one that is clearly the best for the first lines that are not ASCII; one line says which. Files of Heed's own
    have the ``encoding`` None. Raises :class:`DataError` as :func:`read_pieces` does, and where no encoding fits.
    """
    return (text for _, text in _texts(path, encoding, read_pieces(path)))


def _unseen(pieces: Iterable[tuple[int, bytes]], seen: Seen) -> Iterator[tuple[int, bytes]]:
    """Yield number and bytes of each line that is not ``seen``."""
    for line_no, piece in pieces:
        lines = io.BytesIO(piece).readlines()
        for number, (line, was_seen) in enumerate(zip(lines, seen(lines), strict=True), line_no):
            if not was_seen:
                yield number, line


def _texts(path: Path, encoding: str | None, pieces: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, str]]:
    known = ""  # the encoding, when there was a character that is not ASCII
    for line_no, piece in pieces:
        try:
            if not known and not piece.isascii():
                known = encoding_of(piece, encoding)
            yield line_no, piece.decode(known or "ascii").removeprefix("\ufeff" if line_no == 1 else "")
        except UnicodeDecodeError as error:
            line_no += piece.count(b"\n", 0, error.start)
            name = "" if encoding is None else ", or give encoding=NAME"
            form = (known or (named(encoding) or ["UTF-8"])[0]).upper()
            raise DataError(
                f"{path}, line {line_no}: not {form} ({error.reason}); convert the file to UTF-8{name}"
            ) from error
    if known and not known.startswith("utf"):
        log.info(f"{path}: not UTF-8, read as {known}")


def read_objects(path: Path, encoding: str | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield ``(line number, JSON object)`` for each line that is not blank; raises :class:`DataError` for another."""
    for line_no, line in read_lines(path, encoding):
        if not line.strip():
            continue
        try:
            record = parse_json(line)
        except ValueError as error:
            raise DataError(f"{path}, line {line_no}: not JSON ({error}); expected one object a line") from error
        if not isinstance(record, dict):
            raise DataError(f"{path}, line {line_no}: found {type(record).__name__}, expected a JSON object")
        yield line_no, record


_digests: dict[str, str] = {}  # of files that this process has read, by what the system says of each
_large: ContextVar[dict[str, str] | None] = ContextVar("large", default=None)  # the same, of large files
# folders made or used inside a block of remembering, of which it need not be said again
OPENED: ContextVar[set[Path] | None] = ContextVar("opened", default=None)


@contextmanager
def remembering(folder: Path, verify: bool = False) -> Iterator[None]:
    """Take digests of large files inside the block from the note in ``folder``, which gets those that are read.

    A large file is the same while its inode, its size and the nanoseconds of its last changes are, of its content and
    of its inode: nobody sets the latter back. With ``verify`` none is taken from the note.
    """
    path, before = folder / NOTED, dict[str, str]()
    with suppress(DataError, ValueError):
        before = dict(json.loads(read_bytes(path)))
    digests = {} if verify else {**before}
    tokens = _large.set(digests), OPENED.set(set())
    try:
        yield
    finally:
        _large.reset(tokens[0])
        OPENED.reset(tokens[1])
    unused = {key: sha256 for key, sha256 in before.items() if key not in digests}
    after = dict([*{**unused, **digests}.items()][-MOST_NOTED:])
    if after != before:
        write_json(path, after)


def word_of(value: Any) -> str:
    """Return an id, which is a word or a whole number, as text; empty for another value."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    return text if isinstance(text, str) and text.split() == [text] else ""


def digest(path: Path) -> str:
    """Return the SHA-256 of the file's bytes, as hex; one that was not touched since it was read is not read again."""
    try:
        with path.open("rb") as stream:
            stat = os.fstat(stream.fileno())
            state = f"{stat.st_dev} {stat.st_ino} {stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns}"
            large = _large.get() if stat.st_size >= LARGE else None
            age = time.time_ns() - stat.st_ctime_ns
            if large is not None and 0 <= age <= SETTLED:  # this once, and not read again by the next process
                time.sleep((SETTLED - age) / 1e9)
            is_settled = time.time_ns() - stat.st_ctime_ns >= SETTLED  # before it is read
            known = _digests if large is None else large
            sha256 = known.pop(state, "") or hashlib.file_digest(stream, "sha256").hexdigest()
            if is_settled:
                known[state] = sha256  # the last ones used are the last
            return sha256
    except OSError as error:
        raise unreadable(path, error) from error


def digest_json(value: Any) -> str:
    """Return the SHA-256 of ``value`` as JSON with sorted keys, as hex."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock ``folder`` for this process; raises :class:`DataError` at once if another process holds the lock.

    The file ``.lock`` is there while the lock is held, and after a kill, where it locks nothing.
    """
    make_folder(folder)
    path = folder / ".lock"
    with _open_locked(path) as stream:
        try:
            yield
        finally:
            if _is(path, stream):
                path.unlink()

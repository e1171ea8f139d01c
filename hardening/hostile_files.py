"""Files that are too long, too deep, packed too tight, in no encoding, or not what they say."""

import bz2
import gzip
import io
import json
import lzma
import re
import tarfile
import time
import zlib
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import lz4.frame
import zstandard

from hardening.fuzz import CORPUS
from hardening.readers import READERS, Reader
from hardening.trial import attempt

LINE = 1 << 30  # bytes of the file that is one line
MEMBER, MEMBERS = 100_000_000, 100  # bytes of zeros in a gzip member, which a file may hold many of
DEEP = 10_000
AT_MOST = 60  # seconds for one reader and one file
ODD = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, None)  # members of archives
BIDI = "\u202e\u2066\u2069"


def _read_all(files: Iterable[tuple[Reader, bytes]], folder: Path) -> list[str]:
    problems = []
    for reader, content in files:
        found = attempt(reader, content, folder, traced=False)
        if found.problem:
            problems.append(f"{reader.name}: {found.problem} in {found.place}")
    return problems


def _read_file(reader: Reader, path: Path) -> list[str]:
    from heed.errors import HeedError

    begun = time.monotonic()
    try:
        reader.read(path)
    except HeedError:
        pass
    except Exception as error:  # a case tells all that is wrong
        return [f"{reader.name}: {type(error).__name__}: {str(error)[:200]}"]
    taken = time.monotonic() - begun
    return [f"{reader.name}: {taken:.0f} s"] if taken > AT_MOST else []


def _one_line(readers: Iterable[Reader], folder: Path) -> list[str]:
    """A gigabyte without a line end; a hole in the file system, so that the disk does not fill."""
    problems = []
    for reader in readers:
        path = folder / f"input{reader.suffix}"
        with path.open("wb") as stream:
            stream.truncate(LINE)
        problems += _read_file(reader, path)
    return problems


def _bombs(pack: Callable[[bytes], bytes], readers: Iterable[Reader], folder: Path) -> list[str]:
    """At most ten megabytes that unpack to ten gigabytes, of lz4 forty."""
    bomb = pack(bytes(MEMBER)) * MEMBERS
    problems = []
    for reader in readers:
        path = folder / f"input{reader.suffix}"
        path.write_bytes(bomb)
        problems += _read_file(reader, path)
    return problems


def greedy() -> dict[str, bytes]:
    """Files of one letter that ask for gigabytes to be unpacked: 3 GiB for xz's dictionary, 2 GiB for zstd's window."""
    flags, block = b"\0\1", b"\2\0\x21\1\x27\0\0\0"  # by the format's specification, with the size as 0x27
    checked = [part + zlib.crc32(part).to_bytes(4, "little") for part in (flags, block)]
    return {
        "xz": b"\xfd7zXZ\0" + b"".join(checked) + b"\1\0\x001\0",
        "zstd": b"\x28\xb5\x2f\xfd" + b"\0\xa8" + b"\x09\0\x001",  # RFC 8878, 3.1.1: 0xa8 is 2 ** 31
    }


def _windows(folder: Path) -> list[str]:
    return _read_all([(reader, content) for reader in OF_FILES for content in greedy().values()], folder)


def _workbook(folder: Path) -> list[str]:
    """A workbook whose sheet unpacks to ten gigabytes, and one that lies about it."""
    import zipfile

    from openpyxl import Workbook

    made = io.BytesIO()
    Workbook().save(made)
    path, problems = folder / "input.xlsx", []
    [reader] = [one for one in READERS if one.suffix == ".xlsx"]
    for lie in (False, True):
        with zipfile.ZipFile(made) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
            for name in source.namelist():
                with target.open(name, "w", force_zip64=True) as member:
                    for _ in range(MEMBERS if name.endswith("sheet1.xml") else 0):
                        member.write(bytes(MEMBER // 10))
                    member.write(source.read(name))
        if lie:
            content = path.read_bytes()
            size = (MEMBER // 10 * MEMBERS).to_bytes(4, "little")[:2]
            path.write_bytes(content.replace(size, b"\x10\x00"))
        problems += _read_file(reader, path)
    return problems


def _deep(folder: Path) -> list[str]:
    table = b"<table><tr><td>" * DEEP + b"x" + b"</td></tr></table>" * DEEP
    lists = b"[" * DEEP * 10 + b"]" * DEEP * 10
    objects = b'{"a":' * DEEP * 10 + b"1" + b"}" * DEEP * 10
    document = json.dumps({"id": "doc1", "text": table.decode()}).encode()
    files = [(one, lists) for one in READERS] + [(one, objects) for one in READERS]
    files += [(one, table) for one in READERS if one.name.startswith("tables")]
    files += [(one, document) for one in READERS if one.name in ("tables-rows", "shown", "documents-jsonl")]
    return _read_all(files, folder)


def _laughs(folder: Path) -> list[str]:
    """Ten entities or aliases, each ten of the one before."""
    entities = "".join(f'<!ENTITY a{at} "{f"&a{at - 1};" * 10}">' for at in range(1, 11))
    xml = f'<?xml version="1.0"?><!DOCTYPE t [<!ENTITY a0 "lol">{entities}]>'
    xml += "<top><num>1</num><title>&a10;</title></top>"
    aliases = "a0: &a0 [x]\n" + "".join(f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 10)}]\n" for at in range(1, 11))
    merged = "a0: &a0 {x: 1}\n" + "".join(
        f"a{at}: &a{at} {{<<: [{', '.join([f'*a{at - 1}'] * 10)}]}}\n" for at in range(1, 11)
    )
    forms = [f"{text}runs:\n- run: *a10\n" for text in (aliases, merged)] + ["runs: &a [{run: x, task: *a}]\n"]
    by_name = {one.name: one for one in READERS}
    files = [(by_name[name], xml.encode()) for name in ("topics-trec", "expected-txt", "tables-html")]
    return _read_all([*files, *((by_name["form"], text.encode()) for text in forms)], folder)


def _odd_texts(content: bytes) -> Iterable[bytes]:
    digits = b"9" * 100_000
    yield b"\xef\xbb\xbf" + content
    yield content.replace(b"\n", b"\r\n")
    yield content.replace(b"\n", b"\r")
    yield content.replace(b"1", b"\x00")
    yield content.replace(b"d", b"\xed\xa0\x80")
    yield content.replace(b"d", b"\\ud800")
    yield content.replace(b"d", BIDI.encode())
    yield content.replace(b"\n", "\u2028\x85".encode())
    yield content + "é".encode("latin-1") + "я".encode("cp1251")
    yield content.decode("utf-8", "replace").encode("utf-16")
    for number in (digits, b"-" + digits, b"0." + digits, b"1e" + digits, "٣".encode() * 1000):
        yield re.sub(rb"\d+", number, content, count=3)


def _texts(folder: Path) -> list[str]:
    files = []
    for reader in READERS:
        for path in sorted((CORPUS / reader.name).glob("seed*")):
            content = path.read_bytes()
            packed = content.startswith(b"\x1f\x8b")
            for odd in _odd_texts(gzip.decompress(content) if packed else content):
                files.append((reader, gzip.compress(odd, 1) if packed else odd))
    return _read_all(files, folder)


def odd_archive(path: Path, kind: bytes | None) -> Path:
    """An archive whose one member is no file but of ``kind``, or what is no archive."""
    secret = path.with_name("secret")
    secret.write_text("1 0 doc 1\n")
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo("../../qrels.zho")
        member.type, member.linkname = kind or tarfile.REGTYPE, str(secret)
        archive.addfile(member)
    if kind is None:
        path.write_bytes(b"no archive")
    return path


def _links(folder: Path) -> list[str]:
    """An archive whose member is a link to a file of the machine, a device, or damaged."""
    from heed.datasets.irds import _member
    from heed.errors import HeedError

    problems = []
    for kind in ODD:
        path = odd_archive(folder / "made.tar", kind)
        try:
            problems.append(f"{kind!r}: read {list(_member(path, 'qrels.zho'))}")
        except HeedError:
            continue
    return problems


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": partial(gzip.compress, mtime=0),
    "bzip2": bz2.compress,
    "xz": partial(lzma.compress, preset=1),
    "zstd": zstandard.ZstdCompressor().compress,
    "lz4": lz4.frame.compress,
}
PARTS = 4  # so that no case takes all the time
OF_FILES = [one for one in READERS if one.name not in ("answer", "passage", "thought")]  # which read texts

CASES: dict[str, Callable[[Path], list[str]]] = {
    **{f"line-{at + 1}": partial(_one_line, OF_FILES[at::PARTS]) for at in range(PARTS)},
    **{
        f"{form}-{at + 1}": partial(_bombs, pack, OF_FILES[at::PARTS])
        for form, pack in PACKERS.items()
        for at in range(PARTS)
    },
    "windows": _windows,
    "workbook": _workbook,
    "deep": _deep,
    "laughs": _laughs,
    "texts": _texts,
    "links": _links,
}

"""Inputs made of other inputs: bytes, JSON values, packed contents and grown parts changed at random."""

import gzip
import io
import json
import random
import zipfile
import zlib
from collections.abc import Callable, Sequence
from typing import Any

TOKENS = (
    *(
        b"\xef\xbb\xbf",
        b"\x00",
        b"\r\n",
        b"\r",
        b"\n",
        b"\n\n",
        b"\t",
        b" ",
        b"\xc2\x85",
        b"\xe2\x80\xa8",
        b"\xe2\x80\xae",
    ),
    *(
        b"\xff",
        b"\xed\xa0\x80",
        b"\x1b[2J",
        b"\\ud800",
        b"\\u0000",
        b"9" * 400,
        b"-1",
        b"1e999",
        b"nan",
        b"0x1",
        b"1_0",
    ),
    *(
        b"<table>",
        b"</table>",
        b"<tr>",
        b"<td>",
        b"</td>",
        b'<td colspan="999999999" rowspan=0>',
        b"<caption>",
        b"<!--",
    ),
    *(
        b"<script>",
        b"<thead>",
        b"</thead>",
        b"<",
        b">",
        b"&lt;",
        b"&#0;",
        b"&#xD800;",
        b"&#1114112;",
        b"<top>",
        b"</top>",
    ),
    *(
        b"<num>",
        b"<title>",
        b"|",
        b"|---|",
        b"`",
        b"\\",
        b'"',
        b"'",
        b",",
        b";",
        b"# ",
        b"[",
        b"]",
        b"{",
        b"}",
        b"[]",
        b"{}",
    ),
    *(
        b"null",
        b"true",
        b"[1]",
        b"</think>",
        b": ",
        b"- ",
        b"*a",
        b"&a ",
        b"<<: ",
        b"!!python/name:os.system ",
        b"=",
        b"../",
    ),
    *(
        b"-og",
        b"-changed",
        b"query-id\t",
        b"2001-99-99",
        b"!!binary ",
        b"!!timestamp ",
        b"? ",
        b"%YAML 9.9\n",
        b"...\n",
    ),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 10**300, float("inf"), float("nan"), "", " ", "a b", "\ud800", "\x00", "\x1b[2J"),
    *(
        "../x",
        "/etc/passwd",
        "a\nb",
        "\u202e",
        "1",
        "é" * 300,
        [],
        {},
        [[]],
        [None],
        {"a": None},
        [1, "a"],
        ["a", "a"],
        [{}],
    ),
)
MOST = 20_000  # bytes of an input; longer ones are only made by growing


def mutated(content: bytes, pool: Sequence[bytes], chooser: random.Random) -> bytes:
    """``content`` with one to four changes; inside its packing, if it has one."""
    unpacked = _unpacked(content) if chooser.random() < 0.8 else None
    if unpacked is not None:
        inner, pack = unpacked(chooser)
        return pack(mutated(inner, [inner], chooser))
    for _ in range(chooser.choice((1, 1, 2, 4))):
        content = chooser.choice((_value, _value, _token, _token, _flip, _drop, _again, _swap))(content, chooser)
        if chooser.random() < 0.1:
            other = chooser.choice(pool)
            content = content[: _at(content, chooser)] + other[_at(other, chooser) :]
    return content[:MOST]


def grown(content: bytes, chooser: random.Random) -> Callable[[int], bytes]:
    """A part of ``content``, or all of it, repeated where it stands until so many bytes are reached."""
    start, end = sorted((_at(content, chooser), _at(content, chooser)))
    if start == end or chooser.random() < 0.3:
        start, end = 0, len(content)
    return lambda size: content[:start] + content[start:end] * (size // max(end - start, 1)) + content[end:]


def _unpacked(content: bytes) -> "Callable[[random.Random], tuple[bytes, Callable[[bytes], bytes]]] | None":
    if content.startswith(b"\x1f\x8b"):
        try:
            inner = gzip.decompress(content)
        except (OSError, EOFError, zlib.error):
            return None
        return lambda _: (inner, lambda changed: gzip.compress(changed, mtime=0))
    if content.startswith(b"PK"):
        return lambda chooser: _member(content, chooser)
    return None


def _member(content: bytes, chooser: random.Random) -> tuple[bytes, Callable[[bytes], bytes]]:
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
        members = {name: archive.read(name) for name in archive.namelist()}
        chosen = chooser.choice(sorted(members))
    except (
        zipfile.BadZipFile,
        NotImplementedError,
        OSError,
        IndexError,
        RuntimeError,
        EOFError,
        ValueError,
        zlib.error,
    ):
        return content, lambda changed: changed

    def pack(changed: bytes) -> bytes:
        whole = io.BytesIO()
        with zipfile.ZipFile(whole, "w") as made:
            for name, inner in members.items():
                made.writestr(zipfile.ZipInfo(name), changed if name == chosen else inner)
        return whole.getvalue()

    return members[chosen], pack


def _value(content: bytes, chooser: random.Random) -> bytes:
    """One value anywhere inside the JSON of the file, or of one of its lines, becomes another one."""
    lines = content.split(b"\n")
    at = chooser.randrange(len(lines))
    for text, put in (
        (lines[at], lambda new: b"\n".join([*lines[:at], new, *lines[at + 1 :]])),
        (content, lambda new: new),
    ):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            continue
        changed = json.dumps(_changed(found, chooser), ensure_ascii=chooser.random() < 0.5)
        return put(changed.encode("utf-8", "surrogatepass"))
    return _token(content, chooser)


def _changed(value: Any, chooser: random.Random) -> Any:
    if isinstance(value, dict) and value and chooser.random() < 0.85:
        name = chooser.choice(sorted(value))
        if chooser.random() < 0.1:
            return {one: inner for one, inner in value.items() if one != name}
        return {**value, name: _changed(value[name], chooser)}
    if isinstance(value, list) and value and chooser.random() < 0.85:
        at = chooser.randrange(len(value))
        return [*value[:at], _changed(value[at], chooser), *value[at + 1 :]]
    return chooser.choice(VALUES)


def _token(content: bytes, chooser: random.Random) -> bytes:
    at, token = _at(content, chooser), chooser.choice(TOKENS)
    return content[:at] + token + content[at + (len(token) if chooser.random() < 0.3 else 0) :]


def _flip(content: bytes, chooser: random.Random) -> bytes:
    at = _at(content, chooser)
    return content[:at] + bytes([chooser.randrange(256)]) + content[at + 1 :]


def _drop(content: bytes, chooser: random.Random) -> bytes:
    start, end = sorted((_at(content, chooser), _at(content, chooser)))
    return content[:start] + content[end:]


def _again(content: bytes, chooser: random.Random) -> bytes:
    start, end = sorted((_at(content, chooser), _at(content, chooser)))
    return content[:end] + content[start:end] * chooser.choice((1, 1, 2, 50)) + content[end:]


def _swap(content: bytes, chooser: random.Random) -> bytes:
    lines = content.split(b"\n")
    chooser.shuffle(lines)
    return b"\n".join(lines)


def _at(content: bytes, chooser: random.Random) -> int:
    return chooser.randint(0, len(content))

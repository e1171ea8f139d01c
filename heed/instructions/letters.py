"""An instruction letter by letter: what is read of it, and where that is written."""

import html
import re
import unicodedata
from functools import lru_cache
from typing import Any

from heed.templates import UNSEEN, paragraphs

INLINE, BLOCK = (
    rf"</?(?:{names})(?:\s[^<>]*=[^<>]*)?\s*/?>"
    for names in ("a|b|em|font|i|small|span|strong|su[bp]|u", r"br|div|h\d|li|[ou]l|p|t[dr]")
)
UNIT = re.compile(rf"[^\s&<]|(?P<gap>(?:\s|&nbsp;|{INLINE}|{BLOCK})+)|&#?\w{{1,31}};|.", re.IGNORECASE)
APOSTROPHES = str.maketrans("‘’`´ʼ′", "'" * 6)
ACCENTED = {letter: unicodedata.normalize("NFD", chr(letter))[0] for letter in range(0xDF, 0x250)}
LETTERS: dict[int, Any] = {  # as Lucene's normalisers of the languages, and its light stemmers, fold them
    **{letter: base for letter, base in ACCENTED.items() if base.isascii()},
    **dict.fromkeys([*range(0x64B, 0x656), 0x670, 0x640], ""),  # vowel signs and tatweel
    **str.maketrans({"ß": "ss", "œ": "oe", "æ": "ae", "\u200c": " ", "‐": "-", "ё": "е"}),
    **str.maketrans("ىیےکۀةہأإآٱ٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹", "يييكهههاااا01234567890123456789"),
}


def units(instruction: str) -> list[tuple[str, int, int]]:
    """Return the letters of an instruction, with their marks, and its white space, with start and end of each in it.

    The texts are normalised (NFKC); entities are what they stand for, and tags are nothing or white space.
    """
    text, starts, read = paragraphs(instruction), list[int](), list[tuple[str, int, int]]()
    seen = (index for index, letter in enumerate(instruction) if _is_seen(letter))
    for letter in text:
        starts.append(starts[-1] + 1 if letter.isspace() else next(seen))
    for match in UNIT.finditer(text):
        unit, start = _plain(match[0], match["gap"] is not None), starts[match.start()]
        if read and unit and unicodedata.combining(unit[0]):
            before, start, _ = read.pop()
            unit = unicodedata.normalize("NFKC", before + unit)
        read.append((unit, start, starts[match.end() - 1] + 1))
    return read


@lru_cache(1 << 12)
def _is_seen(letter: str) -> bool:
    return not (letter.isspace() or UNSEEN.match(letter))


@lru_cache(1 << 12)
def _plain(unit: str, is_gap: bool) -> str:
    if is_gap:
        spaces = re.sub(INLINE, "", unit, flags=re.IGNORECASE)
        return "\n" if "\n" in spaces else " " if spaces else ""
    return unicodedata.normalize("NFKC", UNSEEN.sub("", html.unescape(unit)).translate(APOSTROPHES))

"""An instruction letter by letter: what is read of it, and where that is written."""

import html
import re
import unicodedata
from typing import NamedTuple

from heed.templates import UNSEEN, paragraphs


def _tag(names: str) -> str:
    return rf"</?(?:{names})(?:\s[^<>]*=[^<>]*)?\s*/?>"


INLINE = _tag("a|b|em|font|i|small|span|strong|su[bp]|u")
GAP = re.compile(rf"(?:\s|&nbsp;|{INLINE}|{_tag('br|div|h[1-6]|li|[ou]l|p|t[dr]')})+", re.IGNORECASE)
UNIT = re.compile(rf"{GAP.pattern}|&(?:#\d{{1,7}}|#x[\da-f]{{1,6}}|[a-z]\w{{1,31}});|.", re.IGNORECASE)
APOSTROPHES = str.maketrans("‘’`´ʼ′", "''''''")
ACCENTED = {letter: unicodedata.normalize("NFD", chr(letter))[0] for letter in range(0xDF, 0x250)}
LETTERS = {  # as Lucene's normalisers of the languages, and its light stemmers, fold them
    **{letter: base for letter, base in ACCENTED.items() if base.isascii()},
    **dict.fromkeys([*range(0x64B, 0x656), 0x670, 0x640], ""),  # vowel signs and tatweel
    **str.maketrans({"ß": "ss", "œ": "oe", "æ": "ae", "\u200c": " ", "‐": "-", "ё": "е"}),
    **str.maketrans("ىیےکۀةہأإآٱ", "يييكهههاااا"),
    **str.maketrans("٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹", "01234567890123456789"),
}


class Unit(NamedTuple):
    """A letter with its marks, an entity, or white space with tags: its text, normalised (NFKC), and its place."""

    text: str
    start: int
    end: int


def fold(text: str) -> str:
    """Return a text as instructions and cues are compared: in lower case, its letters spelt in one way."""
    return text.lower().translate(LETTERS)


def units(instruction: str) -> list[Unit]:
    """Return what is read of an instruction, without its markup, by units, with their places in it as it is written."""
    text, found = paragraphs(instruction), list[Unit]()
    seen = (place for place, letter in enumerate(instruction) if not (letter.isspace() or UNSEEN.match(letter)))
    starts = list[int]()
    for letter in text:
        starts.append(starts[-1] + 1 if letter.isspace() else next(seen))
    for match in UNIT.finditer(text):
        unit = Unit(_plain(match[0]), starts[match.start()], starts[match.end() - 1] + 1)
        if found and unit.text and unicodedata.combining(unit.text[0]):
            before = found.pop()
            unit = Unit(unicodedata.normalize("NFKC", before.text + unit.text), before.start, unit.end)
        found.append(unit)
    return found


def _plain(unit: str) -> str:
    if GAP.fullmatch(unit):
        spaces = re.sub(INLINE, "", unit, flags=re.IGNORECASE)
        return "\n" if "\n" in spaces else " " if spaces else ""
    return unicodedata.normalize("NFKC", html.unescape(unit).translate(APOSTROPHES))

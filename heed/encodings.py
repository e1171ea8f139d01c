"""The encoding of an input file's text: UTF-8, or else one that fits its language clearly."""

import codecs
import re
from collections.abc import Iterator, Sequence
from itertools import chain

from heed.errors import UsageError
from heed.languages import SYLLABIC, Language, known_language

MARKS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32"}
MARKS |= {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}  # after UTF-32's, one of which begins with it
NAMES = {"Persian": "Farsi"}  # of languages, in charset-normalizer
INVISIBLE = re.compile(r"[\u200b-\u200f\u202a-\u202e\xad]")  # of Persian and Arabic, which charset-normalizer minds
# a sign, or a capital with an accent, within a word is a letter of another encoding
MISREAD = re.compile(r"[^\W\d_][¡-©¬-¶¸-º¼-¿×÷‚„†‡ˆ‰‹›•˜™€][^\W\d_]|[a-z][À-Þ][a-z]|[Ά-Ώ]’[Ά-Ώ]")
SEVERAL = 0.01  # of the characters: more misread ones, and an encoding does not fit
NEAR = 0.1  # of the letters that are usual in the language, less those that are unlikely
LEAST = 3  # usual letters of an alphabet that tell two encodings apart; of characters one does
USUAL = 12  # letters of an alphabet
SAMPLE = 1 << 14  # characters of a text that decide


def in_utf8(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the pieces of a file, those of a text in UTF-16 or UTF-32 as UTF-8; raises OSError where they are not."""
    first = next(pieces, b"")
    name = next((name for mark, name in MARKS.items() if first.startswith(mark)), "")
    content = chain([first], pieces)
    try:
        yield from map(str.encode, codecs.iterdecode(content, name)) if name else content
    except UnicodeDecodeError as error:
        raise OSError(f"not {name.upper()}, as its byte-order mark says: {error.reason}") from error


def named(encoding: str | None) -> list[str]:
    """Return ``encoding`` alone if it is the name of one, not a language, for the recipe of what was read in it."""
    return [encoding] if encoding and not known_language(encoding) else []


def encoding_of(content: bytes, encoding: str | None, likely: Sequence[str] = ()) -> str:
    """Return the encoding of bytes that are the text of a file, or its first lines.

    It is UTF-8 where they are UTF-8. Otherwise it is ``encoding``, or of those of the language with this code the one
    that is clearly the best by its letters; ``likely`` decides between near ones. Raises UnicodeDecodeError where none
    is, and :class:`UsageError` for an unknown one.
    """
    try:
        content.decode()
        return "utf-8"
    except UnicodeDecodeError as error:
        problem = error
    lang = known_language(encoding or "")
    if lang and (best := _best(content, lang, likely)):
        return best
    if not encoding or lang:
        problem.reason += f", and none of {', '.join(lang.encodings)} fits clearly" if lang and lang.encodings else ""
        raise problem
    try:
        content.decode(encoding)
    except LookupError as error:
        raise UsageError(f"encoding: found {encoding!r}, expected one such as gb18030 or cp1251") from error
    return encoding


def _best(content: bytes, lang: Language, likely: Sequence[str]) -> str:
    """Return the encoding of a language in which the text is clearly the best; empty where none is, or two are near."""
    from charset_normalizer import from_bytes
    from charset_normalizer.constant import FREQUENCIES

    damaged = content.decode(errors="replace")
    if sum(map("\x7f".__lt__, damaged)) >= 2 * damaged.count("\ufffd"):
        return ""  # most is UTF-8
    most, least = (None, 1) if lang.code in SYLLABIC else (USUAL, LEAST)
    names = (name for name in FREQUENCIES if name.rstrip("—") == NAMES.get(lang.name, lang.name))
    lists = ([letter for letter in FREQUENCIES[name] if not letter.isascii()] for name in names)
    usual = {letter for letters in lists for letter in letters[:most]}
    fitting = []
    for name in lang.encodings:
        try:
            text = INVISIBLE.sub("", content.decode(name))
        except UnicodeDecodeError:
            continue
        if len(text) > SAMPLE:
            text = "\n".join(line for line in text.split("\n") if not line.isascii())[:SAMPLE]
        match = from_bytes(text.encode(name), cp_isolation=[name]).best()
        if match and len(MISREAD.findall(text)) <= SEVERAL * len(text):
            letters = [letter for letter in text.lower() if not letter.isascii()]
            share = sum(letter in usual for letter in letters) / max(len(letters), 1)
            fitting.append((match.chaos - share, name, text, max(NEAR, least / max(len(letters), 1))))
    fitting.sort()
    near = [(name, text) for cost, name, text, _ in fitting if cost <= fitting[0][0] + fitting[0][3]]
    several = len({text for _, text in near}) > 1
    return next((name for name, _ in near if name in likely or not several), "")

"""Counts, years, units and lengths that an English instruction asks for or excludes, read from its words.

"at least six rows", "three columns at most", "five or more rivers" (in a table: a row each), "in 2010 or later", "in
kilometres", "numeric", and of texts "fewer than 300 words". :mod:`heed.reranking.bounds_kept` looks for them in
documents. A text's years are not looked at: a news item seldom names the year that it is about, but earlier ones.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from math import inf
from typing import NamedTuple

from heed.reranking.clauses import pieces

NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}
NUMBERS |= {"ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30}
DIGITS = r"(?<!\d[.,])(?:\d{1,3}(?:,\d{3})+|\d{1,6})(?![.,]?\d|-| ?[%°$€£])"  # no part of 2.5, 20% or 5-year
NUMBER = rf"({DIGITS}|{'|'.join(NUMBERS)})\b"
COUNTED = r"((?:,? [\w-]+){0,4})"  # where what is counted is looked for, after the number
BEFORE = r"((?: [\w-]+){1,2}?)"  # the same, between number and bound
COUNTS = (  # which end of the range, what is added to the number, how it is said
    ("low", 0, rf"\b(?:at least|no fewer than|no less than|minimum(?: of)?) {NUMBER}{COUNTED}"),
    ("low", 1, rf"(?<!no )(?<!not )\bmore than {NUMBER}{COUNTED}"),
    ("low", 0, rf"\b{NUMBER} or more\b{COUNTED}"),
    ("low", 0, rf"\b{NUMBER}{BEFORE} (?:or more|at least|minimum)\b"),
    ("high", 0, rf"\b(?:at most|no more than|not more than|up to|maximum(?: of)?) {NUMBER}{COUNTED}"),
    ("high", -1, rf"(?<!no )\b(?:fewer|less) than {NUMBER}{COUNTED}"),
    ("high", 0, rf"\b{NUMBER} or (?:fewer|less)\b{COUNTED}"),
    ("high", 0, rf"\b{NUMBER}{BEFORE} (?:or fewer|or less|at (?:the )?most|maximum)\b"),
)
KINDS = {"rows": r"\b(?:rows?|lines|entries|records)\b", "columns": r"\b(?:columns?|fields?)\b", "words": r"\bwords\b"}
MOST = 30  # things are rows of a table up to this many; larger numbers are seldom counts of rows
NO_THINGS = re.compile(r"\b(?:years?|times|points?|degrees?|per ?cent|million|days|hours|minutes|seconds)\b")

YEAR = r"(?<!\d)(1\d{3}|20\d{2})(?!\d)"
YEARS = (
    ("low", 1, rf"\bafter {YEAR}"),
    ("low", 0, rf"\b(?:since|no earlier than|not before) {YEAR}"),
    ("low", 0, rf"{YEAR} (?:or later|or after|and later|onwards?)"),
    ("high", -1, rf"(?<!not )\b(?:before|prior to|earlier than) {YEAR}"),
    ("high", 0, rf"\b(?:until|no later than) {YEAR}"),
    ("high", 0, rf"\bup to {YEAR}(?! ?[^\W\d])"),  # not up to 1500 metres
    ("high", 0, rf"{YEAR} (?:or earlier|or before|and earlier)"),
)
SPAN = re.compile(rf"{YEAR} ?(?:and|to|–|—|-) ?{YEAR}")

UNITS = {
    "square kilometres": r"square kilomet(?:re|er)s?|km2",
    "kilometres": r"(?<!square )kilomet(?:re|er)s?|km",
    "metres": r"met(?:re|er)s?|m",
    "miles": r"miles|mi",
    "feet": r"feet|foot|ft",
    "Celsius": r"(?:degrees )?celsius|° ?c",
    "Fahrenheit": r"(?:degrees )?fahrenheit|° ?f",
    "per cent": r"per ?cent|percentages?|%",
    "millimetres": r"millimet(?:re|er)s?|mm",
    "inches": r"inch(?:es)?",
    "US dollars": r"us dollars?|usd|us\$|\$",
    "euros": r"euros?|eur|€",
    "pounds": r"pounds?|gbp|£|lbs?",
    "kilograms": r"kilograms?|kg",
    "grams": r"grams?|g",
    "tonnes": r"tonnes?|metric tons?|t",
    "seconds": r"seconds?|(?<!\d{3}0)(?<!['’]\d0)s",  # not the 1970s
    "bushels": r"bushels?",
    "hectares": r"hectares?|ha",
}
UNIT = {name: re.compile(rf"(?:{pattern})(?!\w)") for name, pattern in UNITS.items()}
ONE_UNIT = rf"(?:{'|'.join(UNITS.values())})(?!\w)"
IN_UNITS = re.compile(rf"\bin {ONE_UNIT}(?:(?: ?/ ?| or ){ONE_UNIT})*(?! (?:may|can|might)\b)")
NUMERIC = re.compile(r"\bnumeric(?:al)?\b|\bas numbers\b|\bhold numbers\b|\bfigures should dominate\b")


class Bound(NamedTuple):
    """What an instruction asks for (``sign`` 1) or excludes (−1): a number from ``low`` to ``high``, or a unit.

    ``kind`` is ``rows``, ``columns``, ``words``, ``years``, ``units`` or ``numeric``; ``text`` is how the instruction
    says it. One of ``units``, names of :data:`UNITS`, is enough.
    """

    kind: str
    sign: int
    text: str
    low: float = 0
    high: float = inf
    units: tuple[str, ...] = ()


@lru_cache(maxsize=1024)
def bounds(instruction: str, lang: str, tables: bool) -> tuple[Bound, ...]:
    """Return the bounds in an instruction, written in ``lang``, on tables, or without ``tables`` on texts."""
    found = [bound for piece in pieces(instruction, lang) for bound in _of(plain(piece.text), piece.sign)]
    return tuple(bound for bound in dict.fromkeys(found) if (bound.kind == "words") is not tables)


def plain(text: str) -> str:
    """Return ``text`` as units and years are looked for in it."""
    return unicodedata.normalize("NFKC", text).lower()


def units_in(text: str, units: Iterable[str] = UNITS) -> tuple[str, ...]:
    """Return those of ``units`` that are in a plain text."""
    return tuple(name for name in units if any(_stands_alone(text, found) for found in UNIT[name].finditer(text)))


def _stands_alone(text: str, found: re.Match[str]) -> bool:
    """Return whether no letter is before a unit; a look-behind in the pattern would take five times as long."""
    before = text[found.start() - 1 : found.start()]
    return not before.isalpha() and before not in ("'", "’", "_")


def _of(text: str, sign: int) -> Iterator[Bound]:
    for span in SPAN.finditer(text):
        yield Bound("years", sign, span[0], int(span[1]), int(span[2]))
    without_spans = SPAN.sub(" ", text)
    for end, change, pattern in YEARS:
        for match in _compiled(pattern).finditer(without_spans):
            yield _range("years", sign, match[0], end, int(match[1]) + change)
    for end, change, pattern in COUNTS:
        for match in _compiled(pattern).finditer(text):
            number = (NUMBERS.get(match[1]) or int(match[1].replace(",", ""))) + change
            if number != 1 and (kind := _counted(match[2], number, (end == "low") is (sign > 0))):
                yield _range(kind, sign, match[0], end, number)
    if sign < 0:
        yield from (Bound("units", sign, name, units=(name,)) for name in units_in(text))
        return
    yield from (Bound("units", sign, match[0], units=units_in(match[0])) for match in IN_UNITS.finditer(text))
    if numeric := NUMERIC.search(text):
        yield Bound("numeric", sign, numeric[0])


_compiled = cache(re.compile)  # that of re takes longer than a short text


def _counted(text: str, number: int, asks_for_more: bool) -> str:
    """Return the kind of a count; things listed are rows where more of them are asked for, else none."""
    for kind, pattern in KINDS.items():
        if re.search(pattern, text):
            return kind
    return "rows" if asks_for_more and number <= MOST and not NO_THINGS.search(text) and not units_in(text) else ""


def _range(kind: str, sign: int, text: str, end: str, number: int) -> Bound:
    low, high = (number, inf) if end == "low" else (0, number)
    return Bound(kind, sign, text.strip(), low, high)

"""The words of each language that exclude, except and negate, and an instruction's sentences with those in them.

A language is one file, ``languages/<code>.toml``, with examples of how instructions are read beside it.
"""

import html
import re
import tomllib
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from heed.files import digest_json
from heed.languages import known_language, script_language
from heed.progress import warn
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
FOLDER = Path(__file__).with_name("languages")
FIRST = ("eng", "zho", "rus", "fas")  # read in every collection, where a sentence is in their script
# Where the cues of two kinds overlap, the first kind in this list counts.
KINDS = ("plain", "except_after", "after", "carried", "except", "aside", "before", "turn", "negation")
COMMAS = ",，،:：—–()（）"  # what may end a clause
COMMA = re.compile(f"[{COMMAS}]")
CLASS = re.compile(r"\{([a-z_]+)\}")  # {be} in a pattern: one of the words of the class "be"
NO_CUES: dict[str, Any] = {"spaces": True, "commas_in_lists": True, "negation_last": False}
LETTER = r"[^\W\d_]"
NO_END = ("inc", "ltd", "corp", "vs", "mr", "mrs", "dr", "prof", "gen", "sen", "rep", "cf")  # nor "U.S." and "e.g."
ABBREVIATED = rf"(?<!\b{LETTER}\.{LETTER}\.)" + "".join(rf"(?<!\b{word}\.)" for word in NO_END)
BEFORE_HAN = r"(?<=[!?])(?=[\u3040-\u30ff\u4e00-\u9fff“《「])"  # "？" is "?" once normalised, without a space after it
SENTENCE = re.compile(rf"(?<=[.!?]){ABBREVIATED}\s+|(?<=[。！？؟;；؛\n])\s*|{BEFORE_HAN}")


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


class Cues(NamedTuple):
    """The compiled cues of one language; :mod:`heed.instructions.clauses` says what each kind does.

    ``kinds`` are pairs of a kind and its pattern, in the order in which they count; ``around`` are pairs of cues
    with an exception ``inside``; ``opening`` are cues that open a sentence,
    ``condition`` those of "if …", which ``such`` stands for in "such reports"; ``task`` are words about the task
    ("document", "relevant"), ``empty`` these and words without content ("of").
    """

    commas_in_lists: bool
    negation_last: bool
    kinds: tuple[tuple[str, re.Pattern[str]], ...]
    around: tuple[re.Pattern[str], ...]
    opening: re.Pattern[str]
    condition: re.Pattern[str]
    such: re.Pattern[str]
    task: frozenset[str]
    empty: frozenset[str]


@cache
def cues_of(lang: str) -> Cues:
    """Return the cues of a language; of one without a file none, so that all of an instruction is asked for."""
    data = cue_file(lang) or NO_CUES

    def whole(patterns: list[str]) -> re.Pattern[str]:
        alternatives = _any([_full(pattern, data["classes"]) for pattern in patterns] or ["(?!)"])
        return re.compile(rf"(?<!\w){alternatives}(?!\w)" if data["spaces"] else alternatives)

    def pattern(kind: str) -> re.Pattern[str]:
        return whole([pattern for group in data.get(kind, ()) for pattern in group["patterns"]])

    def around(group: dict[str, str]) -> re.Pattern[str]:
        first, last = (_full(group[end], data["classes"]) for end in ("first", "last"))
        return re.compile(f"(?:{first})(?P<inside>[^{COMMAS}]*?)(?:{last})")

    def words(kind: str) -> frozenset[str]:
        return frozenset(data.get(kind, {"words": ()})["words"])

    return Cues(
        data["commas_in_lists"],
        data["negation_last"],
        tuple((kind, pattern(kind)) for kind in KINDS),
        tuple(map(around, data.get("around", ()))),
        pattern("opening"),
        whole(data.get("condition", [])),
        whole(data.get("such", [])),
        words("task"),
        words("task") | words("small"),
    )


def languages_with_cues() -> list[str]:
    """Return the codes of the languages that have a file of cues."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def cues_digest(lang: str = "") -> str:
    """Return the digest of the cues that may be read in a collection in ``lang``, or in any."""
    codes = [code for code in languages_with_cues() if not lang or code in (*FIRST, lang)]
    return digest_json({code: cue_file(code) for code in codes})


def warn_without_cues(lang: str) -> None:
    """Warn where instructions are in a language without cues."""
    known, having = known_language(lang), languages_with_cues()
    if known and known.code not in having:
        warn(
            f"no cues for {known.name}: all of an instruction counts as asked for, nothing as excluded "
            f"(there are cues for {', '.join(having)})"
        )


@cache
def cue_file(lang: str) -> dict[str, Any]:
    """Return the content of a language's file with its letters folded, empty where it has none."""
    path = FOLDER / f"{lang}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8").translate(LETTERS)) if lang in languages_with_cues() else {}


def _full(pattern: str, classes: dict[str, list[str]]) -> str:
    """Return a pattern with the words of its classes, which may have classes too."""

    def words(name: re.Match[str]) -> str:
        return _any([_full(word, classes) for word in classes[name[1]]])

    return CLASS.sub(words, pattern)


def _any(patterns: list[str]) -> str:
    longest_first = sorted(patterns, key=len, reverse=True)  # the first that matches counts
    return f"(?:{'|'.join(longest_first)})"


class Mark(NamedTuple):
    """A cue in a sentence; of the kind ``around`` the text between a pair of cues."""

    kind: str
    start: int
    end: int


class Sentence(NamedTuple):
    """A sentence with its letters folded and in lower case, the cues of its language, and those in it, in order."""

    text: str
    cues: Cues
    marks: list[Mark]

    def has_content(self, start: int, end: int) -> bool:
        """Return whether a part of the text has more than small words and words about the task."""
        words = re.findall(r"\w+", self.text[start:end])
        if not self.cues.commas_in_lists:
            return len("".join(words)) >= 2
        return any(word not in self.cues.empty and len(word) > 1 for word in words)  # "oil" and "UK" are content


def sentences(text: str, lang: str) -> list[tuple[int, Sentence]]:
    """Return the sentences of a folded instruction with their starts; a question with its answer is one.

    The answer is a verdict alone: "Prices? No."
    """
    read: list[tuple[int, Sentence]] = []
    for start, end in _ends(text):
        sentence = _read(text[start:end], lang)
        if read and read[-1][1].text.endswith(("?", "؟")) and _is_verdict(sentence):
            start, _ = read.pop()
            sentence = _read(text[start:end], lang)
        read.append((start, sentence))
    return read


def _ends(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each sentence."""
    start = 0
    for gap in SENTENCE.finditer(text):
        yield start, gap.start()
        start = gap.end()
    yield start, len(text)


def _is_verdict(sentence: Sentence) -> bool:
    verdicts = [mark for mark in sentence.marks if mark.kind in ("after", "carried", "before")]
    edges = [0, *(edge for mark in verdicts for edge in mark[1:]), len(sentence.text)]
    rest = zip(edges[::2], edges[1::2], strict=True)
    return bool(verdicts) and not any(sentence.has_content(start, end) for start, end in rest)


def _read(sentence: str, lang: str) -> Sentence:
    cues = cues_of(script_language(sentence, lang))
    return Sentence(sentence, cues, _marks(sentence, cues))


def _marks(lower: str, cues: Cues) -> list[Mark]:
    """Return the cues of a sentence in order; where two overlap the kind that comes first counts."""
    taken = [False] * len(lower)
    marks: list[Mark] = []

    def take(kind: str, start: int, end: int) -> None:
        if start < end and not any(taken[start:end]):
            taken[start:end] = [True] * (end - start)
            marks.append(Mark(kind, start, end))

    for kind, pattern in cues.kinds:
        for match in pattern.finditer(lower):
            take(kind, *match.span())
        if kind == "after":
            for pair in (pair for both in cues.around for pair in both.finditer(lower)):
                if not any(taken[pair.start() : pair.end()]):
                    marks.append(Mark("around", *pair.span("inside")))
                    take("cue", pair.start(), pair.start("inside"))
                    take("cue", pair.end("inside"), pair.end())
    return sorted((mark for mark in marks if mark.kind != "plain"), key=lambda mark: mark.start)

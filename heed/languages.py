"""Languages by ISO 639-3 code, with their names in other tools; the language and the encoding of a text."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypedDict

from heed.errors import UsageError, did_you_mean

LATIN, KANA = "LATIN", {"HIRAGANA", "KATAKANA"}
SYLLABIC = ("KANA", "CJK", "HANGUL")  # letters that are syllables or words
RIGHT_TO_LEFT = ("ARABIC", "HEBREW")  # letters
LUCENE = "org.apache.lucene.analysis"


class Language(NamedTuple):
    """``code`` as in topics and runs (ISO 639-3), ``short`` as in Anserini and ir_datasets (639-1).

    ``encodings`` are Python's names of those that its files may be in where they are not UTF-8. ``letters`` are named
    as Unicode names characters, by the first word, and ``own_letters`` are those that others with them lack.
    ``analyser`` is a class of Lucene's or Anserini's, empty for the one that Anserini's AnalyzerMap has for ``short``;
    it sees ``whole`` texts where a word's terms depend on those beside it, or where it parts words at spaces alone.
    """

    code: str
    short: str
    name: str
    encodings: tuple[str, ...] = ()
    letters: str = LATIN
    own_letters: str = ""
    analyser: str = ""
    whole: bool = False


LANGUAGES = {
    language.code: language
    for language in (
        Language("eng", "en", "English", ("cp1252",), analyser="io.anserini.analysis.DefaultEnglishAnalyzer"),
        Language("zho", "zh", "Chinese", ("gb18030", "big5"), "CJK"),
        Language("fas", "fa", "Persian", ("cp1256",), "ARABIC", own_letters="پچژگ"),
        Language("rus", "ru", "Russian", ("cp1251", "koi8_r"), "CYRILLIC"),
        Language("ara", "ar", "Arabic", ("cp1256", "iso8859_6"), "ARABIC"),
        Language("ben", "bn", "Bengali", (), "BENGALI"),
        Language("dan", "da", "Danish", ("cp1252",)),
        Language("deu", "de", "German", ("cp1252",)),
        Language("ell", "el", "Greek", ("cp1253", "iso8859_7"), "GREEK", analyser=f"{LUCENE}.el.GreekAnalyzer"),
        Language("fin", "fi", "Finnish", ("cp1252",)),
        Language("fra", "fr", "French", ("cp1252",)),
        Language("hin", "hi", "Hindi", (), "DEVANAGARI"),
        Language("hun", "hu", "Hungarian", ("cp1250", "iso8859_2")),
        Language("ind", "id", "Indonesian", ("cp1252",)),
        Language("ita", "it", "Italian", ("cp1252",)),
        Language("jpn", "ja", "Japanese", ("cp932", "euc_jp"), "KANA", whole=True),
        Language("kor", "ko", "Korean", ("cp949",), "HANGUL", whole=True),
        Language("nld", "nl", "Dutch", ("cp1252",)),
        Language("nor", "no", "Norwegian", ("cp1252",)),
        Language("pol", "pl", "Polish", ("cp1250", "iso8859_2")),
        Language("por", "pt", "Portuguese", ("cp1252",)),
        Language("spa", "es", "Spanish", ("cp1252",)),
        # as in Anserini's indexer and searcher: its AnalyzerMap lacks it
        Language("swa", "sw", "Swahili", ("cp1252",), analyser=f"{LUCENE}.core.WhitespaceAnalyzer", whole=True),
        Language("swe", "sv", "Swedish", ("cp1252",)),
        Language("tel", "te", "Telugu", (), "TELUGU"),
        Language("tha", "th", "Thai", ("cp874",), "THAI", whole=True),
        Language("tur", "tr", "Turkish", ("cp1254",)),
        Language("ukr", "uk", "Ukrainian", ("cp1251", "koi8_u"), "CYRILLIC", own_letters="іїєґ"),
        # Lucene has none of its own: words in lower case, where Anserini would take English's
        Language("vie", "vi", "Vietnamese", ("cp1258",), analyser=f"{LUCENE}.standard.StandardAnalyzer"),
    )
}

TAG = re.compile(r"([a-z]{2,3})(?:[-_][a-z]{4})?(?:[-_](?:[a-z]{2}|\d{3}))?")  # language, script, region
OTHER_CODES = {  # of ISO 639-2, and of the members of a language that texts of it are marked with
    **{"chi": "zho", "cmn": "zho", "per": "fas", "pes": "fas", "prs": "fas", "arb": "ara", "swh": "swa", "ger": "deu"},
    **{"fre": "fra", "dut": "nld", "gre": "ell", "nob": "nor", "nb": "nor", "nno": "nor", "nn": "nor"},
}

# a Chinese character in words: NeuCLIR 1's Chinese documents have 743.1 characters and 427.7 tokens in the mean
# (neuclir.github.io/neuclir1)
HAN_WORDS = 427.7 / 743.1
HAN = "\u3001-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uffef"  # with their punctuation, and kana
# characters of a Thai word: Java's BreakIterator makes 79 words of the 313 in the sentences of tests/data/languages
THAI_WORD = 4
THAI = "\u0e01-\u0e3a\u0e40-\u0e5b"
_THAI_MARKS = "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"  # above and below a letter
JAPANESE = 0.05  # least share of kana among kana and Chinese characters; Chinese news have 0.0001
LEAST_LETTERS = 100  # that tell a text's language
OWN_SHARE = 0.01  # least share of a language's own letters; Persian news have 0.024, Russian ones 0.000002
NAMES = {"Persian": "Farsi"}  # of languages, in charset-normalizer
INVISIBLE = re.compile(r"[\u200b-\u200f\u202a-\u202e\xad]")  # of Persian and Arabic, which charset-normalizer minds
# a sign, or a capital with an accent, within a word is a letter of another encoding
MISREAD = re.compile(r"[^\W\d_][¡-©¬-¶¸-º¼-¿×÷‚„†‡ˆ‰‹›•˜™€][^\W\d_]|[a-z][À-Þ][a-z]|[Ά-Ώ]’[Ά-Ώ]")
SEVERAL = 0.01  # of the characters: more misread ones, and an encoding does not fit
NEAR = 0.1  # of the letters that are usual in the language, less those that are unlikely
LEAST = 3  # usual letters of an alphabet that tell two encodings apart; of characters one does
USUAL = 12  # letters of an alphabet
SAMPLE = 1 << 14  # characters of a text that decide


def counted(longest: int | None = None) -> re.Pattern[str]:
    """Return a pattern of what :func:`words_in` counts: words between spaces, of ``longest`` characters at most.

    Chinese, Japanese and Thai have no spaces: there it is a character, in Thai four with the last one's marks.
    """
    length = f"{{1,{longest}}}" if longest else "+"
    return re.compile(rf"[{HAN}]|[{THAI}]{{1,{THAI_WORD}}}[{_THAI_MARKS}]*|[^\s{HAN}{THAI}]{length}")


def words_in(unit: str) -> float:
    """Return how many words a match of :func:`counted` is."""
    return HAN_WORDS if re.match(f"[{HAN}]", unit) else 1.0


def known_language(code: str) -> Language | None:
    """Return the language of an ISO 639 code, also with script and region: zho, zh, cmn, zh-CN, zho_Hans; else None."""
    tag = TAG.fullmatch(code.lower())
    first = OTHER_CODES.get(tag[1], tag[1]) if tag else code
    return next((known for known in LANGUAGES.values() if first in (known.code, known.short)), None)


class LanguageData(TypedDict):
    """A language on a page: its tag in HTML (``fa``), and its direction, ``ltr`` or ``rtl``."""

    tag: str
    dir: str


def language_data(code: str) -> LanguageData:
    """Return a language's tag in HTML, and its direction."""
    known = known_language(code)
    to_left = known is not None and known.letters in RIGHT_TO_LEFT
    return LanguageData(tag=known.short if known else code, dir="rtl" if to_left else "ltr")


def code_of(text: str) -> str:
    """Return the ISO 639-3 code of a language that :func:`known_language` knows, and any other text as it is."""
    known = known_language(text)
    return known.code if known else text


def language(code: str) -> Language:
    """Return the language of a code, see :func:`known_language`.

    Raises :class:`UsageError` for any other code: Anserini would index it as English without a word.
    """
    known = known_language(code)
    if known is None:
        raise UsageError(f"lang: found {code!r}, expected one of {', '.join(LANGUAGES)}{suggestion(code)}")
    return known


def suggestion(text: str, among: Iterable[str] = tuple(LANGUAGES)) -> str:
    """Return "; did you mean zho?" for a code or name near that of a language ``among`` these, else an empty text."""
    sought, languages = text.lower(), [LANGUAGES[code] for code in among]
    near = [
        known.code
        for known in languages
        if sought in (known.code, known.short) or (len(sought) > 2 and known.name.lower().startswith(sought))
    ]
    if near:
        return f"; did you mean {' or '.join(dict.fromkeys(near))}?"
    codes = {name: known.code for known in languages for name in (known.name.lower(), known.code)}
    return did_you_mean(sought, codes, 2, before="; ")


def foreign_letters(text: str, expected: Language) -> tuple[str, str] | None:
    """Return the letters that most of ``text`` is in and the likely language, None where ``expected`` has these.

    The letters are named as by Unicode, such as ``Hebrew``; the language is a code, empty where none of ours has them
    or, as of Latin ones, most have. A Chinese character counts as three letters, and fewer than ``LEAST_LETTERS`` tell
    nothing.
    """
    counts = Counter(unicodedata.name(letter, "").partition(" ")[0] for letter in text if letter.isalpha())
    kana = sum(counts.pop(name, 0) for name in KANA)
    if kana >= JAPANESE * (kana + counts["CJK"]):
        counts["KANA"], counts["CJK"] = kana + counts["CJK"], 0
    for syllables in SYLLABIC:
        counts[syllables] *= 3
    letters = max(counts, key=lambda name: counts[name])
    if counts.total() < LEAST_LETTERS or letters == expected.letters:
        return None
    others = [each for each in LANGUAGES.values() if each.letters == letters != LATIN]
    least = OWN_SHARE * counts[letters]
    by_own = [
        each.code for each in others if each.own_letters and sum(map(text.lower().count, each.own_letters)) >= least
    ]
    return letters.capitalize(), next(iter(by_own + [each.code for each in others if not each.own_letters]), "")


def check_encoding(name: str) -> None:
    """Raise :class:`UsageError` for a name that is neither that of an encoding nor the code of a language."""
    try:
        "a".encode("utf-8" if known_language(name) else name or "utf-8")
    except LookupError as error:
        raise UsageError(f"encoding: found {name!r}, expected one such as gb18030 or cp1251") from error


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
    check_encoding(encoding)
    content.decode(encoding)
    return encoding


def _best(content: bytes, lang: Language, likely: Sequence[str]) -> str:
    """Return the encoding of a language in which the text is clearly the best; empty where none is, or two are near."""
    from charset_normalizer import from_bytes
    from charset_normalizer.constant import FREQUENCIES

    damaged = content.decode(errors="replace")
    if sum(map("\x7f".__lt__, damaged)) >= 2 * damaged.count("\ufffd"):
        return ""  # most is UTF-8
    most, least = (None, 1) if lang.letters in SYLLABIC else (USUAL, LEAST)
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

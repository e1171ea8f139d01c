"""Languages by ISO 639-3 code, with their names in other tools."""

import re
from typing import NamedTuple

from heed.errors import UsageError


class Language(NamedTuple):
    """``code`` as in topics and runs (ISO 639-3), ``short`` as in Anserini and ir_datasets (639-1)."""

    code: str
    short: str
    name: str


LANGUAGES = {
    language.code: language
    for language in (
        Language("eng", "en", "English"),
        Language("zho", "zh", "Chinese"),
        Language("fas", "fa", "Persian"),
        Language("rus", "ru", "Russian"),
    )
}


# a Chinese character in words: NeuCLIR 1's Chinese documents have 743.1 characters and 427.7 tokens in the mean
# (neuclir.github.io/neuclir1)
HAN_WORDS = 427.7 / 743.1
HAN = "\u3001-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uffef"  # with their punctuation, and kana
SCRIPTS = {"zho": r"[\u3400-\u9fff]", "fas": r"[\u0600-\u06ff]", "rus": r"[\u0400-\u04ff]", "eng": r"[a-z]"}


def language(code: str) -> Language:
    """Return the language of an ISO 639-3 code.

    Raises :class:`UsageError` for any other code: Anserini would index it as English without a word.
    """
    if code not in LANGUAGES:
        raise UsageError(f"language: found {code!r}, expected one of {', '.join(LANGUAGES)}{suggestion(code)}")
    return LANGUAGES[code]


def suggestion(short: str) -> str:
    """Return "; did you mean zho?" for a two-letter code such as ``zh``, else an empty text."""
    return next((f"; did you mean {known.code}?" for known in LANGUAGES.values() if known.short == short), "")


def script_language(text: str) -> str:
    """Return the language in whose script most letters of ``text`` are, English without any letter."""
    counts = {code: len(re.findall(pattern, text.lower())) for code, pattern in SCRIPTS.items()}
    counts["zho"] *= 3  # one Han character carries about as much as one word of the others
    return max(counts, key=lambda code: counts[code]) if any(counts.values()) else "eng"

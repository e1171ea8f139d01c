"""Languages by ISO 639-3 code, and what each tool calls them."""

from typing import NamedTuple

from heed.errors import HeedError


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


def language(code: str) -> Language:
    """The language of an ISO 639-3 code.

    Raises :class:`HeedError` for any other code: Anserini would index it as English without a word.
    """
    if code in LANGUAGES:
        return LANGUAGES[code]
    known = ", ".join(LANGUAGES)
    hint = next((f"; did you mean {known_code}?" for known_code, one in LANGUAGES.items() if one.short == code), "")
    raise HeedError(f"language: found {code!r}, expected one of {known}{hint}")

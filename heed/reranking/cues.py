"""The words that exclude, except and negate in each language: ``cues.json``, compiled."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from heed.io.files import digest_json
from heed.languages import known_language
from heed.progress import warn

DATA = Path(__file__).with_name("cues.json")
FIRST = ("eng", "zho", "rus", "fas")  # read in every collection, where a sentence is in their script
NONE: dict[str, Any] = {  # of a language without cues: nothing turns, all of an instruction is asked for
    "list_comma": True,
    "words": True,
    "negation_back": False,
    **dict.fromkeys(
        ("plain", "before", "after", "carried", "around", "negation", "except", "except_after", "turn", "aside"), ()
    ),
    **dict.fromkeys(("opening", "task", "small"), ()),
}


class Cues(NamedTuple):
    """The compiled cues of one language; :mod:`heed.reranking.clauses` says what each kind does."""

    list_comma: bool
    plain: re.Pattern[str]
    before: re.Pattern[str]
    after: re.Pattern[str]
    carried: re.Pattern[str]
    around: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]
    negation: re.Pattern[str]
    negation_back: bool
    excepting: re.Pattern[str]
    excepting_back: re.Pattern[str]
    turn: re.Pattern[str]
    aside: re.Pattern[str]
    opening: re.Pattern[str]
    task: frozenset[str]
    small: frozenset[str]

    def by_kind(self) -> list[tuple[str, re.Pattern[str]]]:
        """Return the patterns by kind; where two overlap the first wins."""
        return [
            ("plain", self.plain),
            ("except back", self.excepting_back),
            ("after", self.after),
            ("carried", self.carried),
            ("except", self.excepting),
            ("aside", self.aside),
            ("before", self.before),
            ("turn", self.turn),
            ("negation", self.negation),
        ]


@cache
def cues(lang: str) -> Cues:
    """Return the cues of a language, none where ``cues.json`` does not have it."""
    data = _data().get(lang, NONE)

    def compiled(kind: str) -> re.Pattern[str]:
        return _pattern(data[kind], data["words"])

    return Cues(
        data["list_comma"],
        compiled("plain"),
        compiled("before"),
        compiled("after"),
        compiled("carried"),
        tuple((_pattern([first], False), _pattern([last], False)) for first, last in data["around"]),
        compiled("negation"),
        data["negation_back"],
        compiled("except"),
        compiled("except_after"),
        compiled("turn"),
        compiled("aside"),
        compiled("opening"),
        frozenset(data["task"]),
        frozenset(data["small"]),
    )


def cues_digest(lang: str = "") -> str:
    """Return the digest of the cues that may be read in a collection in ``lang``, or in any."""
    return digest_json({code: data for code, data in _data().items() if not lang or code in (*FIRST, lang)})


def warn_without_cues(lang: str) -> None:
    """Warn where instructions are in a language without cues."""
    known, having = known_language(lang), _data()
    if known and known.code not in having:
        warn(
            f"no cues for {known.name}: all of an instruction counts as asked for, nothing as excluded "
            f"(there are cues for {', '.join(having)})"
        )


@cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8"))
    return data


def _pattern(alternatives: list[Any], words: bool) -> re.Pattern[str]:
    if not alternatives:
        return re.compile("(?!)")
    longest_first = sorted(alternatives, key=len, reverse=True)
    body = "|".join(f"(?:{alternative})" for alternative in longest_first)
    return re.compile(rf"(?<!\w)(?:{body})(?!\w)" if words else body)

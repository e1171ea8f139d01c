"""The words of each language that exclude, except and negate: ``languages/<code>.toml``, compiled."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from heed.files import digest_json
from heed.languages import known_language
from heed.progress import warn

FOLDER = Path(__file__).with_name("languages")
FIRST = ("eng", "zho", "rus", "fas")  # read in every collection, where a sentence is in their script
# Where the cues of two kinds overlap, the first kind in this list counts.
KINDS = ("plain", "except_after", "after", "carried", "except", "aside", "before", "turn", "negation")
COMMAS = ",，،:：—–()（）"  # what may end a clause
CLASS = re.compile(r"\{([a-z_]+)\}")  # {be} in a pattern: one of the words of the class "be"
NO_CUES: dict[str, Any] = {"spaces": True, "commas_in_lists": True, "negation_last": False}


class Cues(NamedTuple):
    """The compiled cues of one language; :mod:`heed.reranking.polarity.clauses` says what each kind does.

    ``kinds`` are pairs of a kind and its pattern, in the order in which they count; ``around`` are pairs of cues
    with an exception ``inside``; ``opening`` are cues that open a sentence; ``task`` are words about the task
    ("document", "relevant"), ``small`` words without content ("of").
    """

    commas_in_lists: bool
    negation_last: bool
    kinds: tuple[tuple[str, re.Pattern[str]], ...]
    around: tuple[re.Pattern[str], ...]
    opening: re.Pattern[str]
    task: frozenset[str]
    small: frozenset[str]


@cache
def cues(lang: str) -> Cues:
    """Return the cues of a language; of one without a file none, so that all of an instruction is asked for."""
    data = _data(lang) or NO_CUES

    def pattern(kind: str) -> re.Pattern[str]:
        found = [_full(one, data["classes"]) for group in data.get(kind, ()) for one in group["patterns"]] or ["(?!)"]
        return re.compile(rf"(?<!\w){_any(found)}(?!\w)" if data["spaces"] else _any(found))

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
        words("task"),
        words("small"),
    )


def languages_with_cues() -> list[str]:
    """Return the codes of the languages that have a file of cues."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def cues_digest(lang: str = "") -> str:
    """Return the digest of the cues that may be read in a collection in ``lang``, or in any."""
    codes = [code for code in languages_with_cues() if not lang or code in (*FIRST, lang)]
    return digest_json({code: _data(code) for code in codes})


def warn_without_cues(lang: str) -> None:
    """Warn where instructions are in a language without cues."""
    known, having = known_language(lang), languages_with_cues()
    if known and known.code not in having:
        warn(
            f"no cues for {known.name}: all of an instruction counts as asked for, nothing as excluded "
            f"(there are cues for {', '.join(having)})"
        )


@cache
def _data(lang: str) -> dict[str, Any]:
    path = FOLDER / f"{lang}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if lang in languages_with_cues() else {}


def _full(pattern: str, classes: dict[str, list[str]]) -> str:
    """Return a pattern with the words of its classes, which may have classes too."""

    def words(found: re.Match[str]) -> str:
        return _any([_full(word, classes) for word in classes[found[1]]])

    return CLASS.sub(words, pattern)


def _any(patterns: list[str]) -> str:
    longest_first = sorted(patterns, key=len, reverse=True)  # the first that matches counts
    return f"(?:{'|'.join(longest_first)})"

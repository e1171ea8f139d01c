"""Split an instruction into what it asks for and what it excludes, by cues kept as data.

Every character of a sentence has a sign. A cue turns the sign of what follows it in its clause
("not", "без"), of what stands before it ("… do not count", "……不算", "… نیست"), or of what it
encloses ("除……外"); two turns cancel each other. An exception ("unless", "除非") takes the sign
opposite to the rest of its sentence. Reasons and concessions ("because", "even if") get none.
``cues.json`` holds the cues of each language as regular expressions.
"""

import json
import re
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

DATA = Path(__file__).with_name("cues.json")
SCRIPTS = (("zho", r"[\u3400-\u9fff]"), ("fas", r"[\u0600-\u06ff]"), ("rus", r"[\u0400-\u04ff]"), ("eng", r"[a-z]"))
SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？؟;；؛\n])\s*")
COMMA = re.compile(r"[,，،:：—–()（）]")
JOINING = ("and ", "but ", "nor ", "nor", "а ", "но ", "и ", "و ")


class Split(NamedTuple):
    """What an instruction asks for and what it excludes, as plain text without the cues."""

    asked: str
    excluded: str


class Cues(NamedTuple):
    """The compiled cues of one language; see the module for what each kind does."""

    list_comma: bool
    plain: re.Pattern[str]
    before: re.Pattern[str]
    after: re.Pattern[str]
    around: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]
    negation: re.Pattern[str]
    negation_back: bool
    excepting: re.Pattern[str]
    excepting_back: re.Pattern[str]
    turn: re.Pattern[str]
    aside: re.Pattern[str]
    opening: re.Pattern[str]
    task: frozenset[str]


class Mark(NamedTuple):
    """A cue found in a sentence."""

    kind: str
    start: int
    end: int


def split(instruction: str) -> Split:
    """The asked and the excluded part of ``instruction``; each sentence is read in its own language."""
    asked, excluded = [], []
    text = unicodedata.normalize("NFKC", instruction).replace("’", "'")
    for sentence in SENTENCE.split(text):
        for piece, sign in _signed(sentence, cues(script_language(sentence))):
            (asked if sign > 0 else excluded).append(piece)
    return Split(" ".join(asked), " ".join(excluded))


def script_language(text: str) -> str:
    """The language whose script most letters of ``text`` are in, English without any letter."""
    counts = {code: len(re.findall(pattern, text.lower())) for code, pattern in SCRIPTS}
    # one Han character carries about as much as one word of the others
    counts["zho"] *= 3
    return max(counts, key=lambda code: counts[code]) if any(counts.values()) else "eng"


def _signed(sentence: str, cue: Cues) -> list[tuple[str, int]]:
    """The stretches of a sentence that have a sign, with it."""
    lower = sentence.lower()
    signs = [1] * len(lower)
    marks = _marks(lower, cue)
    turning = [mark for mark in marks if mark.kind in ("before", "after") or _contrasts(mark, marks, cue)]
    for mark in turning:
        _turn(signs, *_scope(lower, mark, marks, cue))
    for mark in marks:
        if mark.kind in ("except", "except back", "around"):
            _except(signs, *_exception(lower, mark, marks, cue), turning)
    for mark in marks:
        if mark.kind == "negation" and mark not in turning:
            _undo(signs, *_negated(lower, mark, marks, cue))
    for mark in (one for one in marks if one.kind != "around"):
        end = _clause_end(lower, mark, marks, cue) if mark.kind == "aside" else mark.end
        signs[mark.start : end] = [0] * (end - mark.start)
    return _stretches(sentence, signs)


def _contrasts(mark: Mark, marks: list[Mark], cue: Cues) -> bool:
    """Whether a plain negation is answered by a turn, as in "not X but Y"."""
    following = next((one for one in marks if one.start >= mark.end), None)
    return mark.kind == "negation" and following is not None and following.kind == "turn" and not cue.negation_back


def _negated(lower: str, mark: Mark, marks: list[Mark], cue: Cues) -> tuple[int, int]:
    if not cue.negation_back:
        return mark.end, _clause_end(lower, mark, marks, cue)
    commas = [found.end() for found in COMMA.finditer(lower, 0, mark.start)]
    return max(commas, default=0), mark.start


def _undo(signs: list[int], start: int, end: int) -> None:
    """A negation inside what is excluded asks for it: "if it does not name X it is left out"."""
    signs[start:end] = [abs(sign) for sign in signs[start:end]]


def _marks(lower: str, cue: Cues) -> list[Mark]:
    """The cues of a sentence in order; where two overlap the longer kind of phrase wins."""
    taken = [False] * len(lower)
    marks = []
    kinds = (("plain", cue.plain), ("except back", cue.excepting_back), ("after", cue.after))
    kinds += (("except", cue.excepting), ("aside", cue.aside), ("before", cue.before), ("turn", cue.turn))
    for kind, pattern in (*kinds, ("negation", cue.negation)):
        for found in pattern.finditer(lower):
            start, end = found.span()
            if start < end and not any(taken[start:end]):
                taken[start:end] = [True] * (end - start)
                if kind != "plain":
                    marks.append(Mark(kind, start, end))
        if kind == "after":
            marks += _enclosing(lower, cue, taken)
    return sorted(marks, key=lambda mark: mark.start)


def _enclosing(lower: str, cue: Cues, taken: list[bool]) -> list[Mark]:
    marks = []
    for opening, closing in cue.around:
        for first in opening.finditer(lower):
            last = closing.search(lower, first.end())
            if last and not any(taken[first.start() : last.end()]) and not COMMA.search(lower, first.end(), last.start()):
                for one in (first, last):
                    taken[one.start() : one.end()] = [True] * (one.end() - one.start())
                marks += [Mark("around", first.end(), last.start()), Mark("cue", *first.span()), Mark("cue", *last.span())]
    return marks


def _scope(lower: str, mark: Mark, marks: list[Mark], cue: Cues) -> tuple[int, int]:
    """What a cue turns: what stands on its own side, or on the other where it has nothing there."""
    back = _clause_start(lower, mark, marks, cue), mark.start
    ahead = mark.end, _clause_end(lower, mark, marks, cue)
    first, second = (back, ahead) if mark.kind == "after" else (ahead, back)
    if _has_content(lower[slice(*first)], cue) or back[0] > 0:
        return first
    return second


def _exception(lower: str, mark: Mark, marks: list[Mark], cue: Cues) -> tuple[int, int]:
    if mark.kind == "around":
        return mark.start, mark.end
    if mark.kind == "except back":
        return _clause_start(lower, mark, marks, cue), mark.start
    return mark.end, _clause_end(lower, mark, marks, cue)


def _clause_start(lower: str, mark: Mark, marks: list[Mark], cue: Cues) -> int:
    closing = [one.end for one in marks if one.kind in ("turn", "after") and one.end <= mark.start]
    start = max(closing, default=0)
    if cue.list_comma:
        return start
    commas = [found.end() for found in COMMA.finditer(lower, start, mark.start)]
    for comma in reversed(commas):  # a clause of pointing words alone speaks of the clause before it
        if _has_content(lower[comma : mark.start], cue):
            return comma
    return start


def _clause_end(lower: str, mark: Mark, marks: list[Mark], cue: Cues) -> int:
    """Where a clause ends: at a turn, an aside or an exception, or at a comma that is not a list's."""
    closing = ("turn", "aside", "except") if mark.kind == "after" else ("turn", "aside", "except", "after")
    later = [one for one in marks if one.start >= mark.end]
    end = min((one.start for one in later if one.kind in closing or _coordinated(lower, mark, one)), default=len(lower))
    opens = not lower[: mark.start].strip() and (mark.kind == "except" or cue.opening.fullmatch(lower, *mark[1:]))
    if mark.kind == "aside" or opens or not cue.list_comma:
        comma = COMMA.search(lower, mark.end, end)
        if comma and lower[mark.end : comma.start()].strip():
            return comma.start()
    return end


def _coordinated(lower: str, first: Mark, second: Mark) -> bool:
    """Whether two cues stand side by side, as in "no prices, no adverts", and not one in the other."""
    joined = lower[: second.start].rstrip().endswith((",", "،", "、")) or lower[second.start :].startswith(JOINING)
    return first.kind == second.kind == "before" and joined


def _has_content(text: str, cue: Cues) -> bool:
    words = re.findall(r"\w+", text)
    if not cue.list_comma:
        return len("".join(words)) >= 2
    return any(word not in cue.task and len(word) > 3 for word in words)


def _turn(signs: list[int], start: int, end: int) -> None:
    for at in range(start, end):
        signs[at] = -signs[at]


def _except(signs: list[int], start: int, end: int, turning: list[Mark]) -> None:
    """Give an exception the sign opposite to its sentence, keeping the turns inside it."""
    rest_excludes = any(not start <= one.start < end for one in turning)
    signs[start:end] = [1 if rest_excludes else -1] * (end - start)
    for one in turning:
        if start <= one.start < end and one.kind == "before":
            _turn(signs, one.end, end)


def _stretches(sentence: str, signs: list[int]) -> list[tuple[str, int]]:
    pieces: list[tuple[str, int]] = []
    start = 0
    for at in range(1, len(signs) + 1):
        if at == len(signs) or signs[at] != signs[start]:
            if signs[start] and sentence[start:at].strip():
                pieces.append((sentence[start:at].strip(), signs[start]))
            start = at
    return pieces


@cache
def cues(lang: str) -> Cues:
    """The cues of a language of ``cues.json``."""
    data = json.loads(DATA.read_text(encoding="utf-8"))[lang]

    def compiled(kind: str) -> re.Pattern[str]:
        return _pattern(data[kind], data["words"])

    return Cues(
        data["list_comma"],
        compiled("plain"),
        compiled("before"),
        compiled("after"),
        tuple((_pattern([first], False), _pattern([last], False)) for first, last in data["around"]),
        compiled("negation"),
        data["negation_back"],
        compiled("except"),
        compiled("except_after"),
        compiled("turn"),
        compiled("aside"),
        compiled("opening"),
        frozenset(data["task"]),
    )


def _pattern(alternatives: list[Any], words: bool) -> re.Pattern[str]:
    longest_first = sorted(alternatives, key=len, reverse=True)
    body = "|".join(f"(?:{one})" for one in longest_first)
    return re.compile(rf"(?<!\w)(?:{body})(?!\w)" if words else body)

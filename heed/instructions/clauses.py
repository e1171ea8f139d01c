"""Split an instruction into what it asks for and what it excludes, by the cues of its language.

Every character of a sentence has a sign, 1 where it is asked for, -1 where it is excluded. The kinds of cues:

``before``    "leave out", "不要": the text after it in its clause changes its sign
``after``     "… do not count", "……不算": the text before it changes its sign
``carried``   "the same goes for …": the text has the sign of what precedes
``except``, ``except_after``, ``around``    "unless", "除……外": the sign opposite to the rest of the sentence
``negation``  "not": part of what is asked for, unless an alternative follows ("not X but Y")
``turn``      "but": a new clause begins
``aside``     "because", "even if", "so that I can": the clause has no sign
``plain``     "not only": looks like a cue and is none

Two changes of one text cancel each other, but a second verdict on the same text says the same: "… is another matter,
so drop it".
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from heed.instructions.cues import COMMA, LETTERS, Mark, Sentence, cue_file, sentences, units
from heed.languages import LANGUAGES
from heed.progress import number_of, warn
from heed.types import Query

PARENTHESIS = re.compile(r"[(（][^()（）]*[)）]")
# In Chinese and Japanese a comma ends a clause, unless the next part begins with one of these.
CONTINUING = ("没有", "没", "未", "以及", "及", "和", "与", "或", "即", "还是", "例如", "比如", "诸如", "乃至", "甚至")
TURNING = ("turn", "except", "aside")  # kinds that end a clause
JOINING = ("and ", "but ", "nor ", "nor", "а ", "но ", "и ", "و ", "und ", "et ", "ni ", "y ", "ولا ", "وليس ")


class Split(NamedTuple):
    """What an instruction asks for and what it excludes, as plain text without the cues."""

    asked_for: str
    excluded: str


class Piece(NamedTuple):
    """A part of an instruction with one sign: 1 where it is asked for, -1 where it is excluded.

    ``text`` is normalised (NFKC), ``sentence`` the number of its sentence; as it is written it is
    ``instruction[start:end]``. What has no sign is in none.
    """

    text: str
    sign: int
    sentence: int
    start: int
    end: int


def split(instruction: str, lang: str = "eng") -> Split:
    """Return the asked and the excluded part of ``instruction``, written in ``lang``."""
    parts = pieces(instruction, lang)
    return Split(*(" ".join(piece.text for piece in parts if piece.sign == sign) for sign in (1, -1)))


@lru_cache(maxsize=1024)  # a reranker, the report and the explorer read the same instructions
def pieces(instruction: str, lang: str = "eng") -> tuple[Piece, ...]:
    """Return the pieces of ``instruction``, written in ``lang``, in order, without spaces around.

    Sentences in another script are read in Chinese, Persian, Russian or English. Of a language without cues all is
    asked for.
    """
    read = units(instruction)
    letters = [unit.lower().translate(LETTERS) for unit, *_ in read]
    places = [number for number, folded in enumerate(letters) for _ in folded]
    parts: list[Piece] = []
    before = 0
    for number, (first, sentence) in enumerate(sentences("".join(letters), lang)):
        signs = _signs(sentence, before)
        before = _last_sign(sentence, signs, len(signs))
        for sign, group in groupby(range(len(signs)), key=signs.__getitem__):
            characters = list(group)
            inside = read[places[first + characters[0]] : places[first + characters[-1]] + 1]
            words = [unit for unit in inside if unit[0].strip()]
            if sign and words:
                text = "".join(unit for unit, *_ in inside).strip()
                parts.append(Piece(text, sign, number, words[0][1], words[-1][2]))
    return tuple(parts)


def warn_of_none_excluded(queries: Iterable[Query]) -> None:
    """Warn where the language of instructions has cues, and none of them yields one: they may be in other letters."""
    texts = [(query.instruction, query.lang) for query in queries if query.instruction and cue_file(query.lang)]
    if texts and not any(piece.sign < 0 for text in texts for piece in pieces(*text)):
        languages = " or ".join(sorted({LANGUAGES[lang].name for _, lang in texts}))
        warn(
            f"no cue of {languages} excludes anything in {number_of(len(texts), 'instruction')}: all is asked for; are "
            "they in other letters?"
        )


def _signs(sentence: Sentence, before: int) -> list[int]:
    """Return for each character 1 (asked), -1 (excluded) or 0 (neither); ``before`` is the sign of what precedes."""
    signs = [1] * len(sentence.text)
    verdicts = [mark for mark in sentence.marks if mark.kind in ("before", "after") or _contrasts(sentence, mark)]
    verdicts = [mark for mark in verdicts if not _is_reason(sentence, mark)]
    for mark in verdicts:
        start, end = _scope(sentence, mark)
        if any(start <= other.start < other.end <= mark.start for other in verdicts if other.kind == "after"):
            signs[start:end] = [-1] * (end - start)  # a second verdict on the same text
        else:
            signs[start:end] = [-sign for sign in signs[start:end]]
    for mark in sentence.marks:
        if mark.kind in ("except", "except_after", "around"):
            start, end = _exception(sentence, mark)
            rest_excludes = any(not start <= verdict.start < end for verdict in verdicts)
            signs[start:end] = [1 if rest_excludes else -1] * (end - start)
    for mark in sentence.marks:
        if mark.kind == "negation" and mark not in verdicts:
            start, end = _negated(sentence, mark)
            # "if it does not name X it is left out" asks for X; before the negation there may be more than X
            signs[start:end] = [max(sign, 0 if sentence.cues.negation_last else 1) for sign in signs[start:end]]
    for mark in sentence.marks:
        if mark.kind != "around":
            end = _clause_end(sentence, mark) if mark.kind == "aside" else mark.end
            signs[mark.start : end] = [0] * (end - mark.start)
    for mark in sentence.marks:
        if mark.kind == "carried":
            start, end = _scope(sentence, mark)
            if (_last_sign(sentence, signs, start) or before) < 0:
                signs[start:end] = [-sign * sign for sign in signs[start:end]]
    return signs


def _contrasts(sentence: Sentence, mark: Mark) -> bool:
    """Return whether a turn follows a plain negation, as in "not X but Y"."""
    if mark.kind != "negation" or sentence.cues.negation_last:
        return False
    following = next((other for other in sentence.marks if other.start >= mark.end), None)
    return following is not None and following.kind == "turn"


def _is_reason(sentence: Sentence, mark: Mark) -> bool:
    """Return whether a verdict belongs to a reason right before it: "because they do not help"."""
    asides = [other.end for other in sentence.marks if other.kind == "aside" and other.end <= mark.start]
    if mark.kind != "after" or not asides or not sentence.cues.commas_in_lists:
        return False
    return not COMMA.search(sentence.text, asides[-1], mark.start)


def _scope(sentence: Sentence, mark: Mark) -> tuple[int, int]:
    """Return the text that a cue is about: on the side of its kind, or on the other one if that is empty."""
    back = _clause_start(sentence, mark), mark.start
    ahead = mark.end, _clause_end(sentence, mark)
    if mark.kind == "carried":
        near, far = (back, ahead) if sentence.cues.negation_last else (ahead, back)
        return near if sentence.has_content(*near) else far
    first, second = (back, ahead) if mark.kind == "after" else (ahead, back)
    start, end = first if sentence.has_content(*first) or back[0] > 0 else second
    return _with_condition(sentence, min(start, mark.start), start, end)


def _with_condition(sentence: Sentence, begin: int, start: int, end: int) -> tuple[int, int]:
    """Return the text of a verdict that begins at ``begin``, with the condition that it stands for.

    "If it is about X, leave out such reports": "such reports" are those about X.
    """
    text, cues = sentence.text, sentence.cues
    commas = [comma.end() for comma in COMMA.finditer(text, 0, begin)]
    such = cues.such.match(text, end - len(text[start:end].lstrip()))
    if not such or not commas or sentence.has_content(commas[-1], begin):
        return start, end
    closing = [other.end for other in sentence.marks if other.kind in ("turn", "after") and other.end <= start]
    conditions = [match.start() for match in cues.condition.finditer(text, max(closing, default=0), commas[-1])]
    return conditions[-1] if conditions else start, end


def _last_sign(sentence: Sentence, signs: Sequence[int], end: int) -> int:
    """Return the sign of the last words before ``end``; 0 without any."""
    words = [word.span() for word in re.finditer(r"\w+", sentence.text[:end])]
    return next(
        (signs[start] for start, stop in reversed(words) if signs[start] and sentence.has_content(start, stop)), 0
    )


def _exception(sentence: Sentence, mark: Mark) -> tuple[int, int]:
    if mark.kind == "around":
        opening = [other.start for other in sentence.marks if other.kind == "cue" and other.end == mark.start]
        return _with_condition(sentence, min([*opening, mark.start]), mark.start, mark.end)
    if mark.kind == "except_after":
        return _clause_start(sentence, mark), mark.start
    return mark.end, _clause_end(sentence, mark)


def _negated(sentence: Sentence, mark: Mark) -> tuple[int, int]:
    if not sentence.cues.negation_last:
        return mark.end, _clause_end(sentence, mark)
    commas = [comma.end() for comma in COMMA.finditer(sentence.text, 0, mark.start)]
    return max(commas, default=0), mark.start


def _clause_start(sentence: Sentence, mark: Mark) -> int:
    text = sentence.text
    closing = [other.end for other in sentence.marks if other.kind in ("turn", "after") and other.end <= mark.start]
    start = max([*closing, _parenthesis(text, mark)[0]])
    if sentence.cues.commas_in_lists:
        # "…, but they do not help": a pronoun stands for what is before the turn
        pronoun = start and text[start : mark.start].strip() and not sentence.has_content(start, mark.start)
        return 0 if pronoun else start
    outside = PARENTHESIS.sub(lambda inside: " " * len(inside[0]), text[: mark.start])  # its commas end no clause
    for comma in reversed([match.end() for match in COMMA.finditer(outside, start)]):
        if not text.startswith(CONTINUING, comma) and sentence.has_content(comma, mark.start):
            return comma
    return start


def _clause_end(sentence: Sentence, mark: Mark) -> int:
    """Return the end of a clause: a turn or an exception, or a comma that is not a list's."""
    text, cues = sentence.text, sentence.cues
    later = [other for other in sentence.marks if other.start >= mark.end]
    kinds = TURNING if mark.kind == "after" else (*TURNING, "after")
    closing = [other.start for other in later if other.kind in kinds or _coordinated(text, mark, other)]
    end = min([*closing, _parenthesis(text, mark)[1]])
    opens = mark.kind == "aside" or (
        not text[: mark.start].strip() and (mark.kind == "except" or cues.opening.fullmatch(text, *mark[1:]))
    )
    if opens or not cues.commas_in_lists:
        comma = COMMA.search(text, mark.end, end)
        if comma and text[mark.end : comma.start()].strip():
            return comma.start()
    colon = text.find(":", mark.end, end) if mark.kind in ("before", "except") and cues.commas_in_lists else -1
    return colon if colon >= 0 and sentence.has_content(mark.end, colon) else end


def _parenthesis(text: str, mark: Mark) -> tuple[int, int]:
    """Return start and end of the parenthesis that holds a cue, of the whole text without one."""
    for match in PARENTHESIS.finditer(text):
        if match.start() < mark.start and mark.end < match.end():
            return match.start() + 1, match.end() - 1
    return 0, len(text)


def _coordinated(text: str, first: Mark, second: Mark) -> bool:
    """Return whether two cues are side by side, as in "no prices, no adverts", and not one in the other."""
    joined = text[: second.start].rstrip().endswith((",", "،", "、", ":", "："))
    return first.kind == second.kind == "before" and (joined or text[second.start :].startswith(JOINING))

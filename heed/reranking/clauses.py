"""Split an instruction into what it asks for and what it excludes, by cues kept as data.

Every character of a sentence has a sign. A cue turns the sign of the text after it in its clause
("leave out", "不要"), or of the text before it ("… do not count", "……不算"); two turns cancel
each other, but a second verdict on the same text says the same ("… is another matter, so drop it"),
and a text can have the verdict before it ("so are …", "the same goes for …"). An exception
("unless", "кроме", "除……外") takes the sign opposite to the rest of its sentence. A plain negation
("not", "没有") is part of what is asked for, unless an alternative follows: "not X but Y". Reasons
and concessions ("because", "even if") get no sign.
``cues.json`` holds the cues of each language as regular expressions.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from typing import NamedTuple

from heed.reranking.sentences import COMMA, Mark, Sentence, sentences

PARENTHESIS = re.compile(r"[(（][^()（）]*[)）]")
# a clause that begins so goes on with the one before
CONTINUING = ("以及", "及", "和", "与", "或", "即", "还是", "例如", "比如", "诸如", "乃至", "甚至")
LACKING = ("没", "未", "而", "但", "却", "并未", "也没", "也未")  # "if it only names X, and no Y, …": one condition
CONDITION = re.compile("(?:该|相关)?(?:文[档章件中]|报道|内容)?(?:如(?!何)|若|假如|要是|倘|仅|只[是有]|单纯|泛泛)")
JOINING = ("and ", "but ", "nor ", "nor", "а ", "но ", "и ", "و ", "und ", "et ", "ni ", "y ", "ولا ", "وليس ")


class Split(NamedTuple):
    """What an instruction asks for and what it excludes, as plain text without the cues."""

    asked: str
    excluded: str


class Stretch(NamedTuple):
    """Characters ``start`` to ``end - 1`` of an instruction; ``sign`` is 1 where they are asked for, -1 excluded."""

    start: int
    end: int
    sign: int


Reading = tuple[tuple[int, Stretch], ...]  # of a normalised instruction, with the number of each sentence
_elsewhere: dict[tuple[str, str], Reading] = {}  # by text and language, until they are asked for


class Piece(NamedTuple):
    """The text of a stretch of an instruction, its sign, and the number of its sentence."""

    text: str
    sign: int
    sentence: int


def split(instruction: str, lang: str = "eng") -> Split:
    """Return the asked and the excluded part of ``instruction``, written in ``lang``."""
    found = pieces(instruction, lang)
    return Split(*(" ".join(piece.text for piece in found if piece.sign == sign) for sign in (1, -1)))


def pieces(instruction: str, lang: str = "eng") -> list[Piece]:
    """Return the pieces of ``instruction``, written in ``lang``, that are asked for or excluded, in order.

    Sentences in another script are read in Chinese, Persian, Russian or English. Of a language without cues all is
    asked for.
    """
    text = _normalised(instruction)
    return [Piece(text[start:end], sign, number) for number, (start, end, sign) in _stretches(text, lang)]


def stretches(instruction: str, lang: str = "eng") -> list[Stretch]:
    """Return the places of :func:`pieces` in ``instruction`` as it is written, in order.

    What lies between them, the cues and what has no sign, is in none.
    """
    text, places = _placed(instruction)
    return [Stretch(places[start], places[end], sign) for _, (start, end, sign) in _stretches(text, lang)]


def _normalised(instruction: str) -> str:
    return unicodedata.normalize("NFKC", instruction).replace("’", "'")


def _placed(instruction: str) -> tuple[str, Sequence[int]]:
    """Return ``instruction`` normalised, and for each character of it, and its end, the place it comes from."""
    if unicodedata.is_normalized("NFKC", instruction):
        return _normalised(instruction), range(len(instruction) + 1)
    starts: list[int] = []  # of a letter with the marks after it, which become one character
    for place, character in enumerate(instruction):
        if place == 0 or not unicodedata.combining(unicodedata.normalize("NFKC", character)[0]):
            starts.append(place)
    text, places = "", []
    for start, end in pairwise([*starts, len(instruction)]):
        normalised = _normalised(instruction[start:end])
        text += normalised
        places += [start] * len(normalised)
    return text, [*places, len(instruction)]


def _signs(sentence: Sentence, before: int) -> list[int]:
    """Return for each character 1 (asked), -1 (excluded) or 0 (neither); ``before`` is the sign of what precedes."""
    signs = [1] * len(sentence.text)
    turning = [mark for mark in sentence.marks if mark.kind in ("before", "after") or _contrasts(sentence, mark)]
    inner = [first for first, second in pairwise(turning) if _is_negation(sentence, first, second)]
    turning = [mark for mark in turning if mark not in inner and not _is_reason(sentence, mark)]
    for mark in turning:
        start, end = _scope(sentence, mark)
        if any(start <= other.start < other.end <= mark.start for other in turning if other.kind == "after"):
            signs[start:end] = [-1] * (end - start)  # "…is another matter, so drop it": both say the same
        else:
            _turn(signs, start, end)
    for mark in sentence.marks:
        if mark.kind in ("except", "except back", "around"):
            _except(signs, *_exception(sentence, mark), turning)
    for mark in sentence.marks:
        if (mark.kind == "negation" and mark not in turning) or mark in inner:
            # before the negation the clause may hold more than what is negated
            _undo(signs, *_negated(sentence, mark), sign=0 if sentence.cue.negation_back else 1)
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
    if mark.kind != "negation" or sentence.cue.negation_back:
        return False
    following = next((other for other in sentence.marks if other.start >= mark.end), None)
    return following is not None and following.kind == "turn"


def _is_negation(sentence: Sentence, first: Mark, second: Mark) -> bool:
    """Return whether a turn is about the clause, and the next, right after it, about the document.

    So it is in Persian, where verbs are last: "whose source is not official, is not relevant".
    """
    if not (first.kind == second.kind == "after" and sentence.cue.negation_back):
        return False
    words = set(re.findall(r"\w+", sentence.text[first.end : second.start]))
    verb = sentence.text[first.start : first.end]
    return words <= sentence.cue.task and sentence.cue.negation.search(verb) is not None


def _is_reason(sentence: Sentence, mark: Mark) -> bool:
    """Return whether a verdict belongs to a reason right before it: "because they clutter the page"."""
    asides = [other.end for other in sentence.marks if other.kind == "aside" and other.end <= mark.start]
    if mark.kind != "after" or not asides or not sentence.cue.list_comma:
        return False
    return not COMMA.search(sentence.text, asides[-1], mark.start)


def _scope(sentence: Sentence, mark: Mark) -> tuple[int, int]:
    """Return the text that a cue turns: on the side of its kind, or on the other one if that is empty."""
    back = _clause_start(sentence, mark), mark.start
    ahead = mark.end, _clause_end(sentence, mark)
    if mark.kind == "carried":
        near, far = (back, ahead) if sentence.cue.negation_back else (ahead, back)
        return near if sentence.has_content(*near) else far
    first, second = (back, ahead) if mark.kind == "after" else (ahead, back)
    return first if sentence.has_content(*first) or back[0] > 0 else second


def _last_sign(sentence: Sentence, signs: Sequence[int], end: int) -> int:
    """Return the sign of the last words before ``end``; 0 without any."""
    words = [word.span() for word in re.finditer(r"\w+", sentence.text[:end])]
    return next((signs[at] for at, last in reversed(words) if signs[at] and sentence.has_content(at, last)), 0)


def _exception(sentence: Sentence, mark: Mark) -> tuple[int, int]:
    if mark.kind == "around":
        return mark.start, mark.end
    if mark.kind == "except back":
        return _clause_start(sentence, mark), mark.start
    return mark.end, _clause_end(sentence, mark)


def _negated(sentence: Sentence, mark: Mark) -> tuple[int, int]:
    if not sentence.cue.negation_back:
        return mark.end, _clause_end(sentence, mark)
    return max(_commas(sentence, mark, 0, mark.start), default=0), mark.start


def _commas(sentence: Sentence, mark: Mark, start: int, end: int) -> list[int]:
    """Return the places after commas from ``start`` to ``end``; parentheses that do not hold the cue have none."""
    outline = PARENTHESIS.sub(
        lambda found: found[0] if found.start() <= mark.start < found.end() else " " * len(found[0]), sentence.text
    )
    return [comma.end() for comma in COMMA.finditer(outline, start, end)]


def _clause_start(sentence: Sentence, mark: Mark) -> int:
    closing = [other.end for other in sentence.marks if other.kind in ("turn", "after") and other.end <= mark.start]
    start = max([*closing, _enclosed(sentence.text, mark)[0]])
    if sentence.cue.list_comma:
        # "…, but they do not help": a pronoun stands for what is before the turn
        pronoun = start and sentence.text[start : mark.start].strip() and not sentence.has_content(start, mark.start)
        return 0 if pronoun else start
    # a clause of pointing words alone, or a concession ("even so"), refers to the clause before it
    commas = _commas(sentence, mark, start, mark.start)
    for previous, comma in reversed(list(pairwise([start, *commas]))):
        concession = any(other.kind == "aside" and other.start == comma for other in sentence.marks)
        condition = sentence.text.startswith(LACKING, comma) and CONDITION.match(sentence.text, previous, comma)
        continues = condition or sentence.text.startswith(CONTINUING, comma)
        if not concession and not continues and sentence.has_content(comma, mark.start):
            return comma
    return start


def _clause_end(sentence: Sentence, mark: Mark) -> int:
    """Return the end of a clause: a turn, an aside or an exception, or a comma that is not a list's."""
    text, cue = sentence.text, sentence.cue
    closing = ("turn", "aside", "except") if mark.kind == "after" else ("turn", "aside", "except", "after")
    later = [other for other in sentence.marks if other.start >= mark.end]
    ends = (other.start for other in later if other.kind in closing or _coordinated(text, mark, other))
    end = min([*ends, _enclosed(text, mark)[1]])
    opens = not text[: mark.start].strip() and (mark.kind == "except" or cue.opening.fullmatch(text, *mark[1:]))
    if mark.kind == "aside" or opens or not cue.list_comma:
        comma = COMMA.search(text, mark.end, end)
        if comma and text[mark.end : comma.start()].strip():
            return comma.start()
    colon = text.find(":", mark.end, end) if mark.kind in ("before", "except") and cue.list_comma else -1
    return colon if colon >= 0 and sentence.has_content(mark.end, colon) else end


def _enclosed(text: str, mark: Mark) -> tuple[int, int]:
    """Return start and end of the parenthesis that holds a cue, of the text without one."""
    for found in PARENTHESIS.finditer(text):
        if found.start() < mark.start and mark.end < found.end():
            return found.start() + 1, found.end() - 1
    return 0, len(text)


def _coordinated(text: str, first: Mark, second: Mark) -> bool:
    """Return whether two cues are side by side, as in "no prices, no adverts", and not one in the other."""
    joined = text[: second.start].rstrip().endswith((",", "،", "、", ":", "：")) or text[second.start :].startswith(
        JOINING
    )
    return first.kind == second.kind == "before" and joined


def _turn(signs: list[int], start: int, end: int) -> None:
    signs[start:end] = [-sign for sign in signs[start:end]]


def _undo(signs: list[int], start: int, end: int, sign: int) -> None:
    """Give ``sign`` to an excluded part that is negated in its clause: "if it does not name X it is left out"."""
    signs[start:end] = [max(old, sign) for old in signs[start:end]]


def _except(signs: list[int], start: int, end: int, turning: list[Mark]) -> None:
    """Give an exception the sign opposite to its sentence, keeping the turns inside it."""
    rest_excludes = any(not start <= mark.start < end for mark in turning)
    signs[start:end] = [1 if rest_excludes else -1] * (end - start)
    for mark in turning:
        if start <= mark.start < end and mark.kind == "before":
            _turn(signs, mark.end, end)


def read(instruction: str, lang: str) -> Reading:
    """Return the parts of an instruction that have a sign, for :func:`remember` in another process."""
    return _stretches(_normalised(instruction), lang)


def remember(readings: Iterable[tuple[tuple[str, str], Reading]]) -> None:
    """Keep what :func:`read` returned in another process, by instruction and language."""
    _elsewhere.update(((_normalised(instruction), lang), reading) for (instruction, lang), reading in readings)


@lru_cache(maxsize=1024)  # a reranker, the report and the explorer read the same instructions
def _stretches(text: str, lang: str) -> Reading:
    """Return a normalised instruction's parts with a sign, without spaces around, with the number of the sentence."""
    if (text, lang) in _elsewhere:
        return _elsewhere.pop((text, lang))
    found: list[tuple[int, Stretch]] = []
    before = 0
    for number, (first, sentence) in enumerate(sentences(text, lang)):
        signs = _signs(sentence, before)
        before = _last_sign(sentence, signs, len(signs))
        for sign, group in groupby(range(len(signs)), key=signs.__getitem__):
            places = list(group)
            start, end = places[0], places[-1] + 1
            piece = sentence.text[start:end]
            if sign and piece.strip():
                start += len(piece) - len(piece.lstrip())
                found.append((number, Stretch(first + start, first + start + len(piece.strip()), sign)))
    return tuple(found)

"""An instruction's sentences, each with the cues of its language that are in it."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from heed.languages import script_language
from heed.reranking.polarity.cues import COMMAS, Cues, cues

LETTER = r"[^\W\d_]"
NO_END = ("Inc", "Ltd", "Corp", "vs", "Mr", "Mrs", "Dr", "Prof", "Gen", "Sen", "Rep", "cf")  # nor "U.S." and "e.g."
ABBREVIATED = rf"(?<!\b{LETTER}\.{LETTER}\.)" + "".join(rf"(?<!\b{word}\.)" for word in NO_END)
BEFORE_HAN = r"(?<=[!?])(?=[\u3040-\u30ff\u4e00-\u9fff“《「])"  # "？" is "?" once normalised, without a space after it
SENTENCE = re.compile(rf"(?<=[.!?]){ABBREVIATED}\s+|(?<=[。！？؟;；؛\n])\s*|{BEFORE_HAN}")
COMMA = re.compile(f"[{COMMAS}]")


class Mark(NamedTuple):
    """A cue in a sentence; of the kind ``around`` the text between a pair of cues."""

    kind: str
    start: int
    end: int


class Sentence(NamedTuple):
    """A sentence in lower case, the cues of its language, and those in it, in order."""

    text: str
    cue: Cues
    marks: list[Mark]

    def has_content(self, start: int, end: int) -> bool:
        """Return whether a part of the text has more than small words and words about the task."""
        words = re.findall(r"\w+", self.text[start:end])
        if not self.cue.commas_in_lists:
            return len("".join(words)) >= 2
        empty = self.cue.task | self.cue.small
        return any(word not in empty and len(word) > 1 for word in words)  # "oil" and "UK" are content


def sentences(text: str, lang: str) -> list[tuple[int, Sentence]]:
    """Return the sentences of a normalised instruction with their starts; a question with its answer is one.

    The answer is a verdict alone: "Prices? No."
    """
    found: list[tuple[int, Sentence]] = []
    for start, end in _ends(text):
        sentence = _read(text[start:end], lang)
        if found and found[-1][1].text.endswith(("?", "؟")) and _is_verdict(sentence):
            start, _ = found.pop()
            sentence = _read(text[start:end], lang)
        found.append((start, sentence))
    return found


def _ends(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each sentence."""
    start = 0
    for gap in SENTENCE.finditer(text):
        yield start, gap.start()
        start = gap.end()
    yield start, len(text)


def _is_verdict(sentence: Sentence) -> bool:
    verdicts = [mark for mark in sentence.marks if mark.kind in ("after", "carried", "before")]
    places = [0, *(place for mark in verdicts for place in mark[1:]), len(sentence.text)]
    rest = zip(places[::2], places[1::2], strict=True)
    return bool(verdicts) and not any(sentence.has_content(start, end) for start, end in rest)


def _read(sentence: str, lang: str) -> Sentence:
    # one character stays one character, so that places in both texts agree ("İ".lower() has two)
    by_character = (low if len(low := char.lower()) == 1 else char for char in sentence)
    lower = sentence.lower() if sentence.isascii() else "".join(by_character)
    cue = cues(script_language(sentence, lang))
    return Sentence(lower, cue, _marks(lower, cue))


def _marks(lower: str, cue: Cues) -> list[Mark]:
    """Return the cues of a sentence in order; where two overlap the kind that comes first counts."""
    taken = [False] * len(lower)
    marks: list[Mark] = []

    def take(kind: str, start: int, end: int) -> None:
        if start < end and not any(taken[start:end]):
            taken[start:end] = [True] * (end - start)
            marks.append(Mark(kind, start, end))

    for kind, pattern in cue.kinds:
        for match in pattern.finditer(lower):
            take(kind, *match.span())
        if kind == "after":
            for pair in (pair for both in cue.around for pair in both.finditer(lower)):
                if not any(taken[pair.start() : pair.end()]):
                    marks.append(Mark("around", *pair.span("inside")))
                    take("cue", pair.start(), pair.start("inside"))
                    take("cue", pair.end("inside"), pair.end())
    return sorted((mark for mark in marks if mark.kind != "plain"), key=lambda mark: mark.start)

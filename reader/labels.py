"""Labelled instructions: texts marked by hand, and folders of JSON lines with spans.

In a marked text ``[-…-]`` is excluded, ``{…}`` neutral and the rest asked for; texts are separated by an empty line,
and the language is the beginning of the file's name: ``zho.news.txt``. Of a narrative with spans (``squeezed``, and
``class``, ``start`` and ``end``) the rest is known to be not excluded only.
"""

import json
import random
import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

# the first three as heed.types.KINDS has them, and as the reader's outputs are numbered
ASKED, EXCLUDED, NEUTRAL, NOT_EXCLUDED, UNKNOWN = range(5)
CLASSES = {"E": EXCLUDED, "N": NEUTRAL, "E?": UNKNOWN}
MARKED = re.compile(r"\[-(?P<excluded>.*?)-\]|\{(?P<neutral>.*?)\}", re.DOTALL)
BLOCK = re.compile(r"\n\s*\n")
SENTENCE = re.compile(r"(?<=[.!?؟。！？])\s+|(?<=[。！？])|\n")
PLAIN_LETTERS = str.maketrans("أإآٱ", "اااا")  # as they are typed
ACCENTED = ("deu", "fra", "ita", "por", "spa", "tur")


class Part(NamedTuple):
    """A piece of a text with its label, one of the numbers above."""

    text: str
    label: int


class Labelled(NamedTuple):
    """An instruction as parts that make up its text."""

    lang: str
    source: str
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(part.text for part in self.parts)


def marked_texts(folder: Path) -> Iterator[Labelled]:
    """Yield the texts of the ``.txt`` files of a folder, in the order of their names."""
    for path in sorted(folder.glob("*.txt")):
        for block in BLOCK.split(path.read_text(encoding="utf-8").strip()):
            yield Labelled(path.name.split(".")[0], path.stem, tuple(_marked(block)))


def _marked(text: str) -> Iterator[Part]:
    before = 0
    for match in MARKED.finditer(text):
        if match.start() > before:
            yield Part(text[before : match.start()], ASKED)
        label = EXCLUDED if match["excluded"] is not None else NEUTRAL
        yield Part(match["excluded"] or match["neutral"] or "", label)
        before = match.end()
    if before < len(text):
        yield Part(text[before:], ASKED)


def narratives(path: Path) -> Iterator[Labelled]:
    """Yield the narratives of a file of JSON lines with spans."""
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        text, parts, before = row["squeezed"], list[Part](), 0
        for span in sorted(row["spans"], key=lambda span: int(span["start"])):
            parts.append(Part(text[before : span["start"]], NOT_EXCLUDED))
            parts.append(Part(text[span["start"] : span["end"]], CLASSES[span["class"]]))
            before = span["end"]
        parts.append(Part(text[before:], NOT_EXCLUDED))
        yield Labelled(row["lang"], f"{path.stem} {row['collection']}", tuple(part for part in parts if part.text))


def varied(labelled: Labelled, chance: random.Random) -> Labelled:
    """Return a text as it may also be written: without some sentences, accents, capitals or signs."""
    parts = labelled.parts
    if chance.random() < 0.2:
        parts = _some_sentences(parts, chance)
    if chance.random() < 0.08:
        parts = tuple(Part(text.lower(), label) for text, label in parts)
    if labelled.lang in ACCENTED and chance.random() < 0.08:
        parts = tuple(Part(_without_accents(text), label) for text, label in parts)
    if labelled.lang == "ara" and chance.random() < 0.2:
        parts = tuple(Part(text.translate(PLAIN_LETTERS), label) for text, label in parts)
    if labelled.lang == "fas" and chance.random() < 0.3:
        blank = chance.choice(("", " "))
        parts = tuple(Part(text.replace("\u200c", blank), label) for text, label in parts)
    return labelled._replace(parts=parts)


def joined(labelled: Labelled, others: Sequence[Labelled], chance: random.Random) -> Labelled:
    """Return a text, now and then with another one of its language after it."""
    if chance.random() > 0.2:
        return labelled
    return labelled._replace(parts=(*labelled.parts, Part(" ", UNKNOWN), *chance.choice(others).parts))


def _some_sentences(parts: tuple[Part, ...], chance: random.Random) -> tuple[Part, ...]:
    """Return the parts of two thirds of the sentences, at least of one."""
    text = "".join(part.text for part in parts)
    ends = [match.end() for match in SENTENCE.finditer(text)]
    sentences = list(zip([0, *ends], [*ends, len(text)], strict=True))
    kept = [sentence for sentence in sentences if chance.random() < 0.67] or [chance.choice(sentences)]
    chosen, start = list[Part](), 0
    for piece, label in parts:
        for first, last in kept:
            inside = piece[max(0, first - start) : max(0, last - start)]
            if inside:
                chosen.append(Part(inside, label))
        start += len(piece)
    return tuple(chosen)


def _without_accents(text: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFD", text) if not unicodedata.combining(letter))

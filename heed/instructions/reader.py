"""Read an instruction: which of its words are asked for, which are excluded, and which say nothing about content.

The reader is a small encoder that gives each token a score for each of the three kinds; docs/polarity.md says what it
was made of and what it cannot do. A folder with a reader holds ``card.json`` (what it is, and the digests of the other
files), ``tokenizer.json``, ``graph.onnx`` and ``weights.safetensors``; ``make reader`` makes one.
"""

import html
import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from heed.errors import DataError, ModelError
from heed.extras import installed_version
from heed.files import digest, digest_json
from heed.languages import HAN, LANGUAGES, known_language
from heed.progress import log, number_of, warn
from heed.types import KINDS, Config, Query, Span, in_joined, paragraphs

WEIGHTS = Path(__file__).with_name("weights")
FILES = ("tokenizer.json", "graph.onnx", "weights.safetensors")
AGAIN = "make the folder again; Heed's own comes with its installation"
WINDOW, STEP = 510, 384  # tokens that are read at once, and from one window's start to the next
MARKS = "".join(letter for letter in map(chr, range(0x300, 0x1B00)) if unicodedata.category(letter)[0] == "M")
APOSTROPHES = "‘’`´ʼ′"
WORD = re.compile(rf"[\w{MARKS}]+(?:['{APOSTROPHES}-][\w{MARKS}]+)*")
UNSPACED = re.compile(f"[{HAN}]")
TAGS = {  # by what stands for them
    "": re.compile(r"</?(?:a|b|em|font|i|small|span|strong|su[bp]|u)(?:\s[^<>]*=[^<>]*)?\s*/?>", re.IGNORECASE),
    " ": re.compile(r"</?(?:br|div|h\d|li|[ou]l|p|t[dr])(?:\s[^<>]*=[^<>]*)?\s*/?>", re.IGNORECASE),
}
PERSIAN = str.maketrans("يىك", "ییک")  # as it is also typed
Scores = NDArray[np.float32]  # one row a token or word, one column a kind


class Card(msgspec.Struct):
    """What ``card.json`` says: the kinds as the outputs are numbered, how scores become spans, the languages it knows.

    ``change`` is what a change of kind between two words costs, ``favour`` what is added to the score of each kind, in
    natural logarithms; ``digests`` are SHA-256 of the other files.
    """

    name: str
    kinds: list[str]
    change: float
    favour: list[float]
    languages: list[str]
    digests: dict[str, str]


class InstructionPart(NamedTuple):
    """A part of an instruction as plain text; ``kind`` as in :class:`heed.types.Span`."""

    kind: str
    text: str


class Reader:
    """A reader of instructions, from a folder; what it has read is kept."""

    def __init__(self, folder: Path) -> None:
        """Check the files; :class:`ModelError` names one that is missing, damaged or of another reader."""
        self._folder = folder
        self.card = _checked(folder)
        self.config: Config = {"reader": digest_json(self.card.digests), "path": [self.card.change, *self.card.favour]}
        self.spans = lru_cache(maxsize=4096)(self._spans)

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        try:
            return Tokenizer.from_file(str(self._folder / FILES[0]))
        except Exception as error:  # of no other class
            version = installed_version("tokenizers")
            raise ModelError(f"{self._folder / FILES[0]}: tokenizers {version} cannot open it ({error})") from error

    @cached_property
    def _session(self) -> Any:
        import onnxruntime

        onnxruntime.disable_telemetry_events()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # several texts are read at the same time instead: no thread waits for another
        try:
            return onnxruntime.InferenceSession(str(self._folder / FILES[1]), options, ["CPUExecutionProvider"])
        except Exception as error:  # of a class of its own for each cause
            version = installed_version("onnxruntime")
            raise ModelError(f"{self._folder / FILES[1]}: ONNX Runtime {version} cannot open it ({error})") from error

    def parts(self, query: Query) -> list[InstructionPart]:
        """Return the parts of a query's instruction, as a person has read it where one has."""
        spans = query.reading or self.spans(query.instruction)
        return [InstructionPart(span.kind, _plain(query.instruction[span.start : span.end])) for span in spans]

    def as_given(self, text: str) -> tuple[Span, ...]:
        """Return the spans of a text with line breaks, which is read as a query has it; white space is in none."""
        joined = paragraphs(text)
        return in_joined(self.spans(joined), joined, text)

    def text_of(self, query: Query, kind: str) -> str:
        """Return the parts of one kind as one text."""
        return " ".join(part.text for part in self.parts(query) if part.kind == kind)

    def log_exclusions(self, name: str, queries: Iterable[Query]) -> None:
        """Log for the system ``name`` how many instructions exclude something; warn of languages that are not known."""
        instructed = [query for query in queries if query.instruction]
        for lang in sorted({query.lang for query in instructed}):
            self.warn_of_unknown(lang)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            read = pool.map(self.parts, instructed)
            excluding = sum(any(part.kind == "excluded" for part in parts) for parts in read)
        if instructed:
            run = f"{name}.{instructed[0].condition}"
            log.info(f"{run}: {excluding} of {number_of(len(instructed), 'instruction')} exclude something")

    def warn_of_unknown(self, lang: str) -> None:
        """Warn where instructions are in a language that the reader was not trained on."""
        known = known_language(lang)
        if known and known.code not in self.card.languages:
            warn(
                f"the reader of instructions was not trained on {known.name}: what it takes for excluded there may be "
                f"wrong (it knows {', '.join(self.card.languages)})"
            )

    def _spans(self, text: str) -> tuple[Span, ...]:
        """Return the spans of a text, one after the other without a gap; none of a blank text."""
        words = list(self._words(text))
        if not words:
            return (Span(0, len(text), "neutral"),) if text else ()
        kinds = _path(np.stack([scores for _, scores in words]), self.card.change)
        starts = [
            (start, self.card.kinds[kind])
            for number, ((start, _), kind) in enumerate(zip(words, kinds, strict=True))
            if number == 0 or kind != kinds[number - 1]
        ]
        ends = [*(start for start, _ in starts[1:]), len(text)]
        return tuple(
            Span(start if number else 0, end, kind)
            for number, ((start, kind), end) in enumerate(zip(starts, ends, strict=True))
        )

    def _words(self, text: str) -> Iterable[tuple[int, Scores]]:
        """Yield each word's start with the mean score of its tokens; in Chinese and Japanese each token's."""
        persian = any(letter in text for letter in LANGUAGES["fas"].own_letters)
        encoding = self._tokenizer.encode(text.translate(PERSIAN) if persian else text)
        scores = self._scores(encoding.ids) + np.array(self.card.favour, np.float32)
        words = [match.span() for match in WORD.finditer(text)]
        of_word: dict[int, list[int]] = {}  # by where it starts
        number = 0
        for token, (start, end) in enumerate(encoding.offsets):
            while number < len(words) and words[number][1] <= start:
                number += 1
            if start < end and number < len(words) and words[number][0] < end:
                first, last = words[number]
                of_word.setdefault(start if UNSPACED.search(text, first, last) else first, []).append(token)
        for start, tokens in sorted(of_word.items()):
            yield start, scores[tokens].mean(axis=0)

    def _scores(self, ids: Sequence[int]) -> Scores:
        """Return the logarithms of the kinds' probabilities for each token; long texts are read by windows."""
        first, *inner, last = ids
        scores = np.zeros((len(ids), len(self.card.kinds)), np.float32)
        for start in range(0, max(1, len(inner) - WINDOW + STEP), STEP):
            window = [first, *inner[start : start + WINDOW], last]
            [read] = self._session.run(None, {"ids": np.array([window])})[0]
            first_read = (WINDOW - STEP) // 2 if start else 0  # of an overlap each window gives its half
            scores[1 + start + first_read : 1 + start + len(window) - 2] = read[1 + first_read : -1]
        highest = scores.max(axis=1, keepdims=True)
        normal: Scores = scores - highest - np.log(np.exp(scores - highest).sum(axis=1, keepdims=True))
        return normal


def _checked(folder: Path) -> Card:
    path = folder / "card.json"
    try:
        card = msgspec.json.decode(path.read_bytes(), type=Card)
    except (OSError, msgspec.MsgspecError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ModelError(
            f"{path}: no card of a reader of instructions ({reason}); expected what make reader writes"
        ) from error
    if sorted(card.kinds) != [*KINDS] or len(card.favour) != len(KINDS):
        raise ModelError(
            f"{path}: found kinds {card.kinds} and favour {card.favour}, expected those of {', '.join(KINDS)}"
        )
    for name in FILES:
        try:
            sha256 = digest(folder / name)
        except DataError as error:
            raise ModelError(f"{error}; {AGAIN}") from error
        if sha256 != card.digests.get(name):
            raise ModelError(
                f"{folder / name}: damaged, or of another reader: its SHA-256 begins {sha256[:8]}, expected "
                f"{card.digests.get(name, 'none')[:8]} by card.json; {AGAIN}"
            )
    return card


def _plain(text: str) -> str:
    for blank, tag in TAGS.items():
        text = tag.sub(blank, text)
    return html.unescape(text).translate(dict.fromkeys(map(ord, APOSTROPHES), "'")).strip()


def _path(scores: Scores, change: float) -> list[int]:
    """Return the kinds of words in a row with the highest sum of scores, less ``change`` for each change (Viterbi)."""
    sums, before = scores[0], []
    for row in scores[1:]:
        best = int(sums.argmax())
        stays = sums >= sums[best] - change
        before.append(np.where(stays, np.arange(len(sums)), best))
        sums = np.where(stays, sums, sums[best] - change) + row
    path = [int(sums.argmax())]
    for kinds in reversed(before):
        path.append(int(kinds[path[-1]]))
    return path[::-1]


@cache
def reader_at(folder: str | Path | None = None) -> Reader:
    """Return the reader of a folder, Heed's own by default; a folder's files are opened once."""
    return Reader(Path(folder or WEIGHTS))


def read_instruction(text: str, lang: str = "eng") -> tuple[Span, ...]:
    """Return the spans of an instruction, asked for, excluded or neutral, which cover ``text`` without a gap.

    The ``kind`` of a span is ``asked``, ``excluded`` or ``neutral`` (words about the task, cues, politeness, reasons);
    ``start`` and ``end`` count the characters of ``text`` as it is given. A language that the reader was not trained on
    is read, with a warning.
    """
    reader = reader_at()
    reader.warn_of_unknown(lang)
    spans = reader.as_given(text) or reader.spans(text)  # a blank text is neutral
    edges = [0, *(span.start for span in spans[1:]), len(text)]
    return tuple(span._replace(start=edges[place], end=edges[place + 1]) for place, span in enumerate(spans))

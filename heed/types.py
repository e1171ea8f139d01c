"""The things that every step hands on: documents, topics, queries and their texts, runs, qrels, what a system is."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from heed.errors import UsageError, fail
from heed.languages import HAN

Matrix = NDArray[np.float32]  # one vector a row

ABLATIONS = ("keywords", "short")  # FollowIR's: the original instruction in fewer words
INSTRUCTED = (*ABLATIONS, "original", "changed", "reversed")  # conditions that carry an instruction
PAPERS = {
    "followir": "FollowIR",
    "mfollowir": "mFollowIR",
    "followtable": "FollowTable",
    "infosearch": "InfoSearch",
    "modern": "Qwen3-Reranker",
    "mteb": "MTEB",
}  # key -> name; the last two are a README that prints figures of FollowIR, and MTEB's own results
CONDITIONS = ("query", *INSTRUCTED)
JOIN = "{query} {instruction}"  # MTEB's and FollowIR's order and separator

Run = dict[str, dict[str, float]]  # qid -> docid -> score
Qrels = dict[str, dict[str, int]]  # qid -> docid -> grade
UNJUDGED = -1  # trec_eval's grade of a document that is in the pool and not judged
Subtopics = dict[str, dict[str, int]]  # subtopic -> docid -> grade, of one topic
Config = dict[str, Any]  # JSON data that decides scores, or the bytes of an index


class SubtopicGrades(dict[str, int]):
    """Grades by docid of a topic that is judged by subtopic: each document's highest.

    It stands wherever a topic's grades do; ``subtopics`` holds the grades of each subtopic, such as a nugget or, in
    multilingual judgements, the documents' language.
    """

    def __init__(self, subtopics: Subtopics) -> None:
        """Take the highest of each document's grades."""
        super().__init__()
        self.subtopics = subtopics
        for grades in subtopics.values():
            for docid, grade in grades.items():
                self[docid] = max(grade, self.get(docid, grade))


def by_subtopic(topics: Mapping[str, Subtopics]) -> Qrels:
    """Return judgements by topic and docid; with their subtopics where there are several in all."""
    if len({subtopic for subtopics in topics.values() for subtopic in subtopics}) > 1:
        return {qid: SubtopicGrades(subtopics) for qid, subtopics in topics.items()}
    return {qid: grades for qid, subtopics in topics.items() for grades in subtopics.values()}


def subtopics_of(grades: Mapping[str, int]) -> Subtopics:
    """Return a topic's grades by subtopic; empty where it is not judged by subtopic."""
    return grades.subtopics if isinstance(grades, SubtopicGrades) else {}


class Document(NamedTuple):
    """A document; ``title`` may be empty. The last three are a table's, as text for an index of fields."""

    docid: str
    title: str
    text: str
    caption: str = ""
    header: str = ""
    cells: str = ""

    @property
    def is_table(self) -> bool:
        """Whether this is a table, one row a line; it is cut between rows."""
        return bool(self.caption or self.header or self.cells)

    def contents(self) -> str:
        """Return title, newline, text, as Anserini's ``NeuClirCollection`` indexes them; without a title the text."""
        return f"{self.title}\n{self.text}" if self.title else self.text


KINDS = ("asked", "excluded", "neutral")  # of the parts of an instruction


class Span(NamedTuple):
    """A part of an instruction, ``instruction[start:end]``.

    ``kind`` is ``asked``, ``excluded`` or ``neutral`` (it says nothing about content); ``cue`` is the word by which a
    rule has told the kind, None where a model or a person has.
    """

    start: int
    end: int
    kind: str
    cue: str | None = None


class _QueryFields(NamedTuple):
    qid: str
    text: str
    query: str
    instruction: str
    lang: str
    condition: str
    reading: tuple[Span, ...]


class Query(_QueryFields):
    """A topic as it is put to a system under one condition.

    ``text`` is query and instruction as one text, in the collection's order; by default the query, a space, the
    instruction. A ``text`` alone is the query. ``instruction`` is empty under the condition ``query``, and with one the
    condition is ``original`` unless another is named. ``lang`` is an ISO 639-3 code. ``reading`` are the spans of the
    instruction as a person has read it, where one has.
    """

    __slots__ = ()

    def __new__(
        cls,
        qid: str,
        text: str = "",
        query: str = "",
        instruction: str = "",
        lang: str = "eng",
        condition: str = "",
        reading: Iterable[Span] = (),
    ) -> Self:
        """Fill in text, query and condition where they are not given, and join the lines of the instruction."""
        joined = paragraphs(instruction)
        query, reading = query or text, in_joined(reading, instruction, joined) if reading else ()
        text = text or fill(JOIN, query=query, instruction=joined)
        condition = condition or ("original" if joined else "query")
        return super().__new__(cls, qid, text, query, joined, lang, condition, reading)

    @property
    def alone(self) -> "Query":
        """The same query without its instruction."""
        return Query(self.qid, self.query, lang=self.lang, condition=self.condition)


def in_joined(spans: Iterable[Span], text: str, joined: str) -> tuple[Span, ...]:
    """Return spans of ``text`` as those of the same text with its lines joined by :func:`heed.types.paragraphs`.

    With the two texts the other way round it leads back.
    """
    places = [place for place, letter in enumerate(joined) if _is_seen(letter)]
    seen = [0, *accumulate(map(_is_seen, text))]
    counts = ((seen[span.start], seen[span.end], span) for span in spans)
    return tuple(span._replace(start=places[a], end=places[b - 1] + 1) for a, b, span in counts if a < b)


def _is_seen(letter: str) -> bool:
    return not (letter.isspace() or UNSEEN.match(letter))


class Topic(NamedTuple):
    """A query with an instruction for each condition that the topic has.

    ``type`` is the kind of instruction: FollowTable's constraint, InfoSearch's wanted
    variant. ``base`` is the qid of the topic that asks the same query alone, where that is a topic
    of its own (FollowTable: ``3`` for ``3_0``); empty where this topic is asked under ``query`` too.
    ``description`` is the topic's sentence between title and narrative, empty where the query holds it: no system
    reads it, assessors do. ``readings`` are the instructions as a person has read them, by condition: spans that cover
    the text, or some of it; the rest is neutral.
    """

    qid: str
    lang: str
    query: str
    instructions: dict[str, str]
    type: str = ""
    base: str = ""
    description: str = ""
    readings: dict[str, tuple[Span, ...]] = {}  # noqa: RUF012

    def under(self, condition: str, join: str = JOIN) -> Query:
        """Return the query under ``condition``; KeyError if the topic has no instruction for it."""
        if condition == "query":
            return Query(self.qid, self.query, self.query, "", self.lang, condition)
        instruction = self.instructions[condition]
        text = fill(join, query=self.query, instruction=paragraphs(instruction))
        reading = self.readings.get(condition, ())
        return Query(self.qid, text, self.query, instruction, self.lang, condition, reading)

    def instructed(self, instructions: dict[str, str]) -> Self:
        """Return the topic with other instructions, and of its readings those of texts that are the same."""
        same = {name for name, text in instructions.items() if text == self.instructions.get(name)}
        readings = {name: spans for name, spans in self.readings.items() if name in same}
        return self._replace(instructions=instructions, readings=readings)

    def has(self, condition: str) -> bool:
        """Whether the topic can be put to a system under ``condition``."""
        return (condition == "query" and not self.base) or condition in self.instructions


def conditions_of(topics: Sequence[Topic], chosen: Sequence[str]) -> list[str]:
    """Return the conditions to run: those ``chosen``, or all that some topic carries but the ablations.

    Raises :class:`UsageError` if no topic carries an instruction for a chosen condition.
    """
    carried = {"query"}.union(*(topic.instructions for topic in topics))
    problems = [
        f"condition: found {name}, but none of the {len(topics)} topics carries an instruction for it; they carry "
        + ", ".join(condition for condition in CONDITIONS if condition in carried)
        + "; give one of these, or topics with that instruction"
        for name in chosen
        if name not in carried
    ]
    fail(problems, UsageError)
    return [name for name in CONDITIONS if name in (chosen or carried.difference(ABLATIONS))]


def conditions_in(queries: Iterable[Query]) -> str:
    """Return the conditions of ``queries`` as a label has them."""
    return ", ".join(dict.fromkeys(query.condition for query in queries))


def under(topics: Sequence[Topic], condition: str) -> list[Topic]:
    """Return the topics that can be put to a system under ``condition``."""
    return [topic for topic in topics if topic.has(condition)]


class System:
    """What every retriever, encoder and reranker has.

    ``name`` is what its runs are called. ``config`` is JSON data that decides its scores beside its code: with it runs
    are used again and survive a kill; None where that is not known. ``made_by`` says in a manifest what a system
    without a config is, by default its class. An object of the user's needs a name and its one method alone.
    """

    name: str = ""
    config: Config | None = None
    made_by: Config | None = None

    @property
    def manifest_entry(self) -> Config:
        """What a manifest says of it."""
        made_by = self.made_by or {"class": f"{type(self).__module__}:{type(self).__qualname__}"}
        return made_by if self.config is None else self.config

    def load(self) -> None:
        """Load what it needs, so that this can be timed alone; called before the first use."""

    def close(self) -> None:
        """Free what it holds; a later use loads it again."""


class Retriever(System):
    """Finds documents for queries.

    ``by_topic``: whether a query's list is the same, to the last bit, whatever queries are searched beside it.
    """

    by_topic = False

    def search(self, queries: Sequence[Query], depth: int) -> Mapping[str, Mapping[str, float]]:
        """Return the ``depth`` best documents of each query, ``qid -> docid -> score``, higher is better."""
        raise NotImplementedError


class Encoder(System):
    """Turns texts into vectors of float32, one row each, compared by inner product.

    ``cosine``: whether vectors are of length 1.
    """

    cosine = False

    def encode_documents(self, documents: Sequence[Document]) -> Matrix:
        """Return the vectors of documents, shape ``(len(documents), d)``."""
        raise NotImplementedError

    def encode_queries(self, queries: Sequence[Query]) -> Matrix:
        """Return the vectors of queries with their instructions, shape ``(len(queries), d)``."""
        raise NotImplementedError

    def begin(self, collection: Any) -> None:
        """Log the estimated cost; called before the first document of a collection, a document store, is encoded."""

    def encode_batches(self, batches: Iterable[Sequence[Document]]) -> Iterator[Matrix]:
        """Yield the vectors of each batch of documents, in their order."""
        return map(self.encode_documents, batches)


class Reranker(System):
    """Scores documents for a query.

    ``at_once`` is how many queries :meth:`score_all` scores at the same time; ``independent`` is whether a document's
    score is the same whatever other documents are scored with it.
    """

    at_once = 1
    independent = False

    def score(self, query: Query, documents: Sequence[Document]) -> Sequence[float]:
        """Return one finite score for each of ``documents``, in their order; higher is better."""
        raise NotImplementedError

    def score_all(self, pairs: Iterable[tuple[Query, Sequence[Document]]]) -> Iterator[Sequence[float]]:
        """Yield the scores of each query's documents, in their order."""
        return (self.score(query, documents) for query, documents in pairs)

    def prepare(self, queries: Sequence[Query]) -> None:
        """Read all queries of a condition, those too whose scores are there; called before :meth:`begin`."""

    def announce(self, queries: Sequence[Query], documents: Callable[[Query], Sequence[Document]]) -> None:
        """Log the estimated cost of ``queries`` of all conditions; called before the first of them is begun."""

    def begin(self, queries: Sequence[Query], documents: Callable[[Query], Sequence[Document]]) -> None:
        """Log the estimated cost; called before the first of ``queries``, whose pools ``documents`` returns."""

    def finish(self) -> None:
        """Log the number of repaired answers; called after the last query."""

    def over(self, corpus: Callable[[], Any]) -> "Reranker":
        """Return the same reranker over other documents, those of ``corpus``: itself where it reads no index."""
        return self


def finite(score: Any) -> float | None:
    """Return ``score`` as a float, None for what is no finite number; a text is none."""
    try:
        number = math.nan if isinstance(score, str | bytes) else float(score)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def of_heed(system: object) -> bool:
    """Whether the class of ``system`` is Heed's, not the user's: the versions in Heed's recipes cover its code."""
    return type(system).__module__.partition(".")[0] == __name__.partition(".")[0]


@contextmanager
def closed(system: System) -> Iterator[None]:
    """Close ``system`` after the block, also after an error."""
    try:
        yield
    finally:
        system.close()


UNSEEN = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")  # such as soft hyphens
MARK = re.compile(  # of an item of a list, at the beginning of a line
    r"[•‣◦▪●○■□➢]|(?:[*–—-]|[(]?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)])\s|[（(]?[\d一二三四五六七八九十]{1,3}[）)、．]",
    re.IGNORECASE,
)
CLOSED = tuple(":;.!?：；。！？…")  # what may end a line before the first item
UNSPACED = re.compile(f"[{HAN}][“”‘’—…·]*\n[“”‘’—…·,.:;!?)]*[{HAN}]")  # a Chinese or Japanese sentence goes on


def fill(template: str, **parts: str) -> str:
    """Return the template with its ``{names}`` replaced and white space at its ends removed."""
    return placed(template, **parts).strip()


def placed(template: str, **parts: str) -> str:
    """Return the template with its ``{names}`` replaced; braces inside the parts stay as they are."""
    return re.sub(r"\{(\w+)\}", lambda match: parts[match[1]], template)


def paragraphs(text: str) -> str:
    """Return a text with one blank for white space, and without characters that nobody sees.

    A line break is white space, but not at an empty line and before an item of a list; between Chinese or Japanese
    characters it is nothing, nor before an ASCII mark that stands between them.
    """
    parts, before, listed = list[str](), "", False  # the line before, and whether an item is being read
    for words in (" ".join(line.split()) for line in UNSEEN.sub("", text).splitlines()):
        item = MARK.match(f"{words} ") is not None
        if not before:
            gap = "\n\n"
        elif item and (listed or before.endswith(CLOSED) or words[0] in "•‣◦▪●○■□➢*"):
            gap = "\n"
        else:
            gap, item = "" if UNSPACED.search(f"{before[-3:]}\n{words[:3]}") else " ", listed
        parts += [gap, words] if words else []
        before, listed = words, item
    return "".join(parts).strip()

"""Types of the JSON that the pages of the explorer show: a results folder, a topic, a document.

The report carries these, packed; the server answers with them. In lists of documents a document is its index in the
topic's ``docids``, so that an id is written once.
"""

from typing import TypedDict

from heed.languages import LanguageData

Span = tuple[int, int]  # first character and the one after the last, counted as JavaScript does: in UTF-16 units


class TopicEntry(TypedDict):
    """A topic in a list; ``base`` is the qid of the topic that asks the same query alone, or empty."""

    qid: str
    base: str
    type: str
    query: str
    language: LanguageData


class FolderView(TypedDict):
    """A results folder: what can be looked at in it.

    ``folder`` as :attr:`heed.report.results.Results.folder`; ``conditions`` are those of the runs, and ``pairs``
    those of them to be shown side by side, ``[base, new]``, those that are compared first; ``language`` is the
    documents'. ``keys`` are system, condition (or pair, ``original>changed``) and measure; ``lower`` says of each key
    whether lower values are better, and ``values`` has one for each topic, on the measure's own scale, or null;
    ``factors`` by measure are those of printed values.
    ``notes`` say in a sentence each what cannot be shown, and why.
    """

    folder: str
    title: str
    systems: list[str]
    conditions: list[str]
    pairs: list[tuple[str, str]]
    language: LanguageData
    topics: list[TopicEntry]
    keys: list[tuple[str, str, str]]
    lower: list[bool]
    factors: dict[str, int]
    values: list[list[float | None]]
    notes: list[str]


# an instruction, and the parts of its text that ``polarity`` reads as asked for and as excluded
Narrative = TypedDict("Narrative", {"text": str, "asked": list[Span], "excluded": list[Span]})  # noqa: UP013 - JSON


class Ranking(TypedDict):
    """The first and all judged documents of one list; the three lists are parallel, by rank.

    ``length`` is the number of documents in the whole list, ``documents`` are places in the topic's ``docids``.
    """

    length: int
    documents: list[int]
    ranks: list[int]
    scores: list[float]


class Absence(TypedDict):
    """The reason why a measure is undefined or constant for a topic, a sentence.

    ``condition`` may be a pair, ``original>changed``.
    """

    condition: str
    reason: str


class TopicView(TopicEntry):
    """A topic with all systems' rankings.

    ``narratives`` by condition, without ``query``; ``titles`` parallel to ``docids``, first words where there is none;
    ``grades`` by condition, parallel to ``docids``, null without a judgement; ``rankings`` by system and condition;
    ``values`` by system, condition (or pair, ``original>changed``) and measure, on the measures' own scales.
    """

    narratives: dict[str, Narrative]
    docids: list[str]
    titles: list[str]
    grades: dict[str, list[int | None]]
    rankings: dict[str, dict[str, Ranking]]
    values: dict[str, dict[str, dict[str, float]]]
    absent: list[Absence]


class TableData(TypedDict):
    """A table; all rows have the same number of cells."""

    caption: str
    header: list[list[str]]
    body: list[list[str]]


class DocumentView(TypedDict):
    """A document; ``table`` is null unless it is displayed as one."""

    docid: str
    title: str
    text: str
    table: TableData | None

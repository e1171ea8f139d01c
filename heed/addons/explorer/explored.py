"""A results folder with all that its pages need: topics, judgements, runs, and the documents where they are here.

Of the lists in a run that Heed wrote, pages show the first and the judged documents, which are read without parsing its
other lines: :func:`heed.formats.trec_files.read_run` takes 3.5 times as long (IndusTR's six runs, 3.4 million lines:
4.3 s against 1.2 s), and of one topic, which a page asks for, 13 times.
"""

import re
import sys
from collections.abc import Iterator, Mapping, Set
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from heed.errors import DataError
from heed.files import digest_json, read_pieces
from heed.instructions.reader import reader_at
from heed.measures.evaluate import Judging, Pair
from heed.report.results import AGAIN, ResultsFolder
from heed.report.topics_file import TopicsFile, read_topics_file
from heed.reuse import note_of, read_note
from heed.types import CONDITIONS, Topic

NO_INPUTS = TopicsFile("eng", "", "", [], {}, [])
COLUMNS = 6  # of a run


class Key(NamedTuple):
    """The key of one figure of a topic: ``condition`` may be a pair, ``original>changed``."""

    system: str
    condition: str
    measure: str


class Explored:
    """A results folder opened for its pages.

    ``topics`` by qid, ``systems`` and ``conditions`` those that have runs, ``notes`` what is not here. ``store`` holds
    the documents, and is in the folder ``stored``. ``reader`` is the folder of a reader of instructions, None for
    Heed's own.
    """

    def __init__(self, results: ResultsFolder, reader: str | None = None) -> None:
        """Read the files of the folder of ``results``; :class:`DataError` for a ``topics.json`` of another form."""
        self.results, self.path, self.notes, self.reader = results, results.path, list[str](), reader
        self.runs = {
            (system, condition): path
            for system in results.names
            for condition in CONDITIONS
            if (path := self.path / f"{system}.{condition}.run").is_file() and path.stat().st_size
        }
        self.systems = [system for system in results.names if any(system == of_run for of_run, _ in self.runs)]
        self.conditions = [name for name in CONDITIONS if any(name == of_run for _, of_run in self.runs)]
        if others := self._read_otherwise():
            self.notes.append(
                f"Instructions are marked as one reader of instructions reads them; the runs of {', '.join(others)} "
                "were made by another."
            )
        inputs = read_topics_file(self.path)
        if self.runs and inputs is None:
            self.notes.append(f"Topics and judgements are not noted in this folder: {AGAIN}.")
        inputs = inputs or NO_INPUTS
        self.language = inputs.language
        self.topics = {topic.qid: topic.topic() for topic in inputs.topics}
        pairs = [(pair.base, pair.new) for pair in inputs.pairs]
        self.compared = [pair for pair in pairs if {*pair} <= {*self.conditions}]
        self.judging = Judging(inputs.qrels, pairs=tuple(Pair(base, new, ()) for base, new in pairs))
        self.pairs = self._pairs()
        self.stored, self.store = inputs.store_from(self.path), inputs.open_store(self.path)
        if inputs.store and self.store is None:
            folder = f"{inputs.store}, seen from this folder"  # no name of a home: pages are passed on
            self.notes.append(f"The documents are no longer in {folder}, so their texts are not shown: {AGAIN}.")

    def _read_otherwise(self) -> list[str]:
        """Return the systems that read instructions by another reader than these pages."""
        notes = ((system, read_note(note_of(path))) for (system, _), path in self.runs.items())
        readers = {(system, digest_json(used)) for system, note in notes if note for used in readers_of(note.recipe)}
        shown = digest_json(reader_at(self.reader).config) if readers else ""
        return sorted({system for system, used in readers if used != shown})

    def _pairs(self) -> list[tuple[str, str]]:
        """Return the pairs that are compared, and for each other condition one to look at beside it."""
        pairs = self.compared[:]
        for condition in self.conditions:
            others = [name for name in ("original", *self.conditions) if name != condition and name in self.conditions]
            if others and not any(condition in pair for pair in pairs):
                first, second = sorted((condition, others[0]), key=self.conditions.index)
                pairs.append((first, second))
        return pairs

    @cached_property
    def values(self) -> Mapping[Key, Mapping[str, float]]:
        """The values of measures by qid; those of kinds of instruction alone, which come twice, are left out."""
        kinds = {topic.type for topic in self.topics.values()}
        return {
            Key(detail["system"], detail["condition"], detail["measure"]): detail["per_topic"]
            for detail in self.results.details
            if detail["condition"] not in kinds
        }

    def qid_under(self, topic: Topic, condition: str) -> str:
        """Return the qid that the topic's query has in runs and judgements of ``condition``."""
        return topic.base if condition == "query" and topic.base else topic.qid

    def grades(self, topic: Topic, condition: str) -> Mapping[str, int] | None:
        """Return the topic's grades under ``condition``; None if it is not judged there."""
        return self.judging.of(condition).get(self.qid_under(topic, condition))

    def judged(self, topic: Topic) -> Set[str]:
        """Return the documents that are judged for the topic under some condition of the runs."""
        return frozenset().union(*(self.grades(topic, condition) or () for condition in self.conditions))

    def value(self, key: Key, topic: Topic) -> float | None:
        """Return a figure of the topic; None if it has none."""
        return self.values[key].get(self.qid_under(topic, key.condition))


def readers_of(recipe: Any) -> Iterator[Any]:
    """Yield what a recipe says of readers of instructions, at any depth."""
    if isinstance(recipe, Mapping):
        for key, value in recipe.items():
            yield from [value] if key == "reader" else readers_of(value)
    elif isinstance(recipe, list):
        for value in recipe:
            yield from readers_of(value)


class RankedList(NamedTuple):
    """Part of a ranking of ``length`` documents: parallel lists in the order of ranks, which count from 1."""

    length: int
    docids: list[str]
    ranks: list[int]
    scores: list[float]

    def only(self, depth: int, judged: Set[str]) -> "RankedList":
        """Return the same with the first ``depth`` documents, and of the others those that are ``judged``."""
        rows = zip(self.docids, self.ranks, self.scores, strict=True)
        chosen = [row for row in rows if row[1] <= depth or row[0] in judged]
        return RankedList(self.length, *(list(column) for column in zip(*chosen, strict=True)))


def read_lists(path: Path, depth: int, judged: Mapping[str, Set[str]]) -> dict[str, RankedList]:
    """Return by qid the first ``depth`` documents of a run file, and those that are ``judged`` for the topic.

    The run lists each topic in one go and by rank, as :func:`heed.formats.trec_files.write_run` writes it. Raises
    :class:`DataError` for lines of another form.
    """
    return {qid: _parsed(path, lines, depth, judged.get(qid, set())) for qid, lines in _topics(path)}


def read_list(path: Path, qid: str, depth: int, judged: Set[str]) -> RankedList | None:
    """Return the first ``depth`` and the ``judged`` documents of one topic; None if the run does not have it."""
    lines = next((lines for listed_qid, lines in _topics(path) if listed_qid == qid), None)
    return _parsed(path, lines, depth, judged) if lines else None


def _topics(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield each topic's qid and lines."""
    topic, lines = b"", list[bytes]()
    for _, run in read_pieces(path):
        start = 0
        while start < len(run):
            qid = run[start : run.find(b" ", start)]
            last = re.compile(rb"\n(?!%s )" % re.escape(qid)).search(run, start)
            if not qid or not last:
                raise DataError(f"{path}: not a run as it was written; run the collection again")
            if lines and qid != topic:
                yield topic.decode(), b"".join(lines)
                lines = []
            lines.append(run[start : last.end()])
            topic, start = qid, last.end()
    if lines:
        yield topic.decode(), b"".join(lines)


def _parsed(path: Path, lines: bytes, depth: int, judged: Set[str]) -> RankedList:
    fields = lines.split()
    docids, scores = fields[2::COLUMNS], fields[4::COLUMNS]
    if len(fields) % COLUMNS or len(docids) != lines.count(b"\n"):
        raise DataError(f"{path}: lines without {COLUMNS} columns; run the collection again")
    judged_here = {docid.encode() for docid in judged}
    indices = [index for index, docid in enumerate(docids) if index < depth or docid in judged_here]
    shown = [sys.intern(docids[index].decode()) for index in indices]  # many lists have the same documents
    return RankedList(len(docids), shown, [index + 1 for index in indices], [float(scores[index]) for index in indices])

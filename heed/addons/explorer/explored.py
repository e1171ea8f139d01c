"""A results folder with all that its pages need: topics, judgements, runs, and the documents where they are here."""

from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from heed.errors import HeedError
from heed.files import digest_json
from heed.formats.trec_files import read_run
from heed.instructions.reader import reader_at
from heed.measures.evaluate import Judging, Pair
from heed.ranking import ranked
from heed.report.results import AGAIN, ResultsFolder
from heed.report.topics_file import TopicsFile, read_topics_file
from heed.reuse import Note, Recipe, note_of, read_note, recipe_version, write_note
from heed.types import CONDITIONS, Run, Span, Topic

Spans = tuple[Span, ...]

READINGS = Path(".made") / "readings.json"  # in a results folder
NO_INPUTS = TopicsFile("eng", "", "", [], {}, [])


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
        self._read = dict[str, Spans]()  # instructions that were asked for
        self.marks = True  # whether words of instructions are marked
        self.run = cache(self.read)  # of a system and condition; for whoever asks for one topic after the other
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

    @cached_property
    def readers(self) -> set[tuple[str, str]]:
        """The systems that read instructions, each with a digest of its reader."""
        notes = ((system, read_note(note_of(path))) for (system, _), path in self.runs.items())
        return {(system, digest_json(used)) for system, note in notes if note for used in readers_of(note.recipe)}

    def pool_of(self, reranker: str) -> Recipe:
        """Return of which runs a reranker's pool was made, by the note of a run; nothing where it is not known."""
        notes = (read_note(note_of(path)) for (system, _), path in self.runs.items() if system == reranker)
        return next((note.facts for note in notes if note and "first_stages" in note.facts), {})

    def _read_otherwise(self) -> list[str]:
        """Return the systems that read instructions by another reader than these pages."""
        shown = digest_json(reader_at(self.reader).config) if self.readers else ""
        return sorted({system for system, used in self.readers if used != shown})

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

    def read(self, key: tuple[str, str]) -> Run:
        """Return the run of a system and condition; it is not read where this process has it in memory."""
        return self.results.runs.get(key) or read_run(self.runs[key])

    def spans_of(self, instruction: str) -> Spans:
        """Return the spans of a topic's instruction, which is not read again after :meth:`keep_readings`."""
        if not self.marks:
            return ()
        if instruction not in self._read:
            earlier = self._earlier.get(instruction)
            self._read[instruction] = earlier or reader_at(self.reader).as_given(instruction)
        return self._read[instruction]

    @cached_property
    def _earlier(self) -> dict[str, Spans]:
        note = read_note(self.path / READINGS)
        spans = note.facts.get("spans") if note and note.recipe == self._reading else None
        if note is None or spans is None or note.files != {"spans": digest_json(spans)}:
            return {}
        return {text: tuple(Span(*span) for span in of_text) for text, of_text in spans.items()}

    @property
    def _reading(self) -> Recipe:
        """The recipe of spans."""
        return {"readings": recipe_version("readings"), **reader_at(self.reader).config}

    def keep_readings(self) -> None:
        """Write the spans that were asked for into the folder, if it can be written to, for the next page of it."""
        if self.marks and self._read != self._earlier:
            note = Note(self._reading, {"spans": digest_json(self._read)}, {"spans": self._read})
            with suppress(OSError, HeedError):
                write_note(self.path / READINGS, note)

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


def first_and_judged(scores: Mapping[str, float], depth: int, judged: Set[str]) -> RankedList:
    """Return the first ``depth`` documents of a topic's list, and of the others those that are ``judged``."""
    rows = [(docid, rank) for rank, docid in enumerate(ranked(scores), 1) if rank <= depth or docid in judged]
    docids, ranks = [docid for docid, _ in rows], [rank for _, rank in rows]
    return RankedList(len(scores), docids, ranks, [scores[docid] for docid in docids])

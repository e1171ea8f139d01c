"""A results folder with all that its pages need: topics, judgements, runs, and the documents where they are here."""

from collections.abc import Mapping, Set
from functools import cached_property
from typing import NamedTuple

from heed.measures.evaluate import Judging, Pair
from heed.report.results import AGAIN, ResultsFolder
from heed.report.topics_file import TopicsFile, read_topics_file
from heed.types import CONDITIONS, Topic

NO_INPUTS = TopicsFile("eng", "", "", [], {}, [])


class Key(NamedTuple):
    """The key of one figure of a topic: ``condition`` may be a pair, ``original>changed``."""

    system: str
    condition: str
    measure: str


class Explored:
    """A results folder opened for its pages.

    ``topics`` by qid, ``systems`` and ``conditions`` those that have runs, ``notes`` what is not here. ``store`` holds
    the documents, and is in the folder ``stored``.
    """

    def __init__(self, results: ResultsFolder) -> None:
        """Read the files of the folder of ``results``; :class:`DataError` for a ``topics.json`` of another form."""
        self.results, self.path, self.notes = results, results.path, list[str]()
        self.runs = {
            (system, condition): path
            for system in results.names
            for condition in CONDITIONS
            if (path := self.path / f"{system}.{condition}.run").is_file() and path.stat().st_size
        }
        self.systems = [system for system in results.names if any(system == of_run for of_run, _ in self.runs)]
        self.conditions = [name for name in CONDITIONS if any(name == of_run for _, of_run in self.runs)]
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

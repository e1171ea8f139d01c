"""A results folder with all that its pages need: topics, judgements, runs, and the documents where they are here."""

import os
from collections.abc import Mapping, Set
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from heed.formats.document_store import DocumentStore, existing_store
from heed.formats.run_lists import read_lists
from heed.measures.evaluate import Judging, Pair
from heed.report.results import Results
from heed.report.topics.topics_file import TopicsFile, read_topics_file
from heed.types import CONDITIONS, Topic

STORE_PARTS = 3  # in a folder of indexes: collection, index, documents
AGAIN = "run the command that made it once more (runs are used again)"


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

    def __init__(self, results: Results, indexes: Path | None = None) -> None:
        """Read the files of the folder of ``results``; raises :class:`DataError` for a ``topics.json`` of another form.

        ``indexes`` is where the folder of indexes is now, if it was moved.
        """
        self.results, self.path, self.notes = results, results.path, list[str]()
        listed = dict.fromkeys(row["system"] for row in results.rows)
        self.runs = {
            (system, condition): path
            for system in listed
            for condition in CONDITIONS
            if (path := self.path / f"{system}.{condition}.run").is_file() and path.stat().st_size
        }
        self.systems = [system for system in listed if any(system == of_run for of_run, _ in self.runs)]
        self.conditions = [name for name in CONDITIONS if any(name == of_run for _, of_run in self.runs)]
        inputs = read_topics_file(self.path) if self.runs else None
        if self.runs and inputs is None:
            self.notes.append(f"Topics and judgements are not noted in this folder: {AGAIN}.")
        self.language = inputs.language if inputs else "eng"
        pairs = tuple(Pair(base, new, ()) for base, new in inputs.pairs) if inputs else ()
        self.judging = Judging(inputs.qrels if inputs else {}, pairs=pairs)
        self.topics = {topic.qid: topic.topic() for topic in inputs.topics} if inputs else self._topics_of_runs()
        self.compared = self._compared(inputs)
        self.pairs = self._pairs()
        self.stored = _stored(self.path, inputs, indexes) if inputs else None
        self.store = self._store(inputs)

    def _topics_of_runs(self) -> dict[str, Topic]:
        qids = dict.fromkeys(qid for path in self.runs.values() for qid in read_lists(path, 0, {}))
        instructions = dict.fromkeys((name for name in self.conditions if name != "query"), "")
        return {qid: Topic(qid, "eng", "", instructions) for qid in qids}

    def _compared(self, inputs: TopicsFile | None) -> list[tuple[str, str]]:
        """Return the pairs of conditions that are compared, of those that have runs."""
        pairs = [(base, new) for base, new in inputs.pairs] if inputs else []
        return [pair for pair in pairs if set(pair) <= set(self.conditions)]

    def _pairs(self) -> list[tuple[str, str]]:
        """Return the pairs that are compared, and for each other condition one to look at beside it."""
        pairs = self.compared[:]
        for condition in self.conditions:
            others = [name for name in ("original", *self.conditions) if name != condition and name in self.conditions]
            if others and not any(condition in pair for pair in pairs):
                first, second = sorted((condition, others[0]), key=self.conditions.index)
                pairs.append((first, second))
        return pairs

    def _store(self, inputs: TopicsFile | None) -> DocumentStore | None:
        if inputs is None or self.stored is None:
            return None
        store = existing_store(self.stored, inputs.documents)
        if store is None:
            path = f"{inputs.store}, seen from this folder"  # no name of a home: pages are passed on
            self.notes.append(f"The documents are no longer in {path}, so their texts are not shown: {AGAIN}.")
        return store

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


def _stored(results: Path, inputs: TopicsFile, indexes: Path | None) -> Path:
    """Return the folder of the document store: as inputs, or in the folder of indexes as it is laid out."""
    if indexes is None:
        return Path(os.path.normpath(results / inputs.store))
    return indexes.joinpath(*Path(inputs.store).parts[-STORE_PARTS:])

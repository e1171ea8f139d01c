"""``topics.json`` beside the runs: topics and judgements they were measured with, and the folder of the documents."""

import json
import os
from collections.abc import Sequence, Set
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from heed.datasets.collection import Collection
from heed.errors import DataError, UsageError
from heed.extras import OBJECT
from heed.files import read_bytes, write_bytes
from heed.formats.document_store import DocumentStore, existing_store
from heed.measures.evaluate import Judging, Pair
from heed.measures.per_topic import Measure
from heed.measures.registry import as_measure
from heed.types import Qrels, Span, SubtopicGrades, Subtopics, Topic, subtopics_of

FILE = "topics.json"


class StoredTopic(msgspec.Struct):
    """A topic as :class:`heed.types.Topic` has it, of its fields those that systems read."""

    qid: str
    lang: str
    query: str
    instructions: dict[str, str]
    type: str = ""
    base: str = ""
    readings: dict[str, tuple[Span, ...]] = {}

    def topic(self) -> Topic:
        """Return the topic."""
        return Topic(**msgspec.structs.asdict(self))


class StoredPair(NamedTuple):
    """Two conditions that are compared, as :class:`heed.measures.evaluate.Pair` has them, with the measures' names."""

    base: str
    new: str
    measures: Sequence[str] = ()
    reverse: str = ""


class TopicsFile(msgspec.Struct):
    """The inputs of a results folder: with its runs, all that its figures need.

    ``language`` is the documents' (ISO 639-3); ``store`` the path of the folder with their document store, from the
    results folder; ``documents`` their digest, ``size`` their number; ``qrels`` by condition, ``subtopics`` of those
    that have some. ``own_measures`` are the user's measures by name, each with its ``package.module:function``, if it
    has one. ``queries`` is a digest of each condition's; the others are as in
    :class:`heed.measures.evaluate.Judging`. Folders of version 0.3.0 have no ``size`` and none of the fields after it.
    """

    language: str
    store: str
    documents: str
    topics: list[StoredTopic]
    qrels: dict[str, Qrels]
    pairs: list[StoredPair]
    size: int | None = None
    collection: str = ""
    subset: str = ""
    queries: dict[str, str] = {}
    warnings: list[str] = []
    measures: list[str] = []
    own_measures: dict[str, str] = {}
    traps: dict[str, set[str]] = {}
    robust: bool = False
    types: list[str] = []
    excluded: dict[str, set[str]] = {}
    subtopics: dict[str, dict[str, Subtopics]] = {}

    def store_from(self, folder: Path) -> Path:
        """Return the folder of the document store; ``folder`` is that of the results."""
        return Path(os.path.normpath(folder / self.store))

    def open_store(self, folder: Path) -> DocumentStore | None:
        """Return the document store; None where it is no longer there, or is of other documents."""
        return existing_store(self.store_from(folder), self.documents) if self.store else None

    def judging(self) -> tuple[Judging, list[str]]:
        """Return judgements and measures, and the names of those measures that cannot be imported."""
        imported: dict[str, str | Measure] = {}
        for name, path in self.own_measures.items():
            with suppress(UsageError):
                imported |= {name: as_measure(path)} if path else {}
        missing = [name for name in self.own_measures if name not in imported]

        def measures(names: Sequence[str]) -> tuple[str | Measure, ...]:
            return tuple(imported.get(name, name) for name in names if name not in missing)

        qrels: dict[str, Qrels] = {
            condition: {
                **grades,
                **{qid: SubtopicGrades(each) for qid, each in self.subtopics.get(condition, {}).items()},
            }
            for condition, grades in self.qrels.items()
        }
        pairs = tuple(Pair(each.base, each.new, measures(each.measures), each.reverse) for each in self.pairs)
        traps, robust, types, excluded = self.traps, self.robust, tuple(self.types), self.excluded
        return Judging(qrels, measures(self.measures), pairs, traps, robust, types, excluded), missing


def topics_file(
    collection: Collection, store: str, documents: str, size: int, queries: dict[str, str], warnings: list[str]
) -> TopicsFile:
    """Return the inputs of a results folder, with its fields from ``store`` on as :class:`TopicsFile` has them."""
    judging = collection.judging
    own_measures = {
        each.name: _path_of(each) for each in judging.all_measures if isinstance(each, Measure) and each.is_own
    }
    return TopicsFile(
        language=collection.language.code,
        store=store,
        documents=documents,
        topics=[
            StoredTopic(each.qid, each.lang, each.query, each.instructions, each.type, each.base, each.readings)
            for each in collection.topics
        ],
        qrels=judging.qrels,
        pairs=[StoredPair(each.base, each.new, [*map(str, each.measures)], each.reverse) for each in judging.pairs],
        size=size,
        collection=collection.name,
        subset=collection.subset,
        queries=queries,
        warnings=warnings,
        measures=[*map(str, judging.measures)],
        own_measures=own_measures,
        traps={**judging.traps},
        robust=judging.robust,
        types=[*judging.types],
        excluded={qid: {*docids} for qid, docids in judging.excluded.items()},
        subtopics={
            condition: {qid: subtopics for qid, grades in qrels.items() if (subtopics := subtopics_of(grades))}
            for condition, qrels in judging.qrels.items()
        },
    )


def _path_of(measure: Measure) -> str:
    """Return where a measure of the user's own can be imported from; empty where it cannot."""
    name = f"{getattr(measure.function, '__module__', '')}:{getattr(measure.function, '__qualname__', '')}"
    try:
        imported = as_measure(name) if OBJECT.fullmatch(name) and not name.startswith("__main__:") else ""
    except UsageError:
        return ""
    return name if isinstance(imported, Measure) and imported.name == measure.name else ""


def write_topics_file(folder: Path, inputs: TopicsFile) -> None:
    """Write ``topics.json`` into the results ``folder``."""

    def plain(value: Any) -> object:
        return sorted(value) if isinstance(value, Set) else msgspec.structs.asdict(value)

    content = msgspec.structs.asdict(inputs).items()
    lines = (f'"{key}": {json.dumps(value, ensure_ascii=False, default=plain)}' for key, value in content)
    write_bytes(folder / FILE, ("{" + ",\n ".join(lines) + "}\n").encode())


def read_topics_file(folder: Path) -> TopicsFile | None:
    """Return the content of ``topics.json`` in ``folder``, None without it; :class:`DataError` for another form."""
    path = folder / FILE
    if not path.exists():
        return None
    try:
        return msgspec.json.decode(read_bytes(path), type=TopicsFile)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: {error}; run the collection again, or remove the file") from error

"""``topics.json`` beside the runs: topics and judgements that they were measured with, and where the documents are."""

import json
import os
from pathlib import Path
from typing import Annotated, Any

import msgspec

from heed.datasets.collection import Collection
from heed.errors import DataError
from heed.files import read_bytes, write_bytes
from heed.types import Qrels, Topic

FILE = "topics.json"


class NotedTopic(msgspec.Struct):
    """A topic as :class:`heed.types.Topic` has it."""

    qid: str
    lang: str
    query: str
    instructions: dict[str, str]
    type: str = ""
    base: str = ""

    def topic(self) -> Topic:
        """Return the topic."""
        return Topic(self.qid, self.lang, self.query, self.instructions, self.type, self.base)


class Noted(msgspec.Struct):
    """What a results folder says of its inputs.

    ``language`` is the documents' (ISO 639-3); ``store`` the path of the folder with their document store, from the
    results folder; ``documents`` their digest; ``qrels`` by condition; ``pairs`` of conditions that are compared.
    """

    language: str
    store: str
    documents: str
    topics: list[NotedTopic]
    qrels: dict[str, Qrels]
    pairs: list[Annotated[list[str], msgspec.Meta(min_length=2, max_length=2)]]


def note_topics(folder: Path, collection: Collection, store: Path, documents: str) -> None:
    """Write ``topics.json`` into the results ``folder``; ``store`` holds the documents, of digest ``documents``."""
    noted: dict[str, Any] = {
        "language": collection.language.code,
        "store": os.path.relpath(store, folder),
        "documents": documents,
        "pairs": [[pair.base, pair.new] for pair in collection.judging.pairs],
        "topics": [topic._asdict() for topic in collection.topics],
        "qrels": collection.judging.qrels,
    }
    lines = (f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in noted.items())
    write_bytes(folder / FILE, ("{" + ",\n ".join(lines) + "}\n").encode())


def read_noted(folder: Path) -> Noted | None:
    """Return what :func:`note_topics` wrote; None without the file, :class:`DataError` if it is not of that form."""
    path = folder / FILE
    if not path.exists():
        return None
    try:
        return msgspec.json.decode(read_bytes(path), type=Noted)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: {error}; run the collection again, or remove the file") from error

"""``topics.json`` beside the runs: topics and judgements they were measured with, and the folder of the documents."""

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


class StoredTopic(msgspec.Struct):
    """A topic as :class:`heed.types.Topic` has it, of its fields those that systems read."""

    qid: str
    lang: str
    query: str
    instructions: dict[str, str]
    type: str = ""
    base: str = ""

    def topic(self) -> Topic:
        """Return the topic."""
        return Topic(self.qid, self.lang, self.query, self.instructions, self.type, self.base)


class TopicsFile(msgspec.Struct):
    """The inputs of a results folder.

    ``language`` is the documents' (ISO 639-3); ``store`` the path of the folder with their document store, from the
    results folder; ``documents`` their digest; ``qrels`` by condition; ``pairs`` of conditions that are compared.
    """

    language: str
    store: str
    documents: str
    topics: list[StoredTopic]
    qrels: dict[str, Qrels]
    pairs: list[Annotated[list[str], msgspec.Meta(min_length=2, max_length=2)]]


def write_topics_file(folder: Path, collection: Collection, store: Path, documents: str) -> None:
    """Write ``topics.json`` into the results ``folder``; ``store`` holds the documents, of digest ``documents``."""
    content: dict[str, Any] = {
        "language": collection.language.code,
        "store": os.path.relpath(store, folder),
        "documents": documents,
        "pairs": [[pair.base, pair.new] for pair in collection.judging.pairs],
        "topics": [
            {name: getattr(topic, name) for name in StoredTopic.__struct_fields__} for topic in collection.topics
        ],
        "qrels": collection.judging.qrels,
    }
    lines = (f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in content.items())
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

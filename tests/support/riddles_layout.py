"""A layout of one's own, which an entry of a catalogue names: a riddle and its answer a line, ``riddle = answer``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from heed.data import Data
from heed.datasets.catalogue import Named
from heed.datasets.collection import Collection, Layout, Option
from heed.datasets.own_files import LocalCopy, plain_collection
from heed.formats.documents import Documents
from heed.types import Document, Topic


def _read(
    members: Sequence[Named],
    _: Data,
    *,
    data: LocalCopy = None,
    most_words: Annotated[int, Option("words of the longest riddle", metavar="N", type=int)] = 9,
) -> list[Collection]:
    assert data
    pairs = [line.split(" = ") for line in Path(data).read_text(encoding="utf-8").splitlines()]
    pairs = [pair for pair in pairs if len(pair[0].split()) <= most_words]
    documents = Documents(Document(f"a{number}", "", answer) for number, (_, answer) in enumerate(pairs))
    topics = [Topic(str(number), "eng", riddle, {}) for number, (riddle, _) in enumerate(pairs)]
    qrels = {"query": {str(number): {f"a{number}": 1} for number in range(len(pairs))}}
    return [plain_collection(member.name, "eng", documents, topics, qrels) for member in members]


RIDDLES = Layout(_read)


def _deep(
    members: Sequence[Named], _: Data, *, depth: Annotated[int, Option("of riddles in riddles")] = 1
) -> list[Collection]:
    return []


DEEP = Layout(_deep)

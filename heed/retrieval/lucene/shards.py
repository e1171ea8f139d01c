"""An index in shards: contiguous ranges of the documents in docid order, each an index of its own."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from heed.retrieval.lucene.jvm import cast, java, java_errors

READER = "org.apache.lucene.index.IndexReader"


def shard_folders(folder: Path, shards: int) -> list[Path]:
    """Where the shards of the index called ``folder`` lie; one shard is the index itself."""
    if shards == 1:
        return [folder]
    width = len(str(shards - 1))
    return [folder.with_name(f"{folder.name}-{shards}-shards") / f"{at:0{width}}" for at in range(shards)]


def beside(index: Path) -> Path:
    """Where the matrix of an index lies."""
    return index.with_name(f"{index.name}-impacts")


def ranges(count: int, shards: int) -> list[tuple[int, int]]:
    """First document, and the one after the last, of each shard; sizes differ by one at most, and may be 0."""
    return list(pairwise(count * at // shards for at in range(shards + 1)))


def open_reader(folder: Path) -> Any:
    """The index in ``folder`` as Lucene's ``IndexReader``."""
    path = java("java.nio.file.Paths").get(str((folder / "lucene").absolute()))
    with java_errors(f"{folder}: opening the index"):
        directory = java("org.apache.lucene.store.FSDirectory").open(path)
        return cast(READER, java("org.apache.lucene.index.DirectoryReader").open(directory))


@contextmanager
def reading(folder: Path) -> Iterator[Any]:
    """The same for a while: what was read of its files leaves memory with it."""
    reader = open_reader(folder)
    try:
        yield reader
    finally:
        reader.close()


def one_reader(shards: Sequence[Any]) -> Any:
    """Readers as one, which has the statistics of all."""
    if len(shards) == 1:
        return shards[0]
    return cast(READER, java("org.apache.lucene.index.MultiReader")(list(shards), True))

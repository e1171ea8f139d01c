"""Shards of BM25's index built by workers, which get their documents and give back the files."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from heed.formats.document_store import DocumentStore, PackedDocuments
from heed.languages import Language
from heed.progress import bar, timed
from heed.retrieval.bm25.index import Shard, log_without_text, write_shard
from heed.retrieval.bm25.postings import build_postings, postings_recipe
from heed.retrieval.lucene.jvm import start
from heed.retrieval.lucene.shards import postings_folder
from heed.reuse import NOTE, build_folder, ensure_folder
from heed.workers.pool import WorkerPool
from heed.workers.tasks import Worker, WorkerState

Files = dict[str, bytes]  # by path in their folder


class Building(NamedTuple):
    """How a shard is built: as :func:`heed.retrieval.bm25.index.build_index`, with Java's largest heap.

    Postings are written as arrays up to ``most`` a shard.
    """

    fields: Sequence[str]
    language: Language
    vectors: bool
    heap: str
    most: int


class Built(NamedTuple):
    """The files of a shard, and of its postings, empty where it has too many; the number of documents with text."""

    lucene: Files
    postings: Files
    indexed: int


class BuildShard(NamedTuple):
    """A shard to be built from its documents."""

    documents: PackedDocuments
    shard: Shard
    building: Building

    def run(self, _: WorkerState) -> Built:
        """Build it in a folder that is removed again, with one thread."""
        fields, language, vectors, heap, most = self.building
        start(heap)
        with TemporaryDirectory(prefix="heed-") as parent:
            folder, indexed = Path(parent) / "index", list[int]()

            def build(part: Path) -> None:
                indexed.append(write_shard(part, self.documents.unpacked(), fields, language, 1, vectors))

            build_folder(folder, self.shard.recipe, build)
            postings = build_postings(folder, fields, most)
            return Built(_files(folder), _files(postings) if postings else {}, indexed[0])


def build_shards(shards: Sequence[Shard], store: DocumentStore, building: Building, pool: WorkerPool) -> None:
    """Build those of ``shards`` that are not there, as one process would, several at once.

    A worker is sent the documents of one shard and gives back its files, all of which pass through memory.
    """
    missing = [shard for shard in shards if not shard.is_built]
    if not missing:
        return
    documents = indexed = 0
    with timed("index", "bm25") as work:
        tasks = (partial(_task, store, shard, building) for shard in missing)
        built = pool.results(tasks)
        for shard, result in zip(bar(missing, len(missing), "bm25 index", "shards"), built, strict=True):
            ensure_folder(shard.folder, shard.recipe, partial(_write, result.lucene))
            if result.postings:
                recipe = postings_recipe(shard.folder)
                ensure_folder(postings_folder(shard.folder), recipe, partial(_write, result.postings))
            documents, indexed = documents + shard.size, indexed + result.indexed
        work.did(documents, "documents")
    log_without_text(documents, indexed)


def _task(store: DocumentStore, shard: Shard, building: Building, _: Worker) -> BuildShard:
    """Read the documents, which is done when a worker is free."""
    return BuildShard(store.packed(shard.start, shard.end), shard, building)


def _files(folder: Path) -> Files:
    return {name: (folder / name).read_bytes() for name in _names(folder)}


def _names(folder: Path) -> Iterator[str]:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != NOTE)
    return (str(path.relative_to(folder)) for path in paths)


def _write(files: Files, folder: Path) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)

"""Build BM25's Lucene index by Anserini's classes: here, one shard after the other, or several at once by workers."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from heed.addons.cluster.pool import WorkerPool
from heed.addons.cluster.tasks import Worker, WorkerState
from heed.formats.document_store import DocumentStore, PackedDocuments
from heed.languages import Language
from heed.progress import bar, log, timed
from heed.retrieval.bm25.index import FIELD, TABLE_FIELDS
from heed.retrieval.bm25.postings import export_postings, postings_recipe
from heed.retrieval.lucene.analysis import Analysis
from heed.retrieval.lucene.jvm import anserini_version, java_errors, start
from heed.retrieval.lucene.shards import postings_folder, shard_folders, shard_ranges
from heed.retrieval.lucene.writer import write_index
from heed.reuse import Recipe, ensure_folder, folder_reason, recipe_version
from heed.types import Document

Files = dict[str, bytes]  # by path in their folder


class Contents(NamedTuple):
    """The contents of an index: fields, their language, and whether it keeps each document's terms (``vectors``)."""

    fields: Sequence[str]
    language: Language
    vectors: bool

    def write(self, folder: Path, documents: Iterable[Document], threads: int) -> int:
        """Write a Lucene index of ``documents`` into ``folder``; return how many have text, and are in it."""
        with java_errors(f"{folder}: indexing"):
            analyzer = Analysis(self.language).analyzer
            return write_index(folder / "lucene", self._rows(documents), self.fields, analyzer, threads, self.vectors)

    def _rows(self, documents: Iterable[Document]) -> Iterator[list[str]]:
        for document in documents:
            contents = document.contents()
            if contents.strip():
                text_of = document._asdict() | {FIELD: contents}
                yield [document.docid, *(text_of[name] for name in self.fields)]


class Shard(NamedTuple):
    """A part of an index: its folder and recipe, its first document and the one after its last, its contents."""

    folder: Path
    recipe: Recipe
    start: int
    end: int
    contents: Contents

    @property
    def size(self) -> int:
        """Number of documents."""
        return self.end - self.start


def shards_of(
    folder: Path, store: DocumentStore, language: Language, vectors: bool, shards: int, fields: Sequence[str]
) -> list[Shard]:
    """Return the parts of the index that :func:`build_index` makes."""
    recipe: Recipe = {
        "index": recipe_version("index"),
        "anserini": anserini_version(),
        "language": language.short,
        "documents": store.digest,
        "vectors": vectors,
        **({"fields": list(fields)} if store.tabular else {}),
    }
    contents = Contents(fields if store.tabular else (FIELD,), language, vectors)
    return [
        Shard(shard_folder, recipe | ({"shard": [number, shards]} if shards > 1 else {}), start, end, contents)
        for number, (shard_folder, (start, end)) in enumerate(
            zip(shard_folders(folder, shards), shard_ranges(store.count, shards), strict=True)
        )
    ]


def build_index(
    folder: Path,
    store: DocumentStore,
    language: Language,
    threads: int,
    vectors: bool = False,
    shards: int = 1,
    fields: Sequence[str] = (FIELD, *TABLE_FIELDS),
) -> Path:
    """Return ``folder`` with the Lucene index of ``store``, built unless it is there for the same settings.

    Of tables it has ``fields``, of other documents ``FIELD`` alone.
    ``vectors`` keeps each document's terms, which feedback (RM3, Rocchio) reads. Documents without
    text cannot be indexed and are counted in the log. With several ``shards`` the documents are split in docid
    order into as many indexes beside ``folder``, built one after the other and each kept when it is complete.
    """
    for shard in shards_of(folder, store, language, vectors, shards, fields):
        ensure_folder(shard.folder, shard.recipe, partial(_build, shard, store, threads))
    return folder


def _build(shard: Shard, store: DocumentStore, threads: int, folder: Path) -> None:
    documents = bar(store.within(shard.start, shard.end), shard.size, "bm25 index", "documents")
    with timed("index", "bm25") as work:
        indexed = shard.contents.write(folder, documents, threads)
        work.did(shard.size, "documents")
    _log_without_text(shard.size, indexed)


def _log_without_text(count: int, indexed: int) -> None:
    if indexed < count:
        log.info(f"bm25: {count - indexed} of {count} documents have no text and are not in the index")


class BuiltShard(NamedTuple):
    """The files of a shard, and of its postings, empty where it has too many; the number of documents with text."""

    lucene: Files
    postings: Files
    indexed: int


class BuildShard(NamedTuple):
    """A shard to be built from its documents by a worker, with Java's largest heap.

    Postings are written as arrays where they are no more than ``max_postings``.
    """

    documents: PackedDocuments
    contents: Contents
    heap: str
    max_postings: int

    def run(self, _: WorkerState) -> BuiltShard:
        """Build it in a folder that is removed again, with one thread."""
        start(self.heap)
        with TemporaryDirectory(prefix="heed-") as parent:
            index, postings = Path(parent) / "index", Path(parent) / "postings"
            for folder in (index, postings):
                folder.mkdir()
            indexed = self.contents.write(index, self.documents.unpacked(), 1)
            export_postings(index, self.contents.fields, self.max_postings, postings)
            return BuiltShard(_read_files(index), _read_files(postings), indexed)


def build_by_workers(
    shards: Sequence[Shard], store: DocumentStore, heap: str, max_postings: int, pool: WorkerPool
) -> None:
    """Build those of ``shards`` that are not there, as :func:`build_index` would, several at once.

    A worker is sent the documents of one shard and gives back its files, all of which pass through memory, and those
    of its postings where there are no more than ``max_postings``.
    """
    missing = [shard for shard in shards if folder_reason(shard.folder, shard.recipe)]
    if not missing:
        return
    documents = indexed = 0
    with timed("index", "bm25") as work:
        tasks = (partial(_task, store, shard, heap, max_postings) for shard in missing)
        built = pool.results(tasks)
        for shard, result in zip(bar(missing, len(missing), "bm25 index", "shards"), built, strict=True):
            ensure_folder(shard.folder, shard.recipe, partial(_write_files, result.lucene))
            if result.postings:
                recipe = postings_recipe(shard.folder)
                ensure_folder(postings_folder(shard.folder), recipe, partial(_write_files, result.postings))
            documents, indexed = documents + shard.size, indexed + result.indexed
        work.did(documents, "documents")
    _log_without_text(documents, indexed)


def _task(store: DocumentStore, shard: Shard, heap: str, max_postings: int, _: Worker) -> BuildShard:
    """Return the task of a shard; its documents are read now, when a worker is free."""
    return BuildShard(store.packed(shard.start, shard.end), shard.contents, heap, max_postings)


def _read_files(folder: Path) -> Files:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _write_files(files: Files, folder: Path) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)

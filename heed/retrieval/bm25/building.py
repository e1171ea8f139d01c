"""Build BM25's Lucene index by Anserini's classes, one shard after the other."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from heed.formats.document_store import DocumentStore
from heed.languages import Language
from heed.progress import bar, log, timed
from heed.retrieval.bm25.index import FIELD, TABLE_FIELDS
from heed.retrieval.lucene.analysis import Analysis
from heed.retrieval.lucene.jvm import anserini_version, java_errors
from heed.retrieval.lucene.shards import shard_folders, shard_ranges
from heed.retrieval.lucene.writer import write_index
from heed.reuse import Recipe, ensure_folder, recipe_version
from heed.types import Document


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

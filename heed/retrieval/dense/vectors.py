"""Document vectors in shards on disk: computed once for all conditions, kept when the process is killed."""

import shutil
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Protocol, runtime_checkable
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from heed.files import digest, finished
from heed.formats.document_store import DocumentStore
from heed.progress import bar, timed
from heed.reuse import (
    NOTE,
    Note,
    Recipe,
    digests,
    folder_reason,
    is_begun,
    logged_reason,
    read_note,
    recipe_version,
    write_note,
)
from heed.types import Config, Document, Encoder, Matrix, config_of

SHARD = 4_096  # documents a shard: so many are encoded again after a kill
# of models' entries, and how vectors are compared: what version 0.2.0 computed is used again
QUERY_FIELDS = ("query", "bare", "task", "query_length", "prompt", "tokens", "label", "compared")


@runtime_checkable
class EstimatingEncoder(Protocol):
    """An encoder that logs what a collection will cost before its first document is encoded."""

    def begin(self, store: DocumentStore) -> None:
        """Called before the first document of ``store`` is encoded."""


@runtime_checkable
class BatchEncoder(Protocol):
    """An encoder that encodes several batches at once."""

    def encode_batches(self, batches: Iterator[Sequence[Document]]) -> Iterator[Matrix]:
        """Yield the vectors of each of ``batches``, in their order."""


class Vectors:
    """The vectors of a collection; row ``i`` is the ``i``-th docid's.

    They are compared by inner product: where ``cosine`` is set, vectors that are not of length 1, which version 0.2.0
    left of models whose files name no similarity, are divided by their length when they are read.
    """

    def __init__(self, folder: Path, cosine: bool = False) -> None:
        """Open what :func:`embed` left in ``folder``."""
        self.docids = (folder / "docids.txt").read_text(encoding="utf-8").splitlines()
        self.shards = sorted(folder.glob("shard-*.npy"))
        self._cosine = cosine

    @cached_property
    def scaled(self) -> bool:
        """Whether the vectors are divided by their lengths."""
        return self._cosine and bool(self._parts) and not has_unit_length(self._parts[0][:1])

    @cached_property
    def _parts(self) -> list[Matrix]:
        return [np.load(shard, mmap_mode="r", allow_pickle=False).view(np.ndarray) for shard in self.shards]

    def parts(self) -> Iterator[Matrix]:
        """Yield the shards in order, memory-mapped."""
        return map(with_unit_length, self._parts) if self.scaled else iter(self._parts)

    def rows(self, numbers: NDArray[np.int64]) -> Matrix:
        """Return the vectors of some rows, in that order."""
        picked = np.empty((len(numbers), self._parts[0].shape[1]), dtype=np.float32)
        shards = numbers // SHARD
        for index in np.unique(shards).tolist():
            here = shards == index
            picked[here] = self._parts[index][numbers[here] % SHARD]
        return with_unit_length(picked) if self.scaled else picked

    def of(self, docids: Sequence[str]) -> Matrix:
        """Return the vectors of some documents, in that order; all must be there."""
        return self.rows(np.array([bisect_left(self.docids, docid) for docid in docids], dtype=np.int64))


def with_unit_length(rows: Matrix) -> Matrix:
    """Return ``rows`` divided by their lengths, in float32; a row of zeros stays as it is."""
    lengths = np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), np.finfo(np.float32).tiny)
    scaled: Matrix = np.divide(rows, lengths, dtype=np.float32)
    return scaled


def has_unit_length(rows: Matrix) -> bool:
    """Whether all ``rows`` are of length 1, but for rounding in half precision."""
    return bool((np.abs(np.linalg.norm(rows, axis=-1) - 1) < 0.01).all())


def is_cosine(encoder: Encoder) -> bool:
    """Whether the vectors of ``encoder`` are compared by cosine."""
    return bool(getattr(encoder, "cosine", False))


def document_config(encoder: Encoder) -> Config | str:
    """Return an encoder's config without what changes no document's vector: its queries' fields, and the search.

    Of one without ``config`` it is a new name each time, so that nothing is used again.
    """
    config = config_of(encoder)
    return uuid4().hex if config is None else {key: value for key, value in config.items() if key not in QUERY_FIELDS}


def embed(folder: Path, store: DocumentStore, encoder: Encoder) -> Vectors:
    """Return the vectors of every document of ``store`` in docid order, computed unless they are there.

    Shards that an earlier, killed process finished are kept if the encoder and the documents are
    the same; otherwise the folder is emptied first. The vectors of an encoder without ``config`` are computed anew.
    """
    recipe = recipe_of(store, encoder)
    if logged_reason(folder, recipe) is None:
        return Vectors(folder, is_cosine(encoder))
    if not is_begun(folder, recipe):
        shutil.rmtree(folder, ignore_errors=True)
    if isinstance(encoder, EstimatingEncoder):
        encoder.begin(store)
    _write_shards(folder, recipe, store, encoder)
    write_note(folder / NOTE, Note(recipe, digests(folder)))
    return Vectors(folder, is_cosine(encoder))


def embedded(folder: Path, store: DocumentStore, encoder: Encoder) -> Vectors | None:
    """Return the vectors that :func:`embed` left in ``folder`` and would use again; else None."""
    recipe = recipe_of(store, encoder)
    return Vectors(folder, is_cosine(encoder)) if folder_reason(folder, recipe) is None else None


def recipe_of(store: DocumentStore, encoder: Encoder) -> Recipe:
    """Return the recipe of the vectors of the documents of ``store``."""
    return {
        "vectors": recipe_version("vectors"),
        "shard": SHARD,
        "documents": store.digest,
        "encoder": document_config(encoder),
    }


def encoded(encoder: Encoder, batches: Iterator[Sequence[Document]]) -> Iterator[Matrix]:
    """Yield the vectors of each of ``batches``, in their order; several at once where the encoder can."""
    if isinstance(encoder, BatchEncoder):
        return encoder.encode_batches(batches)
    return map(encoder.encode_documents, batches)


def _write_shards(folder: Path, recipe: Recipe, store: DocumentStore, encoder: Encoder) -> None:
    docids: list[str] = []
    ahead: deque[tuple[Path, int]] = deque()  # shards whose documents are read ahead, and how many they are
    done = finished_shards(folder)
    write_note(folder / NOTE, Note(recipe, done, finished=False))
    documents = bar(iter(store), store.count, f"{encoder.name} vectors", "documents")

    def missing() -> Iterator[Sequence[Document]]:
        for number, batch in enumerate(iter(lambda: list(islice(documents, SHARD)), [])):
            docids.extend(document.docid for document in batch)
            shard = folder / f"shard-{number:05}.npy"
            if shard.name not in done:
                ahead.append((shard, len(batch)))
                yield batch

    with timed("embed", encoder.name) as work:
        for vectors in encoded(encoder, missing()):
            shard, count = ahead.popleft()
            write_matrix(shard, vectors)
            done[shard.name] = digest(shard)
            write_note(folder / NOTE, Note(recipe, done, finished=False))
            work.did(count, "documents")
    with finished(folder / "docids.txt") as stream:
        stream.write("\n".join(docids).encode())


def write_matrix(path: Path, vectors: Matrix) -> None:
    """Write ``vectors`` to ``path`` in numpy's form, whole or not at all."""
    with finished(path) as stream:
        np.save(stream, vectors.astype(np.float32, copy=False), allow_pickle=False)


def finished_shards(folder: Path) -> dict[str, str]:
    """Return name and digest of the shards that the note of ``folder`` lists and nobody has changed since."""
    note = read_note(folder / NOTE)
    shards = note.files.items() if note else ()
    return {name: sha for name, sha in shards if (folder / name).is_file() and digest(folder / name) == sha}

"""Document vectors in shards on disk: computed once for all conditions, kept when the process is killed."""

import json
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, groupby, islice
from pathlib import Path
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from heed.files import digest, finished, on_disk, part_and_old
from heed.formats.document_store import DocumentStore
from heed.progress import counting, timed
from heed.reuse import NOTE, Note, Recipe, ensure_folder, read_note, recipe_version, unchanged_note, write_note
from heed.types import Config, Document, Encoder, Matrix

SHARD = 4_096  # documents a shard
STEP = 512  # documents that are encoded at once: so many are encoded again after a kill
QUERY_FIELDS = ("query", "bare", "task", "query_length", "prompt", "tokens", "label")  # of models' entries


class Vectors:
    """The vectors of a collection, compared by inner product; row ``i`` is the ``i``-th docid's."""

    def __init__(self, folder: Path) -> None:
        """Open what :func:`embed` left in ``folder``."""
        self.docids = (folder / "docids.txt").read_text(encoding="utf-8").splitlines()
        self.shards = sorted(folder.glob("shard-*.npy"))

    @cached_property
    def _parts(self) -> list[Matrix]:
        return [np.load(shard, mmap_mode="r", allow_pickle=False).view(np.ndarray) for shard in self.shards]

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return int(self._parts[0].shape[1])

    def parts(self) -> Iterator[Matrix]:
        """Yield the shards in order, memory-mapped; those kept in half precision as copies in float32."""
        return (part.astype(np.float32, copy=False) for part in self._parts)

    def rows(self, numbers: NDArray[np.int64]) -> Matrix:
        """Return the vectors of some rows, in that order."""
        picked = np.empty((len(numbers), self.dimensions), dtype=np.float32)
        order = np.argsort(numbers, kind="stable")
        shards, starts = np.unique(numbers[order] // SHARD, return_index=True)
        for shard, here in zip(shards.tolist(), np.split(order, starts[1:]), strict=False):  # one part of no rows
            picked[here] = self._parts[shard][numbers[here] % SHARD]
        return picked

    def pieces(self, docids: Sequence[str]) -> Iterator[Matrix]:
        """Yield the rows of each of some documents, in the order of docids; a packed matrix has several of one."""
        numbers = (bisect_left(self.docids, docid) for docid in docids)
        for shard, here in groupby(numbers, lambda number: number // SHARD):
            rows = pieces_of(self._parts[shard], min(SHARD, len(self.docids) - shard * SHARD))
            yield from (rows[number % SHARD] for number in here)

    def of(self, docids: Sequence[str]) -> Matrix:
        """Return the vectors of some documents, in that order; all must be there."""
        return self.rows(np.array([bisect_left(self.docids, docid) for docid in docids], dtype=np.int64))


def pieces_of(matrix: Matrix, documents: int) -> list[Matrix]:
    """Return the rows of each document of a matrix, which may be packed."""
    return np.split(matrix, documents) if len(matrix) == documents else split(matrix)


def begins(rows: Matrix) -> NDArray[np.int64]:
    """Return the rows of a packed matrix at which texts begin: column 0 is 1 there."""
    return np.flatnonzero(rows[:, 0])


def split(rows: Matrix) -> list[Matrix]:
    """Return a packed matrix of several texts as one packed matrix for each text."""
    return np.split(rows, begins(rows)[1:])


def document_config(encoder: Encoder) -> Config | str:
    """Return an encoder's config without what changes no document's vector: its queries' fields, and the search.

    Of one without ``config`` it is a new name each time, so that nothing is used again.
    """
    config = encoder.config
    return uuid4().hex if config is None else {key: value for key, value in config.items() if key not in QUERY_FIELDS}


def embed(folder: Path, store: DocumentStore, encoder: Encoder) -> Vectors:
    """Return the vectors of every document of ``store`` in docid order, computed unless they are there.

    Of the same encoder and documents, shards that a killed process finished are kept; of an encoder without ``config``
    nothing is. Where some documents have changed since vectors were made, their vectors alone are computed.
    """
    recipe = recipe_of(store, encoder)

    def build(part: Path) -> None:
        changed = store.changed_since(unchanged_note(folder), recipe)
        encoder.begin(store)
        encoder.load()  # before the clock of progress starts
        needed = encoder if changed is None else Completing(encoder, Vectors(folder), changed)
        _write_shards(part, recipe, store, needed)

    return Vectors(ensure_folder(folder, recipe, build, goes_on=True))


class Completing(Encoder):
    """An encoder of the documents that changed; the vectors of others are the earlier ones."""

    def __init__(self, encoder: Encoder, earlier: Vectors, changed: Iterable[str]) -> None:
        """Take from ``earlier`` what is not ``changed``."""
        self.name, self._encoder, self._earlier, self._changed = encoder.name, encoder, earlier, {*changed}

    def encode_documents(self, documents: Sequence[Document]) -> Matrix:
        """Return the vectors of documents, computed only of those that changed."""
        new = [document for document in documents if document.docid in self._changed]
        computed = iter(pieces_of(self._encoder.encode_documents(new), len(new)) if new else ())
        others = self._earlier.pieces([each.docid for each in documents if each.docid not in self._changed])
        rows = [next(computed if each.docid in self._changed else others) for each in documents]
        return np.concatenate(rows)


def folder_of(parent: Path, encoder: Encoder, name: str, part: str = "vectors") -> Path:
    """Return the folder in ``parent`` whose ``part`` has vectors of ``encoder``, made or begun under any system's name.

    Without one it is that of ``name``.
    """
    config = json.loads(json.dumps(document_config(encoder)))
    places = (path for name in (part, part_and_old(Path(part))[0]) for path in sorted(parent.glob(f"*/{name}/{NOTE}")))
    notes = ((path, read_note(path)) for path in places)
    return next(
        (path.parents[1] for path, note in notes if note and note.recipe.get("encoder") == config), parent / name
    )


def recipe_of(store: DocumentStore, encoder: Encoder) -> Recipe:
    """Return the recipe of the vectors of the documents of ``store``."""
    return {
        "vectors": recipe_version("vectors"),
        "shard": SHARD,
        "documents": store.digest,
        "encoder": document_config(encoder),
    }


def _write_shards(folder: Path, recipe: Recipe, store: DocumentStore, encoder: Encoder) -> None:
    """Write each shard with the last of its steps; those before it are in files of their own until then."""
    docids: list[str] = []
    ahead: deque[tuple[Path, list[Path], int]] = deque()  # what is read ahead: its file, a shard's steps, documents
    done = finished_shards(folder)
    write_note(folder / NOTE, Note(recipe, done, finished=False))
    for left_over in (path for path in folder.glob("step-*") if path.name not in done):
        left_over.unlink()
    documents = iter(store)

    def missing() -> Iterator[Sequence[Document]]:
        for number, batch in enumerate(iter(lambda: list(islice(documents, SHARD)), [])):
            docids.extend(document.docid for document in batch)
            shard = folder / f"shard-{number:05}.npy"
            starts = range(0, len(batch), STEP)
            steps = [folder / f"step-{number:05}-{start:04}.npy" for start in starts[:-1]]
            for start, path in zip(starts, [*steps, shard], strict=True):
                if shard.name not in done and path.name not in done:
                    step = batch[start : start + STEP]
                    ahead.append((path, steps if path is shard else [], len(step)))
                    yield step

    left = max(store.count - sum(SHARD if name.startswith("shard") else STEP for name in done), 0)
    with timed("embed", encoder.name) as work, counting(left, f"{encoder.name} vectors", "documents") as progress:
        batches = encoder.encode_batches(missing())
        first = [*islice(batches, 1)]
        with on_disk(folder, sum(vectors.nbytes for vectors in first) * -(-left // STEP)):
            for vectors in chain(first, batches):
                path, steps, count = ahead.popleft()
                write_matrix(path, np.concatenate([*map(np.load, steps), vectors]))
                done = {name: sha for name, sha in done.items() if folder / name not in steps}
                done[path.name] = digest(path)
                write_note(folder / NOTE, Note(recipe, done, finished=False))
                for step in steps:
                    step.unlink()
                work.did(count, "documents")
                progress.reach(work.count)
    with finished(folder / "docids.txt") as stream:
        stream.write("\n".join(docids).encode())


def write_matrix(path: Path, vectors: Matrix) -> None:
    """Write ``vectors`` to ``path`` in numpy's form, whole or not at all; in float32, unless they are float16."""
    stored = vectors if vectors.dtype == np.float16 else vectors.astype(np.float32, copy=False)
    with finished(path) as stream:
        np.save(stream, stored, allow_pickle=False)


def finished_shards(folder: Path) -> dict[str, str]:
    """Return name and digest of the shards that the note of ``folder`` lists and nobody has changed since."""
    note = read_note(folder / NOTE)
    shards = note.files.items() if note else ()
    return {name: sha for name, sha in shards if (folder / name).is_file() and digest(folder / name) == sha}

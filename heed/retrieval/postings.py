"""The postings of a Lucene index as memory-mapped arrays, from which numpy computes BM25.

Documents are numbered in the order of their docids, which is the order of ties. The arrays hold what
BM25 starts from, term frequencies and Lucene's byte for the length, so that k1 and b may change.
"""

import json
import mmap
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from heed.io.artifacts import NOTE, Recipe, ensure_folder, rebuild_reason, unchanged
from heed.io.files import read_bytes
from heed.progress import log, timed
from heed.retrieval.lucene.postings_export import count_postings, write_norms, write_postings
from heed.retrieval.lucene.shards import beside, reading

VERSION = 2  # raise when the arrays are made in another way
ID = "id"  # the field of docids
BLOCK = 1 << 20  # postings converted at once

Integers = NDArray[np.integer[Any]]
Places = NDArray[np.intp]  # numbers of documents


class Texts(Sequence[bytes]):
    """Strings of bytes, sorted, one after the other in an array."""

    def __init__(self, joined: NDArray[np.uint8], ends: Integers) -> None:
        """``ends`` begins with a 0: it has one more number than there are strings."""
        self._joined, self._ends = joined, ends

    def __len__(self) -> int:
        """How many there are."""
        return len(self._ends) - 1

    @overload
    def __getitem__(self, at: int) -> bytes: ...
    @overload
    def __getitem__(self, at: slice) -> list[bytes]: ...
    def __getitem__(self, at: int | slice) -> bytes | list[bytes]:
        """The string at a place, or those of a slice."""
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        return self._joined[self._ends[at] : self._ends[at + 1]].tobytes()

    def find(self, wanted: bytes) -> int:
        """The place of ``wanted``, -1 if it is not here."""
        at = bisect_left(self, wanted)
        return at if at < len(self) and self[at] == wanted else -1


class Field(NamedTuple):
    """The postings of a field: those of term ``t`` lie from ``starts[t]`` to ``starts[t + 1]``.

    ``lengths`` is Lucene's byte for the length of each document, ``documents_with`` counts the documents
    with any term, ``occurrences`` the terms of all documents, repeats included.
    """

    terms: Texts
    starts: Integers
    documents: NDArray[np.int32]
    frequencies: Integers
    lengths: NDArray[np.uint8]
    documents_with: int
    occurrences: int

    def size_of(self, term: int) -> int:
        """How many documents have the term of that number."""
        return int(self.starts[term + 1] - self.starts[term])


class Impacts:
    """An open matrix: of an index, or of one of its shards."""

    def __init__(self, folder: Path) -> None:
        """Open what was built in ``folder``."""
        self._mapped: list[mmap.mmap] = []
        self.docids = Texts(self._load(folder, f"{ID}.texts"), self._load(folder, f"{ID}.ends"))
        names = (path.name.removesuffix(".starts.npy") for path in sorted(folder.glob("*.starts.npy")))
        self.fields = {name: self._field(folder, name) for name in names}

    @property
    def postings(self) -> int:
        """How many postings all fields have."""
        return sum(len(field.documents) for field in self.fields.values())

    @property
    def size(self) -> int:
        """How many documents there are."""
        return len(self.docids)

    def let_go(self) -> None:
        """Let what was read of the files leave this process's memory; it comes back when it is read again."""
        for one in self._mapped:
            one.madvise(mmap.MADV_DONTNEED)

    @property
    def mapped(self) -> int:
        """Bytes of the files."""
        return sum(map(len, self._mapped))

    def _field(self, folder: Path, name: str) -> Field:
        texts, ends, starts, documents, frequencies, lengths, counts = (
            self._load(folder, f"{name}.{part}")
            for part in ("texts", "ends", "starts", "documents", "frequencies", "lengths", "counts")
        )
        documents_with, occurrences = counts.tolist()
        return Field(Texts(texts, ends), starts, documents, frequencies, lengths, documents_with, occurrences)

    def _load(self, folder: Path, name: str) -> NDArray[Any]:
        mapped = np.load(folder / f"{name}.npy", mmap_mode="r")
        self._mapped.append(mapped.base)
        return np.asarray(mapped)  # slices of a memmap cost ten times as much as those of a plain array over it


def open_impacts(shards: Sequence[Path], fields: Sequence[str], most: int) -> list[Impacts] | None:
    """The matrix of each shard of an index that :func:`heed.retrieval.bm25.build` left, built unless it is there.

    Lucene is not needed where the matrix is there. None where all together have more than ``most`` postings in
    ``fields``.
    """
    folders = [beside(shard) for shard in shards]
    recipes: list[Recipe] = [
        {"impacts": VERSION, "index": json.loads(read_bytes(shard / NOTE))["recipe"]} for shard in shards
    ]
    postings = 0
    for shard, folder, recipe in zip(shards, folders, recipes, strict=True):
        if rebuild_reason(folder / NOTE, recipe, partial(_intact, folder)) is None:
            postings += Impacts(folder).postings
        else:
            with reading(shard) as reader:
                postings += count_postings(reader, fields)
    if postings > most:
        log.info(f"{shards[0]}: {postings} postings, more than {most}; Lucene itself searches, with the same results")
        return None
    return [
        Impacts(ensure_folder(folder, recipe, partial(_build, shard, fields)))
        for shard, folder, recipe in zip(shards, folders, recipes, strict=True)
    ]


def _intact(folder: Path, note: dict[str, Any]) -> bool:
    return unchanged(folder, note["files"])


def _build(index: Path, fields: Sequence[str], folder: Path) -> None:
    raw = folder / "raw"
    raw.mkdir()
    with timed("matrix", "bm25") as work, reading(index) as reader:
        place = _write_docids(folder, raw, reader)
        for field in fields:
            if write_postings(raw, field, reader, field):
                write_norms(raw / f"{field}.norms", reader, field, len(place))
                _write_field(folder, raw, field, place)
            for left in raw.iterdir():  # before the next field: they are larger than the arrays
                left.unlink()
        work.did(len(place), "documents")
    raw.rmdir()


def _write_docids(folder: Path, raw: Path, reader: Any) -> NDArray[np.int32]:
    """Write the docids, in their order; gives back the place of each of Lucene's documents among them."""
    place = np.empty(reader.maxDoc(), dtype=np.int32)
    texts, lengths = np.empty(0, dtype=np.uint8), np.empty(0, dtype=np.int32)
    if write_postings(raw, ID, reader, ID):
        texts, lengths = _read(raw, f"{ID}.texts", np.uint8), _sizes(raw, ID)[:, 0]
        place[_read(raw, f"{ID}.pairs", np.int32)[::2]] = np.arange(len(place), dtype=np.int32)
    np.save(folder / f"{ID}.texts.npy", texts)
    np.save(folder / f"{ID}.ends.npy", _ends(lengths))
    return place


def _write_field(folder: Path, raw: Path, field: str, place: NDArray[np.int32]) -> None:
    pairs, sizes = raw / f"{field}.pairs", _sizes(raw, field)
    with_any, occurrences, largest = np.zeros(len(place), dtype=bool), 0, 0
    for block in _blocks(pairs):
        with_any[place[block[:, 0]]] = True
        occurrences += int(block[:, 1].sum(dtype=np.int64))
        largest = max(largest, int(block[:, 1].max()))
    if not occurrences:
        return  # texts of stop words alone
    count = int(sizes[:, 1].sum(dtype=np.int64))
    _write(folder, f"{field}.documents", np.dtype(np.int32), count, (place[one[:, 0]] for one in _blocks(pairs)))
    _write(folder, f"{field}.frequencies", np.min_scalar_type(largest), count, (one[:, 1] for one in _blocks(pairs)))
    lengths = np.empty(len(place), dtype=np.uint8)
    lengths[place] = _read(raw, f"{field}.norms", np.uint8)
    for name, array in (
        ("texts", _read(raw, f"{field}.texts", np.uint8)),
        ("ends", _ends(sizes[:, 0])),
        ("starts", _ends(sizes[:, 1])),
        ("lengths", lengths),
        ("counts", np.array([np.count_nonzero(with_any), occurrences])),
    ):
        np.save(folder / f"{field}.{name}.npy", array)


def _write(folder: Path, name: str, kind: np.dtype[Any], count: int, blocks: Iterable[Integers]) -> None:
    """Write an array of ``count`` numbers block by block, in the memory of one block."""
    with (folder / f"{name}.npy").open("wb") as stream:
        header = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": (count,)}
        np.lib.format.write_array_header_1_0(stream, header)
        for block in blocks:
            block.astype(kind).tofile(stream)


def _blocks(pairs: Path) -> Iterator[NDArray[np.int32]]:
    with pairs.open("rb") as stream:
        while len(block := np.fromfile(stream, dtype="<i4", count=2 * BLOCK)):
            yield block.reshape(-1, 2)


def _sizes(raw: Path, name: str) -> NDArray[np.int32]:
    return _read(raw, f"{name}.sizes", np.int32).reshape(-1, 2)


def _read(raw: Path, name: str, kind: Any) -> NDArray[Any]:
    return np.fromfile(raw / name, dtype=kind)


def _ends(lengths: Integers) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])

"""The postings of a Lucene index as memory-mapped arrays, from which BM25 is computed.

Documents are numbered in the order of their docids, which is the order of ties. The arrays hold what
BM25 starts from, term frequencies and Lucene's byte for the length, so that k1 and b may change.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heed.progress import timed
from heed.retrieval.lucene.index_files import ID, postings_folder, reading, write_norms, write_postings
from heed.reuse import Recipe, ensure_folder, folder_note, recipe_version

BLOCK = 1 << 20  # postings converted at once
DOCIDS_IN_MEMORY = 1 << 18  # documents up to which all docids are held as strings, which is quicker than reading them

Integers = NDArray[np.integer[Any]]
Numbers = NDArray[np.intp]  # of documents


class ByteStrings:
    """Sorted strings of bytes, one after the other in an array."""

    def __init__(self, joined: NDArray[np.uint8], ends: Integers) -> None:
        """``ends`` begins with a 0: it has one more number than there are strings."""
        self._joined, self._ends = joined, ends
        self._bytes, self._places = joined.data, ends.data  # a tenth of an array's time for one string

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._ends) - 1

    def __getitem__(self, index: int) -> bytes:
        """Return a string."""
        return self._bytes[self._places[index] : self._places[index + 1]].tobytes()

    def decoded(self) -> Iterator[str]:
        """Yield all of them as text; a tenth of the time that reading one after the other takes."""
        joined, ends = self._joined.tobytes(), self._ends.tolist()
        return (joined[start:end].decode() for start, end in pairwise(ends))

    def find(self, string: bytes) -> int:
        """Return the index of ``string``, -1 if it is not here."""
        index = bisect_left(self, string)
        return index if index < len(self) and self[index] == string else -1


class FieldPostings(NamedTuple):
    """The postings of a field: those of term ``t`` are from ``starts[t]`` to ``starts[t + 1]``.

    ``documents_with`` counts the documents with any term, ``occurrences`` the terms of all documents, repeats included.
    Java alone reads the other arrays: a document and a frequency of each posting, and Lucene's byte for the length of
    each document.
    """

    terms: ByteStrings
    starts: Integers
    documents_with: int
    occurrences: int


class Postings:
    """The open postings of an index."""

    def __init__(self, folder: Path) -> None:
        """Open what was built in ``folder``."""
        self.folder = folder
        self.docids = ByteStrings(self._load(folder, f"{ID}.texts"), self._load(folder, f"{ID}.ends"))
        names = (path.name.removesuffix(".starts.npy") for path in sorted(folder.glob("*.starts.npy")))
        self.fields = {name: self._field(folder, name) for name in names}

    @property
    def size(self) -> int:
        """Number of documents."""
        return len(self.docids)

    def docids_of(self, numbers: Numbers) -> list[str]:
        """Return the docids of documents."""
        if self.size <= DOCIDS_IN_MEMORY:
            docids: list[str] = self._docids[numbers].tolist()
            return docids
        return [self.docids[number].decode() for number in numbers.tolist()]

    def numbers_of(self, docids: Sequence[str]) -> Numbers:
        """Return the number of each of ``docids``, -1 for one that has none."""
        if self.size <= DOCIDS_IN_MEMORY:
            return np.array([self._numbers.get(docid, -1) for docid in docids], dtype=np.intp)
        return np.array([self.docids.find(docid.encode()) for docid in docids], dtype=np.intp)

    @cached_property
    def _docids(self) -> NDArray[np.object_]:
        return np.array(list(self.docids.decoded()), dtype=object)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {docid: number for number, docid in enumerate(self._docids)}

    def _field(self, folder: Path, name: str) -> FieldPostings:
        texts, ends, starts, counts = (
            self._load(folder, f"{name}.{part}") for part in ("texts", "ends", "starts", "counts")
        )
        return FieldPostings(ByteStrings(texts, ends), starts, *counts.tolist())

    def _load(self, folder: Path, name: str) -> NDArray[Any]:
        # slices of a memmap cost ten times as much as those of a plain array over it
        return np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r"))


def open_postings(index: Path, fields: Sequence[str]) -> Postings:
    """Return the postings of an index, exported from Lucene unless they are there.

    ``index`` is a folder of :func:`heed.retrieval.bm25.index.build_index`. Java is not needed where they are there.
    """
    recipe: Recipe = {"postings": recipe_version("postings"), "index": folder_note(index).recipe}
    return Postings(ensure_folder(postings_folder(index), recipe, partial(_build, index, fields)))


def _build(index: Path, fields: Sequence[str], folder: Path) -> None:
    raw = folder / "raw"
    raw.mkdir()
    with timed("matrix", "bm25") as work, reading(index) as reader:
        numbers = _write_docids(folder, raw, reader)
        for field in fields:
            if write_postings(raw, field, reader, field):
                write_norms(raw / f"{field}.norms", reader, field, len(numbers))
                _write_field(folder, raw, field, numbers)
            for path in raw.iterdir():  # before the next field: they are larger than the arrays
                path.unlink()
        work.did(len(numbers), "documents")
    raw.rmdir()


def _write_docids(folder: Path, raw: Path, reader: Any) -> NDArray[np.int32]:
    """Write the docids, in their order; return the number of each of Lucene's documents among them."""
    numbers = np.empty(reader.maxDoc(), dtype=np.int32)
    texts, lengths = np.empty(0, dtype=np.uint8), np.empty(0, dtype=np.int32)
    if write_postings(raw, ID, reader, ID):
        texts, lengths = _read(raw, f"{ID}.texts", np.uint8), _sizes(raw, ID)[:, 0]
        numbers[_read(raw, f"{ID}.pairs", np.int32)[::2]] = np.arange(len(numbers), dtype=np.int32)
    np.save(folder / f"{ID}.texts.npy", texts)
    np.save(folder / f"{ID}.ends.npy", _ends(lengths))
    return numbers


def _write_field(folder: Path, raw: Path, field: str, numbers: NDArray[np.int32]) -> None:
    pairs, sizes = raw / f"{field}.pairs", _sizes(raw, field)
    with_any, occurrences, largest = np.zeros(len(numbers), dtype=bool), 0, 0
    for block in _blocks(pairs):
        with_any[numbers[block[:, 0]]] = True
        occurrences += int(block[:, 1].sum(dtype=np.int64))
        largest = max(largest, int(block[:, 1].max()))
    if not occurrences:
        return  # texts of stop words alone
    count = int(sizes[:, 1].sum(dtype=np.int64))
    documents = (numbers[block[:, 0]] for block in _blocks(pairs))
    _write(folder, f"{field}.documents", np.dtype(np.int32), count, documents)
    frequencies = (block[:, 1] for block in _blocks(pairs))
    _write(folder, f"{field}.frequencies", np.min_scalar_type(largest), count, frequencies)
    lengths = np.empty(len(numbers), dtype=np.uint8)
    lengths[numbers] = _read(raw, f"{field}.norms", np.uint8)
    for name, array in (
        ("texts", _read(raw, f"{field}.texts", np.uint8)),
        ("ends", _ends(sizes[:, 0])),
        ("starts", _ends(sizes[:, 1])),
        ("lengths", lengths),
        ("counts", np.array([np.count_nonzero(with_any), occurrences])),
    ):
        np.save(folder / f"{field}.{name}.npy", array)


def _write(folder: Path, name: str, dtype: np.dtype[Any], count: int, blocks: Iterable[Integers]) -> None:
    """Write an array of ``count`` numbers block by block, in the memory of one block."""
    with (folder / f"{name}.npy").open("wb") as stream:
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (count,)}
        np.lib.format.write_array_header_1_0(stream, header)
        for block in blocks:
            block.astype(dtype).tofile(stream)


def _blocks(pairs: Path) -> Iterator[NDArray[np.int32]]:
    with pairs.open("rb") as stream:
        while len(block := np.fromfile(stream, dtype="<i4", count=2 * BLOCK)):
            yield block.reshape(-1, 2)


def _sizes(raw: Path, name: str) -> NDArray[np.int32]:
    return _read(raw, f"{name}.sizes", np.int32).reshape(-1, 2)


def _read(raw: Path, name: str, dtype: Any) -> NDArray[Any]:
    return np.fromfile(raw / name, dtype=dtype)


def _ends(lengths: Integers) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])

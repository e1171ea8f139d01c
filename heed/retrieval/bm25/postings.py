"""The postings of a Lucene index as memory-mapped arrays, from which BM25 is computed.

Documents are numbered in the order of their docids, which is the order of ties. The arrays hold what
BM25 starts from, term frequencies and Lucene's byte for the length, so that k1 and b may change.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heed.retrieval.lucene.index_files import ID

DOCIDS_IN_MEMORY = 1 << 18  # documents up to which all docids are held as strings, which is quicker than reading them

Integers = NDArray[np.integer[Any]]
Numbers = NDArray[np.intp]  # of documents


class ByteStrings:
    """Sorted strings of bytes, one after the other in an array."""

    def __init__(self, joined: NDArray[np.uint8], ends: Integers) -> None:
        """``ends`` begins with a 0: it has one more number than there are strings."""
        self.joined, self.ends = joined, ends
        self._bytes, self._places = joined.data, ends.data  # a tenth of an array's time for one string

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getitem__(self, index: int) -> bytes:
        return self._bytes[self._places[index] : self._places[index + 1]].tobytes()

    def __iter__(self) -> Iterator[bytes]:
        return map(self.__getitem__, range(len(self)))

    def decoded(self) -> Iterator[str]:
        """Yield all of them as text; a tenth of the time that reading one after the other takes."""
        joined, ends = self.joined.tobytes(), self.ends.tolist()
        return (joined[start:end].decode() for start, end in pairwise(ends))

    def find(self, string: bytes) -> int:
        """Return the index of ``string``, -1 if it is not here."""
        index = bisect_left(self, string)
        return index if index < len(self) and self[index] == string else -1


class FieldPostings(NamedTuple):
    """The postings of a field: those of term ``t`` are from ``starts[t]`` to ``starts[t + 1]``.

    ``lengths`` is Lucene's byte for the length of each document, ``documents_with`` counts the documents
    with any term, ``occurrences`` the terms of all documents, repeats included. Java maps the arrays of its own accord.
    """

    terms: ByteStrings
    starts: Integers
    documents: NDArray[np.int32]
    frequencies: Integers
    lengths: NDArray[np.uint8]
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
        texts, ends, starts, documents, frequencies, lengths, counts = (
            self._load(folder, f"{name}.{part}")
            for part in ("texts", "ends", "starts", "documents", "frequencies", "lengths", "counts")
        )
        return FieldPostings(ByteStrings(texts, ends), starts, documents, frequencies, lengths, *counts.tolist())

    def _load(self, folder: Path, name: str) -> NDArray[Any]:
        # slices of a memmap cost ten times as much as those of a plain array over it
        return np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r"))

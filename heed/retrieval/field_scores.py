"""BM25 in one field, in Lucene's single-precision arithmetic (``BM25Similarity`` of Lucene 9.9 and 10.4)."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from math import log

import numpy as np
from numpy.typing import NDArray

from heed.retrieval.postings import Field, Integers

Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]
Found = tuple[slice, int, float]  # a term's postings, how many they are, and its idf in single precision
Places = tuple[int, ...]  # of a term among the terms of each shard, -1 where it is not

FEW = 25_000_000  # postings whose saturation is computed once, 4 bytes each; of more, it is computed when it is asked
DENSE = 8  # of a term in one of so many documents or more, a score for every document is kept
KEPT = 1 << 27  # bytes of such scores
AT_ONCE = 1 << 20  # postings whose scores are computed at once, or as many as a fourth of the documents; 40 bytes each


def length_of(byte: int) -> int:
    """The length that Lucene writes as ``byte`` (SmallFloat.byte4ToInt): 24 exact ones, then 4 bits and an exponent."""
    rest = byte - 24
    return byte if rest < 8 else 24 + ((rest & 7 | 8) << (rest >> 3) - 1)


LENGTHS = np.array([length_of(byte) for byte in range(256)], dtype=np.float32)


class Whole:
    """What BM25 has to know of a field in all shards of an index together."""

    def __init__(self, fields: Sequence[Field]) -> None:
        """Take the field as each shard has it."""
        self._fields = fields
        self._found: dict[str, tuple[Places, np.float32]] = {}
        self.documents_with = sum(field.documents_with for field in fields)
        self.occurrences = sum(field.occurrences for field in fields)

    def find(self, term: str) -> tuple[Places, np.float32]:
        """Where a term is among each shard's, and its ``ln(1 + (N − n + 0.5) / (n + 0.5))`` for all shards' n and N."""
        found = self._found.get(term)
        if found is None:
            text = term.encode()
            places = tuple(field.terms.find(text) for field in self._fields)
            size = sum(field.size_of(at) for field, at in zip(self._fields, places, strict=True) if at >= 0)
            idf = np.float32(log(1 + (self.documents_with - size + 0.5) / (size + 0.5)))
            found = self._found[term] = places, idf
        return found


class FieldScores:
    """The scores of a field's terms in one shard, for one choice of k1 and b.

    A term of weight w and idf i in a document where its frequency is f adds ``wi − wi / (1 + f · share)``; the share is
    that of Lucene's byte for the document's length, ``1 / (k1 · (1 − b + b · length / average))``.
    """

    def __init__(self, fields: Sequence[Field], shard: int, whole: Whole, k1: float, b: float) -> None:
        """Nothing is computed before the first term; ``fields`` is the field as each shard has it."""
        self._field, self._shard, self._whole = fields[shard], shard, whole
        self._few = sum(len(field.documents) for field in fields) <= FEW
        self._most = KEPT // len(fields)
        self._found: dict[str, Found | None] = {}
        self._kept: dict[tuple[str, float], Doubles] = {}
        one, k1_single, b_single = np.float32(1), np.float32(k1), np.float32(b)
        average = np.float32(whole.occurrences / whole.documents_with)
        with np.errstate(divide="ignore"):  # with a k1 of 0 one occurrence is as good as many
            self._shares: Singles = one / (k1_single * ((one - b_single) + b_single * LENGTHS / average))

    @property
    def least_share(self) -> np.float32:
        """The share of the longest document."""
        return np.float32(self._shares[self._field.lengths.max()])

    def add(self, sums: Doubles, weighted: Iterable[tuple[str, float]]) -> None:
        """Add the scores of weighted terms to ``sums``, which has a place for every document."""
        parts: list[tuple[slice, int, float, float]] = []
        left = most = max(AT_ONCE, len(sums) // 4)
        for term, weight in weighted:
            found = self._found[term] if term in self._found else self._find(term)
            if found is None:
                continue
            here, size, idf = found
            if size * DENSE >= len(sums):
                sums += self._of_each(term, weight, here, idf)
                continue
            if size > left:
                self._add(sums, parts)
                parts, left = [], most
            parts.append((here, size, weight, idf))
            left -= size
        if parts:
            self._add(sums, parts)

    def _add(self, sums: Doubles, parts: Sequence[tuple[slice, int, float, float]]) -> None:
        slices, sizes, weights, idfs = zip(*parts, strict=True)
        documents = np.concatenate([self._field.documents[here] for here in slices], dtype=np.intp)
        boosted = np.repeat(np.array(weights, dtype=np.float32) * np.array(idfs, dtype=np.float32), sizes)
        sums += np.bincount(documents, boosted - boosted / self._saturation(slices, documents), len(sums))

    def _find(self, term: str) -> Found | None:
        """A term's postings in this shard, how many they are, and its idf in all; None if it has none here."""
        places, idf = self._whole.find(term)
        at, found = places[self._shard], None
        if at >= 0:
            here = slice(int(self._field.starts[at]), int(self._field.starts[at + 1]))
            found = here, self._field.size_of(at), float(idf)
        self._found[term] = found
        return found

    def _of_each(self, term: str, weight: float, here: slice, idf: float) -> Doubles:
        """A term's score for every document."""
        kept = self._kept.get((term, weight))
        if kept is None:
            boosted = np.float32(weight) * np.float32(idf)
            kept = np.zeros(len(self._field.lengths))  # doubles: adding singles to doubles takes twice the time
            for part in _cut(here):
                documents = self._field.documents[part]
                kept[documents] = boosted - boosted / self._saturation([part], documents)
            if (1 + len(self._kept)) * kept.nbytes > self._most:
                self._kept.clear()
            if kept.nbytes <= self._most:
                self._kept[term, weight] = kept
        return kept

    def _saturation(self, parts: Sequence[slice], documents: Integers) -> Singles:
        if self._saturations is not None:
            return np.concatenate([self._saturations[here] for here in parts])
        return self._saturated(np.concatenate([self._field.frequencies[here] for here in parts]), documents)

    @cached_property
    def _saturations(self) -> Singles | None:
        field = self._field
        if not self._few:
            return None
        found = np.empty(len(field.documents), dtype=np.float32)
        for part in _cut(slice(0, len(found))):
            found[part] = self._saturated(field.frequencies[part], field.documents[part])
        return found

    def _saturated(self, frequencies: Integers, documents: Integers) -> Singles:
        shares = self._shares[self._field.lengths[documents]]
        found: Singles = np.float32(1) + frequencies.astype(np.float32) * shares
        return found


def _cut(whole: slice) -> Iterator[slice]:
    """A slice as slices of ``AT_ONCE``, so that what is computed on the way stays small."""
    return (slice(at, min(at + AT_ONCE, whole.stop)) for at in range(whole.start, whole.stop, AT_ONCE))

"""BM25 in one field, in Lucene's single-precision arithmetic (``BM25Similarity`` of Lucene 9.9 and 10.4)."""

from collections.abc import Iterable, Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

from heed.retrieval.bm25.postings import FieldPostings, Integers

Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]
TermPostings = tuple[slice, int, float]  # their span in the arrays of a shard's field, how many, the term's idf
Weighted = tuple[slice, int, float, float]  # the same with the term's weight in a query

MAX_SATURATIONS = 25_000_000  # postings up to which each term's saturations are kept, 4 bytes a posting
BLOCK = 1 << 20  # postings scored at once, 40 bytes each; or a fourth of the documents, or one term, if that is more


def length_of(byte: int) -> int:
    """Return the length that Lucene writes as ``byte`` (SmallFloat.byte4ToInt): 24 exact ones, then 4 bits each."""
    rest = byte - 24
    return byte if rest < 8 else 24 + ((rest & 7 | 8) << (rest >> 3) - 1)


LENGTHS = np.array([length_of(byte) for byte in range(256)], dtype=np.float32)


class FieldStatistics:
    """The statistics that BM25 needs of a field in all shards of an index together."""

    def __init__(self, fields: Sequence[FieldPostings]) -> None:
        """Take the field as each shard has it."""
        self._fields = fields
        self._terms: dict[str, tuple[tuple[int, ...], np.float32]] = {}
        self.documents_with = sum(field.documents_with for field in fields)
        self.occurrences = sum(field.occurrences for field in fields)

    def find(self, term: str) -> tuple[tuple[int, ...], np.float32]:
        """Return a term's number in each shard, -1 where it is not, and its idf.

        That is ``ln(1 + (N − n + 0.5) / (n + 0.5))`` for the n and N of all shards.
        """
        known = self._terms.get(term)
        if known is None:
            text = term.encode()
            numbers, size = [], 0
            for field in self._fields:
                number = field.terms.find(text)
                numbers.append(number)
                if number >= 0:
                    size += field.document_frequency(number)
            idf = np.float32(log(1 + (self.documents_with - size + 0.5) / (size + 0.5)))
            known = self._terms[term] = tuple(numbers), idf
        return known


class FieldScores:
    """The scores of a field's terms in one shard, for one choice of k1 and b.

    A term of weight w and idf i in a document where its frequency is f adds ``wi − wi / (1 + f · share)``; the share is
    that of Lucene's byte for the document's length, ``1 / (k1 · (1 − b + b · length / average))``. Below,
    ``1 + f · share`` is called the saturation of a posting.
    """

    def __init__(
        self, fields: Sequence[FieldPostings], shard: int, statistics: FieldStatistics, k1: float, b: float
    ) -> None:
        """Nothing is computed before the first term; ``fields`` is the field as each shard has it."""
        self._field, self._shard, self._statistics = fields[shard], shard, statistics
        # of the terms that were looked up; the system gives memory only to what is written
        keep = sum(len(field.documents) for field in fields) <= MAX_SATURATIONS
        self._saturations = np.empty(len(self._field.documents), dtype=np.float32) if keep else None
        self._terms: dict[str, TermPostings | None] = {}
        unit, k1_single, b_single = np.float32(1), np.float32(k1), np.float32(b)
        average = np.float32(statistics.occurrences / statistics.documents_with)
        with np.errstate(divide="ignore"):  # with a k1 of 0 one occurrence is as good as many
            self._shares: Singles = unit / (k1_single * ((unit - b_single) + b_single * LENGTHS / average))

    def idf(self, term: str) -> float:
        """Return a term's idf, in single precision."""
        return float(self._statistics.find(term)[1])

    def add(self, sums: Doubles, weighted: Iterable[tuple[str, float]]) -> None:
        """Add the scores of weighted terms to ``sums``, which has a number for every document."""
        block: list[Weighted] = []
        left = most = max(BLOCK, len(sums) // 4)
        for term, weight in weighted:
            postings = self._terms[term] if term in self._terms else self._find(term)
            if postings is None:
                continue
            span, size, idf = postings
            if block and size > left:
                self._add_block(sums, block)
                block, left = [], most
            block.append((span, size, idf, weight))
            left -= size
        if block:
            self._add_block(sums, block)

    def _add_block(self, sums: Doubles, block: Sequence[Weighted]) -> None:
        spans, sizes, idfs, weights = zip(*block, strict=True)
        documents = np.concatenate([self._field.documents[span] for span in spans], dtype=np.intp)
        boosts = np.repeat(np.array(weights, dtype=np.float32) * np.array(idfs, dtype=np.float32), sizes)
        sums += np.bincount(documents, boosts - boosts / self._saturation(spans, documents), len(sums))

    def _find(self, term: str) -> TermPostings | None:
        """Return a term's postings in this shard; None if it has none here."""
        numbers, idf = self._statistics.find(term)
        number, postings = numbers[self._shard], None
        if number >= 0:
            span = slice(int(self._field.starts[number]), int(self._field.starts[number + 1]))
            if self._saturations is not None:
                self._saturations[span] = self._saturate(self._field.frequencies[span], self._field.documents[span])
            postings = span, self._field.document_frequency(number), float(idf)
        self._terms[term] = postings
        return postings

    def _saturation(self, spans: Sequence[slice], documents: Integers) -> Singles:
        if self._saturations is not None:
            return np.concatenate([self._saturations[span] for span in spans])
        return self._saturate(np.concatenate([self._field.frequencies[span] for span in spans]), documents)

    def _saturate(self, frequencies: Integers, documents: Integers) -> Singles:
        shares = self._shares[self._field.lengths[documents]]
        saturations: Singles = np.float32(1) + frequencies.astype(np.float32) * shares
        return saturations

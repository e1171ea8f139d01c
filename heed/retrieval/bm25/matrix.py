"""BM25 over a matrix of postings: the scores that Lucene's BM25Similarity gives, to the last bit.

Lucene computes a term's score in single precision, adds up a document's scores in double precision and
rounds the sum to single precision. While the sum is below 2**29 times its smallest addend, 53 bits hold
it exactly, in whatever order it was made. Beyond that another order can move it by a few 2**-53 of itself,
which rounding to 24 bits shows in one document of 2**27; Lucene's own order depends on the other documents.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from math import log

import numpy as np
from numpy.typing import NDArray

from heed.retrieval.bm25.postings import FieldPostings, Integers, Numbers, Postings
from heed.retrieval.lucene.analysis import Analysis
from heed.retrieval.lucene.search import PLACES

Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]
TermPostings = tuple[slice, int, float]  # their span in the arrays of a field, how many, the term's idf
Weighted = tuple[slice, int, float, float]  # the same with the term's weight in a query

MAX_SATURATIONS = 25_000_000  # postings up to which each term's saturations are kept, 4 bytes a posting
BLOCK = 1 << 20  # postings scored at once, 40 bytes each; or a fourth of the documents, or one term, if that is more


def length_of(byte: int) -> int:
    """Return the length that Lucene writes as ``byte`` (SmallFloat.byte4ToInt): 24 exact ones, then 4 bits each."""
    rest = byte - 24
    return byte if rest < 8 else 24 + ((rest & 7 | 8) << (rest >> 3) - 1)


LENGTHS = np.array([length_of(byte) for byte in range(256)], dtype=np.float32)


class FieldScores:
    """The scores of a field's terms, for one choice of k1 and b.

    A term of weight w and idf i in a document where its frequency is f adds ``wi − wi / (1 + f · share)``; the share is
    that of Lucene's byte for the document's length, ``1 / (k1 · (1 − b + b · length / average))``. Below,
    ``1 + f · share`` is called the saturation of a posting.
    """

    def __init__(self, field: FieldPostings, k1: float, b: float) -> None:
        """Nothing is computed before the first term."""
        self._field = field
        # of the terms that were looked up; the system gives memory only to what is written
        keep = len(field.documents) <= MAX_SATURATIONS
        self._saturations = np.empty(len(field.documents), dtype=np.float32) if keep else None
        self._terms: dict[str, TermPostings] = {}
        unit, k1_single, b_single = np.float32(1), np.float32(k1), np.float32(b)
        average = np.float32(field.occurrences / field.documents_with)
        with np.errstate(divide="ignore"):  # with a k1 of 0 one occurrence is as good as many
            self._shares: Singles = unit / (k1_single * ((unit - b_single) + b_single * LENGTHS / average))

    def idf(self, term: str) -> float:
        """Return a term's idf, ``ln(1 + (N − n + 0.5) / (n + 0.5))``, in single precision."""
        return self._find(term)[2]

    def add(self, sums: Doubles, weighted: Iterable[tuple[str, float]]) -> None:
        """Add the scores of weighted terms to ``sums``, which has a number for every document."""
        block: list[Weighted] = []
        left = most = max(BLOCK, len(sums) // 4)
        for term, weight in weighted:
            span, size, idf = self._find(term)
            if not size:
                continue
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

    def _find(self, term: str) -> TermPostings:
        """Return a term's postings; one that no document has has none."""
        if term not in self._terms:
            field, number = self._field, self._field.terms.find(term.encode())
            span, size = slice(0, 0), 0
            if number >= 0:
                span = slice(int(field.starts[number]), int(field.starts[number + 1]))
                size = span.stop - span.start
                if self._saturations is not None:
                    self._saturations[span] = self._saturate(field.frequencies[span], field.documents[span])
            idf = np.float32(log(1 + (field.documents_with - size + 0.5) / (size + 0.5)))
            self._terms[term] = span, size, float(idf)
        return self._terms[term]

    def _saturation(self, spans: Sequence[slice], documents: Integers) -> Singles:
        if self._saturations is not None:
            return np.concatenate([self._saturations[span] for span in spans])
        return self._saturate(np.concatenate([self._field.frequencies[span] for span in spans]), documents)

    def _saturate(self, frequencies: Integers, documents: Integers) -> Singles:
        shares = self._shares[self._field.lengths[documents]]
        saturations: Singles = np.float32(1) + frequencies.astype(np.float32) * shares
        return saturations


ONE_THREAD = 50_000  # documents up to which a second thread would wait: numpy lets others run while arrays are long


class MatrixSearch:
    """BM25 with one choice of k1 and b over the postings of an index.

    Thread-safe. Documents without any term of a field do not count in it, as in Lucene.
    """

    def __init__(self, postings: Postings, k1: float, b: float) -> None:
        """Nothing is computed before the first query."""
        self.postings = postings
        self._scores = {name: FieldScores(field, k1, b) for name, field in postings.fields.items()}

    def search(
        self, texts: Collection[str], fields: Mapping[str, float], depth: int, analysis: Analysis, threads: int
    ) -> Iterator[dict[str, float]]:
        """Yield the ``depth`` best documents of each text in weighted fields; scores as in Anserini's run files."""
        threads = min(threads, 1 + self.postings.size // ONE_THREAD)
        rest, group_size = iter(texts), 1 + len(texts) // (4 * threads)
        # the calling thread has Java analyse a group of texts while the others search for the one before
        bags = (analysis.terms_of_each(group) for group in iter(lambda: list(islice(rest, group_size)), []))

        def searched(group: Sequence[Sequence[str]]) -> list[dict[str, float]]:
            return [self._best(bag, fields, depth) for bag in group]

        with ThreadPoolExecutor(threads) as pool:
            yield from chain.from_iterable(map(searched, bags) if threads == 1 else pool.map(searched, bags))

    def _best(self, terms: Sequence[str], fields: Mapping[str, float], depth: int) -> dict[str, float]:
        """Return the best documents for a bag of terms."""
        numbers, scores = best(self._sums(Counter(terms), fields).astype(np.float32), depth)
        docids = self.postings.docids_of(numbers)
        self.postings.release_memory()
        return dict(zip(docids, break_ties(scores).tolist(), strict=True))

    def _sums(self, counts: Mapping[str, int], fields: Mapping[str, float]) -> Doubles:
        """Return a score for every document, weighted as Anserini's ``BagOfWordsQueryGenerator`` does.

        A term's count is its weight, a field's weight multiplies it. Lucene rounds the sum of a field on its own,
        unless its weight is 1: then the clauses of the field become clauses of the whole query.
        """
        sums = np.zeros(self.postings.size)
        for name, weight in fields.items():
            if name not in self._scores:  # no document has it
                continue
            boost = np.float32(weight)
            if boost == 1:
                self._scores[name].add(sums, counts.items())
            else:
                field_sums = np.zeros(self.postings.size)
                boosted = ((term, float(boost * np.float32(count))) for term, count in counts.items())
                self._scores[name].add(field_sums, boosted)
                sums += field_sums.astype(np.float32)
        return sums

    def score(self, weighted: Mapping[tuple[str, str], float], numbers: Numbers) -> list[float]:
        """Return BM25 of weighted terms, ``(field, term) -> weight``, for documents; 0 where a number is -1."""
        sums = np.zeros(self.postings.size)
        for name, field_scores in self._scores.items():
            field_scores.add(sums, ((term, weight) for (field, term), weight in weighted.items() if field == name))
        document_scores, here = np.zeros(len(numbers), dtype=np.float32), numbers >= 0
        document_scores[here] = sums[numbers[here]].astype(np.float32)
        self.postings.release_memory()
        scores: list[float] = document_scores.tolist()
        return scores

    def idf(self, name: str, terms: Iterable[str]) -> dict[str, float]:
        """Return the idf of terms in a field; empty for a field that no document has."""
        return {term: self._scores[name].idf(term) for term in terms} if name in self._scores else {}


def best(scores: Singles, depth: int) -> tuple[Numbers, Singles]:
    """Return the ``depth`` best documents' numbers and scores above 0: by score descending, then by number.

    The order is that of ``np.lexsort((numbers, -scores))``, which takes three times as long as sorting one array of
    integers, a tenth of a whole query. Floats above 0 are ordered as the integers that have the same bits (IEEE 754);
    such an integer, negated, is the upper half of a key, and the document's number is the lower half.
    """
    numbers = np.flatnonzero(scores >= _threshold(scores, depth))
    keys = np.sort((-scores[numbers].view(np.int32).astype(np.int64) << 32) + numbers)[:depth]
    return keys & 0xFFFFFFFF, (-(keys >> 32)).astype(np.int32).view(np.float32)


def _threshold(scores: Singles, depth: int) -> np.float32:
    """Return a score above 0 that all of the ``depth`` best reach, and usually few others."""
    sample = scores[::8]
    beyond = depth // 6 + 16
    above = sample[sample > 0]
    if beyond < len(above):
        guess = np.sort(above)[-beyond]  # np.partition takes 20 times as long where many are equal
        if np.count_nonzero(scores >= guess) >= depth:
            return np.float32(guess)
    return np.float32(np.finfo(np.float32).smallest_subnormal)


def break_ties(scores: Singles) -> Doubles:
    """Return scores, best first, as Anserini's ``ScoreTiesAdjusterReranker`` and its ``%f`` leave them.

    Each is rounded to 1e-4; one that is not lower than the one before it by more than 1e-4 is lowered by 1e-6
    for each such score in a row. All in single precision: above 16 or so, 1e-6 can be lost.
    """
    rounded = (np.floor(scores.astype(np.float64) * 1e4 + 0.5) / 1e4).astype(np.float32)
    ranks = np.arange(len(scores), dtype=np.int32)
    lowered = rounded
    while True:
        # whether a score is a tie depends on how far the one before it was lowered: repeat until nothing changes
        first_of_ties = np.zeros(len(scores), dtype=np.int32)
        first_of_ties[1:] = np.where(lowered[:-1] - rounded[1:] > np.float32(1e-4), ranks[1:], 0)
        in_a_row = ranks - np.maximum.accumulate(first_of_ties)
        again = rounded - np.float32(1e-6) * in_a_row.astype(np.float32)
        if np.array_equal(again, lowered):
            final: Doubles = lowered.astype(np.float64).round(PLACES)
            return final
        lowered = again

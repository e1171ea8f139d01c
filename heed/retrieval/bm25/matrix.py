"""BM25 over a matrix of postings: the scores that Lucene's BM25Similarity gives, to the last bit.

Lucene computes a term's score in single precision, adds up a document's scores in double precision and
rounds the sum to single precision. While the sum is below 2**29 times its smallest addend, 53 bits hold
it exactly, in whatever order it was made. Beyond that another order can move it by a few 2**-53 of itself,
which rounding to 24 bits shows in one document of 2**27; Lucene's own order depends on the other documents.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import accumulate, chain, islice
from math import log

import numpy as np
from numpy.typing import NDArray

from heed.retrieval.bm25.postings import FieldPostings, Integers, Numbers, ShardPostings
from heed.retrieval.lucene.analysis import Analysis
from heed.retrieval.lucene.search import PLACES

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


ONE_THREAD = 50_000  # documents up to which a second thread would wait: numpy lets others run while arrays are long
DOCIDS_IN_MEMORY = 1 << 18  # documents up to which all docids are held as strings, which is quicker than reading them
MAX_MAPPED = 1 << 28  # bytes of mapped files that may stay in memory between two queries


class PostingsMatrix:
    """The postings of an index's shards as one matrix; its documents are numbered shard after shard, by docid."""

    def __init__(self, shards: Sequence[ShardPostings]) -> None:
        """Join ``shards``, in the order of their docids, without those that have no document."""
        self.shards = [shard for shard in shards if shard.size] or [shards[0]]
        self.starts: list[int] = [0, *accumulate(shard.size for shard in self.shards)]
        self.size = self.starts[-1]
        self._firsts = [shard.docids[0] for shard in self.shards if shard.size]
        self._mapped = sum(shard.mapped for shard in self.shards)

    def docids_of(self, numbers: Numbers) -> list[str]:
        """Return the docids of documents."""
        if self.size <= DOCIDS_IN_MEMORY:
            docids: list[str] = self._docids[numbers].tolist()
            return docids
        return [self._docid(number) for number in numbers.tolist()]

    def numbers_of(self, docids: Sequence[str]) -> Numbers:
        """Return the number of each of ``docids``, -1 for one that has none."""
        if self.size <= DOCIDS_IN_MEMORY:
            return np.array([self._numbers.get(docid, -1) for docid in docids], dtype=np.intp)
        return np.array([self._find(docid.encode()) for docid in docids], dtype=np.intp)

    def release_memory(self) -> None:
        """Release the memory of large files; they are read again when needed."""
        if self._mapped > MAX_MAPPED:
            for shard in self.shards:
                shard.release_memory()

    def _docid(self, number: int) -> str:
        shard = bisect_right(self.starts, number) - 1
        return self.shards[shard].docids[number - self.starts[shard]].decode()

    def _find(self, docid: bytes) -> int:
        shard = bisect_right(self._firsts, docid) - 1
        number = self.shards[shard].docids.find(docid) if shard >= 0 else -1
        return number if number < 0 else number + self.starts[shard]

    @cached_property
    def _docids(self) -> NDArray[np.object_]:
        return np.array([docid for shard in self.shards for docid in shard.docids.decoded()], dtype=object)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {docid: number for number, docid in enumerate(self._docids)}


class MatrixSearch:
    """BM25 with one choice of k1 and b over a matrix, with the statistics of all its shards.

    Thread-safe. Documents without any term of a field count in no shard, as in Lucene.
    """

    def __init__(self, matrix: PostingsMatrix, k1: float, b: float) -> None:
        """Nothing is computed before the first query."""
        self.matrix = matrix
        self._scores: list[dict[str, FieldScores]] = [{} for _ in matrix.shards]
        for name in sorted({name for shard in matrix.shards for name in shard.fields}):
            having = [number for number, shard in enumerate(matrix.shards) if name in shard.fields]
            fields = [matrix.shards[number].fields[name] for number in having]
            statistics = FieldStatistics(fields)
            for position, number in enumerate(having):
                self._scores[number][name] = FieldScores(fields, position, statistics, k1, b)

    def search(
        self, texts: Collection[str], fields: Mapping[str, float], depth: int, analysis: Analysis, threads: int
    ) -> Iterator[dict[str, float]]:
        """Yield the ``depth`` best documents of each text in weighted fields; scores as in Anserini's run files."""
        threads = min(threads, 1 + self.matrix.size // ONE_THREAD)
        rest, group_size = iter(texts), 1 + len(texts) // (4 * threads)
        # the calling thread has Java analyse a group of texts while the others search for the one before
        bags = (analysis.terms_of_each(group) for group in iter(lambda: list(islice(rest, group_size)), []))

        def searched(group: Sequence[Sequence[str]]) -> list[dict[str, float]]:
            return [self._best(bag, fields, depth) for bag in group]

        with ThreadPoolExecutor(threads) as pool:
            yield from chain.from_iterable(map(searched, bags) if threads == 1 else pool.map(searched, bags))

    def _best(self, terms: Sequence[str], fields: Mapping[str, float], depth: int) -> dict[str, float]:
        """Return the best documents for a bag of terms, those of each shard merged."""
        counts = Counter(terms)
        shard_hits = []
        for shard, start in enumerate(self.matrix.starts[:-1]):
            numbers, scores = best(self._sums(shard, counts, fields).astype(np.float32), depth)
            shard_hits.append((numbers + start, scores))
        numbers, scores = shard_hits[0] if len(shard_hits) == 1 else merged(shard_hits, depth)
        docids = self.matrix.docids_of(numbers)
        self.matrix.release_memory()
        return dict(zip(docids, break_ties(scores).tolist(), strict=True))

    def _sums(self, shard: int, counts: Mapping[str, int], fields: Mapping[str, float]) -> Doubles:
        """Return a score for every document of a shard, weighted as Anserini's ``BagOfWordsQueryGenerator`` does.

        A term's count is its weight, a field's weight multiplies it. Lucene rounds the sum of a field on its own,
        unless its weight is 1: then the clauses of the field become clauses of the whole query.
        """
        sums = self._zeros(shard)
        for name, weight in fields.items():
            boost = np.float32(weight)
            if boost == 1:
                self._add(shard, sums, name, counts.items())
            else:
                field_sums = self._zeros(shard)
                boosted = ((term, float(boost * np.float32(count))) for term, count in counts.items())
                self._add(shard, field_sums, name, boosted)
                sums += field_sums.astype(np.float32)
        return sums

    def score(self, weighted: Mapping[tuple[str, str], float], numbers: Numbers) -> list[float]:
        """Return BM25 of weighted terms, ``(field, term) -> weight``, for documents; 0 where a number is -1."""
        document_scores = np.zeros(len(numbers), dtype=np.float32)
        for shard, start in enumerate(self.matrix.starts[:-1]):
            here = (start <= numbers) & (numbers < self.matrix.starts[shard + 1])
            if here.any():
                sums = self._zeros(shard)
                for name in self._scores[shard]:
                    terms = ((term, weight) for (field, term), weight in weighted.items() if field == name)
                    self._add(shard, sums, name, terms)
                document_scores[here] = sums[numbers[here] - start].astype(np.float32)
        self.matrix.release_memory()
        scores: list[float] = document_scores.tolist()
        return scores

    def idf(self, name: str, terms: Iterable[str]) -> dict[str, float]:
        """Return the idf of terms in a field, with the statistics of all shards; empty for a field that none has."""
        shard = next((scores for scores in self._scores if name in scores), None)
        return {term: shard[name].idf(term) for term in terms} if shard else {}

    def _zeros(self, shard: int) -> Doubles:
        return np.zeros(self.matrix.shards[shard].size)

    def _add(self, shard: int, sums: Doubles, name: str, weighted: Iterable[tuple[str, float]]) -> None:
        if name in self._scores[shard]:  # else no document has it
            self._scores[shard][name].add(sums, weighted)


def best(scores: Singles, depth: int) -> tuple[Numbers, Singles]:
    """Return the ``depth`` best documents' numbers and scores above 0: by score descending, then by number."""
    numbers = np.flatnonzero(scores >= _threshold(scores, depth))
    return _highest(numbers, scores[numbers], depth)


def merged(hits: Sequence[tuple[Numbers, Singles]], depth: int) -> tuple[Numbers, Singles]:
    """Return the ``depth`` best of several such lists, each of higher numbers than the one before."""
    numbers, scores = (np.concatenate(parts) for parts in zip(*hits, strict=True))
    return _highest(numbers, scores, depth)


def _highest(numbers: Numbers, scores: Singles, depth: int) -> tuple[Numbers, Singles]:
    """Return the ``depth`` highest of scores above 0, equal ones by number, with their numbers.

    The order is that of ``np.lexsort((numbers, -scores))``, which takes three times as long as sorting one array of
    integers, a tenth of a whole query. Floats above 0 are ordered as the integers that have the same bits (IEEE 754);
    such an integer, negated, is the upper half of a key, and the document's number is the lower half.
    """
    keys = np.sort((-scores.view(np.int32).astype(np.int64) << 32) + numbers)[:depth]
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

"""BM25 over a matrix of postings: the scores that Lucene's BM25Similarity gives, to the last bit.

Lucene computes a term's score in single precision, adds up a document's scores in double precision and
rounds the sum to single precision. While the sum is below 2**29 times its smallest addend, 53 bits hold
it exactly, in whatever order it was made. Beyond that another order can move it by a few 2**-53 of itself,
which rounding to 24 bits shows in one document of 2**27; Lucene's own order depends on the other documents.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, islice

import numpy as np
from numpy.typing import NDArray

from heed.retrieval.field_scores import Doubles, FieldScores, Singles, Whole
from heed.retrieval.lucene.analysis import Analysis
from heed.retrieval.postings import Impacts, Places
from heed.retrieval.threads import by_threads
from heed.retrieval.ties import told_apart

ALONE = 50_000  # documents up to which a second thread would wait: numpy lets others run while its arrays are long
KNOWN = 1 << 18  # documents whose docids are all held as strings, which is quicker; of more, those asked for are read
HELD = 1 << 28  # bytes of mapped files that may stay in memory between two queries
PLACE = 0xFFFFFFFF  # the half of a sorting key that tells the place
SMALLEST = 2.0**-20  # a share below this could round a match's score to 0, which says that nothing matched


class Matrix:
    """The matrices of an index's shards as one; its documents are numbered shard after shard, by docid."""

    def __init__(self, shards: Sequence[Impacts]) -> None:
        """``shards`` in the order of their docids; those without a document count for nothing."""
        self.shards = [one for one in shards if one.size] or [shards[0]]
        self.starts: list[int] = [0, *accumulate(one.size for one in self.shards)]
        self.size = self.starts[-1]
        self._firsts = [one.docids[0] for one in self.shards if one.size]
        self._mapped = sum(one.mapped for one in self.shards)

    def docids_of(self, places: Places) -> list[str]:
        """The docids of documents by their numbers."""
        if self.size <= KNOWN:
            found: list[str] = self._docids[places].tolist()
            return found
        return [self._docid(at) for at in places.tolist()]

    def places_of(self, docids: Sequence[str]) -> Places:
        """The number of each of ``docids``, -1 for one that has none."""
        if self.size <= KNOWN:
            return np.array([self._numbers.get(docid, -1) for docid in docids], dtype=np.intp)
        return np.array([self._find(docid.encode()) for docid in docids], dtype=np.intp)

    def let_go(self) -> None:
        """Let what was read of large files leave memory."""
        if self._mapped > HELD:
            for shard in self.shards:
                shard.let_go()

    def _docid(self, place: int) -> str:
        shard = bisect_right(self.starts, place) - 1
        return self.shards[shard].docids[place - self.starts[shard]].decode()

    def _find(self, docid: bytes) -> int:
        shard = bisect_right(self._firsts, docid) - 1
        place = self.shards[shard].docids.find(docid) if shard >= 0 else -1
        return place if place < 0 else place + self.starts[shard]

    @cached_property
    def _docids(self) -> NDArray[np.object_]:
        return np.array([docid.decode() for shard in self.shards for docid in shard.docids], dtype=object)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {docid: at for at, docid in enumerate(self._docids)}


class ImpactSearch:
    """BM25 with one choice of k1 and b over the matrices of one or more shards, with all shards' statistics.

    Thread-safe. Documents without any term of a field count in no shard, as in Lucene.
    """

    def __init__(self, matrix: Matrix, k1: float, b: float) -> None:
        """Nothing is computed before the first query."""
        self.matrix = matrix
        self._scores: list[dict[str, FieldScores]] = [{} for _ in matrix.shards]
        for name in sorted({name for shard in matrix.shards for name in shard.fields}):
            having = [at for at, shard in enumerate(matrix.shards) if name in shard.fields]
            fields = [matrix.shards[at].fields[name] for at in having]
            whole = Whole(fields)
            for number, at in enumerate(having):
                self._scores[at][name] = FieldScores(fields, number, whole, k1, b)

    @property
    def tells_matches(self) -> bool:
        """Whether every match has a score above 0, as with any k1 that is not a million times the usual."""
        return all(field.least_share >= SMALLEST for shard in self._scores for field in shard.values())

    def search(
        self, texts: Collection[str], fields: Mapping[str, float], depth: int, analysis: Analysis, threads: int
    ) -> Iterator[dict[str, float]]:
        """The ``depth`` best documents for each text in weighted fields; scores as Anserini's run files have them."""
        threads = min(threads, 1 + self.matrix.size // ALONE)
        left, at_once = iter(texts), 1 + len(texts) // (4 * threads)
        # the calling thread has Java analyse a group of texts while the others search for the one before
        bags = (analysis.of_each(group) for group in iter(lambda: list(islice(left, at_once)), []))
        found = by_threads(lambda group: [self._best(bag, fields, depth) for bag in group], bags, threads)
        return chain.from_iterable(found)

    def _best(self, terms: Sequence[str], fields: Mapping[str, float], depth: int) -> dict[str, float]:
        """The best documents for a bag of terms, those of each shard merged."""
        counts = Counter(terms)
        found = []
        for at, start in enumerate(self.matrix.starts[:-1]):
            places, scores = best(self._sums(at, counts, fields).astype(np.float32), depth)
            found.append((places + start, scores))
        places, scores = found[0] if len(found) == 1 else merged(found, depth)
        docids = self.matrix.docids_of(places)
        self.matrix.let_go()
        return dict(zip(docids, told_apart(scores).tolist(), strict=True))

    def _sums(self, shard: int, counts: Mapping[str, int], fields: Mapping[str, float]) -> Doubles:
        """A score for every document of a shard, weighed as Anserini's ``BagOfWordsQueryGenerator`` does.

        A term's count is its weight, a field's weight multiplies it. Lucene rounds the sum of a field apart,
        unless its weight is 1: then the clauses of the field become clauses of the whole query.
        """
        sums = self._nothing(shard)
        for name, weight in fields.items():
            boost = np.float32(weight)
            if boost == 1:
                self._add(shard, sums, name, counts.items())
            else:
                apart = self._nothing(shard)
                boosted = ((term, float(boost * np.float32(count))) for term, count in counts.items())
                self._add(shard, apart, name, boosted)
                sums += apart.astype(np.float32)
        return sums

    def score(self, weighted: Mapping[tuple[str, str], float], places: Places) -> list[float]:
        """BM25 of weighted terms, ``(field, term) -> weight``, for the documents at ``places``; 0 where that is -1."""
        found = np.zeros(len(places), dtype=np.float32)
        for at, start in enumerate(self.matrix.starts[:-1]):
            here = (start <= places) & (places < self.matrix.starts[at + 1])
            if here.any():
                sums = self._nothing(at)
                for name in self._scores[at]:
                    terms = ((term, weight) for (field, term), weight in weighted.items() if field == name)
                    self._add(at, sums, name, terms)
                found[here] = sums[places[here] - start].astype(np.float32)
        self.matrix.let_go()
        scores: list[float] = found.tolist()
        return scores

    def _nothing(self, shard: int) -> Doubles:
        return np.zeros(self.matrix.shards[shard].size)

    def _add(self, shard: int, sums: Doubles, name: str, weighted: Iterable[tuple[str, float]]) -> None:
        if name in self._scores[shard]:  # else no document has it
            self._scores[shard][name].add(sums, weighted)


def best(scores: Singles, depth: int) -> tuple[Places, Singles]:
    """The places of the ``depth`` highest scores above 0, highest first, equal ones in their order, and the scores."""
    places = np.flatnonzero(scores >= _least(scores, depth))
    places = keys_of(places, scores[places])[:depth] & PLACE
    return places, scores[places]


def merged(found: Sequence[tuple[Places, Singles]], depth: int) -> tuple[Places, Singles]:
    """The ``depth`` best of several such lists, of different documents."""
    places, scores = (np.concatenate(one) for one in zip(*found, strict=True))
    keys = keys_of(places, scores)[:depth]
    return keys & PLACE, (-(keys >> 32)).astype(np.int32).view(np.float32)


def keys_of(places: Places, scores: Singles) -> NDArray[np.int64]:
    """Places and their scores above 0 as one number each, sorted: the highest scores first, equal ones by place."""
    # the bits of floats above 0 are ordered as the floats are: one sort of whole numbers does scores and places
    return np.sort((-scores.view(np.int32).astype(np.int64) << 32) + places)


def _least(scores: Singles, depth: int) -> np.float32:
    """A score above 0 that all of the ``depth`` best reach, and, mostly, few others."""
    sample = scores[::8]
    beyond = depth // 6 + 16
    if beyond < len(sample):
        guess = np.partition(sample, len(sample) - beyond)[len(sample) - beyond]
        if guess > 0 and np.count_nonzero(scores >= guess) >= depth:
            return np.float32(guess)
    return np.float32(np.finfo(np.float32).smallest_subnormal)

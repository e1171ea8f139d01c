"""BM25 over a matrix of postings, by a loop inside Java: the scores of Lucene's BM25Similarity, to the last bit.

Lucene computes a term's score in single precision, adds up a document's scores in double precision and
rounds the sum to single precision. While the sum is below 2**29 times its smallest addend, 53 bits hold
it exactly, in whatever order it was made. Beyond that another order can move it by a few 2**-53 of itself,
which rounding to 24 bits shows in one document of 2**27; Lucene's own order depends on the other documents.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heed.process import batches
from heed.retrieval.bm25.postings import Numbers, Postings
from heed.retrieval.lucene.jvm import BM25, POSTINGS, java, java_errors

QUERIES_AT_ONCE = 50  # searched by one call of Java, which cannot be interrupted
TERMS_KEPT = 100_000  # of each open index: where the postings of a term are

Clause = tuple[str, str, float]  # field, term as the index holds it, weight; those of a field are together


class TermPostings(NamedTuple):
    """Where a term's postings are, how many, and its idf, ``ln(1 + (N − n + 0.5) / (n + 0.5))`` in single precision."""

    first: int
    size: int
    idf: float


class BestDocuments(NamedTuple):
    """The best documents of a query, best first, equal ones by docid.

    ``scores`` are Lucene's, ``in_runs`` those of Anserini's run files: rounded to 1e-4, and a score that is not lower
    than the one before it by more than 1e-4 is lowered by 1e-6 for each such score in a row.
    """

    docids: list[str]
    scores: NDArray[np.float32]
    in_runs: NDArray[np.float64]


def threads_within(heap: int, sums: int, threads: int) -> int:
    """Return how many of ``threads`` search at once, so that the ``sums`` of each fit half of Java's ``heap``."""
    return max(1, min(threads, heap // 2 // (8 * max(sums, 1))))


class MatrixSearch:
    """BM25 with one choice of k1 and b over the postings of an index.

    Thread-safe. Documents without any term of a field do not count in it, as in Lucene.
    """

    def __init__(self, postings: Postings, k1: float, b: float) -> None:
        """Map the postings; nothing is computed before the first query."""
        self.postings, self._places = postings, {name: place for place, name in enumerate(postings.fields)}
        self.find = lru_cache(TERMS_KEPT)(self._find)
        with java_errors("opening the postings"):
            self._as_list, fields = java("java.util.Arrays").asList, java("java.util.ArrayList")()
            for name, field in postings.fields.items():
                average = field.occurrences / field.documents_with
                fields.add(java(POSTINGS)(str(postings.folder / name), k1, b, average))
            self._java = java(BM25)(postings.size, fields)

    def search(
        self, queries: Iterable[Sequence[Clause]], depth: int, threads: int, apart: Collection[str] = ()
    ) -> Iterator[BestDocuments]:
        """Yield the ``depth`` best documents of each query.

        The sum of a field that is ``apart`` is rounded before it is added, as Lucene does where a field has a weight.
        """
        rounded = [name in apart for name in self._places]
        sums = self.postings.size * (1 + any(rounded))  # a field that is apart has its own beside those of the query
        with java_errors("searching"):
            threads = threads_within(java("java.lang.Runtime").getRuntime().maxMemory(), sums, threads)
        for group in batches(map(self._numbers, queries), QUERIES_AT_ONCE, lambda _: 1):
            ends = np.cumsum([len(query) for query in group]).tolist()
            with java_errors("searching"):
                arrays = self._java.search(list(chain.from_iterable(group)), ends, rounded, depth, threads)
            columns = (array.tostring() for array in arrays)  # bytes() takes 2,000 times as long
            for documents, scores, in_runs in zip(columns, columns, columns, strict=True):
                docids = self.postings.docids_of(np.frombuffer(documents, ">i4"))
                yield BestDocuments(docids, np.frombuffer(scores, ">f4"), np.frombuffer(in_runs, ">f8"))

    def score(self, query: Sequence[Clause], documents: Numbers) -> list[float]:
        """Return the score of each of some documents; 0 where a number is -1, and where a document has no term."""
        with java_errors("scoring documents"):
            scores: list[float] = self._java.scores(self._numbers(query), documents.tolist())
        return scores

    def _numbers(self, query: Sequence[Clause]) -> list[float]:
        """Return a query as Java takes it; terms that no document has are left out."""
        terms = (
            (number, *self.find(field, term), weight)
            for field, term, weight in query
            if (number := self._places.get(field)) is not None
        )
        rows = np.array([row for row in terms if row[2]], dtype=np.float64).reshape(-1, 5)
        rows[:, 3] = rows[:, 3].astype(np.float32) * rows[:, 4].astype(np.float32)
        numbers: list[float] = rows[:, :4].ravel().tolist()
        return numbers

    def idf(self, name: str, terms: Iterable[str]) -> dict[str, float]:
        """Return the idf of terms in a field; empty for a field that no document has."""
        return {term: self.find(name, term).idf for term in terms} if name in self._places else {}

    def _find(self, name: str, term: str) -> TermPostings:
        """Return where a term's postings are; one that no document has has none."""
        field = self.postings.fields[name]
        number = field.terms.find(term.encode())
        first, end = field.starts[number : number + 2].tolist() if number >= 0 else (0, 0)
        size = end - first
        idf = np.float32(log(1 + (field.documents_with - size + 0.5) / (size + 0.5)))
        return TermPostings(first, size, float(idf))

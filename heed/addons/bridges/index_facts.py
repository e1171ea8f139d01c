"""What a Lucene index says of itself and of single documents: fields, docids, a document's terms."""

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from heed.retrieval.lucene.jvm import cast, java
from heed.retrieval.lucene.postings_export import FREQUENCIES, ID, LUCENE, write_postings


class TermsCompared(NamedTuple):
    """The terms of a text beside those of a document of the index.

    ``share`` of the text's distinct terms are in the document; ``equal`` if frequencies and length are the same too.
    """

    share: float
    equal: bool


def index_problems(reader: Any, field: str) -> Iterator[str]:
    """Yield what keeps an index from being searched in ``field`` with docids from Anserini's field ``id``."""
    terms = java(f"{LUCENE}.index.MultiTerms")
    ids, count = terms.getTerms(reader, ID), reader.maxDoc()
    if reader.numDeletedDocs():
        yield f"{reader.numDeletedDocs()} documents are marked as deleted; merge the index first (-optimize)"
    elif ids is None or ids.getSumDocFreq() != count:
        yield f"{0 if ids is None else ids.getSumDocFreq()} of {count} documents have a docid in the field {ID!r}"
    if terms.getTerms(reader, field) is None:
        yield f"no document has a field {field!r}, which Anserini's indexes for BM25 have"


def docids_of_index(reader: Any, folder: Path) -> dict[str, int]:
    """Return how many documents have each docid of an index, ordered by bytes; ``folder`` holds files meanwhile."""
    raw = folder / "docids"
    raw.mkdir()
    write_postings(raw, ID, reader, ID)
    joined = (raw / f"{ID}.texts").read_bytes()
    lengths, counts = np.fromfile(raw / f"{ID}.sizes", dtype="<i4").reshape(-1, 2).T
    shutil.rmtree(raw)
    ends = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).tolist()
    docids = (joined[start:end].decode(errors="replace") for start, end in pairwise(ends))
    return dict(zip(docids, counts.tolist(), strict=True))


class DocumentTerms:
    """The terms of single documents of an index, looked up in its postings."""

    def __init__(self, reader: Any, field: str) -> None:
        """Look up terms of ``field`` in an open index."""
        self._field = field
        self._leaves = [leaf.reader() for leaf in reader.leaves().toArray()]

    def compared(self, docid: str, terms: Sequence[str]) -> TermsCompared:
        """Return how ``terms``, repeats included, fit the document of that docid; KeyError if it is not there."""
        leaf, number = self._find(docid)
        ours = Counter(terms)
        theirs = {term: self._frequency(leaf, number, term) for term in ours}
        share = sum(1 for frequency in theirs.values() if frequency) / len(ours) if ours else 1.0
        return TermsCompared(share, theirs == ours and self._length(leaf, number) == _as_byte(len(terms)))

    def has_vectors(self, docid: str) -> bool:
        """Whether the index keeps the terms of this document, as feedback needs them."""
        leaf, number = self._find(docid)
        return leaf.termVectors().get(number, self._field) is not None

    def _find(self, docid: str) -> tuple[Any, int]:
        for leaf in self._leaves:
            postings = self._postings(leaf, ID, docid)
            if postings is not None:
                return leaf, postings.nextDoc()
        raise KeyError(docid)

    def _frequency(self, leaf: Any, number: int, term: str) -> int:
        postings = self._postings(leaf, self._field, term)
        return postings.freq() if postings is not None and postings.advance(number) == number else 0

    def _postings(self, leaf: Any, field: str, term: str) -> Any:
        postings = leaf.postings(java(f"{LUCENE}.index.Term")(field, term), FREQUENCIES)
        return None if postings is None else cast(f"{LUCENE}.index.PostingsEnum", postings)

    def _length(self, leaf: Any, number: int) -> int:
        norms = leaf.getNormValues(self._field)
        return int(norms.longValue()) if norms is not None and norms.advanceExact(number) else 0


def _as_byte(length: int) -> int:
    """Return Lucene's one byte for a document's length."""
    return int(java(f"{LUCENE}.util.SmallFloat").intToByte4(length))

"""Lucene's postings, terms and norms written to files in bulk.

Read by calls from Python, a posting costs 5 µs; as Lucene's plain text (SimpleTextCodec) it takes 65 bytes and two
seconds a million to write, before it can be read. By the loop in ``java/heed/Bulk.java`` it takes 8 bytes and 0.1 µs.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heed.retrieval.lucene.jvm import BULK, java

LUCENE = "org.apache.lucene"
ID = "id"  # the field of docids, as Anserini names it
FREQUENCIES = 8  # PostingsEnum.FREQS: documents and how often a term is in each


def write_postings(folder: Path, name: str, reader: Any, field: str) -> bool:
    """Write the terms and postings of ``field`` into ``folder``; return False where no document has the field.

    ``name.sizes`` holds the length in bytes and the number of documents of each term, in the order of the
    terms' bytes, ``name.texts`` those bytes, ``name.pairs`` a document's number and the term's frequency in
    it, term after term. Numbers are of 32 bits, little-endian.
    """
    return bool(java(BULK).writePostings(reader, field, str(folder.absolute()), name))


def count_postings(reader: Any, fields: Sequence[str]) -> int:
    """Return the number of postings in ``fields`` together."""
    terms = java(f"{LUCENE}.index.MultiTerms")
    field_terms = (terms.getTerms(reader, field) for field in fields)
    return sum(indexed.getSumDocFreq() for indexed in field_terms if indexed is not None)


def write_norms(path: Path, reader: Any, field: str, count: int) -> None:
    """Write Lucene's one byte for the length of ``field`` in each of ``count`` documents; 0 where there is none."""
    java(BULK).writeNorms(reader, field, str(path.parent.absolute()), path.name, count)

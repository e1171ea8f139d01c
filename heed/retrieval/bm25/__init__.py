"""BM25: Lucene indexes, their postings searched by numpy, indexes made elsewhere, copies in workers."""

"""BM25: Lucene indexes, their postings searched, feedback, indexes made elsewhere, copies in workers."""

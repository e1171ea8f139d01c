"""First-stage systems: BM25 on Lucene, LSA, encoders and late interaction."""

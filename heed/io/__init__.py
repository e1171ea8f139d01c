"""Topics, documents, runs, qrels, pools and tables: the one reader and writer of each, and where collections lie."""

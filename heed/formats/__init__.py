"""Topics, documents, runs, qrels and pools: the one reader and the one writer of each format."""

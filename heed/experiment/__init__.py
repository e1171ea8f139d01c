"""The flow of an experiment: index, search, pool, rerank, measure, write; its runs, results and manifest."""

"""Train a reranker: data, recipe, trainer."""

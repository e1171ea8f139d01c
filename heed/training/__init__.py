"""A reranker of one's own: data, recipe, learner."""

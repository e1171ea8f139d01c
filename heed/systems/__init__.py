"""From a name, an object or settings to a retriever or a reranker."""

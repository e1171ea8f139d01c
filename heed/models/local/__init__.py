"""Models that are run here: loaded by sentence-transformers, transformers or vLLM."""

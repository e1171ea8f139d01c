"""Networks of unusual models, and vLLM."""

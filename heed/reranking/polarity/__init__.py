"""``polarity``: a lexical reranker that reads the instruction, with no model."""

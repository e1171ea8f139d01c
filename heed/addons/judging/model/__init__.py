"""Judgements by a language model for documents that nobody judged, apart from people's, and their agreement."""

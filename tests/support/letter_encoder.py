"""An encoder whose vectors can be worked out by hand."""

from collections.abc import Sequence

import numpy as np

from heed.types import Document, Encoder, Matrix, Query


class LetterCounts(Encoder):
    """An encoder of letter counts, not normalised. Counts its own work, and is interrupted after ``fail_after``."""

    name = "lengths"

    def __init__(self, version: int = 1, fail_after: int = 10**9) -> None:
        self.config = {"lengths": version}
        self.encoded: list[str] = []
        self._fail_after = fail_after

    def encode_documents(self, documents: Sequence[Document]) -> Matrix:
        if len(self.encoded) >= self._fail_after:
            raise KeyboardInterrupt
        self.encoded += [document.docid for document in documents]
        return self.counts([document.text for document in documents])

    def encode_queries(self, queries: Sequence[Query]) -> Matrix:
        return self.counts([query.text for query in queries])

    def counts(self, texts: list[str]) -> Matrix:
        """Return how often each of the letters a to h is in each text."""
        return np.array([[text.count(letter) for letter in "abcdefgh"] for text in texts], dtype=np.float32)

"""Any bi-encoder as a reranker: a document's score is its vector's inner product with that of query and instruction.

FollowIR and mFollowIR ran their bi-encoders so, over the same candidates as rerankers.
"""

from collections.abc import Callable, Sequence

import numpy as np

from heed.reranking.document_vectors import DocumentVectors
from heed.retrieval.corpus import Corpus
from heed.reuse import recipe_version
from heed.types import Config, Document, Encoder, Query, Reranker


class VectorReranker(Reranker):
    """What rerankers over an encoder's vectors share: documents are embedded before the first topic is scored."""

    def __init__(self, encoder: Encoder, corpus: Corpus | None = None) -> None:
        """Compare by ``encoder``, which is loaded when it is first needed; vectors are kept beside ``corpus``."""
        self._encoder, self._documents = encoder, DocumentVectors(encoder, corpus)

    def begin(self, queries: Sequence[Query], documents: Callable[[Query], Sequence[Document]]) -> None:
        """Embed the documents of all pools."""
        self._documents.embed(map(documents, queries))

    def finish(self) -> None:
        """Log how many documents were embedded."""
        self._documents.log()

    def close(self) -> None:
        """Forget the vectors, and close the encoder's model."""
        self._documents.close()


class Similarity(VectorReranker):
    """The reranker over any encoder, as a :class:`heed.types.Reranker`; its name is the encoder's."""

    def __init__(self, encoder: Encoder, corpus: Corpus | None = None) -> None:
        """Compare by ``encoder``, with the vectors of ``corpus``."""
        super().__init__(encoder, corpus)
        self.name = encoder.name
        config = encoder.config
        if config is not None:
            self.config: Config = {"similarity": recipe_version("similarity"), "encoder": config}

    def score(self, query: Query, documents: Sequence[Document]) -> Sequence[float]:
        """Return the inner product for each document, in double precision, so that near ones do not tie."""
        if not documents:
            return []
        [vector] = self._encoder.encode_queries([query]).astype(np.float64)
        scores: list[float] = (self._documents.of(documents) @ vector).tolist()
        return scores

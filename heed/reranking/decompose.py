"""``decompose``: any bi-encoder over the two sides of an instruction, asked for and excluded, without training.

A document's score is ``d·q + α·d·(q + a) − β·d·x``: its similarity to the query, plus that to the
query with the asked part as its instruction, minus that to the excluded part, which an encoder that
reads query and instruction as one text takes for wanted. :func:`heed.instructions.clauses.split` makes the parts.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from heed.instructions.clauses import split
from heed.instructions.cues import cues_digest, warn_without_cues
from heed.reranking.similarity import VectorReranker
from heed.retrieval.corpus import Corpus
from heed.reuse import recipe_version
from heed.types import Config, Document, Encoder, Query


class Weights(NamedTuple):
    """Weights of the asked and the excluded part; the query has 1."""

    alpha: float
    beta: float


# Chosen with all-MiniLM-L6-v2 on FollowTable's WTR and IndusTR alone, for nDCG@10 and IRS together:
# python -m benchmarks.decompose. From β = α + 1 on, documents near the query fall below those far from it.
WEIGHTS = Weights(5.0, 5.0)


class Decompose(VectorReranker):
    """The reranker over any encoder, as a :class:`heed.types.Reranker`."""

    reads_cues = True

    def __init__(self, encoder: Encoder, weights: Weights = WEIGHTS, corpus: Corpus | None = None) -> None:
        """Compare by ``encoder``, with the vectors of ``corpus``."""
        super().__init__(encoder, corpus)
        self.name, self._weights = f"decompose:{encoder.name}", weights
        config = encoder.config
        if config is not None:
            self.config: Config = {
                "decompose": [recipe_version("decompose"), *weights],
                "cues": cues_digest(),
                "encoder": config,
            }

    def score(self, query: Query, documents: Sequence[Document]) -> Sequence[float]:
        """Return ``d·q + α·d·(q + a) − β·d·x`` for each document; an empty part adds nothing."""
        if not documents:
            return []
        if query.instruction:
            warn_without_cues(query.lang)
        parts = parts_of(query, self._weights)
        vectors = self.encoder.encode_queries([part for _, part in parts]).astype(np.float64)
        weights = np.array([weight for weight, _ in parts])
        similarities = self.vectors_of(documents) @ vectors.T
        scores: list[float] = (similarities @ weights).tolist()
        return scores


def parts_of(query: Query, weights: Weights) -> list[tuple[float, Query]]:
    """Return the queries that a document is compared with, each with its weight."""
    sides = split(query.instruction, query.lang)
    parts = [(1.0, _query(query, query.query, ""))]
    if sides.asked_for:
        parts.append((weights.alpha, _query(query, query.query, sides.asked_for)))
    if sides.excluded:
        parts.append((-weights.beta, _query(query, sides.excluded, "")))
    return parts


def _query(query: Query, text: str, instruction: str) -> Query:
    return query._replace(query=text, instruction=instruction, text=f"{text} {instruction}".strip())

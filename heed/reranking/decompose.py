"""``decompose``: any bi-encoder over the two sides of an instruction, asked for and excluded, without training.

A document's score is ``d·q + α·d·(q + a) − β·d·x``: its similarity to the query, plus that to the
query with the asked part as its instruction, minus that to the excluded part, which an encoder that
reads query and instruction as one text takes for wanted. :mod:`heed.instructions.reader` makes the parts.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from heed.instructions.reader import Reader, reader_at
from heed.reranking.similarity import VectorReranker
from heed.retrieval.corpus import Corpus
from heed.reuse import recipe_version
from heed.types import Config, Document, Encoder, Query


class Weights(NamedTuple):
    """Weights of the asked and the excluded part; the query has 1."""

    alpha: float
    beta: float


# Chosen with multilingual-e5-small on real news in three languages, topics held out, for nDCG under both narratives and
# selectivity: python -m benchmarks.polarity. From β = α + 1 on, documents near the query fall below those far from it.
TEXT_WEIGHTS = Weights(1.0, 1.0)
# Chosen with all-MiniLM-L6-v2 on FollowTable's WTR and IndusTR, for nDCG@10 and IRS: python -m benchmarks.decompose.
TABLE_WEIGHTS = Weights(5.0, 5.0)


class Decompose(VectorReranker):
    """The reranker over any encoder, as a :class:`heed.types.Reranker`."""

    def __init__(
        self,
        encoder: Encoder,
        weights: Weights | None = None,
        corpus: Corpus | None = None,
        reader: Reader | None = None,
    ) -> None:
        """Compare by ``encoder``, with the vectors of ``corpus``; by default with weights for texts, or for tables."""
        super().__init__(encoder, corpus)
        tables = bool(corpus and corpus.documents.tabular)
        self._weights = weights or (TABLE_WEIGHTS if tables else TEXT_WEIGHTS)
        self.name, self._reader = f"decompose:{encoder.name}", reader or reader_at()
        config = encoder.config
        if config is not None:
            self.config: Config = {
                "decompose": [recipe_version("decompose"), *self._weights],
                "reader": self._reader.config,
                "encoder": config,
            }

    def begin(self, queries: Sequence[Query], documents: Callable[[Query], Sequence[Document]]) -> None:
        """Log how many instructions exclude something."""
        self._reader.log_exclusions(queries)
        super().begin(queries, documents)

    def parts_of(self, query: Query) -> list[tuple[float, Query]]:
        """Return the parts of ``d·q + α·d·(q + a) − β·d·x``; an empty one adds nothing."""
        asked_for, excluded = (self._reader.text_of(query, kind) for kind in ("asked", "excluded"))
        parts = [(1.0, query.alone)]
        if asked_for:
            parts.append((self._weights.alpha, _query(query, query.query, asked_for)))
        if excluded:
            parts.append((-self._weights.beta, _query(query, excluded, "")))
        return parts


def _query(query: Query, text: str, instruction: str) -> Query:
    return query._replace(query=text, instruction=instruction, reading=(), text=f"{text} {instruction}".strip())

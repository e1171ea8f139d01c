"""``polarity+NAME``: the lexical reranker that reads instructions and another reranker, their scores added."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import tee

from heed.formats.document_store import Corpus
from heed.ranking import scaled
from heed.reranking.polarity import Polarity
from heed.reranking.rescore import Pair, Wrapper
from heed.reuse import recipe_version
from heed.types import Config, Document, Query, Reranker

# Of the other reranker; chosen on WTR and IndusTR alone, with decompose over all-MiniLM-L6-v2 as the other: from 0.2 on
# nDCG@10 rises further and IRS falls: python -m benchmarks.decompose
WEIGHT = 0.1


class Fusion(Wrapper):
    """``polarity`` and another reranker over the same documents, as a :class:`heed.types.Reranker`.

    A document's score is ``p + w·o``: the two systems' scores, each brought to [0, 1] among the
    documents that are scored together for a topic, by ``(score − lowest) / (highest − lowest)``;
    scores that are all the same become 0.
    """

    def __init__(self, polarity: Polarity, other: Reranker, weight: float | None = None) -> None:
        """Add ``weight`` times the scores of ``other`` to those of ``polarity``, by default ``WEIGHT``."""
        super().__init__(other)
        self.independent = False
        self.name = f"{polarity.name}+{other.name}"
        self._polarity = polarity
        self._weight = weight = WEIGHT if weight is None else weight
        config = other.config
        if config is not None:
            self.config: Config = {"fusion": [recipe_version("fusion"), weight], "of": [polarity.config, config]}

    def over(self, corpus: Callable[[], Corpus]) -> "Fusion":
        """Return the same reranker with polarity's statistics of other documents."""
        return Fusion(self._polarity.over(corpus), self._inner.over(corpus), self._weight)

    def begin(self, queries: Sequence[Query], documents: Callable[[Query], Sequence[Document]]) -> None:
        """Log what each logs before the first query."""
        self._polarity.begin(queries, documents)
        super().begin(queries, documents)

    def load(self) -> None:
        """Load both."""
        self._polarity.load()
        super().load()

    def close(self) -> None:
        """Close both."""
        self._polarity.close()
        super().close()

    def score_all(self, pairs: Iterable[Pair]) -> Iterator[Sequence[float]]:
        """Yield the scores of each query's documents, in their order."""
        lexical, other = tee(pairs)
        scored = (self._polarity.score(query, documents) for query, documents in lexical)
        for ps, os in zip(scored, self._inner.score_all(other), strict=True):
            yield [p + self._weight * o for p, o in zip(scaled(ps), scaled(os), strict=True)]

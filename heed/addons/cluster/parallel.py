"""An encoder and a reranker whose work is done by several workers, with the same results in the same order.

They have nothing to close: a worker closes its model when it builds another.
"""

from collections.abc import Iterable, Iterator, Sequence
from operator import methodcaller
from typing import Any

from heed.addons.cluster.pool import TaskFor, WorkerPool
from heed.addons.cluster.tasks import System, SystemTask
from heed.progress import Replies, replies, replying
from heed.types import Config, Document, Encoder, Matrix, Query, Reranker


def _score(reranker: Any, query: Query, documents: Sequence[Document]) -> tuple[list[float], Replies]:
    """Return a worker's scores, and its model's replies; what its reranker logs before and after is logged here."""
    reranker.begin([query], lambda _: documents)
    with replying() as gathered:
        scores = [float(score) for score in reranker.score(query, documents)]
    reranker.finish()
    return scores, gathered


class ParallelEncoder(Encoder):
    """An :class:`heed.types.Encoder` whose batches are read by several workers at once."""

    def __init__(self, encoder: Any, system: System, pool: WorkerPool) -> None:
        """Let the workers of ``pool`` build ``system``, which is ``encoder`` here."""
        self.name: str = encoder.name
        self.config: Config = encoder.config
        self._system, self._pool = system, pool

    def encode_documents(self, documents: Sequence[Document]) -> Matrix:
        """Return the vectors of documents."""
        return next(self.encode_batches(iter([documents])))

    def encode_batches(self, batches: Iterable[Sequence[Document]]) -> Iterator[Matrix]:
        """Yield the vectors of each batch of documents, in their order."""
        return self._pool.results(self._task("encode_documents", batch) for batch in batches)

    def encode_queries(self, queries: Sequence[Query]) -> Matrix:
        """Return the vectors of queries."""
        vectors: Matrix = next(self._pool.results([self._task("encode_queries", queries)]))
        return vectors

    def _task(self, method: str, argument: object) -> TaskFor:
        return SystemTask(self._system, methodcaller(method, argument)).sent_to


class ParallelReranker(Reranker):
    """A :class:`heed.types.Reranker` whose queries are scored by several workers at once."""

    def __init__(self, reranker: Any, system: System, pool: WorkerPool) -> None:
        """Let the workers of ``pool`` build ``system``, which is ``reranker`` here."""
        self.name: str = reranker.name
        self.config: Config | None = reranker.config
        self.made_by: Config = getattr(reranker, "made_by", {})
        self._system, self._pool = system, pool
        self.at_once = len(pool.workers)

    def load(self) -> None:
        """Load the model in each worker, so that the first query takes no longer than the others."""
        self._pool.broadcast(SystemTask(self._system, methodcaller("load")).sent_to)

    def score(self, query: Query, documents: Sequence[Document]) -> Sequence[float]:
        """Return one score for each document."""
        return next(self.score_all([(query, documents)]))

    def score_all(self, pairs: Iterable[tuple[Query, Sequence[Document]]]) -> Iterator[Sequence[float]]:
        """Yield the scores of each query's documents, in their order."""
        tasks = (SystemTask(self._system, _score, (query, documents)).sent_to for query, documents in pairs)
        for scores, gathered in self._pool.results(tasks):
            replies().update(gathered)
            yield scores

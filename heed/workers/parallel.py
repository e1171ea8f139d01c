"""An encoder and a reranker whose work is done by several workers, with the same results in the same order."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from heed.types import Config, Document, Estimating, Query
from heed.workers.pool import WorkerPool
from heed.workers.tasks import System, WorkerState

if TYPE_CHECKING:
    from heed.types import Matrix


class EncodeDocuments(NamedTuple):
    """Documents to be encoded."""

    system: System
    documents: Sequence[Document]

    def run(self, worker: WorkerState) -> "Matrix":
        """Return their vectors."""
        vectors: Matrix = worker.build(self.system).encode_documents(self.documents)
        return vectors


class EncodeQueries(NamedTuple):
    """Queries to be encoded."""

    system: System
    queries: Sequence[Query]

    def run(self, worker: WorkerState) -> "Matrix":
        """Return their vectors."""
        vectors: Matrix = worker.build(self.system).encode_queries(self.queries)
        return vectors


class Load(NamedTuple):
    """A system to be loaded."""

    system: System

    def run(self, worker: WorkerState) -> None:
        """Load it, so that the first query takes no longer than the others."""
        worker.build(self.system).load()


class Score(NamedTuple):
    """The documents of a query, to be scored."""

    system: System
    query: Query
    documents: Sequence[Document]

    def run(self, worker: WorkerState) -> list[float]:
        """Return one score for each document."""
        reranker = worker.build(self.system)
        estimating = reranker if isinstance(reranker, Estimating) else None
        if estimating:
            estimating.begin([self.query], lambda _: self.documents)
        scores = [float(score) for score in reranker.score(self.query, self.documents)]
        if estimating:
            estimating.finish()
        return scores


class ParallelEncoder:
    """An :class:`heed.types.Encoder` whose batches are read by several workers at once."""

    def __init__(self, encoder: Any, system: System, pool: WorkerPool) -> None:
        """Let the workers of ``pool`` build ``system``, which is ``encoder`` here."""
        self.name: str = encoder.name
        self.config: Config = encoder.config
        self._system, self._pool = system, pool

    def encode_documents(self, documents: Sequence[Document]) -> "Matrix":
        """Return the vectors of documents."""
        return next(self.encode_batches(iter([documents])))

    def encode_batches(self, batches: Iterator[Sequence[Document]]) -> Iterator["Matrix"]:
        """Yield the vectors of each batch of documents, in their order."""
        return self._pool.results(EncodeDocuments(self._system, batch) for batch in batches)

    def encode_queries(self, queries: Sequence[Query]) -> "Matrix":
        """Return the vectors of queries."""
        [vectors] = self._pool.results([EncodeQueries(self._system, queries)])
        matrix: Matrix = vectors
        return matrix

    def close(self) -> None:
        """Do nothing: a worker closes its model when it builds another."""


class ParallelReranker:
    """A :class:`heed.types.Reranker` whose queries are scored by several workers at once."""

    def __init__(self, reranker: Any, system: System, pool: WorkerPool) -> None:
        """Let the workers of ``pool`` build ``system``, which is ``reranker`` here."""
        self.name: str = reranker.name
        self.config: Config = reranker.config
        self._system, self._pool = system, pool
        self.at_once = len(pool.workers)

    def load(self) -> None:
        """Load the model in each worker."""
        self._pool.broadcast(Load(self._system))

    def score(self, query: Query, documents: Sequence[Document]) -> Sequence[float]:
        """Return one score for each document."""
        return next(self.score_many([(query, documents)]))

    def score_many(self, pairs: Iterable[tuple[Query, Sequence[Document]]]) -> Iterator[Sequence[float]]:
        """Yield the scores of each query's documents, in their order."""
        return self._pool.results(Score(self._system, query, list(documents)) for query, documents in pairs)

    def close(self) -> None:
        """Do nothing: a worker closes its model when it builds another."""

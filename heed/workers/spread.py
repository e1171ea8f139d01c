"""An encoder and a reranker whose work is done by a crew, in units, with the same results in the same order."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from heed.io.document_store import DocumentStore
from heed.models.registry import Model
from heed.reranking.rescoring import Announcing, Reranker
from heed.types import Document, Topic
from heed.workers.pool import Ask, Crew, found
from heed.workers.tasks import Documents, Loaded, Pool, Queries
from heed.workers.work import Job, Unit, job

if TYPE_CHECKING:
    from heed.retrieval.vectors import Encoder, Matrix


class SpreadEncoder:
    """An :class:`heed.retrieval.vectors.Encoder` whose shards are read by several workers at once.

    Where the crew has no workers, the encoder works in this process.
    """

    def __init__(self, inner: "Encoder", model: Model, device: str, crew: Crew) -> None:
        """Send ``model``, which ``inner`` runs on ``device``, to ``crew``."""
        self.name, self.recipe = inner.name, inner.recipe
        self._inner, self._model, self._device, self._crew = inner, model, device, crew

    @cached_property
    def _job(self) -> Job:
        return job(self._model, self.recipe, self._device)

    def documents(self, documents: Sequence[Document]) -> "Matrix":
        """Vectors of documents."""
        return next(self.shards(iter([documents])))

    def shards(self, shards: Iterator[Sequence[Document]]) -> Iterator["Matrix"]:
        """Vectors of each of ``shards``, in their order."""
        if not self._crew.workers:
            return map(self._inner.documents, shards)
        return self._crew.results(_same(Documents(self._job, shard)) for shard in shards)

    def queries(self, topics: Sequence[tuple[str, str]]) -> "Matrix":
        """Vectors of ``(query, instruction)`` pairs."""
        if not self._crew.workers:
            return self._inner.queries(topics)
        vectors: Matrix = found(self._crew.submit(_same(Queries(self._job, topics))))
        return vectors


class SpreadReranker:
    """A :class:`heed.reranking.rescoring.Reranker` whose topics are scored by several workers at once.

    After :meth:`begin` the topics are asked for in their order, as ``rescoring.rerank`` does. Where
    the crew has no workers, the reranker works in this process.
    """

    def __init__(self, inner: Reranker, model: Model, device: str, store: DocumentStore, crew: Crew) -> None:
        """Send ``model``, which ``inner`` runs on ``device``, and its documents to ``crew``."""
        self.name, self.recipe = inner.name, inner.recipe
        self._inner, self._model, self._device, self._store, self._crew = inner, model, device, store, crew
        self._coming: Iterator[tuple[Topic, list[float]]] = iter(())

    @cached_property
    def _job(self) -> Job:
        return job(self._model, self.recipe, self._device, self._store)

    @property
    def at_once(self) -> int:
        """How many topics are scored at once."""
        return len(self._crew.workers) or 1

    def prepare(self) -> None:
        """Load the model, in each worker."""
        if self._crew.workers:
            self._crew.everyone(Loaded(self._job))
        else:
            self._inner.prepare()

    def begin(self, topics: Sequence[Topic], condition: str, pooled: Mapping[str, list[str]]) -> None:
        """Ask the workers for all of ``topics``."""
        if self._crew.workers:
            asks = (self._ask(topic, condition, pooled.get(topic.qid, [])) for topic in topics)
            self._coming = zip(topics, self._crew.results(asks), strict=True)
        elif isinstance(self._inner, Announcing):
            self._inner.begin(topics, condition, pooled)

    def score(self, topic: Topic, condition: str, docids: Sequence[str]) -> Sequence[float]:
        """One score for each document."""
        if not self._crew.workers:
            return self._inner.score(topic, condition, docids)
        asked, scores = next(self._coming)
        if asked != topic:
            raise RuntimeError(f"topic {topic.qid} is asked for in the place of {asked.qid}")
        return scores

    def finish(self) -> None:
        """Nothing more comes."""
        if not self._crew.workers and isinstance(self._inner, Announcing):
            self._inner.finish()

    def _ask(self, topic: Topic, condition: str, docids: Sequence[str]) -> Ask:
        return _same(Pool(self._job, topic, condition, self._store.get(docids)))


def _same(unit: Unit) -> Ask:
    """``unit``, whoever does it."""
    return lambda _: unit

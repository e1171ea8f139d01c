"""The units of work: a shard of documents, some queries, a topic with its pool, a shard to search."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from heed.types import Document, Topic
from heed.workers.work import Bench, Job

if TYPE_CHECKING:
    from heed.retrieval.scan import Hits
    from heed.retrieval.vectors import Matrix


class Documents(NamedTuple):
    """Documents to be encoded."""

    job: Job
    documents: Sequence[Document]

    def done(self, bench: Bench) -> "Matrix":
        """Their vectors."""
        return bench.encoder(self.job).documents(self.documents)


class Queries(NamedTuple):
    """Pairs of query and instruction to be encoded."""

    job: Job
    topics: Sequence[tuple[str, str]]

    def done(self, bench: Bench) -> "Matrix":
        """Their vectors."""
        return bench.encoder(self.job).queries(self.topics)


class Loaded(NamedTuple):
    """A reranker to be loaded."""

    job: Job

    def done(self, bench: Bench) -> None:
        """Load it, so that the first topic takes no longer than the others."""
        bench.reranker(self.job)[0].prepare()


class Pool(NamedTuple):
    """The documents of a topic to be scored under a condition."""

    job: Job
    topic: Topic
    condition: str
    documents: Sequence[Document]

    def done(self, bench: Bench) -> list[float]:
        """One score for each document."""
        from heed.reranking.rescoring import Announcing

        reranker, store = bench.reranker(self.job)
        store.put(self.documents)
        docids = [document.docid for document in self.documents]
        announcing = reranker if isinstance(reranker, Announcing) else None
        if announcing:
            announcing.begin([self.topic], self.condition, {self.topic.qid: docids})
        scores = [float(score) for score in reranker.score(self.topic, self.condition, docids)]
        if announcing:
            announcing.finish()
        return scores


class Shard(NamedTuple):
    """A shard of vectors to be searched; ``part`` is None where the worker has it from an earlier search."""

    collection: str
    number: int
    part: "Matrix | None"
    queries: "Matrix"
    wanted: int
    threads: int

    def done(self, bench: Bench) -> "Hits":
        """The best ``wanted`` rows for each query, and those that equal the last."""
        from threadpoolctl import threadpool_limits

        from heed.retrieval.scan import best_of

        part = bench.shard(self.collection, self.number, self.part)
        with threadpool_limits(self.threads, user_api="blas"):
            return best_of(part, self.queries, self.wanted)

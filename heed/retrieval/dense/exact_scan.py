"""Exact search by inner product: through memory-mapped shards, or on GPUs that hold all vectors.

The memory that a scan of the shards takes does not grow with the collection.
"""

from collections.abc import Iterator
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from heed.addons.cluster.pool import WorkerPool, result_of
from heed.addons.cluster.tasks import Worker, WorkerState
from heed.progress import log
from heed.retrieval.dense.vectors import Vectors
from heed.types import Matrix

Hits = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]  # queries, numbers of vectors, products

MAX_ON_GPU = 2048  # candidates of a query: FAISS's limit on GPUs (gpu/utils/DeviceDefs.cuh, GPU_MAX_SELECTION_K)


class SearchShard(NamedTuple):
    """A shard of vectors to be searched by a worker; ``part`` is None where the worker already has it."""

    collection: str
    number: int
    part: Matrix | None
    queries: Matrix
    depth: int
    threads: int

    def run(self, worker: WorkerState) -> Hits:
        """Return the ``depth`` best rows for each query, and those whose product equals the last one's."""
        from threadpoolctl import threadpool_limits

        part = worker.shard(self.collection, self.number, self.part)
        with threadpool_limits(self.threads, user_api="blas"):
            return best_of(part, self.queries, self.depth)


class Scan:
    """All vectors against all queries, shard by shard; rows below a query's best so far are dropped at once."""

    def __init__(self, vectors: Vectors, pool: WorkerPool | None = None) -> None:
        """Search ``vectors``, whose shards are read at each search, from the disk or the system's cache of it.

        Workers of ``pool`` that may be on other machines get the shards at the first search and keep
        them in memory; workers on this machine would not be faster than one search with all threads.
        """
        self._vectors, self._pool, self._name = vectors, pool, uuid4().hex

    def candidates(self, queries: Matrix, depth: int) -> list[NDArray[np.int64]]:
        """Return the numbers of the ``depth`` best vectors for each query, and of all that equal the last."""
        best = _BestRows(len(queries), depth)
        begin = 0
        shared = self._by_workers(self._pool, queries, depth) if self._pool and self._pool.remote else repeat(None)
        for part, hits in zip(self._vectors.parts(), shared, strict=False):
            if hits is None:
                best.search(part, queries, begin)
            else:
                rows, numbers, products = hits
                best.add(rows, numbers + begin, products)
            begin += len(part)
        return best.numbers()

    def _by_workers(self, pool: WorkerPool, queries: Matrix, depth: int) -> Iterator[Hits]:
        """Yield the best rows of each shard, in their order; a shard goes to the worker that holds it, if it is alive.

        All are submitted at once: waiting tasks refer to mapped files and hold no vectors.
        """
        from threadpoolctl import threadpool_info

        threads = max(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
        waiting = [
            pool.submit(
                partial(self._task, part, SearchShard(self._name, number, None, queries, depth, threads)),
                pool.workers[number % len(pool.workers)],
            )
            for number, part in enumerate(self._vectors.parts())
        ]
        return map(result_of, waiting)

    def _task(self, part: Matrix, task: SearchShard, worker: Worker) -> SearchShard:
        """Return ``task``, with its vectors where ``worker`` does not have them."""
        worker.shards = {shard for shard in worker.shards if shard[0] == self._name}  # as WorkerState.shard does
        shard = (self._name, task.number)
        complete = task if shard in worker.shards else task._replace(part=part)
        worker.shards.add(shard)
        return complete


def best_of(part: Matrix, queries: Matrix, depth: int) -> Hits:
    """Return the best ``depth`` rows of ``part`` for each query, and all that equal the last."""
    best = _BestRows(len(queries), depth)
    best.search(part, queries, 0)
    return best.hits()


class _BestRows:
    """The best rows of each query so far, and the score below which no row can be among them."""

    def __init__(self, queries: int, depth: int) -> None:
        self.floors = np.full(queries, -np.inf, dtype=np.float32)
        self._depth, self._best, self._new, self._max_new = depth, 0, 0, 2 * queries * depth
        self._hits: list[Hits] = []

    def search(self, part: Matrix, queries: Matrix, begin: int) -> None:
        """Add the rows of ``part``, whose first has number ``begin``, that are not below the floors."""
        products = queries @ part.T
        rows, columns = np.nonzero(products >= self.floors[:, None])
        self.add(rows, columns + begin, products[rows, columns])

    def add(self, rows: NDArray[np.int64], numbers: NDArray[np.int64], scores: NDArray[np.float32]) -> None:
        self._hits.append((rows, numbers, scores))
        self._new += len(rows)
        if self._new > max(self._max_new, 2 * self._best):  # the latter where very many are equal
            self._cut()

    def numbers(self) -> list[NDArray[np.int64]]:
        rows, numbers, _ = self.hits()
        return np.split(numbers, np.searchsorted(rows, np.arange(1, len(self.floors))))

    def hits(self) -> Hits:
        """Return the best of each query, in the order of queries."""
        self._cut()
        return self._hits[0]

    def _cut(self) -> None:
        """Keep each query's best, in the order of queries, and raise its floor."""
        rows, numbers, scores = (np.concatenate(part) for part in zip(*self._hits, strict=True))
        order = np.argsort(rows, kind="stable")
        rows, numbers, scores = rows[order], numbers[order], scores[order]
        parts = np.split(scores, np.searchsorted(rows, np.arange(1, len(self.floors))))
        for query, part in enumerate(parts):
            if len(part) >= self._depth:
                self.floors[query] = np.partition(part, len(part) - self._depth)[len(part) - self._depth]
        best = scores >= self.floors[rows]
        self._hits = [(rows[best], numbers[best], scores[best])]
        self._best = self._new = int(best.sum())


class OnGpus:
    """All vectors in the memory of every GPU."""

    def __init__(self, index: Any, scan: Scan) -> None:
        """Search ``index``, and ``scan`` for more candidates than FAISS returns on a GPU."""
        self._index, self._scan = index, scan

    def candidates(self, queries: Matrix, depth: int) -> Any:
        """Return the numbers of the ``depth`` best vectors for each query."""
        if depth > MAX_ON_GPU:
            return self._scan.candidates(queries, depth)
        return self._index.search(queries, depth)[1]


def on_gpus(vectors: Vectors, scan: Scan) -> OnGpus | None:
    """Return ``vectors`` on the GPUs; None without faiss-gpu or a GPU, and, logged, where they do not fit in memory."""
    import faiss

    if not hasattr(faiss, "StandardGpuResources") or not faiss.get_num_gpus():
        return None
    parts = vectors.parts()
    first = next(parts)
    index: Any = faiss.IndexFlatIP(first.shape[1])
    try:
        index = faiss.index_cpu_to_all_gpus(index)
        for part in (first, *parts):
            index.add(part)
    except RuntimeError as error:  # FAISS's own for memory that is full
        reason = (str(error).strip().splitlines() or ["RuntimeError"])[-1]
        log.info(f"the vectors are searched where they lie: the GPU does not take them ({reason[:200]})")
        return None
    return OnGpus(index, scan)

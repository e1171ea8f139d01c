"""Exact search by inner product through memory-mapped shards: the memory it takes does not grow with the collection."""

from collections.abc import Iterator
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING
from uuid import uuid4

from heed.retrieval.vectors import Vectors
from heed.workers.pool import Crew, Worker, found
from heed.workers.tasks import Shard

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from heed.retrieval.vectors import Matrix

    Hits = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]  # queries, numbers of vectors, products


class Scan:
    """All vectors against all queries, shard by shard; what is below a query's best so far is dropped at once."""

    def __init__(self, vectors: Vectors, crew: Crew | None = None) -> None:
        """Search ``vectors``, whose shards are read from the disk at each search, or from what the system keeps.

        Workers of ``crew`` that may be on other machines get the shards at the first search and keep
        them in memory; on this machine they would find nothing that one search with all threads does not.
        """
        self._vectors, self._crew, self._name = vectors, crew, uuid4().hex

    def candidates(self, queries: "Matrix", wanted: int) -> "list[NDArray[np.int64]]":
        """For each row of ``queries`` the numbers of its ``wanted`` best vectors and of all that equal the last."""
        best = _Found(len(queries), wanted)
        begin = 0
        spread = self._spread(self._crew, queries, wanted) if self._crew and self._crew.far else repeat(None)
        for part, hits in zip(self._vectors.parts(), spread, strict=False):
            if hits is None:
                best.search(part, queries, begin)
            else:
                rows, numbers, products = hits
                best.add(rows, numbers + begin, products)
            begin += len(part)
        return best.best()

    def _spread(self, crew: Crew, queries: "Matrix", wanted: int) -> "Iterator[Hits]":
        """The best of each shard, in their order; a shard goes to the worker that has it as long as that one is there.

        All are asked for at once: what waits are the shards' places on the disk, not their vectors.
        """
        from threadpoolctl import threadpool_info

        threads = max(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")
        waiting = [
            crew.submit(
                partial(self._ask, part, Shard(self._name, number, None, queries, wanted, threads)),
                crew.workers[number % len(crew.workers)],
            )
            for number, part in enumerate(self._vectors.parts())
        ]
        return map(found, waiting)

    def _ask(self, part: "Matrix", unit: Shard, worker: Worker) -> Shard:
        """``unit`` with its vectors where ``worker`` does not have them."""
        worker.kept = {one for one in worker.kept if one[0] == self._name}  # as Bench.shard does
        here = (self._name, unit.number)
        sent = unit if here in worker.kept else unit._replace(part=part)
        worker.kept.add(here)
        return sent


def best_of(part: "Matrix", queries: "Matrix", wanted: int) -> "Hits":
    """The best ``wanted`` rows of ``part`` for each query, and all that equal the last."""
    best = _Found(len(queries), wanted)
    best.search(part, queries, 0)
    return best.hits()


class _Found:
    """What was found for each query so far, and the score below which nothing can be among its best."""

    def __init__(self, queries: int, wanted: int) -> None:
        import numpy as np

        self.floors = np.full(queries, -np.inf, dtype=np.float32)
        self._wanted, self._kept, self._new, self._most = wanted, 0, 0, 2 * queries * wanted
        self._hits: list[Hits] = []

    def search(self, part: "Matrix", queries: "Matrix", begin: int) -> None:
        """Add what of ``part``, whose first vector has number ``begin``, is not below the floors."""
        import numpy as np

        products = queries @ part.T
        rows, columns = np.nonzero(products >= self.floors[:, None])
        self.add(rows, columns + begin, products[rows, columns])

    def add(self, rows: "NDArray[np.int64]", numbers: "NDArray[np.int64]", scores: "NDArray[np.float32]") -> None:
        self._hits.append((rows, numbers, scores))
        self._new += len(rows)
        if self._new > max(self._most, 2 * self._kept):  # the latter where very many are equal
            self._cut()

    def best(self) -> "list[NDArray[np.int64]]":
        import numpy as np

        rows, numbers, _ = self.hits()
        return np.split(numbers, np.searchsorted(rows, np.arange(1, len(self.floors))))

    def hits(self) -> "Hits":
        """What is among the best of each query, in the order of queries."""
        self._cut()
        return self._hits[0]

    def _cut(self) -> None:
        """Keep each query's best, in the order of queries, and raise its floor."""
        import numpy as np

        rows, numbers, scores = (np.concatenate(part) for part in zip(*self._hits, strict=True))
        order = np.argsort(rows, kind="stable")
        rows, numbers, scores = rows[order], numbers[order], scores[order]
        parts = np.split(scores, np.searchsorted(rows, np.arange(1, len(self.floors))))
        for query, part in enumerate(parts):
            if len(part) >= self._wanted:
                self.floors[query] = np.partition(part, len(part) - self._wanted)[len(part) - self._wanted]
        kept = scores >= self.floors[rows]
        self._hits = [(rows[kept], numbers[kept], scores[kept])]
        self._kept = self._new = int(kept.sum())

"""Copies of BM25's index in workers, which search it and score by it: each reads all postings, not a share of them.

A topic takes a fraction of a second even of a million documents. So topics are shared among workers, and not each
topic's documents, of which the lists would have to be merged after every step.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from heed.addons.cluster.folders import send_files
from heed.addons.cluster.pool import WorkerPool
from heed.addons.cluster.tasks import SystemTask, Worker, plain_system
from heed.languages import Language
from heed.progress import bar
from heed.retrieval.bm25.index import Bm25Settings, Searcher
from heed.retrieval.lucene.jvm import start
from heed.retrieval.lucene.shards import postings_folder, shard_folders
from heed.reuse import NOTE, folder_note
from heed.types import Config, Document, Query, Reranker, Run

TOGETHER = 8  # topics of a task


class Opening(NamedTuple):
    """How an index is opened: its folder, shards, language, BM25's settings, whether of tables, Java's largest heap."""

    folder: Path
    shards: int
    language: Language
    settings: Bm25Settings
    tabular: bool
    heap: str

    @property
    def config(self) -> Config:
        """The settings and recipes that decide scores."""
        recipes = [folder_note(folder).recipe for folder in shard_folders(self.folder, self.shards)]
        return {"index": recipes, "bm25": list(self.settings)}

    def files(self) -> Iterator[str]:
        """Yield the names of the files that a copy needs, from the folder that the index is in."""
        for folder in shard_folders(self.folder, self.shards):
            for path in (folder / NOTE, *sorted(postings_folder(folder).iterdir())):
                yield str(path.relative_to(self.folder.parent))


class IndexCopy:
    """An index that a worker holds open."""

    def __init__(self, opening: Opening) -> None:
        """Open the postings; Java, which analyses texts, is started."""
        # tabular as a store says it
        self.config, self.language, self.tabular = opening.config, opening.language, opening.tabular
        self.rerankers: dict[str, Any] = {}  # made over it
        start(opening.heap)
        self.searcher = Searcher(opening.folder, opening.language, opening.settings, shards=opening.shards)
        self.searcher.load()


class IndexCopies:
    """The copies of an index in the workers of a pool; one on another machine is sent the files with its first task."""

    def __init__(self, opening: Opening, pool: WorkerPool) -> None:
        """Send nothing yet."""
        self._opening, self._pool = opening, pool
        self._system = plain_system(opening.config, IndexCopy, opening)
        self.at_once = len(pool.workers)

    def results(self, function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Yield ``function(copy, *each)`` of each of ``arguments``, in their order."""
        return self._pool.results(partial(self._task, function, each) for each in arguments)

    def search(self, queries: Mapping[str, str], depth: int, fields: Mapping[str, float] | None) -> Run:
        """Return the ``depth`` best documents of each query, as :meth:`Searcher.search`."""
        rest = iter(queries.items())
        groups = iter(lambda: dict(islice(rest, TOGETHER)), {})
        runs = self.results(_search, ((group, depth, fields) for group in groups))
        hits = (item for run in runs for item in run.items())
        return dict(bar(hits, len(queries), "bm25", "topics"))

    def scores(
        self, make: Callable[[IndexCopy], Reranker], key: str, pairs: Iterable[tuple[Query, Sequence[Document]]]
    ) -> Iterator[Sequence[float]]:
        """Yield the scores of each query's documents, in order, by a reranker over each copy, kept there as ``key``."""
        return self.results(_score, ((make, key, query, documents) for query, documents in pairs))

    def _task(self, function: Callable[..., Any], arguments: tuple[Any, ...], worker: Worker) -> SystemTask:
        system = self._system
        if self._pool.remote and worker.built != system.key:
            folder = send_files(worker, self._opening.folder.parent, self._opening.files())
            opening = self._opening._replace(folder=folder / self._opening.folder.name)
            system = system._replace(make=_open_sent, arguments=(opening,))
        return SystemTask(system, function, arguments).sent_to(worker)


def _open_sent(opening: Opening) -> IndexCopy:
    """Return the index of files that were sent to this worker, and remove them: open files stay readable."""
    copy = IndexCopy(opening)
    shutil.rmtree(opening.folder.parent)
    return copy


def _search(copy: IndexCopy, queries: Mapping[str, str], depth: int, fields: Mapping[str, float] | None) -> Run:
    return dict(zip(queries, copy.searcher.hits(queries.values(), depth, 1, fields), strict=True))


def _score(
    copy: IndexCopy, make: Callable[[IndexCopy], Reranker], key: str, query: Query, documents: Sequence[Document]
) -> Sequence[float]:
    if key not in copy.rerankers:
        copy.rerankers[key] = make(copy)
    scores: Sequence[float] = copy.rerankers[key].score(query, documents)
    return scores

"""Topics scored by other processes, over copies of BM25's index: by workers, or by a second process beside this one.

The second process is for many pairs over a small index, where nobody asked for workers.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from weakref import finalize

from heed.child import Child
from heed.errors import WorkerError
from heed.io.document_store import DocumentStore, StoredDocuments, docids_of
from heed.progress import log
from heed.reranking.rescore import Pair
from heed.retrieval.bm25 import Bm25
from heed.retrieval.index_copies import IndexCopy, Opening
from heed.types import Document, Query, Reranker

MANY = 30_000  # pairs from which it pays: half a second of work, about what its start takes
TOGETHER = 4  # topics that it is given at once, or all those of one pool
AHEAD = 16  # topics scored before one that is due, at most

Score = Callable[[Query, Sequence[Document]], Sequence[float]]


def score_by_copy(
    copy: IndexCopy, make: Callable[[Bm25], Reranker], key: str, query: Query, documents: Sequence[Document]
) -> Sequence[float]:
    """Return the scores by a worker's copy of the index, with the reranker that is kept there as ``key``."""
    if key not in copy.rerankers:
        copy.rerankers[key] = make(Bm25.over_copy(copy))
    scores: Sequence[float] = copy.rerankers[key].score(query, documents)
    return scores


class TopicScorer:
    """Scores topics by a reranker over BM25; the process that it is sent to opens the index for the first."""

    def __init__(self, opening: Opening, documents: tuple[Path, str], make: Callable[[Bm25], Reranker]) -> None:
        """Take how the index is opened, the folder and digest of the document store, and what makes the reranker."""
        self._opening, self._documents, self._make = opening, documents, make

    def __call__(self, topic: tuple[Query, Sequence[str]]) -> Sequence[float]:
        """Return the score of each document, given a query and docids."""
        query, docids = topic
        return self._reranker.score(query, StoredDocuments(self._store, docids))

    @cached_property
    def _reranker(self) -> Reranker:
        log.disabled = True  # the process beside says the same
        return self._make(Bm25.over_copy(IndexCopy(self._opening)))

    @cached_property
    def _store(self) -> DocumentStore:
        return DocumentStore(*self._documents)


class SecondProcess:
    """The process beside this one, started at the first scores."""

    def __init__(self, scorer: TopicScorer) -> None:
        """Start nothing yet."""
        self._scorer = scorer
        self._child: Child | None = None
        self._lost = False
        self._given: list[int] = []  # the numbers of the topics that it works on

    def scores(self, score: Score, pairs: Sequence[Pair]) -> Iterator[Sequence[float]]:
        """Yield the scores of each of ``pairs``, in their order, by this process with ``score`` and by the other.

        Both processes give a topic the same scores, so that topics which the other has not returned in time, or is lost
        with, are scored here. The documents are those of the scorer's store, and of that their docids alone are sent.
        """
        groups, mine, done = deque(_groups(pairs)), deque[int](), dict[int, Sequence[float]]()
        try:
            for number in range(len(pairs)):
                while number not in done:
                    if not mine and groups and len(done) < AHEAD:
                        mine.extend(groups.popleft())
                    done.update((other, scores) for other, scores in self._exchange(pairs, groups) if other >= number)
                    if number not in done:
                        here = mine.popleft() if mine else number
                        done[here] = score(*pairs[here])
                yield done.pop(number)
        finally:
            self._given = []

    def stop(self) -> None:
        """End the process."""
        if self._child is not None:
            self._child.stop()
        self._child, self._given = None, []

    def _exchange(self, pairs: Sequence[Pair], groups: deque[list[int]]) -> Iterator[tuple[int, Sequence[float]]]:
        """Yield the scores that the other process has by now, and give it the next of ``groups``."""
        if self._lost:
            return
        try:
            if self._child is None:
                log.info("a second process shares the topics; its memory is not in this process's peak")
                self._child = Child(self._scorer)
                finalize(self, self._child.stop)
            elif not self._child.ready:
                return
            else:
                yield from zip(self._given, self._child.results(), strict=False)  # of nothing given last time none
            self._given = groups[0] if groups else []
            self._child.give([(pairs[number][0], docids_of(pairs[number][1])) for number in self._given])
            if groups:
                groups.popleft()
        except WorkerError as error:
            log.info(f"topics are scored by this process alone from here on: {error}")
            self.stop()
            self._lost = True


def _groups(pairs: Sequence[Pair]) -> Iterator[list[int]]:
    """Yield the numbers of the topics in lists; those that follow one another with the same pool stay together."""
    group: list[int] = []
    for number, (_, documents) in enumerate(pairs):
        if len(group) >= TOGETHER and docids_of(documents) != docids_of(pairs[number - 1][1]):
            yield group
            group = []
        group.append(number)
    if group:
        yield group

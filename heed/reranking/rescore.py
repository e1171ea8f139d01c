"""Rescore a pool under one condition, query by query, so that a kill costs one query at most."""

import json
import math
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Sized
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec.json import encode  # a twentieth of json's time

from heed.errors import ModelError, fail
from heed.files import digest_json
from heed.formats.document_store import DocumentStore, StoredDocuments, docids_of
from heed.progress import Replies, bar, brief, duration, log, plain_rate, replies, replying, timed, warn
from heed.reuse import queries_digest
from heed.types import Document, Query, Reranker, Run, finite

EARLY = 1.0  # seconds of work after which the rest is estimated, at the end of a topic
LONG = 5.0  # seconds of work ahead from which an estimate is logged
ROOM = 1 << 28  # bytes of memory for the texts that further conditions and rerankers read

Pair = tuple[Query, Sequence[Document]]


class ReadOnce:
    """Documents of pools, in memory once they were read: further topics, conditions and rerankers take them from there.

    As soon as the texts of all would have more than ``ROOM`` bytes, further documents are read each time.
    """

    def __init__(self, store: DocumentStore) -> None:
        self._store, self._room = store, ROOM
        self._documents: dict[str, Document] = {}

    def get(self, docids: Sequence[str]) -> list[Document]:
        """Return the documents of ``docids``, in that order; raises as :meth:`DocumentStore.get`."""
        missing = [docid for docid in docids if docid not in self._documents]
        read = dict(zip(missing, self._store.get(missing), strict=True)) if missing else {}
        size = sum(sys.getsizeof(document.text) for document in read.values())
        if size <= self._room:
            self._room -= size
            self._documents |= read
        return [self._documents.get(docid) or read[docid] for docid in docids]


class PoolDocuments:
    """The documents of each query's pool; queries that follow one another with the same pool share them."""

    def __init__(
        self, pool: Mapping[str, Sequence[str]], store: DocumentStore, read: ReadOnce | DocumentStore | None = None
    ) -> None:
        """Read nothing before the first query; ``pool`` holds docids by qid, ``read`` what was read of ``store``."""
        self.pool, self._store, self._read = pool, store, read or store
        self._documents = StoredDocuments(store, [])

    @property
    def digest(self) -> str:
        """The digest of the collection's documents."""
        return self._store.digest

    @cached_property
    def pool_digest(self) -> str:
        """The digest of the pool."""
        return digest_json(self.pool)

    def docids(self, query: Query) -> Sequence[str]:
        """Return the docids of the query's pool."""
        return self.pool.get(query.qid, [])

    def without(self, others: Mapping[str, Collection[str]]) -> "PoolDocuments":
        """Return pools without the ``others`` of each query."""
        pool = {qid: [docid for docid in self.pool[qid] if docid not in others.get(qid, ())] for qid in self.pool}
        return PoolDocuments(pool, self._store, self._read)

    def __call__(self, query: Query) -> Sequence[Document]:
        """Return the documents of the query's pool, in its order."""
        docids = self.docids(query)
        if docids != self._documents.docids:
            self._documents = StoredDocuments(self._store, docids, self._read.get)
        return self._documents


def rescore(reranker: Reranker, queries: Sequence[Query], documents: PoolDocuments, journal: Path, key: str) -> Run:
    """Return the pool of each query with the scores of ``reranker``.

    ``journal`` collects the scores of every finished query; a run that was killed continues from it
    if the reranker has a ``config``, and it, the queries, the pool and ``key`` (the digest of the documents) are the
    same. Raises :class:`ModelError` where there is not one finite score for each document.
    """
    label = f"{reranker.name}.{queries[0].condition}" if queries else reranker.name
    config = reranker.config
    journal_key = "" if config is None else digest_json([config, key, queries_digest(queries), documents.pool])
    run = _read_journal(journal, journal_key)
    if run:
        log.info(f"{label}: {len(run)} of {len(queries)} topics are done already")
    missing = [query for query in queries if query.qid not in run]
    if missing:
        reranker.prepare(queries)  # all, so that a run after a kill has the same bytes
    reranker.begin(missing, documents)
    journal.parent.mkdir(parents=True, exist_ok=True)
    pairs = sum(len(documents.docids(query)) for query in missing)
    with timed("run", label) as work, journal.open("a" if run else "w", encoding="utf-8") as stream:
        if not run:
            stream.write(json.dumps({"key": journal_key}) + "\n")
        start = time.perf_counter()
        scored = reranker.score_all((query, documents(query)) for query in missing)
        estimated = False
        labelled = zip(bar(missing, len(missing), label, "topics"), scored, strict=True)
        for number, (query, query_scores) in enumerate(labelled, 1):
            docids = documents.docids(query)
            scores = checked(reranker.name, query.qid, docids, query_scores)
            run[query.qid] = dict(zip(docids, scores, strict=True))
            if all(replies().get(query.qid, ())):  # another topic is asked again
                stream.write(encode({"qid": query.qid, "scores": run[query.qid]}).decode() + "\n")
                stream.flush()
            work.did(len(docids), "pairs")
            if not estimated and work.count and (seconds := time.perf_counter() - start) >= EARLY:
                at_once = reranker.at_once
                _log_estimate(label, work.count * math.ceil(number / at_once) * at_once / number, pairs, seconds)
                estimated = True
    reranker.finish()
    return {query.qid: run[query.qid] for query in queries if run[query.qid]}


class Wrapper(Reranker):
    """A reranker that makes its scores, by its ``score_all``, of those of another one."""

    def __init__(self, inner: Reranker) -> None:
        self._inner, self.at_once, self.independent = inner, inner.at_once, inner.independent

    def load(self) -> None:
        """Load the other reranker."""
        self._inner.load()

    def close(self) -> None:
        """Close it."""
        self._inner.close()

    def prepare(self, queries: Sequence[Query]) -> None:
        """Let it read all queries."""
        self._inner.prepare(queries)

    def announce(self, queries: Sequence[Query], documents: Callable[[Query], Sequence[Document]]) -> None:
        """Let it log what all its work will cost."""
        self._inner.announce(queries, documents)

    def begin(self, queries: Sequence[Query], documents: Callable[[Query], Sequence[Document]]) -> None:
        """Let it log what its work will cost."""
        self._inner.begin(queries, documents)

    def finish(self) -> None:
        """Let it log what it had to repair."""
        self._inner.finish()

    def score_all(self, pairs: Iterable[Pair]) -> Iterator[Sequence[float]]:
        """Yield the scores of each query's documents, in their order."""
        return self._inner.score_all(pairs)

    def score(self, query: Query, documents: Sequence[Document]) -> Sequence[float]:
        """Return the score of each document."""
        return next(self.score_all([(query, documents)]))


def score_alone(reranker: Reranker, query: Query, documents: Sequence[Document]) -> list[float]:
    """Return the scores of one query's documents, checked as :func:`checked` and :func:`unanswered` do."""
    with replying() as gathered:
        [scores] = reranker.score_all([(query, documents)])
    for warning in unanswered(reranker.name, gathered, {query.qid: scores})[1]:
        warn(warning)
    return checked(reranker.name, query.qid, docids_of(documents), scores)


def unanswered(name: str, gathered: Replies, run: Mapping[str, Sized]) -> tuple[int, list[str]]:
    """Return how many replies are no answers, and a warning of them; :class:`ModelError` where a run has no other."""
    missing = [qid for qid, of_topic in gathered.items() if not all(of_topic)]
    all_replies = [reply for of_topic in gathered.values() for reply in of_topic]
    count, why = sum(not reply for reply in all_replies), "refused, empty, cut off, or a thought without end"
    if missing and not any(all_replies) and {qid for qid in run if len(run[qid]) > 1} <= {*missing}:
        raise ModelError(
            f"{name}: no reply names a document, of {count} ({why}); choose another model, or a server whose replies "
            "may be longer"
        )
    then = "; the same command asks for these alone again, what was answered is kept" if None in all_replies else ""
    topics = f"{len(missing)} of {len(run)} topics ({brief(missing)})"
    line = f"{name}: replies that name no document: {count}, in {topics}, {why}; the pool's order stays there{then}"
    return count, [line] if missing else []


def _log_estimate(label: str, done: float, pairs: int, seconds: float) -> None:
    """Log, once some pairs are ``done``, how long all will take, where that is long."""
    rate = done / seconds
    if (pairs - done) / rate > LONG:
        log.info(f"{label}: {pairs:,} pairs at {plain_rate(rate)} a second, about {duration(pairs / rate)}")


def _read_journal(journal: Path, key: str) -> Run:
    """Return the finished queries; a last line that was cut by a kill is dropped from the file too."""
    if not key or not journal.exists():
        return {}
    lines = journal.read_bytes().splitlines(keepends=True)
    complete = [line for line in lines if line.endswith(b"\n")]
    try:
        head, *records = [json.loads(line) for line in complete]
        if head["key"] != key:
            return {}
        run = {record["qid"]: record["scores"] for record in records}
    except (ValueError, KeyError, TypeError):
        return {}
    if len(complete) < len(lines):
        with journal.open("r+b") as stream:
            stream.truncate(sum(map(len, complete)))
    return run


def checked(name: str, qid: str, docids: Sequence[str], returned: Any) -> list[float]:
    """Return the scores of system ``name`` as numbers; :class:`ModelError` unless each document has a finite one."""
    try:
        unchecked = None if isinstance(returned, str) else list(returned)
    except TypeError:
        unchecked = None
    if unchecked is None or len(unchecked) != len(docids):
        count = type(returned).__name__ if unchecked is None else f"{len(unchecked)} scores"
        raise ModelError(f"{name}: topic {qid}: {count} for {len(docids)} documents; return one score for each")
    if {*map(type, unchecked)} == {float} and all(map(math.isfinite, unchecked)):  # as nearly always
        return unchecked
    scores = [finite(score) for score in unchecked]
    problems = [
        f"{name}: topic {qid}, document {docid}: score {score!r:.60}, expected a finite number"
        for docid, score, number in zip(docids, unchecked, scores, strict=True)
        if number is None
    ]
    fail(problems, ModelError)
    return [number for number in scores if number is not None]

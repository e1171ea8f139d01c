"""The documents that rerankers rescore: pooled from runs, or published with the topics."""

from collections.abc import Sequence
from pathlib import Path

from heed.datasets.collection import Collection
from heed.errors import fail
from heed.experiment.run_files import SystemRuns
from heed.files import digest_json
from heed.formats.document_store import DocumentStore
from heed.formats.pools import read_pool, write_pool
from heed.judging.pools.rank_fusion import pool as fused_pool
from heed.progress import warn
from heed.reuse import Recipe, ensure_file, program
from heed.types import Topic

POOL = "pool.jsonl"


def pool_of_runs(
    path: Path, systems: Sequence[SystemRuns], topics: Sequence[Topic], depth: int
) -> dict[str, list[str]]:
    """Return for each topic the union of the runs' first ``depth`` documents, cut to ``depth`` by fusion.

    A query has one pool under all its instructions. The pool is written to ``path``, and read from there where it was
    made of the same runs; not where a run may have been changed in memory.
    """
    digests = {system.name: system.digests() for system in systems}
    base = base_of(topics)
    if None in digests.values() or not base:
        pool = fused(systems, topics, depth)
        write_pool(path, pool)
        return pool
    recipe = {"program": program(), "runs": digests, "depth": depth, "queries": digest_json(base)}
    pooled: dict[str, list[str]] = {}

    def build() -> Recipe:
        pooled.update(fused(systems, topics, depth))
        write_pool(path, pooled)
        return {}

    ensure_file(path, recipe, build)
    pool = pooled or read_pool(path)
    return {qid: pool[qid] for qid in base}


def fused(systems: Sequence[SystemRuns], topics: Sequence[Topic], depth: int) -> dict[str, list[str]]:
    """Return the pool of :func:`pool_of_runs`, which is not written."""
    base = base_of(topics)
    lists = (item for system in systems for run in system.contents().values() for item in run.items())
    pooled = fused_pool(({base[qid]: scores} for qid, scores in lists if qid in base), depth, depth)
    return {qid: pooled.get(base[qid], []) for qid in base}


def base_of(topics: Sequence[Topic]) -> dict[str, str]:
    """Return for each topic the one that asks the same query alone."""
    return {topic.qid: topic.base or topic.qid for topic in topics}


def published_pool(collection: Collection, documents: DocumentStore) -> dict[str, list[str]]:
    """Return the candidates that came with the topics; :class:`DataError` if there are none.

    Candidates that are not among ``documents`` are left out, with a warning.
    """
    fail([] if collection.candidates else ["--pool published: these topics come without candidate lists"])
    pooled = {}
    for topic in collection.topics:
        docids = collection.candidates.get(topic.qid, [])
        missing = set(documents.missing(docids))
        if missing:
            counted = f"{len(missing)} of {len(docids)} candidates"
            warn(f"topic {topic.qid}: {counted} are not in the collection, left out")
        pooled[topic.qid] = [docid for docid in docids if docid not in missing]
    return pooled

"""The documents that rerankers rescore: pooled from runs, or published with the topics."""

from collections.abc import Sequence

from heed.datasets.collection import Collection
from heed.errors import fail
from heed.experiment.run_files import SystemRuns
from heed.formats.document_store import DocumentStore
from heed.progress import warn
from heed.ranking import pooled as fused_pool
from heed.types import Topic

POOL = "pool.jsonl"


def pool_of_runs(systems: Sequence[SystemRuns], topics: Sequence[Topic], depth: int) -> dict[str, list[str]]:
    """Return for each topic the union of the runs' first ``depth`` documents, cut to ``depth`` by fusion.

    A query has one pool under all its instructions.
    """
    base = {topic.qid: topic.base or topic.qid for topic in topics}  # the topic that asks the same query alone
    lists = (item for system in systems for run in system.contents().values() for item in run.items())
    pooled = fused_pool(({base[qid]: scores} for qid, scores in lists if qid in base), depth, depth)
    return {qid: pooled.get(base[qid], []) for qid in base}


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

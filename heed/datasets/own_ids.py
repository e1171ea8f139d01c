"""Queries that are documents themselves, as in ArguAna and Quora: such a document is left out of its own list."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from heed.formats.document_store import DocumentStore
from heed.progress import brief, log
from heed.types import Topic

Scores = Mapping[str, Mapping[str, float]]  # qid -> docid -> score
IGNORED = Path(__file__).with_name("mteb_own_ids.txt")  # owner, then data sets whose tasks in MTEB 2.26.24 do so


def ignores_own_ids(name: str) -> bool:
    """Whether MTEB's task of a data set, of the hub or ``beir/…`` of ir_datasets, looks at the ids alone."""
    owner, data_set = ("mteb" if part == "beir" else part for part in f"{name}/".split("/")[:2])
    return any(owner == line.split()[0] and data_set in line.split() for line in IGNORED.read_text().splitlines())


def own_documents(topics: Sequence[Topic], store: DocumentStore, by_id: bool) -> AbstractSet[str]:
    """Return the queries that are documents: of the same id and, unless ``by_id``, the same title, text or both.

    They are logged, and so are those that have the id of a document alone.
    """
    documents, left_out = store.find([topic.qid for topic in topics]), {}
    for topic in (topic for topic in topics if topic.qid in documents):
        query, title, text = (part.casefold().split() for part in (topic.query, *documents[topic.qid][1:3]))
        if by_id or query in (title, text, title + text):
            left_out[topic.qid] = topic
    if left_out:
        why = "by their ids, as in MTEB" if by_id else "id and text are a document's"
        log.info(
            f"{len(left_out)} queries left out of their lists, {why} (--keep-own-id keeps them): {brief([*left_out])}"
        )
    if len(left_out) < len(documents):
        log.info(f"{len(documents) - len(left_out)} queries have the id of a document with another text; it is kept")
    return left_out.keys()


def without_own(run: Scores, left_out: AbstractSet[str]) -> Scores:
    """Return the run without each query of ``left_out`` in its own list."""
    return {
        **run,
        **{qid: {docid: run[qid][docid] for docid in run[qid] if docid != qid} for qid in left_out & run.keys()},
    }

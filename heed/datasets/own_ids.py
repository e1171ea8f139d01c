"""Queries that are documents themselves, as ArguAna's and Quora's: such a document is left out of its own list."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from heed.formats.document_store import DocumentStore
from heed.progress import brief, log
from heed.types import Topic

Scores = Mapping[str, Mapping[str, float]]  # qid -> docid -> score

# data sets of the hub whose tasks of text in MTEB 2.26.24 have ``ignore_identical_ids``
IGNORED = Path(__file__).with_name("mteb_own_ids.txt")


def ignores_own_ids(name: str) -> bool:
    """Whether MTEB's task of ``name``, of the hub or ``beir/…`` of ir_datasets, leaves out ids equal to the query's."""
    owner, _, rest = name.partition("/")
    return (f"mteb/{rest.partition('/')[0]}" if owner == "beir" else name) in IGNORED.read_text().split()


def own_documents(topics: Sequence[Topic], store: DocumentStore, by_id: bool) -> dict[str, str]:
    """Return by qid the document that the query itself is: of the same id and, unless ``by_id``, of the same text.

    That is the document's title, text or both. What is left out, and what has the id alone, is logged.
    """
    ids = {topic.qid: topic.base or topic.qid for topic in topics}
    documents = store.find([*dict.fromkeys(ids.values())])
    queries = {ids[topic.qid]: _words(topic.query) for topic in topics if ids[topic.qid] in documents}
    own = {
        docid: docid
        for docid, query in queries.items()
        if by_id or query in map(_words, (documents[docid].title, documents[docid].text, documents[docid].contents()))
    }
    if own:
        why = "the task looks at ids alone, as in MTEB" if by_id else "id and text are a document's"
        log.info(
            f"{len(own)} queries are left out of their own lists ({why}); --keep-own-id keeps them: {brief([*own])}"
        )
    if len(own) < len(queries):
        log.info(f"{len(queries) - len(own)} queries have the id of a document with another text, which is kept")
    return own | {qid: docid for qid, docid in ids.items() if docid in own}  # lists may be under a topic's base


def without_own(run: Scores, own: Mapping[str, str]) -> Scores:
    """Return the run without the document by qid that ``own`` names."""
    if not own:
        return run
    return {qid: {docid: scores[docid] for docid in scores if docid != own.get(qid)} for qid, scores in run.items()}


def pool_without_own(pool: Mapping[str, Sequence[str]], own: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the pool without the document by qid that ``own`` names."""
    return {qid: [docid for docid in docids if docid != own.get(qid)] for qid, docids in pool.items()}


def _words(text: str) -> list[str]:
    return text.casefold().split()

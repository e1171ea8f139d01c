"""A pool with its topics and documents as exports show it, checked before anything is written."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from heed.errors import DataError, UsageError, fail
from heed.files import finished_folder, locked
from heed.formats.document_store import DocumentStore
from heed.formats.pools import Pool
from heed.reuse import NOTE, Note, digests, read_note, write_note
from heed.types import Document, Topic

AT_ONCE = 200  # documents in memory
GRADES = {0: "not relevant", 1: "somewhat relevant", 2: "relevant", 3: "highly relevant"}  # tools are set up for these


class ExportedPool(NamedTuple):
    """A pool with its topics and documents.

    ``topics`` (by qid) may be empty and ``documents`` None for the forms that show no text,
    ``trec-pool`` and ``qrels-template``. The instruction of ``condition`` is shown, none under ``query``.
    """

    pool: Pool
    topics: dict[str, Topic]
    condition: str
    documents: DocumentStore | None


class ShownDocument(NamedTuple):
    """A document to be judged for a topic; the names are those of the exported fields."""

    qid: str
    docid: str
    condition: str
    query: str
    instruction: str
    title: str
    text: str

    @property
    def contents(self) -> str:
        """Title and text together, for tools that show one text."""
        return f"{self.title}\n{self.text}" if self.title else self.text


def shown_documents(exported: ExportedPool) -> Iterator[ShownDocument]:
    """Yield every document of a checked pool in the pool's order, a few documents at a time in memory."""
    for qid, docids in exported.pool.items():
        query = exported.topics[qid].under(exported.condition)
        for docid, title, text, *_ in documents(exported, docids):
            yield ShownDocument(qid, docid, exported.condition, query.query, query.instruction, title, text)


def documents(exported: ExportedPool, docids: list[str]) -> Iterator[Document]:
    """Yield the documents ``docids``, in their order, a few at a time in memory."""
    store = _store(exported)
    for start in range(0, len(docids), AT_ONCE):
        yield from store.get(docids[start : start + AT_ONCE])


def check_exported(exported: ExportedPool, shows_text: bool) -> None:
    """Raise one :class:`HeedError` for all that keeps a pool from being exported.

    That is an empty pool, an id that is no word and, where texts are shown, a topic that is missing or has no
    instruction for the condition, and a document that is not in the collection.
    """
    docids = [*dict.fromkeys(chain.from_iterable(exported.pool.values()))]
    ids = (name for name in [*exported.pool, *docids] if name.split() != [name])
    fail(f"{name!r} in the pool: expected a word as id; fix the pool" for name in ids)
    fail([] if docids else ["the pool holds no document; there is nothing to export"])
    if not shows_text:
        return
    fail(problem for qid in exported.pool if (problem := _topic_problem(qid, exported)))
    missing = _store(exported).missing(docids)
    fail(f"document {docid}: in the pool and not in the collection; give the documents it is from" for docid in missing)


def _topic_problem(qid: str, exported: ExportedPool) -> str:
    topic, condition = exported.topics.get(qid), exported.condition
    if topic is None:
        return f"topic {qid}: in the pool and not among the topics; give the topics file it is from"
    if condition == "query" or condition in topic.instructions:
        return ""
    carried = ", ".join(topic.instructions) or "none"
    return f"topic {qid}: has no {condition} instruction (it has: {carried}); choose another condition"


def _store(exported: ExportedPool) -> DocumentStore:
    if exported.documents is None:
        raise UsageError("this form shows the documents' texts; give the documents")
    return exported.documents


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield a folder that becomes ``path`` when the block ends without an error, with a note of its files.

    An earlier, unchanged export is replaced, so that a command that was killed can be started again. Raises
    :class:`DataError` if anything else is there.
    """
    path = path.absolute()
    if path.exists() and not (path.is_dir() and (not any(path.iterdir()) or _is_export(path))):
        raise DataError(f"{path}: is there already and not empty; name a new folder, or remove this one first")
    with locked(path.parent), finished_folder(path) as part:
        yield part
        write_note(part / NOTE, Note({}, digests(part)))


def _is_export(folder: Path) -> bool:
    note = read_note(folder / NOTE)
    return note is not None and note.files == digests(folder)

"""What an export of a pool shows: one task for each topic and document, checked before anything is written."""

import gzip
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple, cast

from heed.errors import HeedError, fail
from heed.io.artifacts import NOTE, as_left, digests
from heed.io.document_store import DocumentStore
from heed.io.files import finished, finished_folder, locked, read_bytes, write_json
from heed.io.pools import Pool
from heed.types import CONDITIONS, Topic

AT_ONCE = 200  # documents in memory
UNJUDGED = -1  # trec_eval's grade of a document that is in the pool and not judged
GRADES = {0: "not relevant", 1: "somewhat relevant", 2: "relevant", 3: "highly relevant"}  # what tools are set up for


class Material(NamedTuple):
    """What is exported: a pool, and what is shown of its topics and documents.

    ``topics`` (by qid) may be empty and ``documents`` None for the forms that show no text,
    ``trec-pool`` and ``qrels-template``. ``condition`` says whose instruction is shown; under
    ``query`` none is.
    """

    pool: Pool
    topics: dict[str, Topic]
    condition: str
    documents: DocumentStore | None


class Task(NamedTuple):
    """One document to be judged for one topic; the names are those of the exported fields."""

    qid: str
    docid: str
    condition: str
    query: str
    instruction: str
    title: str
    text: str

    @property
    def contents(self) -> str:
        """Title and text as one, for tools that show one text."""
        return f"{self.title}\n{self.text}" if self.title else self.text


def tasks(material: Material) -> Iterator[Task]:
    """Every task of checked ``material``, topics and documents in the pool's order, a few documents in memory."""
    for qid, docids in material.pool.items():
        topic, condition = material.topics[qid], material.condition
        instruction = "" if condition == "query" else topic.instructions[condition]
        for docid, title, text in texts(material, docids):
            yield Task(qid, docid, condition, topic.query, instruction, title, text)


def texts(material: Material, docids: list[str]) -> Iterator[tuple[str, str, str]]:
    """Docid, title and text of ``docids``, in that order."""
    store = _documents(material)
    for start in range(0, len(docids), AT_ONCE):
        yield from (document[:3] for document in store.get(docids[start : start + AT_ONCE]))


def check_material(material: Material, shows_text: bool) -> None:
    """Raise one :class:`HeedError` for all that keeps ``material`` from being exported.

    That is an empty pool, an id that is no word or no Unicode text and, where texts are shown, a
    topic that is not there, has no instruction for the condition or is no Unicode text, and a
    document that is not in the collection.
    """
    ids = dict.fromkeys([*material.pool, *_docids(material.pool)])
    fail(f"{one!r} in the pool: expected a word of Unicode text as id; mend the pool" for one in ids if not _word(one))
    fail([] if any(material.pool.values()) else ["the pool holds no document; there is nothing to export"])
    if not shows_text:
        return
    if material.condition not in CONDITIONS:
        raise HeedError(f"condition {material.condition!r}: expected one of {', '.join(CONDITIONS)}")
    fail(problem for qid in material.pool if (problem := _topic_problem(qid, material)))
    missing = _documents(material).missing(list(dict.fromkeys(_docids(material.pool))))
    fail(f"document {docid}: in the pool and not in the collection; give the documents it is from" for docid in missing)


def _topic_problem(qid: str, material: Material) -> str:
    topic, condition = material.topics.get(qid), material.condition
    if topic is None:
        return f"topic {qid}: in the pool and not among the topics; give the topics file it is from"
    if condition != "query" and condition not in topic.instructions:
        carried = ", ".join(topic.instructions) or "none"
        return f"topic {qid}: has no {condition} instruction (it has: {carried}); choose another condition"
    shown = {"query": topic.query, **topic.instructions}
    broken = [name for name in ("query", condition) if not _is_unicode(shown[name])]
    return f"topic {qid}: {broken[0]} holds half of a surrogate pair; repair the text" if broken else ""


def _docids(pool: Pool) -> Iterable[str]:
    return (docid for docids in pool.values() for docid in docids)


def _documents(material: Material) -> DocumentStore:
    if material.documents is None:
        raise HeedError("this form shows the documents' texts; give the documents")
    return material.documents


def _word(text: str) -> bool:
    return text.split() == [text] and _is_unicode(text)


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open ``path`` for writing, gzipped by suffix; it appears, whole, only when the block ends well."""
    with finished(path) as stream:
        if path.suffix != ".gz":
            yield stream
            return
        # no name and no time: the same export has the same bytes whenever and wherever it is written
        with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as zipped:
            yield cast(IO[bytes], zipped)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder that becomes ``path`` when the block ends well, with a note of its files.

    Takes the place of an earlier export that is as it was left, so that a command that was killed can be
    started again; :class:`HeedError` if anything else is there.
    """
    path = path.absolute()
    if path.exists() and not (path.is_dir() and (not any(path.iterdir()) or _is_export(path))):
        raise HeedError(f"{path}: is there already and not empty; name a new folder, or remove this one first")
    with locked(path.parent), finished_folder(path) as part:
        yield part
        write_json(part / NOTE, {"files": digests(part)})


def _is_export(folder: Path) -> bool:
    try:
        return as_left(folder, json.loads(read_bytes(folder / NOTE))["files"])
    except (HeedError, ValueError, KeyError, TypeError, AttributeError):  # no note, or not ours
        return False

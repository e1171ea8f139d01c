"""The rules that a run is checked against: its track, its topics, the documents that it may hold."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from heed.addons.submission.tracks import Track
from heed.errors import DataError, UsageError
from heed.files import read_lines, unpacked_name
from heed.formats.data_sets import parsed, read_rows
from heed.formats.document_store import ANY, read_docids
from heed.formats.run_formats import read_any_run
from heed.formats.topics import read_topics, recognised
from heed.formats.trec_files import read_pool
from heed.languages import known_language, suggestion
from heed.progress import bar


def expected_topics(path: Path, condition: str | None = None, form: str | None = None) -> set[str]:
    """Return the topics of a file in any form that the commands read, or of a plain list of ids.

    Their form is recognised unless ``form`` names it. With ``condition``, only those that have it. Raises
    :class:`DataError` for bad lines, and if there is no topic.
    """
    # of topics that are not UTF-8 the ids are the same in any encoding
    qids = set() if form else _plain_list(path)
    form = form or ("list" if qids else recognised(path, ANY))
    if form in ("list", "tsv", "trec") and condition not in (None, "query"):
        raise UsageError(f"condition: {path} is a {form} of topics, which has no conditions; leave it out")
    if form == "neuclir":
        qids = set(parsed(read_rows([path], ANY), lambda row: row.word("topic_id")))
    elif form == "heed":
        topics = read_topics(path, "", "title", "heed", ANY)
        qids = {topic.qid for topic in topics if condition is None or topic.has(condition)}
    elif form != "list":
        qids = {topic.qid for topic in read_topics(path, "", "title", form, ANY)}
    if not qids:
        raise DataError(f"{path}: no topic{f' under condition {condition}' if condition else ''} in it")
    return qids


def _plain_list(path: Path) -> set[str]:
    """Return the ids of a file with one word a line; nothing for another file."""
    if unpacked_name(path).endswith((".json", ".jsonl")):
        return set()
    words = [line.split() for _, line in read_lines(path, ANY)]
    if any(len(of_line) > 1 or of_line == ["<top>"] for of_line in words):
        return set()
    return {word for of_line in words for word in of_line}


def read_candidates(path: Path) -> dict[str, set[str]]:
    """Read the documents that may be reranked, by topic, from a run or a pool (.jsonl)."""
    is_pool = unpacked_name(path).endswith(".jsonl")
    lists = read_pool(path) if is_pool else read_any_run(path)
    return {qid: set(docids) for qid, docids in lists.items()}


class CollectionIds:
    """The ids of one or several collections, by language; the language is empty where it is not given.

    Holds 64 bits of each docid's hash: among ten million documents an unknown id is accepted
    with a probability of 5 in 10¹³.
    """

    def __init__(self) -> None:
        self._hashes: dict[str, NDArray[np.int64]] = {}  # sorted

    def __len__(self) -> int:
        """Return the number of documents."""
        return sum(map(len, self._hashes.values()))

    def add(self, docids: Iterable[str], language: str) -> None:
        """Add documents of one language; each may be repeated."""
        hashes = np.fromiter(map(hash, docids), dtype=np.int64)
        self._hashes[language] = np.union1d(hashes, self._hashes.get(language, hashes))

    def language(self, docid: str) -> str | None:
        """Return the document's language, None for an unknown document."""
        hashed = hash(docid)
        return next(
            (lang for lang, hashes in self._hashes.items() if hashed in hashes[hashes.searchsorted(hashed) :][:1]), None
        )


@dataclass(frozen=True)
class Rules:
    """The rules to check a run against; what is None or empty is not checked.

    ``candidates`` are the documents that may be reranked, by topic. ``file_name`` is the severity of a file that is
    not named as its tag, empty for none. ``limit`` problems of each kind are kept.
    """

    track: Track
    depth: int
    limit: int = 20
    team: str = ""
    tag: str = ""
    topics: Collection[str] | None = None
    collection: CollectionIds | None = None
    candidates: Mapping[str, Collection[str]] | None = None
    file_name: str = ""


def read_collection_ids(paths: Sequence[str]) -> CollectionIds:
    """Return the ids of documents, each path as ``PATH`` or ``LANG=PATH``.

    They are read by :func:`heed.formats.document_store.read_docids`. Raises :class:`UsageError` for an unknown
    language, and :class:`DataError` naming each bad line, and for an empty collection.
    """
    ids = CollectionIds()
    for text in paths:
        name, equals, path = text.partition("=")
        language = known_language(name) if equals and not Path(text).exists() else None
        if equals and not language and Path(path).exists() and not Path(text).exists():
            raise UsageError(f"{text}: {name} is no code of a language{suggestion(name)}")
        file = Path(path if language else text)
        ids.add(bar(read_docids(file), 0, f"ids of {file}", "documents"), language.code if language else "")
    if not len(ids):
        raise DataError(f"{', '.join(paths)}: no document in it; expected a collection or a list of ids")
    return ids

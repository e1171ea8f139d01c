"""The retriever ``bm25``, with feedback or over a table's fields where its name says so."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from heed.compute import Compute
from heed.errors import UsageError
from heed.retrieval.bm25.index import FIELD, TABLE_FIELDS, Bm25Settings, Searcher, build_index
from heed.retrieval.corpus import Corpus
from heed.retrieval.lucene.jvm import anserini_version, start
from heed.types import Config, Query, Retriever, Run

FIELDS = "bm25+fields"  # of tables: caption, header and cells weighted apart
# of tables; cells are most of their text, and would double the first two
FIELDS_IN = {"bm25": (FIELD, "caption", "header"), "bm25-fields": TABLE_FIELDS}


class ForeignIndex(NamedTuple):
    """An index that another tool made, after an add-on has compared it with the collection.

    ``folder`` is Heed's own, with a link to the index.
    """

    folder: Path
    config: Config


class Bm25(Retriever):
    """BM25 as a :class:`heed.types.Retriever`; its name says whether with feedback or over fields."""

    by_topic = True

    def __init__(
        self,
        name: str,
        corpus: Corpus,
        settings: Bm25Settings,
        compute: Compute,
        index: ForeignIndex | None = None,
    ) -> None:
        """Build and start nothing before the first search; with ``index``, one made elsewhere, search that.

        Raises :class:`UsageError` for impossible field weights, for fields of documents that are no tables, and for
        an index made elsewhere that lacks what ``name`` needs.
        """
        self.name, self.corpus = name, corpus
        self._settings, self._compute, self._index = settings, compute, index
        self._threads = compute.threads or os.cpu_count() or 1
        self._searcher: Searcher | None = None
        self._feedback = name.partition("+")[2].removeprefix("fields")
        self._fields = settings.fields() if name == FIELDS else None
        if self._fields == {} or min((self._fields or {"": 1.0}).values()) < 0:
            raise UsageError(f"field_weights: found {settings[2:5]}, expected none below 0 and one above")
        if self._fields and not corpus.documents.tabular:
            raise UsageError(f"{name}: these documents are no tables with caption, header and cells; use bm25")
        if self._fields and index:
            raise UsageError(f"{name}: an index made elsewhere has no fields of tables; leave it out, or use bm25")
        self.config: Config = {
            "system": name,
            "anserini": anserini_version(),
            "language": corpus.language.short,
            "k1": settings.k1,
            "b": settings.b,
            "fields": self._fields,
            **({"feedback": settings.feedback._asdict()} if self._feedback else {}),
            **({"index": index.config} if index else {}),
        }

    def over(self, corpus: Corpus) -> "Bm25":
        """Return the same system over other documents, with an index of Heed's own."""
        return Bm25(self.config["system"], corpus, self._settings, self._compute)

    def load(self) -> None:
        """Build the index, and the matrix of its postings, unless they are there, and open them."""
        self.searcher.load()

    @property
    def searcher(self) -> Searcher:
        """The open index, built first unless it is there."""
        if self._searcher is None:
            self._searcher = self._open()
        return self._searcher

    def _open(self) -> Searcher:
        folder, store, language = self.corpus
        start(self._compute.heap)
        if self._index:
            return Searcher(self._index.folder, language, self._settings)
        index = folder / self.index_name
        build_index(index, store, language, self._threads, FIELDS_IN[self.index_name])
        return Searcher(index, language, self._settings)

    @property
    def index_name(self) -> str:
        """The name of the folder of its own index."""
        return "bm25-fields" if self._fields else "bm25"

    def search(self, queries: Sequence[Query], depth: int) -> Run:
        """Return the ``depth`` best documents of each query, by its ``text``."""
        texts = {query.qid: query.text for query in queries}
        if self._feedback:
            store = self.corpus.documents
            return self.searcher.search_with_feedback(texts, depth, self._threads, self._feedback, store)
        return self.searcher.search(texts, depth, self._threads, self._fields)

    def close(self) -> None:
        """Forget the open index."""
        self._searcher = None

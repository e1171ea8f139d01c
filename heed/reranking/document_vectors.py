"""The vectors of the documents that an encoder reranks: its dense index's, or kept on disk for the next time."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice, takewhile

import numpy as np
from numpy.typing import NDArray

from heed.files import digest_json
from heed.formats.document_store import StoredDocuments, chosen, docids_of
from heed.progress import bar, log, timed
from heed.retrieval.corpus import Corpus
from heed.retrieval.dense.chosen_vectors import PREFIX, KeptVectors
from heed.retrieval.dense.vectors import (
    Vectors,
    embedded,
    encoded,
    has_unit_length,
    is_cosine,
    recipe_of,
    with_unit_length,
)
from heed.types import Document, Encoder, close, config_of

PART = 1_000  # documents that are encoded together: so many are encoded again after a kill


class DocumentVectors:
    """The vectors of documents, for all topics and conditions: each is embedded once.

    Where the encoder's dense index of ``corpus`` is there, made with the same settings, they are read from it.
    Without a corpus, or of an encoder without ``config``, they are kept in memory alone.
    """

    def __init__(self, encoder: Encoder, corpus: Corpus | None = None) -> None:
        """Embed by ``encoder``."""
        self._encoder = encoder
        self._corpus = corpus if config_of(encoder) is not None else None
        self._new = 0

    @cached_property
    def _index(self) -> Vectors | None:
        if self._corpus is None:
            return None
        folder = self._corpus.folder / self._encoder.name / "vectors"
        vectors = embedded(folder, self._corpus.documents, self._encoder)
        if vectors:
            log.info(f"{folder}: vectors of documents are read from here")
        return vectors

    @cached_property
    def _kept(self) -> KeptVectors:
        if self._corpus is None:
            return KeptVectors(None)
        recipe = digest_json(recipe_of(self._corpus.documents, self._encoder))
        return KeptVectors(self._corpus.folder / self._encoder.name / f"{PREFIX}{recipe[:16]}")

    def embed(self, pools: Iterable[Sequence[Document]]) -> None:
        """Embed the documents of ``pools`` that have no vector yet, from the collection; passages wait for their use.

        Raises as the encoder does.
        """
        stored = list(takewhile(self._are_stored, pools))
        if stored and not self._index:
            self._embed(stored)

    def of(self, documents: Sequence[Document]) -> NDArray[np.float64]:
        """Return the vectors of ``documents``, shape ``(len(documents), d)``."""
        if self._index and self._are_stored(documents):
            return self._index.of(docids_of(documents)).astype(np.float64)
        self._embed([documents])
        rows = self._kept.of(self._keys(documents))
        if is_cosine(self._encoder) and not has_unit_length(rows):  # of version 0.2.0
            rows = with_unit_length(rows)
        return rows.astype(np.float64)

    def log(self) -> None:
        """Log how many documents were embedded since the last time."""
        if self._new:
            log.info(f"{self._encoder.name}: {self._new} documents embedded for reranking")
        self._new = 0

    def close(self) -> None:
        """Forget the vectors, and close the encoder's model."""
        for name in ("_index", "_kept"):
            self.__dict__.pop(name, None)
        close(self._encoder)

    def _are_stored(self, documents: Sequence[Document]) -> bool:
        digest = self._corpus and self._corpus.documents.digest
        return isinstance(documents, StoredDocuments) and documents.digest == digest

    def _keys(self, documents: Sequence[Document]) -> Sequence[str]:
        """Return docids; of documents that are not the collection's, such as passages, the digests of their texts."""
        return docids_of(documents) if self._are_stored(documents) else [digest_json(one) for one in documents]

    def _embed(self, pools: Iterable[Sequence[Document]]) -> None:
        seen: set[str] = set()
        new: list[tuple[Sequence[Document], dict[str, int]]] = []
        for pool in pools:
            keys = self._keys(pool)
            new.append((pool, {key: at for at, key in enumerate(keys) if key not in self._kept and key not in seen}))
            seen.update(new[-1][1])
        documents = chain.from_iterable(
            zip(places, chosen(pool, list(places.values())), strict=True) for pool, places in new if places
        )
        shown = bar(documents, len(seen), f"{self._encoder.name} vectors", "documents")
        ahead: deque[list[str]] = deque()  # keys of the parts whose documents are read ahead

        def parts() -> Iterator[Sequence[Document]]:
            while part := list(islice(shown, PART)):
                ahead.append([key for key, _ in part])
                yield [document for _, document in part]

        if seen:
            with timed("embed", self._encoder.name) as work:
                for vectors in encoded(self._encoder, parts()):
                    keys = ahead.popleft()
                    self._kept.add(keys, vectors)
                    self._new += len(keys)
                    work.did(len(keys), "documents")

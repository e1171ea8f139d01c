"""Any bi-encoder as a reranker, by its vectors' inner products: with query and instruction together, or ``decompose``.

FollowIR and mFollowIR ran their bi-encoders so, over the same candidates as rerankers. A vector is computed once,
whatever pools its document comes in, also where the process is killed.
"""

import shutil
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heed.compute import READS
from heed.files import digest_json, write_bytes
from heed.formats.document_store import Corpus, StoredDocuments, chosen, docids_of
from heed.instructions.reader import Reader, reader_at
from heed.progress import counting, log, timed
from heed.retrieval.dense.vectors import Vectors, folder_of, recipe_of, write_matrix
from heed.reuse import folder_reason, recipe_version
from heed.types import Config, Document, Encoder, Matrix, Query, Reranker

PART = 1_000  # documents that are encoded together: so many are encoded again after a kill
PREFIX = "pool-"  # of the folder with the vectors of documents of pools

Vector = NDArray[np.float32]


class PoolVectors:
    """Vectors by key, of one encoder and collection, written to a folder as they come, or held in memory alone.

    The folder holds parts of vectors, and then a file of their keys: a part that a kill left without it is as if it had
    never been added.
    """

    def __init__(self, folder: Path | None) -> None:
        """Open the vectors that earlier processes wrote to ``folder``, None for memory alone."""
        self._folder = folder
        self._rows: dict[str, Vector] = {}
        if folder is None:
            return
        for path in sorted(folder.glob("part-*.txt")):
            keys = path.read_text(encoding="utf-8").split("\n")
            rows = np.load(path.with_suffix(".npy"), mmap_mode="r", allow_pickle=False).view(np.ndarray)
            self._rows.update(zip(keys, rows, strict=True))

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def of(self, keys: Sequence[str]) -> Matrix:
        """Return the vectors of ``keys``, in that order; raises :class:`KeyError` for one that is not there."""
        return np.stack([self._rows[key] for key in keys])

    def add(self, keys: Sequence[str], vectors: Matrix) -> None:
        """Keep ``vectors``, one a row; they are on disk, all or none, when this returns."""
        self._rows.update(zip(keys, vectors, strict=True))
        if self._folder is None:
            return
        if not self._folder.exists():
            for earlier in self._folder.parent.glob(f"{PREFIX}*"):  # of other documents or settings
                if earlier != self._folder:  # it may have come since, by another system or process
                    shutil.rmtree(earlier)
        # named by its keys: whoever writes the same file at the same time writes the same vectors
        path = self._folder / f"part-{digest_json([*keys])[:16]}.npy"
        write_matrix(path, vectors)
        write_bytes(path.with_suffix(".txt"), "\n".join(keys).encode())


class VectorReranker(Reranker):
    """What rerankers over an encoder's vectors share: each document is embedded once, for all topics and conditions.

    Where the encoder's dense index of ``corpus`` is there, made with the same settings, vectors are read from it.
    Without a corpus, or of an encoder without ``config``, they are kept in memory alone.
    """

    independent = True

    def __init__(self, encoder: Encoder, corpus: Corpus | None = None) -> None:
        """Compare by ``encoder``, which is loaded when it is first needed; vectors are kept beside ``corpus``."""
        self.encoder = encoder
        self._corpus = corpus if encoder.config is not None else None
        self._new = 0
        self._queries: dict[Query, NDArray[np.float64]] = {}

    @cached_property
    def _index(self) -> Vectors | None:
        if self._corpus is None:
            return None
        folder = folder_of(self._corpus.folder, self.encoder, self.encoder.name) / "vectors"
        if folder_reason(folder, recipe_of(self._corpus.documents, self.encoder)) is not None:
            return None
        log.info(f"{folder}: vectors of documents are read from here")
        return Vectors(folder)

    @cached_property
    def _pooled(self) -> PoolVectors:
        if self._corpus is None:
            return PoolVectors(None)
        recipe = digest_json(recipe_of(self._corpus.documents, self.encoder))
        return PoolVectors(self._corpus.folder / self.encoder.name / f"{PREFIX}{recipe[:16]}")

    def load(self) -> None:
        """Load the encoder's model."""
        self.encoder.load()

    def parts_of(self, query: Query) -> list[tuple[float, Query]]:
        """Return the queries that a document is compared with, each with the weight of its similarity."""
        raise NotImplementedError

    def prepare(self, queries: Sequence[Query]) -> None:
        """Encode all queries together."""
        parts = list(dict.fromkeys(part for query in queries for _, part in self.parts_of(query)))
        if parts:
            self._queries = dict(zip(parts, self.encoder.encode_queries(parts).astype(np.float64), strict=True))

    def score(self, query: Query, documents: Sequence[Document]) -> Sequence[float]:
        """Return the weighted inner products for each document, in double precision, so that near ones do not tie."""
        if not documents:
            return []
        weights, parts = zip(*self.parts_of(query), strict=True)
        if not self._queries.keys() >= {*parts}:
            self.prepare([query])
        vectors = np.stack([self._queries[part] for part in parts])
        scores: list[float] = (self.vectors_of(documents) @ vectors.T @ np.array(weights)).tolist()
        return scores

    def begin(self, queries: Sequence[Query], documents: Callable[[Query], Sequence[Document]]) -> None:
        """Embed all pools' documents that have no vector yet, from the collection; passages wait for their use."""
        if self._corpus is None or self._index:
            return
        pools = takewhile(self._are_stored, map(documents, queries))
        docids = (docid for pool in pools for docid in docids_of(pool))
        self._embed(list(dict.fromkeys(docids)), self._corpus.documents.get)

    def vectors_of(self, documents: Sequence[Document]) -> NDArray[np.float64]:
        """Return the vectors of ``documents``, shape ``(len(documents), d)``."""
        if self._index and self._are_stored(documents):
            return self._index.of(docids_of(documents)).astype(np.float64)
        keys = self._keys(documents)
        position = {key: number for number, key in enumerate(keys)}
        self._embed(list(position), lambda part: chosen(documents, [position[key] for key in part]))
        return self._pooled.of(keys).astype(np.float64)

    def finish(self) -> None:
        """Log how many documents were embedded since the last time."""
        if self._new:
            log.info(f"{self.encoder.name}: {self._new} documents embedded for reranking")
        self._new = 0

    def close(self) -> None:
        """Forget the vectors, and close the encoder's model."""
        for name in ("_index", "_pooled"):
            self.__dict__.pop(name, None)
        self._queries = {}
        self.encoder.close()

    def _are_stored(self, documents: Sequence[Document]) -> bool:
        digest = self._corpus and self._corpus.documents.digest
        return isinstance(documents, StoredDocuments) and documents.digest == digest

    def _keys(self, documents: Sequence[Document]) -> Sequence[str]:
        """Return docids; of documents that are not the collection's, such as passages, the digests of their texts."""
        return docids_of(documents) if self._are_stored(documents) else [digest_json(passage) for passage in documents]

    def _embed(self, keys: Sequence[str], documents: Callable[[Sequence[str]], Sequence[Document]]) -> None:
        """Embed those of ``keys`` that have no vector yet; ``documents`` returns theirs."""
        new = [key for key in keys if key not in self._pooled]
        if not new:
            return
        parts = [new[start : start + PART] for start in range(0, len(new), PART)]
        steps = counting(len(new), f"{self.encoder.name} vectors", "documents")
        with timed("embed", self.encoder.name) as work, steps as done:
            for part, vectors in zip(parts, self.encoder.encode_batches(map(documents, parts)), strict=True):
                self._pooled.add(part, vectors)
                self._new += len(part)
                work.did(len(part), "documents")
                done.reach(work.count)


class Similarity(VectorReranker):
    """The reranker over any encoder, as a :class:`heed.types.Reranker`; its name is the encoder's."""

    def __init__(self, encoder: Encoder, corpus: Corpus | None = None, reads: str = READS[0]) -> None:
        """Compare by ``encoder``, with the vectors of ``corpus``; it ``reads`` query and instruction, or the query."""
        super().__init__(encoder, corpus)
        self.name, self._alone = encoder.name, reads == "query"
        config = encoder.config
        if config is not None:
            self.config: Config = {"similarity": recipe_version("similarity"), "encoder": config}
            self.config |= {"reads": reads} if self._alone else {}

    def parts_of(self, query: Query) -> list[tuple[float, Query]]:
        """Return the query, without its instruction where the encoder reads it alone."""
        return [(1.0, query.alone if self._alone else query)]


class Weights(NamedTuple):
    """Weights of the asked and the excluded part; the query has 1."""

    alpha: float
    beta: float


# Chosen with multilingual-e5-small on real news in three languages, topics held out, for nDCG under both narratives and
# selectivity: python -m benchmarks.polarity. From β = α + 1 on, documents near the query fall below those far from it.
TEXT_WEIGHTS = Weights(1.0, 1.0)
# Chosen with all-MiniLM-L6-v2 on FollowTable's WTR and IndusTR, for nDCG@10 and IRS: python -m benchmarks.decompose.
TABLE_WEIGHTS = Weights(5.0, 5.0)


class Decompose(VectorReranker):
    """``decompose``: any bi-encoder over the two sides of an instruction, asked for and excluded, without training.

    A document's score is ``d·q + α·d·(q + a) − β·d·x``: its similarity to the query, plus that to the
    query with the asked part as its instruction, minus that to the excluded part, which an encoder that
    reads query and instruction as one text takes for wanted. :mod:`heed.instructions.reader` makes the parts.
    """

    def __init__(
        self,
        encoder: Encoder,
        weights: Weights | None = None,
        corpus: Corpus | None = None,
        reader: Reader | None = None,
    ) -> None:
        """Compare by ``encoder``, with the vectors of ``corpus``; by default with weights for texts, or for tables."""
        super().__init__(encoder, corpus)
        tables = bool(corpus and corpus.documents.tabular)
        self._weights = weights or (TABLE_WEIGHTS if tables else TEXT_WEIGHTS)
        self.name, self._reader = f"decompose:{encoder.name}", reader or reader_at()
        config = encoder.config
        if config is not None:
            self.config: Config = {
                "decompose": [recipe_version("decompose"), *self._weights],
                "reader": self._reader.config,
                "encoder": config,
            }

    def begin(self, queries: Sequence[Query], documents: Callable[[Query], Sequence[Document]]) -> None:
        """Log how many instructions exclude something."""
        self._reader.log_exclusions(self.name, queries)
        super().begin(queries, documents)

    def parts_of(self, query: Query) -> list[tuple[float, Query]]:
        """Return the parts of ``d·q + α·d·(q + a) − β·d·x``; an empty one adds nothing."""
        asked_for, excluded = (self._reader.text_of(query, kind) for kind in ("asked", "excluded"))
        parts = [(1.0, query.alone)]
        if asked_for:
            parts.append((self._weights.alpha, _query(query, query.query, asked_for)))
        if excluded:
            parts.append((-self._weights.beta, _query(query, excluded, "")))
        return parts


def _query(query: Query, text: str, instruction: str) -> Query:
    return query._replace(query=text, instruction=instruction, reading=(), text=f"{text} {instruction}".strip())

"""Late interaction (ColBERT, ColBERT-X, PLAID-X): MaxSim over a pool, or over the whole collection."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from heed.io.artifacts import Recipe
from heed.io.document_store import DocumentStore
from heed.models.late_encoder import LateEncoder, begins, parted
from heed.models.registry import Model
from heed.progress import bar
from heed.ranking import top
from heed.retrieval.vectors import Vectors, embed
from heed.types import Run, Topic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from heed.retrieval.vectors import Matrix

FAMILY = "late-interaction"
VERSION = 1  # raise when scores change
KEPT = 4 * 2**30  # bytes of a pool's vectors in memory: 46,000 documents of 180 tokens of 128 numbers
BLOCK = 2**24  # products at a time: 64 MB


def maxsim(queries: "Matrix", documents: "Matrix") -> "NDArray[np.float64]":
    """The score of each query and document of two packed matrices, shape ``(queries, documents)``.

    The sum over a query's tokens of the best inner product with a token of the document (Khattab and
    Zaharia 2020, section 3.3). Products are float32 as the vectors are; their sum is float64, because in
    float32 two of a thousand documents would now and then come to the same sum of 500 tokens.
    """
    import numpy as np

    asked, starts, ends = queries[:, 1:], begins(queries), np.append(begins(documents), len(documents))
    scores = np.empty((len(starts), len(ends) - 1))
    first = 0
    while first < scores.shape[1]:
        most = int(np.searchsorted(ends, ends[first] + BLOCK // len(asked), side="right")) - 1
        last = max(first + 1, most)  # whole documents
        products = asked @ np.asarray(documents[ends[first] : ends[last], 1:]).T
        best = np.maximum.reduceat(products, ends[first:last] - ends[first], axis=1)
        scores[:, first:last] = np.add.reduceat(best, starts, axis=0, dtype=np.float64)
        first = last
    return scores


class LateReranker:
    """MaxSim over a pool as a :class:`heed.reranking.rescoring.Reranker`.

    Vectors of documents are computed once for all topics and conditions of a process, as long as
    all of them fit into ``KEPT`` bytes; those that come when it is full are computed again.
    """

    def __init__(self, model: Model, store: DocumentStore, device: str) -> None:
        """Make sure that the files of ``model`` are here; it is loaded on ``device`` when first used.

        Raises :class:`heed.errors.HeedError` as :class:`heed.models.encoders.SentenceEncoder` does.
        """
        self._encoder, self._store = LateEncoder(model, device), store
        self.name = self._encoder.name
        self.recipe: Recipe = {"maxsim": VERSION, "encoder": self._encoder.recipe, "documents": store.digest}
        self._queries: dict[tuple[str, str], Matrix] = {}
        self._kept: dict[str, Matrix] = {}
        self._room = KEPT

    def prepare(self) -> None:
        """Load the model."""
        self._encoder.load()

    def begin(self, topics: Sequence[Topic], condition: str, pooled: Mapping[str, list[str]]) -> None:
        """Read all queries, so that those that are cut are told at once."""
        self._read([_asked(topic, condition) for topic in topics])

    def finish(self) -> None:
        """Forget the queries."""
        self._queries.clear()

    def score(self, topic: Topic, condition: str, docids: Sequence[str]) -> Sequence[float]:
        """The MaxSim of each document."""
        if not docids:
            return []
        asked = _asked(topic, condition)
        if asked not in self._queries:
            self._read([asked])
        scores: list[float] = maxsim(self._queries[asked], self._documents(docids))[0].tolist()
        return scores

    def _read(self, asked: Sequence[tuple[str, str]]) -> None:
        if asked:
            self._queries |= zip(asked, parted(self._encoder.queries(asked)), strict=True)

    def _documents(self, docids: Sequence[str]) -> "Matrix":
        import numpy as np

        missing = [docid for docid in docids if docid not in self._kept]
        found: dict[str, Matrix] = {}
        if missing:
            found = dict(zip(missing, parted(self._encoder.documents(self._store.get(missing))), strict=True))
        rows = np.concatenate([found[docid] if docid in found else self._kept[docid] for docid in docids])
        for docid, matrix in found.items():
            if matrix.nbytes <= self._room:
                self._room -= matrix.nbytes
                self._kept[docid] = matrix.copy()  # alone: what it is a part of can be let go
        return rows


class LateRetriever:
    """MaxSim over every document of a collection as a :class:`heed.retrieval.retrievers.Retriever`.

    Exact: no token is pruned, clustered or quantised, as PLAID's index does, so what is found differs
    from PLAID's only by what PLAID misses. It costs disk and time: a token of 128 numbers takes 516
    bytes, where PLAID's one bit a number takes 20, and each search reads every one of them. A million
    documents of 180 tokens are 93 GB; above some hundred thousand, rerank a pool instead.
    """

    def __init__(self, model: Model, store: DocumentStore, folder: Path, device: str) -> None:
        """Vectors of ``store`` lie in ``folder``; raises as :class:`LateReranker` does."""
        self._encoder, self._store = LateEncoder(model, device), store
        self.name = self._encoder.name
        self._folder = folder / self.name / "vectors"
        self.recipe: Recipe = {"maxsim": VERSION, "system": self._encoder.recipe, "documents": store.digest}

    def prepare(self) -> None:
        """Embed the documents if need be."""
        _ = self._vectors

    @cached_property
    def _vectors(self) -> Vectors:
        return embed(self._folder, self._store, self._encoder)

    def search(self, topics: Sequence[Topic], condition: str, depth: int) -> Run:
        """The ``depth`` best documents of each topic, found shard by shard."""
        best: Run = {topic.qid: {} for topic in topics}
        if not topics:
            return best
        queries = self._encoder.queries([_asked(topic, condition) for topic in topics])
        docids = iter(self._vectors.docids)
        shards = len(self._vectors.shards)
        for part in bar(self._vectors.parts(), shards, f"{self.name}.{condition}", "shards"):
            scores = maxsim(queries, part)
            here = list(islice(docids, scores.shape[1]))
            for qid, row in zip(best, scores.tolist(), strict=True):
                best[qid] = top({**best[qid], **dict(zip(here, row, strict=True))}, depth)
        return best


def _asked(topic: Topic, condition: str) -> tuple[str, str]:
    return topic.query, topic.instructions.get(condition, "")

"""Late interaction (ColBERT, ColBERT-X, PLAID-X): MaxSim over a pool."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from heed.models.late_encoder import LateEncoder, begins, split
from heed.models.registry import Model
from heed.models.runtime import DEFAULT, Runtime
from heed.types import Config, Document, Query

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from heed.types import Matrix

FAMILY = "late-interaction"
VERSION = 1  # raise when scores change
KEPT = 4 * 2**30  # bytes of a pool's vectors in memory: 46,000 documents of 180 tokens of 128 numbers
BLOCK = 2**24  # products at a time: 64 MB


def maxsim(queries: "Matrix", documents: "Matrix") -> "NDArray[np.float64]":
    """Return the score of each query and document of two packed matrices, shape ``(queries, documents)``.

    The sum over a query's tokens of the best inner product with a token of the document (Khattab and
    Zaharia 2020, section 3.3). Products are float32 as the vectors are; their sum is float64, because in
    float32 two of a thousand documents would now and then get the same sum of 500 tokens.
    """
    import numpy as np

    tokens, starts, ends = queries[:, 1:], begins(queries), np.append(begins(documents), len(documents))
    scores = np.empty((len(starts), len(ends) - 1))
    first = 0
    while first < scores.shape[1]:
        most = int(np.searchsorted(ends, ends[first] + BLOCK // len(tokens), side="right")) - 1
        last = max(first + 1, most)  # whole documents
        products = tokens @ np.asarray(documents[ends[first] : ends[last], 1:]).T
        best = np.maximum.reduceat(products, ends[first:last] - ends[first], axis=1)
        scores[:, first:last] = np.add.reduceat(best, starts, axis=0, dtype=np.float64)
        first = last
    return scores


class LateReranker:
    """MaxSim over a pool as a :class:`heed.types.Reranker`.

    Vectors of documents are computed once for all queries and conditions of a process, as long as
    all of them fit into ``KEPT`` bytes; later ones are computed each time.
    """

    def __init__(self, model: Model, runtime: Runtime = DEFAULT) -> None:
        """Find the files of ``model``, or fetch them; it is loaded when first used.

        Raises :class:`heed.errors.ModelError` as :class:`heed.models.encoders.SentenceEncoder` does.
        """
        self._encoder = LateEncoder(model, runtime)
        self.name = self._encoder.name
        self.config: Config = {"maxsim": VERSION, "encoder": self._encoder.config}
        self._queries: dict[tuple[str, str], Matrix] = {}
        self._documents: dict[tuple[str, int], Matrix] = {}  # by docid and hash
        self._room = KEPT

    def load(self) -> None:
        """Load the model."""
        self._encoder.load()

    def close(self) -> None:
        """Unload the model and forget the vectors; a later score loads it again."""
        self._queries, self._documents, self._room = {}, {}, KEPT
        self._encoder.close()

    def begin(self, queries: Sequence[Query], documents: Callable[[Query], Sequence[Document]]) -> None:
        """Encode all queries, so that the message about long ones covers them all."""
        self._encode(queries)

    def finish(self) -> None:
        """Forget the queries."""
        self._queries.clear()

    def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
        """Return the MaxSim of each document."""
        if not documents:
            return []
        if _key(query) not in self._queries:
            self._encode([query])
        scores: list[float] = maxsim(self._queries[_key(query)], self._vectors(documents))[0].tolist()
        return scores

    def _encode(self, queries: Sequence[Query]) -> None:
        if queries:
            vectors = split(self._encoder.encode_queries(queries))
            self._queries |= zip(map(_key, queries), vectors, strict=True)

    def _vectors(self, documents: Sequence[Document]) -> "Matrix":
        import numpy as np

        keys = [(document.docid, hash(document)) for document in documents]
        missing = {key: document for key, document in zip(keys, documents, strict=True) if key not in self._documents}
        new: dict[tuple[str, int], Matrix] = {}
        if missing:
            new = dict(zip(missing, split(self._encoder.encode_documents(list(missing.values()))), strict=True))
        rows = np.concatenate([new[key] if key in new else self._documents[key] for key in keys])
        for key, matrix in new.items():
            if matrix.nbytes <= self._room:
                self._room -= matrix.nbytes
                self._documents[key] = matrix.copy()  # a copy, so that the matrix it is a part of is freed
        return rows


def _key(query: Query) -> tuple[str, str]:
    return query.query, query.instruction

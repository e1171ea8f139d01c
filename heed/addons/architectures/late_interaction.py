"""Late interaction (ColBERT, ColBERT-X, PLAID-X): a vector for every token of a text, and MaxSim over a pool."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heed.addons.architectures.late_models import load_late_model
from heed.compute import Compute
from heed.errors import ModelError
from heed.models.encoders.bi_encoder import PrefixedText, SentenceEncoder
from heed.models.local.runtime import on_device
from heed.models.local.sentence_models import lengths
from heed.models.registry.entries import Model
from heed.reuse import recipe_version
from heed.types import Config, Document, Matrix, Query, Reranker

KEPT = 4 * 2**30  # bytes of a pool's vectors in memory: 46,000 documents of 180 tokens of 128 numbers
BLOCK = 2**24  # products at a time: 64 MB


class LateEncoder(SentenceEncoder):
    """A MultiVectorEncoder whose matrices are *packed*: a row for each token that is compared.

    Column 0 is 1 where a text begins, else 0; the others are the token's vector. The markers of
    queries and documents are the model's own, before the filled templates of the entry.
    """

    def __init__(self, model: Model, compute: Compute) -> None:
        """As of :class:`SentenceEncoder`."""
        super().__init__(model, compute)
        self.config["late"] = recipe_version("late")
        self._markers: dict[str, int] = {}

    def _similarity(self) -> str:
        return ""

    def _loaded(self) -> Any:
        encoder, self._markers = load_late_model(self._model, self._compute)
        return encoder

    def _vectors(self, inputs: Sequence[PrefixedText], task: str) -> Matrix:
        limit = self._encoder.limit(task)
        counts = lengths(self._encoder, [text.whole for text in inputs])
        shortened = [min(count, limit or count) for count in counts]
        texts = self._batches.read(shortened, lambda batch: self._tokens([inputs[index] for index in batch], task))
        if not all(len(text) and np.isfinite(text).all() for text in texts):
            raise ModelError(f"{self.name}: a {task} without a token to compare, or with a vector that is not finite")
        if task == "query" and self._encoder.whole.similarity_fn_name == "meanmaxsim":
            texts = [text / np.float32(len(text)) for text in texts]  # then the sum of the best products is their mean
        return packed(texts)

    def _tokens(self, inputs: Sequence[PrefixedText], task: str) -> list[Matrix]:
        """Return the vectors of each text's tokens that are compared, mask tokens of queries included."""
        import torch

        encoder = self._encoder.whole
        features = encoder.preprocess([text.text for text in inputs], prompt=inputs[0].prefix, task=task)
        if self._markers:
            features["input_ids"][:, 1] = self._markers[task]
        with torch.inference_mode():
            output = encoder(on_device(features, encoder.device), task=task)
        vectors = output["token_embeddings"].float().cpu().numpy()
        masks = output["attention_mask"].bool().cpu().numpy()
        return [rows[mask] for rows, mask in zip(vectors, masks, strict=True)]


def packed(texts: Sequence[Matrix]) -> Matrix:
    """Return one packed matrix of the token vectors of ``texts``, each of which has a token."""
    rows = np.zeros((sum(map(len, texts)), 1 + texts[0].shape[1]), dtype=np.float32)
    np.concatenate(texts, out=rows[:, 1:])
    rows[np.cumsum([0, *map(len, texts[:-1])]), 0] = 1
    return rows


def begins(rows: Matrix) -> NDArray[np.int64]:
    """Return the rows of a packed matrix at which texts begin."""
    return np.flatnonzero(rows[:, 0])


def split(rows: Matrix) -> list[Matrix]:
    """Return the packed matrix of each text alone."""
    return np.split(rows, begins(rows)[1:])


def maxsim(queries: Matrix, documents: Matrix) -> NDArray[np.float64]:
    """Return the score of each query and document of two packed matrices, shape ``(queries, documents)``.

    The sum over a query's tokens of the best inner product with a token of the document (Khattab and
    Zaharia 2020, section 3.3). Products are float32 as the vectors are; their sum is float64, because in
    float32 two of a thousand documents would now and then get the same sum of 500 tokens.
    """
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


class LateReranker(Reranker):
    """MaxSim over a pool as a :class:`heed.types.Reranker`.

    Vectors of documents are computed once for all queries and conditions of a process, as long as
    all of them fit into ``KEPT`` bytes; later ones are computed each time.
    """

    def __init__(self, model: Model, compute: Compute) -> None:
        """Find the files of ``model``, or fetch them; it is loaded when first used.

        Raises :class:`heed.errors.ModelError` as :class:`heed.models.encoders.bi_encoder.SentenceEncoder` does.
        """
        self._encoder = LateEncoder(model, compute)
        self.name = self._encoder.name
        self.config: Config = {"maxsim": recipe_version("maxsim"), "encoder": self._encoder.config}
        self._queries: dict[Query, Matrix] = {}
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
        if query not in self._queries:
            self._encode([query])
        scores: list[float] = maxsim(self._queries[query], self._vectors(documents))[0].tolist()
        return scores

    def _encode(self, queries: Sequence[Query]) -> None:
        if queries:
            vectors = split(self._encoder.encode_queries(queries))
            self._queries |= zip(queries, vectors, strict=True)

    def _vectors(self, documents: Sequence[Document]) -> Matrix:
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

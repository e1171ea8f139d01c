"""Embeddings from an API; every vector is stored, so that none is paid twice."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from heed.addons.apis.client import AtServer, endpoint
from heed.addons.apis.cost import Bill, about, beginning, check_texts, in_requests
from heed.errors import ServiceError
from heed.formats.document_store import DocumentStore
from heed.models.registry.entries import Model
from heed.models.registry.families import ANSWERS
from heed.models.text import document_text, query_text
from heed.progress import log
from heed.types import Document, Encoder, Matrix, Query

PATH = "embeddings"
TEXTS, TOKENS = 64, 100_000  # a request: Cohere takes 96 texts, OpenAI 300,000 tokens (their API references)
COUNTED = 4_096  # documents that are read at once to count the cost
STORED = "<f4"  # a vector in the cache


class ApiEncoder(AtServer, Encoder):
    """A model of the embeddings API as a :class:`heed.types.Encoder`.

    A document without text is an error: the APIs refuse an empty text, and a zero vector would be
    retrieved for every query alike.
    """

    def __init__(self, model: Model, answers: Path = ANSWERS) -> None:
        """Read key and address from the environment; answers are kept in the folder ``answers``."""
        super().__init__(model, endpoint(model), answers)
        self._dimension: int | None = None
        self._estimated = False

    def begin(self, store: DocumentStore) -> None:
        """Log the estimated cost of embedding ``store``; :class:`DataError` naming its documents without text."""
        bill, documents = Bill(self._model.price), iter(store)
        while batch := list(islice(documents, COUNTED)):
            self._count(bill, self._texts(batch), self._endpoint.provider.documents)
        log.info(bill.line(f"{self.name}, documents"))
        self._estimated = True

    def encode_documents(self, documents: Sequence[Document]) -> Matrix:
        """Return the vectors of documents; one longer than ``max_length`` is cut at its end, a table between rows."""
        texts = self._texts(documents)
        return self._vectors(texts, self._endpoint.provider.documents, "documents", estimated=self._estimated)

    def encode_queries(self, queries: Sequence[Query]) -> Matrix:
        """Return the vectors of queries with their instructions, never cut here; logs how many seem too long."""
        texts = [query_text(self._model, query.query, query.instruction) for query in queries]
        limit = self._model.max_length
        long = sum(about(text) > limit for text in texts) if limit else 0
        if long:
            log.info(
                f"{self.name}: {long} of {len(texts)} queries seem longer than {limit} tokens: the API may cut them"
            )
        return self._vectors(texts, self._endpoint.provider.queries, "queries", estimated=False)

    def _texts(self, documents: Sequence[Document]) -> list[str]:
        check_texts(documents, f"{self.name} cannot embed")
        return [document_text(self._model, document.title, self._cut(document)) for document in documents]

    def _cut(self, document: Document) -> str:
        limit = self._model.document_length or self._model.max_length
        if limit is None:
            return document.text
        # tokens are estimated: where too much is refused, three quarters leave room for what has three letters a token
        room = limit if self._endpoint.provider.cuts else limit * 3 // 4
        room -= about(document_text(self._model, document.title, ""))
        return beginning(document, room)

    def _count(self, bill: Bill, texts: Sequence[str], kind: Mapping[str, str]) -> None:
        by_key = {self._key(text, kind): text for text in texts}
        stored = self._answers.get(list(by_key))
        bill.free += len(stored)
        for batch in _batches({key: text for key, text in by_key.items() if key not in stored}):
            bill.add(list(batch.values()))

    def _key(self, text: str, kind: Mapping[str, str]) -> str:
        return self._endpoint.digest(PATH, {"model": self._endpoint.model, "input": text, **kind})

    def _vectors(self, texts: Sequence[str], kind: Mapping[str, str], inputs: str, estimated: bool) -> Matrix:
        """Return the vectors of ``texts``; one that is repeated is requested once, a stored one not again."""
        if not estimated:
            bill = Bill(self._model.price)
            self._count(bill, texts, kind)
            log.info(bill.line(f"{self.name}, {len(texts)} {inputs}"))
        keys = [self._key(text, kind) for text in texts]
        stored = self._answers.get(list(dict.fromkeys(keys)))
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in stored}
        for batch in _batches(missing):
            body = {"model": self._endpoint.model, "input": list(batch.values()), "encoding_format": "float", **kind}
            rows = self._client.post(PATH, body, partial(_rows, count=len(batch)))
            new = {key: row.astype(STORED).tobytes() for key, row in zip(batch, rows, strict=True)}
            self._answers.put(new)
            stored |= new
        return self._checked([np.frombuffer(stored[key], dtype=STORED).astype(np.float32) for key in keys])

    def _checked(self, rows: Sequence[Any]) -> Matrix:
        dimensions = sorted({len(row) for row in rows} | ({self._dimension} if self._dimension else set()))
        if len(dimensions) > 1:
            sizes = " and of ".join(map(str, dimensions))
            raise ServiceError(
                f"{self._endpoint.shown}: {self._endpoint.model} gave vectors of {sizes} numbers: "
                f"another model answers now; move {self._answers.path} away and run again"
            )
        self._dimension = dimensions[0] if dimensions else None
        matrix = np.array(rows, dtype=np.float32).reshape(len(rows), self._dimension or 0)
        if not self._model.normalize:
            return matrix
        lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
        if not lengths.all():
            raise ServiceError(
                f"{self._endpoint.shown}: {self._endpoint.model} gave a vector of zeros; it has no direction"
            )
        return np.asarray(matrix / lengths, dtype=np.float32)


def _batches(texts: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield the texts in parts that fit into one request."""
    return map(dict, in_requests(((pair, about(pair[1])) for pair in texts.items()), TEXTS, TOKENS))


def _rows(answer: Any, count: int) -> Matrix:
    """Return the vectors of an answer in the order of the inputs; ValueError if they are not ``count`` vectors."""
    data = sorted(answer["data"], key=lambda row: row["index"])
    matrix = np.array([row["embedding"] for row in data], dtype=np.float32)
    if [row["index"] for row in data] != list(range(count)) or matrix.ndim != 2 or not np.isfinite(matrix).all():
        raise ValueError(f"not {count} vectors of one length")
    return matrix

"""Learned sparse retrieval (SPLADE and its kin): a weight for each word of a vocabulary, searched exactly by postings.

Models are those of sentence-transformers' ``SparseEncoder``, with other modules for queries than for documents too. A
masked language model alone, as SPLADE's authors save theirs, is pooled as that class does it.
"""

import logging
from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heed.addons.architectures.late_interaction import LateReranker, LateRetriever, packed
from heed.errors import ModelError
from heed.models.encoders import PrefixedText, SentenceEncoder
from heed.models.files import local_copy, raw_kind, sparse_origin
from heed.models.local import TOKENS, TOKENS_CPU, Batches
from heed.models.registry.entries import Model
from heed.models.sentence_models import (
    SentenceModel,
    TokenisedTexts,
    check_network,
    device_of,
    input_module,
    options,
    similarity_of,
)
from heed.progress import bar, logging_only, timed
from heed.ranking import top
from heed.retrieval.bm25.index import FIELD
from heed.retrieval.bm25.postings import Postings
from heed.retrieval.dense.vectors import Vectors, begins, document_config, split
from heed.retrieval.lucene.index_files import ID
from heed.reuse import Recipe, ensure_folder, recipe_version
from heed.types import Config, Matrix, Query, Run

LOGITS, LOGITS_CPU = 2**28, 2**26  # of a batch, a number for each token and word: 1 GB and 256 MB


def load_sparse_model(model: Model, compute: Any) -> Any:
    """Return the ``SparseEncoder`` of ``model``.

    Raises :class:`ModelError` for a folder without weights of words, which that class would draw at random.
    """
    from sentence_transformers import SparseEncoder

    folder = local_copy(model)
    if not (sparse_origin(folder) or raw_kind(folder).endswith("ForMaskedLM")):
        raise ModelError(
            f"{folder}: no model of learned sparse retrieval; expected what SparseEncoder.save left, or a masked "
            "language model with its head"
        )
    if model.pooling:
        raise ModelError(f"{model.source}: pooling {model.pooling} is of a bi-encoder; leave it or the family out")
    with logging_only("transformers", logging.ERROR):
        encoder = SparseEncoder(str(folder), device=device_of(compute), **options(model, compute))
    check_network(folder, encoder)
    return encoder


class SparseTextEncoder(SentenceEncoder):
    """A ``SparseEncoder`` whose matrices are *packed*: a row for each weight that is not 0.

    Column 0 is 1 where a text begins, else 0; then come the word's number and its weight. A text without any weight has
    one row, of weight 0.
    """

    def _recipe(self) -> Config:
        return {"sparse": recipe_version("sparse")}

    def _similarity(self) -> str:
        return similarity_of(self._model, "dot")

    def _network(self) -> Any:
        return load_sparse_model(self._model, self._compute)

    def _load(self) -> SentenceModel:
        from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding

        encoder = super()._load()
        tokens, logits = (TOKENS_CPU, LOGITS_CPU) if encoder.device.type == "cpu" else (TOKENS, LOGITS)
        most = min(tokens, logits // len(encoder.tokenizer))
        encoder.batches = Batches(self.name, encoder.device, self._compute, most)
        for task in ("query", "document"):
            reader = input_module(encoder.whole, task)
            length = getattr(self._model, f"{task}_length") or self._model.max_length
            if length and isinstance(reader, SparseStaticEmbedding):
                tokenizer: Any = reader.tokenizer
                tokenizer.model_max_length = reader.max_seq_length = length
        return encoder

    def _vectors(self, inputs: Sequence[PrefixedText], task: str) -> Matrix:
        texts = self._rows(inputs, task)
        if not all(np.isfinite(text).all() for text in texts):
            raise ModelError(f"{self.name}: a weight is not finite; the model's precision is too low for a text")
        if self.cosine:
            texts = [text / (1, max(np.linalg.norm(text[:, 1]), np.finfo(np.float32).tiny)) for text in texts]
        return packed(texts)

    def _read(self, texts: TokenisedTexts, task: str, batch: list[int]) -> Sequence[Matrix]:
        """Return number and weight of each text's words."""
        import torch
        from sentence_transformers.util import batch_to_device, select_max_active_dims

        encoder = self._encoder.whole
        most = {"max_active_dims": encoder.max_active_dims} if encoder.max_active_dims else {}
        with torch.inference_mode():
            features = batch_to_device(texts.batch(batch), encoder.device)
            weights = encoder(features, task=task, **most)["sentence_embedding"]
            if most:
                weights = select_max_active_dims(weights, **most)
            rows, words = weights.nonzero(as_tuple=True)
            pairs = torch.column_stack([words.float(), weights[rows, words].float()]).cpu().numpy()
        ends = np.searchsorted(rows.cpu().numpy(), np.arange(1, len(batch)))
        return [text if len(text) else np.zeros((1, 2), dtype=np.float32) for text in np.split(pairs, ends)]


class SparseReranker(LateReranker):
    """The inner product of weights over a pool as a :class:`heed.types.Reranker`."""

    ENCODER = SparseTextEncoder
    VERSION = "sparse"

    def compare(self, query: Matrix, documents: Matrix) -> NDArray[np.float64]:
        """Return the score of each document of a packed matrix for a packed query."""
        weights = np.zeros(1 + int(max(query[:, 1].max(), documents[:, 1].max())))
        weights[query[:, 1].astype(np.intp)] = query[:, 2]
        products = weights[documents[:, 1].astype(np.intp)] * documents[:, 2]
        scores: NDArray[np.float64] = np.add.reduceat(products, begins(documents))
        return scores


class WordWeights(NamedTuple):
    """The weights of words in documents: those of word ``w`` are from ``starts[w]`` to ``starts[w + 1]``."""

    starts: NDArray[np.int64]
    documents: NDArray[np.int32]
    weights: NDArray[np.float32]


class WeightPostings(Postings):
    """Open postings that :func:`write_postings` left: those of BM25, with weights for frequencies."""

    def _field(self, folder: Path, name: str) -> Any:
        return WordWeights(*(self._load(folder, f"{name}.{part}") for part in WordWeights._fields))


def write_postings(vectors: Vectors, folder: Path) -> None:
    """Write the packed ``vectors`` of documents word by word, in the memory of one shard."""
    docids = [docid.encode() for docid in vectors.docids]
    np.save(folder / f"{ID}.texts.npy", np.frombuffer(b"".join(docids), dtype=np.uint8))
    np.save(folder / f"{ID}.ends.npy", np.cumsum([0, *map(len, docids)], dtype=np.int64))
    width = 1 + max(int(part[:, 1].max()) for part in vectors.parts())
    sizes = np.zeros(width, dtype=np.int64)
    for part in vectors.parts():
        sizes += np.bincount(part[part[:, 2] != 0, 1].astype(np.intp), minlength=width)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    np.save(folder / f"{FIELD}.starts.npy", starts)
    documents, weights = (
        np.lib.format.open_memmap(folder / f"{FIELD}.{name}.npy", "w+", dtype, (int(starts[-1]),))
        for name, dtype in (("documents", np.int32), ("weights", np.float32))
    )
    free, first = starts[:-1].copy(), 0  # where the next weight of each word goes
    for part in vectors.parts():
        numbers = first - 1 + np.cumsum(part[:, 0], dtype=np.int64)
        rows = np.flatnonzero(part[:, 2])
        words = part[rows, 1].astype(np.intp)
        rows, sizes = rows[np.argsort(words, kind="stable")], np.bincount(words, minlength=width)
        places = np.repeat(free - np.cumsum(sizes) + sizes, sizes) + np.arange(len(rows))
        documents[places], weights[places] = numbers[rows], part[rows, 2]
        free, first = free + sizes, int(numbers[-1]) + 1


class SparseRetriever(LateRetriever):
    """The inner product of weights with every document of a collection as a :class:`heed.types.Retriever`.

    Exact: no weight is pruned or quantised. As in other inverted indexes, documents with a score of 0 or less are in no
    list.
    """

    VERSION = "sparse"

    def load(self) -> None:
        """Encode the documents unless their weights are there, and open their postings."""
        _ = self._postings

    @cached_property
    def _postings(self) -> WeightPostings:
        vectors, folder = self._embedded(), self._folder / "postings"
        recipe: Recipe = {
            "sparse": recipe_version("sparse"),
            "documents": self._corpus.documents.digest,
            "encoder": document_config(self._encoder),
        }
        ensure_folder(folder, recipe, partial(self._write, vectors))
        return WeightPostings(folder)

    def _write(self, vectors: Vectors, folder: Path) -> None:
        with timed("matrix", self.name) as work:
            write_postings(vectors, folder)
            work.did(len(vectors.docids), "documents")

    def search(self, queries: Sequence[Query], depth: int) -> Run:
        """Return the ``depth`` best documents of each query."""
        if not queries:
            return {}
        postings, vectors = self._postings, split(self._encoder.encode_queries(queries))
        shown = bar(vectors, len(vectors), f"{self.name}.{queries[0].condition}", "topics")
        return {query.qid: self._best(postings, vector, depth) for query, vector in zip(queries, shown, strict=True)}

    def _best(self, postings: WeightPostings, query: Matrix, depth: int) -> dict[str, float]:
        words: Any = postings.fields[FIELD]
        sums = np.zeros(postings.size)
        for number, weight in query[:, 1:].tolist():
            if number < len(words.starts) - 1:
                span = slice(words.starts[int(number)], words.starts[int(number) + 1])
                sums[words.documents[span]] += words.weights[span].astype(np.float64) * weight
        least = np.partition(sums, -depth)[-depth] if depth < len(sums) else 0
        numbers = np.flatnonzero((sums >= least) & (sums > 0))
        return top(dict(zip(postings.docids_of(numbers), sums[numbers].tolist(), strict=True)), depth)

    def close(self) -> None:
        """Forget the postings, and close the model."""
        self.__dict__.pop("_postings", None)
        super().close()

"""Bi-encoders of sentence-transformers, by local path or hub id, and LoRA adapters of causal models as bi-encoders."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from heed.compute import Compute
from heed.errors import ModelError
from heed.models.files import ADAPTER, fingerprint, loading, local_copy
from heed.models.language_models import adapter_folder, base_of, merged
from heed.models.local import LocalModel
from heed.models.registry.entries import Model
from heed.models.sentence_models import (
    SentenceModel,
    TokenisedTexts,
    check_network,
    device_of,
    lengths,
    load_sentence_model,
    modules,
    similarity_of,
)
from heed.models.text import document_text, prompt_of, query_text, whole_rows
from heed.models.weights import POOLER
from heed.progress import log
from heed.types import Document, Encoder, Matrix, Query


class PrefixedText(NamedTuple):
    """A text and the prefix that the model reads before it, which is pooled too unless the entry says otherwise."""

    prefix: str
    text: str

    @property
    def whole(self) -> str:
        """The whole text that the model reads."""
        return self.prefix + self.text


class SentenceEncoder(LocalModel, Encoder):
    """A sentence-transformers model as a :class:`heed.types.Encoder`.

    What the entry leaves open is as the model's own files say: prompts, pooling, normalisation, and
    a cosine between vectors, which is the inner product of normalised ones.
    """

    def __init__(self, model: Model, compute: Compute) -> None:
        super().__init__(model, compute)
        similarity = self._similarity()
        self.cosine = similarity == "cosine"
        if similarity:
            self.config["compared"] = similarity

    def _similarity(self) -> str:
        """Return how vectors are compared, empty where that is not by one product of two vectors."""
        return similarity_of(self._model)

    @property
    def _encoder(self) -> SentenceModel:
        encoder: SentenceModel = self._loaded
        return encoder

    def _load(self) -> SentenceModel:
        with loading(self._model.source):
            return SentenceModel(self._model, self._network(), self._compute)

    def _network(self) -> Any:
        """Return a loaded model of sentence-transformers, as its files say."""
        return load_sentence_model(self._model, self._compute)

    def encode_documents(self, documents: Sequence[Document]) -> Matrix:
        """Return the vectors of documents; long ones are cut at their end, tables between rows."""
        return self._vectors([self._document(self._cut(document)) for document in documents], "document")

    def _cut(self, document: Document) -> Document:
        limit = self._encoder.limit("document")
        if not document.is_table or limit is None:
            return document

        def count(rows: str) -> int:
            return lengths(self._encoder, [self._document(document._replace(text=rows)).whole])[0]

        return document._replace(text=whole_rows(document, limit, count))

    def _document(self, document: Document) -> PrefixedText:
        return self._input("document", lambda model: document_text(model, document.title, document.text))

    def encode_queries(self, queries: Sequence[Query]) -> Matrix:
        """Return the vectors of queries with their instructions; logs how many the model must cut."""
        inputs = [self._query(query.query, query.instruction) for query in queries]
        self._log_cut(inputs)
        return self._vectors(inputs, "query")

    def _query(self, query: str, instruction: str) -> PrefixedText:
        return self._input("query", lambda model: query_text(model, query, instruction))

    def _input(self, task: str, filled: Callable[[Model], str]) -> PrefixedText:
        """Return the text of a model's templates, ``filled``, split where its prefix is not pooled.

        Without a template the prefix is the model's own prompt.
        """
        whole, template = filled(self._model), self._model.query if task == "query" else self._model.document
        if template is None or self._model.pool_prefix:
            return PrefixedText(prompt_of(self._model, self._encoder.prompts, task), whole)
        prefix = whole.removesuffix(filled(_unprefixed(self._model)))
        prefix = prefix.rstrip(" ")  # a space is part of the token after it, which is pooled
        return PrefixedText(prefix, whole.removeprefix(prefix))

    def _log_cut(self, inputs: Sequence[PrefixedText]) -> None:
        limit = self._encoder.limit("query")
        if limit is None:
            return
        counts = lengths(self._encoder, [text.whole for text in inputs])
        cut = [text for text, count in zip(inputs, counts, strict=True) if count > limit]
        if cut:
            log.info(
                f"{self.name}: {len(cut)} of {len(inputs)} queries are longer than {limit} tokens: their end is cut"
            )
        longest = max(lengths(self._encoder, [text.prefix for text in cut]), default=0)
        if longest >= limit and not self._model.pool_prefix:
            raise ModelError(
                f"{self.name}: an instruction of {longest} tokens leaves no room for its query in the model's {limit}; "
                "choose a model with a longer limit"
            )

    def _rows(self, inputs: Sequence[PrefixedText], task: str) -> list[Any]:
        """Return the vector of each text, in order; texts with the same prefix are read together, by length."""
        groups: dict[str, list[int]] = {}
        for index, text in enumerate(inputs):
            groups.setdefault(text.prefix, []).append(index)
        rows: dict[int, Any] = {}
        for prefix, group in groups.items():
            texts = TokenisedTexts(self._encoder, [inputs[index].text for index in group], prefix, task)
            counts = texts.lengths(self._encoder.limit(task))
            rows.update(zip(group, self._encoder.batches.read(counts, partial(self._read, texts, task)), strict=True))
        return [rows[index] for index in range(len(inputs))]

    def _vectors(self, inputs: Sequence[PrefixedText], task: str) -> Matrix:
        """Return one vector a row."""
        vectors = np.array(self._rows(inputs, task), dtype=np.float32)
        if not np.isfinite(vectors).all():
            raise ModelError(f"{self.name}: a vector is not finite; the model's precision is too low for a text")
        if self.cosine:  # in float32: vectors of half precision are not of length 1
            vectors /= np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), np.finfo(np.float32).tiny)
        return vectors

    def _read(self, texts: TokenisedTexts, task: str, batch: list[int]) -> Sequence[Matrix]:
        import torch

        features = texts.batch(batch)
        with torch.inference_mode():
            vectors: Sequence[Matrix] = self._encoder.vectors(features, task).float().cpu().numpy()
        return vectors


def _unprefixed(model: Model) -> Model:
    """Return ``model`` with templates that begin at the query, or at the document's title or text."""
    return model._replace(
        query=_from(model.query, "query"),
        bare=_from(model.bare, "query"),
        document=_from(model.document, "title", "text"),
        untitled=_from(model.untitled, "text"),
    )


def _from(template: str | None, *names: str) -> str | None:
    if template is None:
        return None
    starts = (template.find(f"{{{name}}}") for name in names)
    return template[min((start for start in starts if start >= 0), default=0) :]


class PeftEncoder(SentenceEncoder):
    """An adapter merged into its base as an :class:`heed.types.Encoder`.

    Where the entry does not say otherwise: the hidden state of the end-of-text token, which is
    appended to every text, at length 1, with padding on the right, as MTEB's loader of RepLLaMA and
    Promptriever's own scripts have it.
    """

    def __init__(self, model: Model, compute: Compute) -> None:
        """Find the files of adapter and base, or fetch them; they are loaded when first used.

        Raises :class:`ModelError` for what is no adapter, one without weights, and a base
        that cannot be fetched; for a gated one it says how access is granted.
        """
        model = as_trained(model)
        base = base_of(model)
        if base is None:
            raise ModelError(f"{model.source}: no {ADAPTER}, so it is no adapter; leave the family out")
        adapter_folder(model)  # checked before the base is fetched
        super().__init__(model, compute)
        self.config["base"] = fingerprint(base)
        self._base = base

    def _network(self) -> Any:
        from sentence_transformers import SentenceTransformer

        folder = local_copy(self._base)
        parts = modules(self._base, folder, self._compute)
        check_network(folder, parts, (POOLER,))
        parts[0].model = merged(self._model, lambda: parts[0].model)
        return SentenceTransformer(modules=parts, device=device_of(self._compute))


def as_trained(model: Model) -> Model:
    """Return an adapter's entry with what holds where it says nothing; see :class:`PeftEncoder`."""
    pooling = model.pooling or "lasttoken"
    return model._replace(
        pooling=pooling,
        append_eos=model.append_eos or pooling == "lasttoken",
        normalize=model.similarity != "dot" if model.normalize is None else model.normalize,
        padding=model.padding or "right",
    )

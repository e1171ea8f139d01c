"""Bi-encoders of sentence-transformers: any model by local path or hub id."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pipelines.documents import Document
from pipelines.errors import HeedError
from pipelines.made import Recipe
from pipelines.progress import say
from pipelines.registry import Model, fingerprint, local_copy, unusable
from pipelines.rendering import document_text, query_text
from pipelines.table_text import fit

if TYPE_CHECKING:
    from pipelines.vectors import Matrix

BATCH = 32


class SentenceEncoder:
    """A sentence-transformers model as an :class:`pipelines.vectors.Encoder`."""

    def __init__(self, model: Model, device: str) -> None:
        """Make sure that the files of ``model`` are here; it is loaded on ``device`` when first used.

        Only safetensors weights are loaded and no code of the model's repository is run. Raises
        :class:`HeedError` if the model cannot be found.
        """
        self.name = model.name
        self.recipe: Recipe = fingerprint(model)
        self._model, self._device = model, None if device == "auto" else device

    @cached_property
    def _encoder(self) -> Any:
        from sentence_transformers import SentenceTransformer

        folder = str(local_copy(self._model))
        try:
            if self._model.pooling is None:
                safe = {"use_safetensors": True}
                encoder = SentenceTransformer(folder, device=self._device, model_kwargs=safe)
            else:
                encoder = SentenceTransformer(modules=_modules(self._model, folder), device=self._device)
        except (OSError, ValueError, RuntimeError) as error:
            raise unusable(self._model.source, error) from error
        if self._model.max_length is not None:
            encoder.max_seq_length = self._model.max_length
        return encoder.eval()

    def documents(self, documents: Sequence[Document]) -> "Matrix":
        """Vectors of documents; what is longer than the model's limit is cut at its end, a table between rows."""
        texts = [document_text(self._model, document.title, self._cut(document)) for document in documents]
        if self._model.document is None:
            return self._checked(self._encoder.encode_document(texts, batch_size=BATCH, show_progress_bar=False))
        return self._checked(self._encoder.encode(texts, prompt="", batch_size=BATCH, show_progress_bar=False))

    def _cut(self, document: Document) -> str:
        limit = self._encoder.max_seq_length
        if not document.is_table or not limit:
            return document.text
        room = limit - self._tokens(document_text(self._model, document.title, ""))
        return fit(document.text, room, lambda text: self._tokens(text))

    def _tokens(self, text: str) -> int:
        return len(self._encoder.tokenizer(text)["input_ids"])

    def queries(self, topics: Sequence[tuple[str, str]]) -> "Matrix":
        """Vectors of queries with their instructions; those that the model must cut are told on stderr."""
        texts = [query_text(self._model, query, instruction) for query, instruction in topics]
        self._tell_cut(texts)
        if self._model.query is None:
            return self._checked(self._encoder.encode_query(texts, batch_size=BATCH, show_progress_bar=False))
        return self._checked(self._encoder.encode(texts, prompt="", batch_size=BATCH, show_progress_bar=False))

    def _tell_cut(self, texts: list[str]) -> None:
        limit = self._encoder.max_seq_length
        cut = sum(self._tokens(text) > limit for text in texts) if limit else 0
        if cut:
            say(f"{self.name}: {cut} of {len(texts)} queries are longer than {limit} tokens: their instruction is cut")

    def _checked(self, vectors: "Matrix") -> "Matrix":
        import numpy as np

        if not np.isfinite(vectors).all():
            raise HeedError(f"{self.name}: a vector is not finite; the model's precision is too low for a text")
        return vectors


def _modules(model: Model, folder: str) -> list[Any]:
    """Transformer, pooling and normalisation as the entry says, whatever the model's files say."""
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    transformer = Transformer(folder, model_kwargs={"use_safetensors": True})
    pooling = Pooling(transformer.get_embedding_dimension(), pooling_mode=model.pooling)
    return [transformer, pooling, Normalize()] if model.normalize else [transformer, pooling]

"""Cross-encoders of sentence-transformers: any classification reranker by local path or hub id."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from pipelines.docstore import Docstore
from pipelines.documents import Document
from pipelines.errors import HeedError
from pipelines.made import Recipe
from pipelines.registry import Model, fingerprint, local_copy, unusable
from pipelines.rendering import document_text, query_text
from pipelines.table_text import fit
from pipelines.topics import Topic

BATCH = 32


class CrossEncoderReranker:
    """A sentence-transformers CrossEncoder as a :class:`pipelines.rerank.Reranker`."""

    def __init__(self, model: Model, store: Docstore, device: str) -> None:
        """Make sure that the files of ``model`` are here; it is loaded on ``device`` when first used."""
        self.name = model.name
        self.recipe: Recipe = {**fingerprint(model), "documents": store.digest}
        self._model, self._store, self._device = model, store, None if device == "auto" else device

    @cached_property
    def _encoder(self) -> Any:
        from sentence_transformers import CrossEncoder

        options: dict[str, Any] = {"model_kwargs": {"use_safetensors": True}, "max_length": self._model.max_length}
        try:
            encoder = CrossEncoder(str(local_copy(self._model)), device=self._device, **options)
        except (OSError, ValueError, RuntimeError) as error:
            raise unusable(self._model.source, error) from error
        if encoder.num_labels != 1:
            raise HeedError(f"{self._model.source}: gives {encoder.num_labels} labels a pair, expected 1 score")
        return encoder

    def prepare(self) -> None:
        """Load the model."""
        _ = self._encoder

    def score(self, topic: Topic, condition: str, docids: Sequence[str]) -> Sequence[float]:
        """The model's logit for each document.

        The logit, not its sigmoid: a saturated sigmoid makes ties that the model did not mean.
        Where a pair is too long the document is cut, a table between rows, never the query or the
        instruction; raises :class:`HeedError` where these alone leave no room for the document.
        """
        if not docids:
            return []
        instruction = topic.instructions[condition] if condition != "query" else ""
        query = query_text(self._model, topic.query, instruction)
        room = self._room(topic.qid, query)
        found = self._store.get(docids)
        texts = [document_text(self._model, one.title, self._cut(one, room)) for one in found]
        logits = self._encoder.predict(
            [(query, text) for text in texts],
            batch_size=BATCH,
            show_progress_bar=False,
            activation_fn=_identity,
            processing_kwargs={"text": {"padding": True, "truncation": "only_second"}},
        )
        return [float(logit) for logit in logits]

    def _room(self, qid: str, query: str) -> int | None:
        """How many tokens of a document fit beside the query; None for a model without a limit."""
        limit = self._encoder.max_seq_length
        length = len(self._encoder.tokenizer(query, "")["input_ids"])
        if limit and length >= limit:
            raise HeedError(
                f"{self.name}: topic {qid}: query and instruction take {length} of the model's {limit} tokens "
                "and leave no room for a document; choose a model with a longer limit"
            )
        return limit - length if limit else None

    def _cut(self, document: Document, room: int | None) -> str:
        if room is None or not document.is_table:
            return document.text
        tokenizer = self._encoder.tokenizer
        return fit(document.text, room, lambda text: len(tokenizer(text, add_special_tokens=False)["input_ids"]))


def _identity(logits: Any) -> Any:
    return logits.float()

"""Cross-encoders of sentence-transformers: any classification reranker by local path or hub id."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from heed.errors import ModelError
from heed.models.language_models import INT8, cannot_round, precision
from heed.models.model_files import fingerprint, local_copy, runs_remote_code, unusable
from heed.models.pair_tokens import PairTokens
from heed.models.registry import Model
from heed.models.rendering import document_text, query_text
from heed.models.runtime import DEFAULT, Runtime, unload
from heed.tables.text import fit
from heed.types import Config, Document, Query

BATCH = 32


class CrossEncoderReranker:
    """A sentence-transformers CrossEncoder as a :class:`heed.types.Reranker`."""

    def __init__(self, model: Model, runtime: Runtime = DEFAULT) -> None:
        """Find the files of ``model``, or fetch them; it is loaded when first used.

        Raises :class:`ModelError` for a model with code of its own that the user has not allowed.
        """
        runs_remote_code(model)  # checked before anything is fetched
        self.name = model.name
        self.config: Config = {**fingerprint(model), "precision": precision(model, runtime.device)}
        self._model, self._device = model, None if runtime.device == "auto" else runtime.device

    @cached_property
    def _encoder(self) -> Any:
        from sentence_transformers import CrossEncoder

        model = self._model
        weights = {"use_safetensors": True, "dtype": precision(model, self._device or "auto")}
        options: dict[str, Any] = {"max_length": model.max_length, "trust_remote_code": runs_remote_code(model)}
        try:
            encoder = CrossEncoder(str(local_copy(model)), device=self._device, model_kwargs=weights, **options)
        except (OSError, ValueError, RuntimeError, ImportError) as error:
            raise unusable(model.source, error) from error
        _check_label(model, encoder.num_labels)
        rounded = model.dtype == INT8
        if not _unpad(encoder, rounded) and rounded:
            raise cannot_round(model)
        return encoder

    @cached_property
    def _tokens(self) -> PairTokens | None:
        """None where the model's own code adds more to a pair than its tokenizer does."""
        from sentence_transformers.sentence_transformer.modules import Transformer

        encoder = self._encoder
        first = encoder[0]
        plain = isinstance(first, Transformer) and set(first.modality_config) == {"text"} and encoder.tokenizer.is_fast
        if not plain or encoder.default_prompt_name:
            return None
        return PairTokens(encoder.tokenizer, encoder.max_seq_length)

    def load(self) -> None:
        """Load the model."""
        _ = self._encoder

    def close(self) -> None:
        """Unload the model; a later score loads it again."""
        unload(self, "_encoder", "_tokens")

    def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
        """Return the model's logit for each document; of several labels the log-odds of the entry's ``label``.

        For two labels these are ``logit[label] − logit[other]``, which orders documents as the
        softmax does. Neither sigmoid nor softmax: where they saturate they make ties that the model
        did not mean.
        Where a pair is too long the document is cut, a table between rows, never the query or the
        instruction; raises :class:`ModelError` where these alone leave no room for the document.
        """
        if not documents:
            return []
        text = query_text(self._model, query.query, query.instruction)
        room = self._room(query.qid, text)
        texts = [document_text(self._model, document.title, self._cut(document, room)) for document in documents]
        logits = self._logits(text, [document.docid for document in documents], texts)
        if self._encoder.num_labels == 1:
            return [logit for [logit] in logits]
        return [_log_odds(row, self._model.label or 0) for row in logits]

    def _logits(self, query: str, docids: Sequence[str], texts: list[str]) -> list[list[float]]:
        """Return the logits of each pair, as the model's own predict does."""
        pairs = self._tokens.pairs(query, docids, texts) if self._tokens else None
        if pairs is None:
            logits = self._encoder.predict(
                [(query, text) for text in texts],
                batch_size=BATCH,
                show_progress_bar=False,
                activation_fn=_identity,
                processing_kwargs={"text": {"padding": True, "truncation": "only_second"}},
            )
            return logits.reshape(len(texts), -1).tolist()  # type: ignore[no-any-return]
        return self._in_batches(pairs)

    def _in_batches(self, pairs: dict[str, list[list[int]]]) -> list[list[float]]:
        import torch
        from sentence_transformers.util import batch_to_device

        from heed.models.unpadded import in_batches

        encoder = self._encoder
        network, names = encoder[0].model, encoder.tokenizer.model_input_names

        def read(batch: list[int]) -> list[list[float]]:
            ids = {name: [rows[index] for index in batch] for name, rows in pairs.items() if name in names}
            features = batch_to_device(dict(encoder.tokenizer.pad(ids, return_tensors="pt")), encoder.device)
            with torch.inference_mode():
                logits: list[list[float]] = encoder(features)["scores"].float().reshape(len(batch), -1).tolist()
            return logits

        base = getattr(network, network.base_model_prefix, None)
        by_index: dict[int, list[float]] = {}
        for batch, logits in in_batches(list(map(len, pairs["input_ids"])), read, base, encoder.device):
            by_index.update(zip(batch, logits, strict=True))
        return [by_index[index] for index in range(len(by_index))]

    def _room(self, qid: str, query: str) -> int | None:
        """Return how many tokens of a document fit beside the query; None for a model without a limit."""
        limit = self._encoder.max_seq_length
        length = len(self._encoder.tokenizer(query, "")["input_ids"])
        if limit and length >= limit:
            raise ModelError(
                f"{self.name}: topic {qid}: query and instruction take {length} of the model's {limit} tokens "
                "and leave no room for a document; choose a model with a longer limit"
            )
        return limit - length if limit else None

    def _cut(self, document: Document, room: int | None) -> str:
        if room is None or not document.is_table:
            return document.text
        tokenizer = self._encoder.tokenizer
        return fit(document.text, room, lambda text: len(tokenizer(text, add_special_tokens=False)["input_ids"]))


def _check_label(model: Model, labels: int) -> None:
    """Raise :class:`ModelError` for a head of several labels whose entry names none, or one that it lacks."""
    if labels > 1 and model.label is None:
        raise ModelError(
            f"{model.source}: gives {labels} labels a pair, expected 1 score; say in its entry which label is "
            f"relevance (0 to {labels - 1}), as label"
        )
    if model.label is not None and not 0 <= model.label < labels:
        raise ModelError(f"{model.source}: gives {labels} labels a pair, the entry asks for label {model.label}")


def _unpad(encoder: Any, int8: bool) -> bool:
    """Replace a classifier's network by one without padding, where its head reads the first token; whether it could."""
    from transformers import (
        BertForSequenceClassification,
        CamembertForSequenceClassification,
        RobertaForSequenceClassification,
        XLMRobertaForSequenceClassification,
    )

    from heed.models.unpadded import unpadded

    kinds = (
        BertForSequenceClassification,
        CamembertForSequenceClassification,
        RobertaForSequenceClassification,
        XLMRobertaForSequenceClassification,
    )
    network: Any = getattr(encoder[0], "model", None)
    replacement = unpadded(network.base_model, True, int8) if type(network) in kinds else None
    if replacement:
        setattr(network, network.base_model_prefix, replacement)
    return replacement is not None


def _log_odds(logits: list[float], label: int) -> float:
    """Return ``log(p / (1 − p))`` of a label's softmax: its logit less the log of the others' summed exponentials."""
    others = logits[:label] + logits[label + 1 :]
    highest = max(others)
    return logits[label] - highest - math.log(math.fsum(math.exp(other - highest) for other in others))


def _identity(logits: Any) -> Any:
    return logits.float()

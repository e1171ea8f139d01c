"""Cross-encoders of sentence-transformers: any classification reranker by local path or hub id.

Some read a pair as messages of a chat template. Query and document are messages of these roles, the instruction is the
system message where the template reads one (Qwen3-Reranker, mxbai-rerank v2); behind the query otherwise (zerank-2).
"""

import json
import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from heed.addon_table import BROUGHT, brought
from heed.compute import Compute
from heed.errors import ModelError, first_line
from heed.files import read_bytes
from heed.models.files import ADAPTER, architecture_of, loading, local_copy, source_folder
from heed.models.local import Batches, LocalModel
from heed.models.registry.entries import Model
from heed.models.registry.families import CROSS_ENCODER
from heed.models.sentence_models import (
    batches_of,
    check_network,
    device_of,
    one_by_one,
    options,
    padded_batch,
    preprocessed,
    set_longest,
)
from heed.models.text import Cutter, document_text, query_text, room_for_document, whole_rows
from heed.reuse import recipe_version
from heed.types import Config, Document, Query, Reranker

WHOLE: dict[str, dict[str, Any]] = {
    "text": {"padding": False, "truncation": False, "verbose": False},
    "common": {"return_tensors": None},
}
MOST = 10**9  # tokens of a model without a limit
PROBE = ("alpha", "beta", "gamma")  # query, document and instruction of a pair that shows what the template reads


def reads_messages(folder: Path) -> bool:
    """Whether the sentence-transformers model in ``folder`` puts its input into a chat template."""
    path = folder / "sentence_bert_config.json"
    return path.is_file() and "message" in (json.loads(read_bytes(path)).get("modality_config") or {})


class ChatPairs:
    """The pairs of a loaded CrossEncoder as the ids of its filled template, cut at the document alone."""

    def __init__(self, model: Model, encoder: Any) -> None:
        """Raise :class:`ModelError` for a slow tokenizer."""
        self._model, self._encoder, self._tokenizer = model, encoder, encoder.tokenizer
        self._cutter = Cutter(model, self._tokenizer)
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token  # never seen: it is masked
        self._default: str | None = encoder.prompts.get(encoder.default_prompt_name)

    @cached_property
    def has_place(self) -> bool:
        """Whether the template has a place for the instruction: a system message shows, and hides nothing else."""
        [ids] = self._rendered([PROBE[:2]], PROBE[2])["input_ids"]
        shown: str = self._tokenizer.decode(ids)
        return all(word in shown for word in PROBE)

    def inputs(self, name: str, query: Query, documents: Sequence[Document]) -> dict[str, Any]:
        """Return the tokens of each document's pair, not padded, and what else the network reads.

        A document that is too long is cut, a table between rows. Raises :class:`ModelError` where query,
        instruction and template alone leave no room for one, whose message ``name`` begins, and for a template that
        does not read query and document.
        """
        text, prompt = self._placed(query)
        limit = self._encoder.max_seq_length or MOST
        features: dict[str, Any] = {}

        def lengths(texts: list[str]) -> list[int]:
            features.update(self._rendered([(text, other) for other in texts], prompt))
            return list(map(len, features["input_ids"]))

        frame = lengths([""])[0]
        topic = f"{name}: topic {query.qid}"
        room = room_for_document(topic, "query, instruction and chat template", frame, limit)
        self._cutter.fitting(documents, room, limit, lengths)
        return features

    def _placed(self, query: Query) -> tuple[str, str | None]:
        """Return the query's message, and the system message."""
        if self._model.query is not None or not self.has_place:
            return query_text(self._model, query.query, query.instruction), self._default
        return query.query, query.instruction or self._model.task or self._default

    def _rendered(self, pairs: list[tuple[str, str]], prompt: str | None) -> dict[str, Any]:
        from jinja2 import TemplateError

        try:
            return dict(self._encoder.preprocess(pairs, prompt=prompt, processing_kwargs=WHOLE))
        except (TemplateError, ValueError) as error:
            raise ModelError(
                f"{self._model.source}: its chat template cannot take a pair ({first_line(error)}); expected one that "
                "reads messages of the roles query and document"
            ) from error


class PairModel(NamedTuple):
    """A loaded ``CrossEncoder``, how its pairs are divided, and their messages where it has a chat template."""

    encoder: Any
    batches: Batches
    chat: ChatPairs | None


class CrossEncoderReranker(LocalModel, Reranker):
    """A sentence-transformers CrossEncoder as a :class:`heed.types.Reranker`."""

    independent = True

    def __init__(self, model: Model, compute: Compute) -> None:
        """As of :class:`LocalModel`; :class:`ModelError` for an adapter too."""
        super().__init__(model, compute)
        if (source_folder(model) / ADAPTER).is_file():
            raise ModelError(
                f"{model.source}: is a LoRA adapter of a classifier; merge it first with peft's merge_and_unload(), "
                "save that network with its tokenizer, and give its folder"
            )

    def _recipe(self) -> Config:
        return {"cross-encoder": recipe_version("cross-encoder")}

    def _load(self) -> PairModel:
        with loading(self._model.source):
            encoder = load_cross_encoder(self._model, self._compute)
        _check_label(self._model, encoder.num_labels)
        network = getattr(encoder[0], "model", None)
        if network is not None and network.config.get_text_config().pad_token_id is None:  # decoders refuse batches
            batches = one_by_one(self.name, encoder, "its config.json names no pad_token_id")
        else:
            batches = batches_of(self.name, encoder, self._compute)
        chat = ChatPairs(self._model, encoder) if "message" in encoder[0].modality_config else None
        return PairModel(encoder.eval(), batches, chat)

    @property
    def _encoder(self) -> Any:
        return self._loaded.encoder

    def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
        """Return the model's logit for each document; of several labels the log-odds of the entry's ``label``.

        For two labels these are ``logit[label] − logit[other]``, which orders documents as the
        softmax does. Neither sigmoid nor softmax: where they saturate they make ties that the model
        did not mean.
        Where a pair is too long the document is cut, a table between rows, never the query or the
        instruction; raises :class:`ModelError` where these alone leave no room for the document.
        A model with a chat template reads messages: see :mod:`heed.models.rerankers.cross_encoder`.
        """
        if not documents:
            return []
        chat, batches = self._loaded.chat, self._loaded.batches
        features = chat.inputs(self.name, query, documents) if chat else self._pairs(query, documents)
        logits = batches.read(list(map(len, features["input_ids"])), lambda batch: self._read(features, batch))
        if self._encoder.num_labels == 1:
            return [logit for [logit] in logits]
        return [_log_odds(row, self._model.label or 0) for row in logits]

    def _pairs(self, query: Query, documents: Sequence[Document]) -> dict[str, Any]:
        """Return the tokens of each pair, not padded, and what else the network reads."""
        text = query_text(self._model, query.query, query.instruction)
        room = self._room(query.qid, text)
        texts = [document_text(self._model, document.title, self._cut(document, room)) for document in documents]
        return self._tokens([(text, other) for other in texts], "only_second")

    def _tokens(self, pairs: list[tuple[str, str]], truncation: str | bool) -> dict[str, Any]:
        """Return the tokens of ``pairs`` after the prompt of the model's files, as ``CrossEncoder.predict`` does."""
        encoder = self._encoder
        prompt = encoder.prompts.get(encoder.default_prompt_name)
        unpadded = {**WHOLE, "text": {**WHOLE["text"], "truncation": truncation}}
        return preprocessed(self.name, encoder, pairs, {"prompt": prompt, "processing_kwargs": unpadded})

    def _read(self, features: dict[str, Any], batch: list[int]) -> list[list[float]]:
        import torch
        from sentence_transformers.util import batch_to_device

        encoder = self._encoder
        with torch.inference_mode():
            output = encoder(batch_to_device(padded_batch(encoder.tokenizer, features, batch), encoder.device))
        if "scores" not in output:
            raise ModelError(f"{self.name}: its modules give no scores; copy all files of the model")
        logits: list[list[float]] = output["scores"].float().reshape(len(batch), -1).tolist()
        return logits

    def _room(self, qid: str, query: str) -> int | None:
        """Return how many tokens of a document fit beside the query; None for a model without a limit."""
        limit = self._encoder.max_seq_length
        if not limit:
            return None
        taken = len(self._tokens([(query, "")], False)["input_ids"][0])
        return room_for_document(f"{self.name}: topic {qid}", "query and instruction", taken, limit)

    def _cut(self, document: Document, room: int | None) -> str:
        """Return the document's text, a table with as many rows as have room; the tokenizer cuts other text."""
        if room is None:
            return document.text
        tokenizer = self._encoder.tokenizer
        return whole_rows(document, room, lambda text: len(tokenizer(text, add_special_tokens=False)["input_ids"]))


def load_cross_encoder(model: Model, compute: Compute) -> Any:
    """Return the ``CrossEncoder`` of ``model``; :class:`ModelError` where its files do not hold exactly its weights."""
    from sentence_transformers import CrossEncoder

    folder = local_copy(model)
    if (of_add_on := f"{CROSS_ENCODER} {architecture_of(folder)}") in BROUGHT:
        return brought(of_add_on)(model, folder, compute)
    encoder = CrossEncoder(str(folder), device=device_of(compute), **options(model, compute))
    check_network(folder, encoder)
    set_longest(model, encoder[0])
    return encoder


def _check_label(model: Model, labels: int) -> None:
    """Raise :class:`ModelError` for a head of several labels whose entry names none, or one that it lacks."""
    if labels > 1 and model.label is None:
        raise ModelError(
            f"{model.source}: gives {labels} labels a pair, expected 1 score; say in its entry which label is "
            f"relevance (0 to {labels - 1}), as label"
        )
    if model.label is not None and not 0 <= model.label < labels:
        raise ModelError(f"{model.source}: gives {labels} labels a pair, the entry asks for label {model.label}")


def _log_odds(logits: list[float], label: int) -> float:
    """Return ``log(p / (1 − p))`` of a label's softmax: its logit less the log of the others' summed exponentials."""
    others = logits[:label] + logits[label + 1 :]
    highest = max(others)
    return logits[label] - highest - math.log(math.fsum(math.exp(other - highest) for other in others))

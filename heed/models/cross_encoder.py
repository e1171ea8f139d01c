"""Cross-encoders of sentence-transformers: any classification reranker by local path or hub id."""

import math
from array import array
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

from heed.errors import ModelError
from heed.models import enc_t5
from heed.models.chat_pairs import ChatPairs
from heed.models.language_models import INT8, cannot_round, precision
from heed.models.model_files import fingerprint, loading, local_copy, runs_remote_code
from heed.models.registry import Model
from heed.models.rendering import document_text, query_text
from heed.models.runtime import DEFAULT, Runtime, on_device, unload
from heed.models.yes_no import in_order
from heed.tables.text import fit
from heed.types import Config, Document, Query

BATCH = 32
KEPT = 25_000_000  # tokens of documents that are kept, of 4 bytes each


class Frame(NamedTuple):
    """The tokens before and after a document's, with their types; ``kind`` is the document's own type."""

    head: list[int]
    tail: list[int]
    head_kinds: list[int]
    tail_kinds: list[int]
    kind: int


class PairTokens:
    """Pairs of at most ``limit`` tokens, cut at the document; the tokenizer's own ids, assembled from parts."""

    def __init__(self, tokenizer: Any, limit: int | None) -> None:
        """``tokenizer`` is a fast one; ``limit`` None for none."""
        self._tokenizer, self._limit = tokenizer, limit
        self._documents: dict[tuple[str, int], array[int]] = {}  # by docid and the text's hash
        self._count = 0

    def pairs(self, query: str, docids: Sequence[str], texts: Sequence[str]) -> dict[str, list[list[int]]] | None:
        """Return ids, types and masks of ``query`` with each of ``texts``, not padded.

        None for a tokenizer whose pair is not its parts between special tokens.
        """
        frame = self._frame(query)
        if frame is None:
            return None
        documents = self._tokens(docids, texts)
        room = None if self._limit is None else self._limit - len(frame.head) - len(frame.tail)
        cut = [self._cut(tokens, room) for tokens in documents]
        ids = [[*frame.head, *tokens, *frame.tail] for tokens in cut]
        if ids and ids[0] != self._whole(query, texts[0])["input_ids"]:
            return None
        kinds = [[*frame.head_kinds, *[frame.kind] * len(tokens), *frame.tail_kinds] for tokens in cut]
        return {"input_ids": ids, "token_type_ids": kinds, "attention_mask": [[1] * len(pair) for pair in ids]}

    def _cut(self, tokens: "array[int]", room: int | None) -> "array[int]":
        if room is None or len(tokens) <= room:
            return tokens
        return tokens[len(tokens) - room :] if self._tokenizer.truncation_side == "left" else tokens[:room]

    def _frame(self, query: str) -> Frame | None:
        pair = self._tokenizer(query, "a", return_token_type_ids=True, verbose=False)
        ids, kinds, parts = pair["input_ids"], pair["token_type_ids"], pair.sequence_ids()
        if 1 not in parts:
            return None
        begin, end = parts.index(1), len(parts) - parts[::-1].index(1)
        return Frame(ids[:begin], ids[end:], kinds[:begin], kinds[end:], kinds[begin])

    def _whole(self, query: str, text: str) -> Any:
        cut = {"truncation": "only_second", "max_length": self._limit} if self._limit else {}
        return self._tokenizer(query, text, verbose=False, **cut)

    def _tokens(self, docids: Sequence[str], texts: Sequence[str]) -> "list[array[int]]":
        """Return the tokens of ``texts``; those of earlier calls are kept."""
        keys = [(docid, hash(text)) for docid, text in zip(docids, texts, strict=True)]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._documents}
        if new:
            readable = None if self._tokenizer.truncation_side == "left" else self._limit
            encoded = self._tokenizer(list(new.values()), add_special_tokens=False, verbose=False)["input_ids"]
            for key, ids in zip(new, encoded, strict=True):
                self._documents[key] = array("I", ids[:readable])
            self._count += sum(len(self._documents[key]) for key in new)
        documents = [self._documents[key] for key in keys]
        while self._count > KEPT:
            oldest = next(iter(self._documents))
            self._count -= len(self._documents.pop(oldest))
        return documents


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
        from heed.models.plain_models import plain_cross_encoder

        model = self._model
        with loading(model.source):
            encoder = plain_cross_encoder(model, self._device or "auto") or self._loaded()
        _check_label(model, encoder.num_labels)
        return encoder

    def _loaded(self) -> Any:
        from sentence_transformers import CrossEncoder

        model, folder = self._model, local_copy(self._model)
        if model.dtype == INT8:
            raise cannot_round(model)
        if enc_t5.is_enc_t5(folder):
            return enc_t5.load(model, folder, self._device or "auto")
        weights = {"use_safetensors": True, "dtype": precision(model, self._device or "auto")}
        options: dict[str, Any] = {"max_length": model.max_length, "trust_remote_code": runs_remote_code(model)}
        return CrossEncoder(str(folder), device=self._device, model_kwargs=weights, **options)

    @cached_property
    def _plain(self) -> bool:
        from heed.models.plain_models import PlainModel

        return isinstance(self._encoder, PlainModel)

    @cached_property
    def _tokens(self) -> PairTokens | None:
        """None where the model's own code adds more to a pair than its tokenizer does."""
        encoder = self._encoder
        if self._plain:
            return PairTokens(encoder.tokenizer, encoder.max_seq_length)
        from sentence_transformers.sentence_transformer.modules import Transformer

        first = encoder[0]
        plain = isinstance(first, Transformer) and set(first.modality_config) == {"text"} and encoder.tokenizer.is_fast
        if not plain or encoder.default_prompt_name:
            return None
        return PairTokens(encoder.tokenizer, encoder.max_seq_length)

    @cached_property
    def _chat(self) -> ChatPairs | None:
        """None for a model without a chat template."""
        if self._plain or "message" not in getattr(self._encoder[0], "modality_config", {}):
            return None
        return ChatPairs(self._model, self._encoder)

    def load(self) -> None:
        """Load the model."""
        _ = self._encoder

    def close(self) -> None:
        """Unload the model; a later score loads it again."""
        unload(self, "_encoder", "_tokens", "_chat", "_plain")

    def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
        """Return the model's logit for each document; of several labels the log-odds of the entry's ``label``.

        For two labels these are ``logit[label] − logit[other]``, which orders documents as the
        softmax does. Neither sigmoid nor softmax: where they saturate they make ties that the model
        did not mean.
        Where a pair is too long the document is cut, a table between rows, never the query or the
        instruction; raises :class:`ModelError` where these alone leave no room for the document.
        A model with a chat template reads messages: see :mod:`heed.models.chat_pairs`.
        """
        if not documents:
            return []
        if self._chat:
            logits = self._in_batches(*self._chat.inputs(self.name, query, documents))
        else:
            logits = self._of_texts(query, documents)
        if self._encoder.num_labels == 1:
            return [logit for [logit] in logits]
        return [_log_odds(row, self._model.label or 0) for row in logits]

    def _of_texts(self, query: Query, documents: Sequence[Document]) -> list[list[float]]:
        text = query_text(self._model, query.query, query.instruction)
        room = self._room(query.qid, text)
        texts = [document_text(self._model, document.title, self._cut(document, room)) for document in documents]
        return self._logits(text, [document.docid for document in documents], texts)

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
        return self._in_batches(pairs, {})

    def _in_batches(self, pairs: dict[str, list[list[int]]], others: dict[str, Any]) -> list[list[float]]:
        """Return the logits of pairs that are not padded; the network gets ``others`` with each batch."""
        import torch

        from heed.models.unpadded import in_batches

        encoder = self._encoder
        names = encoder.tokenizer.model_input_names

        def read(batch: list[int]) -> list[list[float]]:
            ids = {name: [rows[index] for index in batch] for name, rows in pairs.items() if name in names}
            features = on_device({**encoder.tokenizer.pad(ids, return_tensors="pt"), **others}, encoder.device)
            with torch.inference_mode():
                scores = encoder.logits(features) if self._plain else encoder(features)["scores"]
            logits: list[list[float]] = scores.float().reshape(len(batch), -1).tolist()
            return logits

        network = encoder.network if self._plain else None
        return in_order(in_batches(list(map(len, pairs["input_ids"])), read, network, encoder.device))

    def _room(self, qid: str, query: str) -> int | None:
        """Return how many tokens of a document fit beside the query; None for a model without a limit."""
        limit = self._encoder.max_seq_length
        length = len(self._encoder.tokenizer(query, "", verbose=False)["input_ids"])
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


def _log_odds(logits: list[float], label: int) -> float:
    """Return ``log(p / (1 − p))`` of a label's softmax: its logit less the log of the others' summed exponentials."""
    others = logits[:label] + logits[label + 1 :]
    highest = max(others)
    return logits[label] - highest - math.log(math.fsum(math.exp(other - highest) for other in others))


def _identity(logits: Any) -> Any:
    return logits.float()

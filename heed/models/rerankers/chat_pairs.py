"""Cross-encoders that read a pair as messages of a chat template: those of sentence-transformers with LogitScore.

Query and document are messages of these roles, the instruction is the system message where the template reads one
(Qwen3-Reranker, mxbai-rerank v2); behind the query otherwise (zerank-2).
"""

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from heed.errors import ModelError, first_line
from heed.files import read_bytes
from heed.models.registry.entries import Model
from heed.models.text.fit import Cutter, room_for_document
from heed.models.text.templates import query_text
from heed.types import Document, Query

WHOLE = {"text": {"padding": False, "truncation": False, "verbose": False}, "common": {"return_tensors": None}}
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

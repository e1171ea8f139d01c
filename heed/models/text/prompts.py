"""The prompt of a model that reads query and document at once, as token ids."""

import re
from collections.abc import Sequence
from itertools import chain
from typing import Any

from heed.errors import ModelError
from heed.models.registry.entries import Model
from heed.models.text.fit import Cutter, room_for_document
from heed.models.text.templates import JOINT, document_text, prompt_text
from heed.templates import placed
from heed.types import Document

PARTS = {"query", "document"}
TAKE = "prompt, query and instruction"


class Prompts:
    """Fills the prompt of ``model`` for documents, at most ``limit`` tokens each.

    The ids are ``tokenizer(text)``'s own, special tokens included; so a prompt that begins with a
    literal ``<s>`` has it twice where the tokenizer adds one too, as the papers' code has it. Those of
    a prompt with ``JOINT`` are its parts' ids, without special tokens.
    """

    def __init__(self, model: Model, tokenizer: Any, limit: int) -> None:
        """Raise :class:`ModelError` for a prompt without ``{query}`` and one ``{document}``, or a slow tokenizer."""
        names = re.findall(r"\{(\w+)\}", model.prompt or "")
        if set(names) != PARTS or names.count("document") > 1:
            raise ModelError(
                f"{model.source}: prompt {model.prompt!r}, expected a text with {{query}} and one {{document}}; "
                "give it in the model's entry, or with --prompt-template"
            )
        self._model, self._tokenizer, self._limit = model, tokenizer, limit
        self._cutter = Cutter(model, tokenizer)
        self._parts = (model.prompt or "").split(JOINT)
        self._place = next(index for index, part in enumerate(self._parts) if "{document}" in part)
        self._prompt = self._parts[self._place]
        self._options = {"add_special_tokens": len(self._parts) == 1, "verbose": False}

    def ids(self, topic: str, query: str, documents: Sequence[Document]) -> list[list[int]]:
        """Return the ids of each document's prompt; ``query`` is the filled template, ``topic`` begins errors.

        There is at least one document. Raises :class:`ModelError` where query, instruction and prompt alone leave no
        room, unless the entry lets a prompt lose its end.
        """
        before, after, most = self._around(query)
        limit = most - len(before) - len(after)
        if self._model.cut_prompt:
            prompts = self._cut_at_their_end(query, documents, limit)
        else:
            frame, cue = self._frame(query)
            room = room_for_document(topic, TAKE, most - limit + len(frame), most)
            prompts = self._fitting(query, documents, room, limit)
            self._check_cues(topic, documents, prompts, cue)
        return [[*before, *prompt, *after] for prompt in prompts]

    def _around(self, query: str) -> tuple[list[int], list[int], int]:
        """Return the ids before and after the document's part, and how many tokens the prompt may have."""
        parts: list[list[int]] = [
            [] if index == self._place else self._tokenized([placed(part, query=query)])[0]
            for index, part in enumerate(self._parts)
        ]
        most = self._limit
        if self._model.pair_length:
            filled = [index for index, part in enumerate(self._parts) if "{query}" in part or index == self._place]
            template = parts[: filled[0]] + parts[filled[-1] + 1 :]
            most = min(most, self._model.pair_length + sum(map(len, template)))
        return list(chain(*parts[: self._place])), list(chain(*parts[self._place :])), most

    def _frame(self, query: str) -> tuple[list[int], list[int]]:
        """Return the ids without a document, and the answer cue's but its first, which may join the document's end."""
        after = placed(self._prompt.partition("{document}")[2], query=query, document="").lstrip()
        text = prompt_text(self._prompt, query, "")
        encoded = self._tokenizer(text, return_offsets_mapping=True, **self._options)
        starts = [start for start, _ in encoded["offset_mapping"]]
        first = next((index for index, start in enumerate(starts) if start > len(text) - len(after)), len(starts))
        return encoded["input_ids"], encoded["input_ids"][first:]

    def _fitting(self, query: str, documents: Sequence[Document], room: int, limit: int) -> list[list[int]]:
        """Return the ids of the document's part with each document, cut where there are more than ``limit``."""
        prompts: list[list[int]] = []

        def lengths(texts: list[str]) -> list[int]:
            prompts[:] = self._tokenized([prompt_text(self._prompt, query, text) for text in texts])
            return list(map(len, prompts))

        ends_with_document = len(self._parts) > 1 and self._prompt.endswith("{document}")
        if ends_with_document and not any(document.is_table for document in documents):
            lengths([self._filled(document) for document in documents])  # tokens apart are cut as tokens
            return [prompt[:limit] for prompt in prompts]
        self._cutter.fitting(documents, room, limit, lengths)
        return prompts

    def _cut_at_their_end(self, query: str, documents: Sequence[Document], limit: int) -> list[list[int]]:
        texts = [prompt_text(self._prompt, query, self._filled(document)) for document in documents]
        encoded = self._tokenizer(texts, truncation=True, max_length=limit, **self._options)
        ids: list[list[int]] = encoded["input_ids"]
        return ids

    def _check_cues(
        self, topic: str, documents: Sequence[Document], prompts: Sequence[list[int]], cue: list[int]
    ) -> None:
        """Raise :class:`ModelError` for a prompt that does not end in the tokens of the answer ``cue``."""
        for prompt, document in zip(prompts, documents, strict=True):
            if prompt[len(prompt) - len(cue) :] != cue:
                raise ModelError(
                    f"{topic}, document {document.docid}: the prompt's end after {{document}} became other tokens; "
                    "begin that part of the prompt with a newline"
                )

    def _filled(self, document: Document) -> str:
        return document_text(self._model, document.title, document.text)

    def _tokenized(self, texts: list[str]) -> list[list[int]]:
        ids: list[list[int]] = self._tokenizer(texts, **self._options)["input_ids"]
        return ids

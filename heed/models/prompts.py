"""Prompts as token ids; one that is too long loses the end of its document, never query, instruction or answer cue."""

import re
from array import array
from collections.abc import Sequence
from typing import Any

from heed.errors import HeedError
from heed.models.registry import Model
from heed.models.rendering import document_text, prompt_text
from heed.tables.text import fit
from heed.templates import placed
from heed.types import Document

PARTS = ["query", "document"]


class Prompts:
    """Fills the prompt of ``model`` for documents, at most ``limit`` tokens each.

    The ids are ``tokenizer(text)``'s own, special tokens included; so a prompt that begins with a
    literal ``<s>`` has it twice where the tokenizer adds one too, as the papers' code has it.
    """

    def __init__(self, model: Model, tokenizer: Any, limit: int) -> None:
        """Raise :class:`HeedError` for a prompt without ``{query}`` and one ``{document}``, or a slow tokenizer."""
        found = re.findall(r"\{(\w+)\}", model.prompt or "")
        if set(found) != set(PARTS) or found.count("document") > 1:
            raise HeedError(
                f"{model.source}: prompt {model.prompt!r}, expected a text with {{query}} and one {{document}}; "
                "give it in the model's entry, or with --prompt-template"
            )
        if not tokenizer.is_fast:
            raise HeedError(f"{model.source}: its tokenizer gives no offsets; expected one with a tokenizer.json")
        self._model, self._tokenizer, self._limit = model, tokenizer, limit
        self._prompt = model.prompt or ""
        self._ends: dict[str, array[int]] = {}

    def ids(self, place: str, query: str, documents: Sequence[Document]) -> list[list[int]]:
        """The ids of each document's prompt; ``query`` is the filled template, ``place`` is told in errors.

        Raises :class:`HeedError` where query, instruction and prompt alone leave no room.
        """
        frame, cue = self._frame(query)
        room = self._limit - len(frame)
        if room < 1:
            raise HeedError(
                f"{place}: prompt, query and instruction take {len(frame)} of the model's {self._limit} tokens "
                "and leave no room for a document; raise max_length or choose a model with a longer limit"
            )
        texts = [prompt_text(self._prompt, query, self._whole(one, room)) for one in documents]
        found = self._tokenized(texts) if texts else []
        for at, one in enumerate(documents):
            if len(found[at]) > self._limit:
                found[at] = self._cut(query, one, room)
            if found[at][len(found[at]) - len(cue) :] != cue:
                raise HeedError(
                    f"{place}, document {one.docid}: the prompt's end after {{document}} became other tokens; "
                    "begin that part of the prompt with a newline"
                )
        return found

    def _frame(self, query: str) -> tuple[list[int], list[int]]:
        """The ids without a document, and those of the answer cue but its first, which may join the document's end."""
        after = placed(self._prompt.partition("{document}")[2], query=query, document="").lstrip()
        text = prompt_text(self._prompt, query, "")
        made = self._tokenizer(text, return_offsets_mapping=True, verbose=False)
        begins = [start for start, _ in made["offset_mapping"]]
        first = next((at for at, start in enumerate(begins) if start > len(text) - len(after)), len(begins))
        return made["input_ids"], made["input_ids"][first:]

    def _cut(self, query: str, document: Document, room: int) -> list[int]:
        """The prompt with so much of the document that it fits; tokens at its ends may join, hence the loop."""
        while True:
            [found] = self._tokenized([prompt_text(self._prompt, query, self._head(document, room))])
            if len(found) <= self._limit:
                return found
            room -= len(found) - self._limit

    def _whole(self, document: Document, room: int) -> str:
        """The document's text, or its head where an earlier prompt showed that it fills the limit alone."""
        if len(self._ends.get(document.docid, ())) >= self._limit:
            return self._head(document, room)
        return document_text(self._model, document.title, document.text)

    def _head(self, document: Document, room: int) -> str:
        """At most ``room`` tokens of the document; of a table whole rows, unless its first line is too long."""
        if not document.is_table:
            text = document_text(self._model, document.title, document.text)
            if document.docid not in self._ends:
                self._ends[document.docid] = self._token_ends(text)
            return _until(text, self._ends[document.docid], room)
        lines = fit(document.text, room, lambda part: len(self._token_ends(self._titled(document, part))))
        text = self._titled(document, lines)
        return _until(text, self._token_ends(text), room)

    def _titled(self, document: Document, part: str) -> str:
        return document_text(self._model, document.title, part)

    def _token_ends(self, text: str) -> "array[int]":
        """The character at which each of the first tokens ends, no more of them than the limit."""
        made = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        return array("I", [end for _, end in made["offset_mapping"][: self._limit]])

    def _tokenized(self, texts: list[str]) -> list[list[int]]:
        found: list[list[int]] = self._tokenizer(texts, verbose=False)["input_ids"]
        return found


def _until(text: str, ends: Sequence[int], room: int) -> str:
    if len(ends) <= room:
        return text
    return text[: ends[room - 1]].rstrip() if room > 0 else ""

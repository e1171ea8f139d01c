"""The one way of cutting a document to the tokens that a model has left: whole rows of a table, else whole tokens."""

import math
from array import array
from collections.abc import Callable, Sequence
from typing import Any

from heed.errors import ModelError
from heed.models.registry.entries import Model
from heed.models.text.templates import document_text
from heed.tables.text import fit
from heed.types import Document


def room_for_document(topic: str, parts: str, taken: int, limit: int) -> int:
    """Return how many of a model's ``limit`` tokens are left beside those that ``parts``, such as a query, take.

    Raises :class:`ModelError`, which begins with ``topic``, where none is: only documents are cut.
    """
    if taken >= limit:
        raise ModelError(
            f"{topic}: {parts} take {taken} of the model's {limit} tokens and leave no room for a document; raise "
            "max_length, or choose a model with a longer limit"
        )
    return limit - taken


def whole_rows(document: Document, room: int, count: Callable[[str], int]) -> str:
    """Return as many rows of a table as have at most ``room`` tokens by ``count``; other text is returned whole."""
    return fit(document.text, room, count) if document.is_table else document.text


class Cutter:
    """Cuts documents, in the template of one model, to a number of its tokens."""

    def __init__(self, model: Model, tokenizer: Any) -> None:
        """Raise :class:`ModelError` for a slow tokenizer, which does not say where tokens end."""
        if not tokenizer.is_fast:
            raise ModelError(f"{model.source}: its tokenizer gives no offsets; expected one with a tokenizer.json")
        self._model, self._tokenizer = model, tokenizer
        self._ends: dict[tuple[str, int], array[int]] = {}  # of long documents, by docid and hash

    def count(self, text: str) -> int:
        """Return how many tokens ``text`` has, without special ones."""
        return len(self._token_ends(text))

    def text(self, document: Document, room: float) -> str:
        """Return at most ``room`` tokens of the document; of a table whole rows, unless its first is too long."""
        text = self._filled(document, document.text)
        if room == math.inf:
            return text
        ends = self._ends.get(_key(document)) or self._token_ends(text)
        if len(ends) <= room:
            return text
        if document.is_table:
            text = self._filled(document, fit(document.text, int(room), lambda rows: self._length(document, rows)))
            return _first_tokens(text, self._token_ends(text), int(room))
        self._ends[_key(document)] = ends  # it is cut again under other conditions
        return _first_tokens(text, ends, int(room))

    def fitting(
        self, documents: Sequence[Document], room: float, limit: float, lengths: Callable[[list[str]], Sequence[int]]
    ) -> list[str]:
        """Return the text of each document with which an input has at most ``limit`` tokens, whole where it fits.

        ``room`` is how many tokens of a document should fit, ``lengths`` returns how many an input with each text has:
        tokens at a document's ends may join with those around it.
        """
        rooms = [room if self._is_long(document, limit) else math.inf for document in documents]
        while True:
            texts = [self.text(document, room) for document, room in zip(documents, rooms, strict=True)]
            excess = [length - limit for length in lengths(texts)] if texts else []
            if not any(more > 0 for more in excess):
                return texts
            pairs = zip(rooms, excess, strict=True)
            rooms = [(room if left == math.inf else left - more) if more > 0 else left for left, more in pairs]

    def _is_long(self, document: Document, limit: float) -> bool:
        """Whether the document alone has ``limit`` tokens, as an earlier input showed."""
        return len(self._ends.get(_key(document), ())) >= limit

    def _filled(self, document: Document, text: str) -> str:
        return document_text(self._model, document.title, text)

    def _length(self, document: Document, rows: str) -> int:
        return self.count(self._filled(document, rows))

    def _token_ends(self, text: str) -> "array[int]":
        """Return the character of ``text`` at which each of its tokens ends."""
        encoded = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        return array("I", [end for _, end in encoded["offset_mapping"]])


def _key(document: Document) -> tuple[str, int]:
    return document.docid, hash(document)


def _first_tokens(text: str, ends: Sequence[int], room: int) -> str:
    """Return the first ``room`` tokens of ``text``; ``ends`` are the characters at which its tokens end."""
    if len(ends) <= room:
        return text
    return text[: ends[room - 1]].rstrip() if room > 0 else ""

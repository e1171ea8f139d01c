"""Query and document as the token ids of one pair; a document is tokenised once for all queries and conditions."""

from array import array
from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

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
            encoded = self._tokenizer(list(new.values()), add_special_tokens=False, verbose=False)["input_ids"]
            for key, ids in zip(new, encoded, strict=True):
                self._documents[key] = array("I", ids[: self._kept()])
            self._count += sum(len(self._documents[key]) for key in new)
        documents = [self._documents[key] for key in keys]
        self._forget()
        return documents

    def _kept(self) -> int | None:
        """Return how many first tokens of a document can be read; None, for all, where its beginning is cut."""
        return None if self._tokenizer.truncation_side == "left" else self._limit

    def _forget(self) -> None:
        """Drop the oldest documents while there are too many tokens."""
        while self._count > KEPT:
            key = next(islice(self._documents, 1))
            self._count -= len(self._documents.pop(key))

"""The texts that a model reads: templates and prompts filled, and documents cut to the tokens that are left.

Only documents are cut: whole rows of a table, else whole tokens; never a query, an instruction or what follows them.
"""

import math
import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

from heed.errors import ModelError
from heed.models.registry.entries import Model
from heed.models.registry.families import LATE
from heed.progress import warn
from heed.tables.markup import fit
from heed.types import Document, fill, placed

QUERY, DOCUMENT = "{query} {instruction}", "{title} {text}"
ENDS = ("?", ".", "!")
JOINT = "{|}"  # in a prompt: the tokenizer reads what is before and what is after it apart
TITLE = re.compile(r"\{title\}\s*")

PARTS = {"query", "document"}
TAKE = "prompt, query and instruction"


def query_text(model: Model, query: str, instruction: str) -> str:
    """Return query and instruction in ``model``'s template, or in ``bare`` where there is no instruction.

    Without ``bare``, ``task`` replaces an instruction that is empty. ``{mark}`` is a question
    mark where the query ends in none of ``? . !`` (Promptriever's rule).
    """
    mark = "" if query.endswith(ENDS) else "?"
    template = model.query or QUERY
    if not instruction and model.bare is not None:
        template = model.bare
    return fill(template, query=query, instruction=instruction or model.task or "", mark=mark)


def warn_unread(model: Model) -> None:
    """Warn of a template that has no place for the instruction; that may be intended."""
    template = model.query or QUERY
    if "{instruction}" not in template:
        warn(f"{model.source}: no instruction reaches it, its query template has no {{instruction}}: {template}")


def document_text(model: Model, title: str, text: str) -> str:
    """Return a document in ``model``'s template, or in ``untitled`` where it has no title.

    Without ``untitled``, ``{title}`` and the white space after it are left out.
    """
    template = model.document or DOCUMENT
    if not title:
        template = model.untitled or TITLE.sub("", template)
    return fill(template, title=title, text=text)


def prompt_of(model: Model, prompts: Mapping[str, str], task: str) -> str:
    """Return the prompt of a model's files that precedes a ``query`` or ``document``, as ``encode_query`` reads it."""
    template = model.query if task == "query" else model.document
    if template is not None and model.family != LATE:  # late interaction's has a marker, which precedes a template too
        return ""
    names = ("query",) if task == "query" else ("document", "passage", "corpus")
    return next((prompts[name] for name in names if name in prompts), "")


def prompt_text(prompt: str, query: str, document: str) -> str:
    """Return the one text of a model that reads both at once; spaces at its ends are kept, they are tokens."""
    return placed(prompt.replace(JOINT, ""), query=query, document=document)


def room_for_document(topic: str, parts: str, taken: int, limit: int) -> int:
    """Return how many of a model's ``limit`` tokens are left beside those that ``parts``, such as a query, take.

    Raises :class:`ModelError`, which begins with ``topic``, where none is: only documents are cut.
    """
    if taken >= limit:
        raise ModelError(
            f"{topic}: {parts} take {taken} of the model's {limit} tokens and leave no room for a document; give a "
            "larger max_length=N, or choose a model with a longer limit"
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
            rows = fit(document.text, int(room), lambda rows: self.count(self._filled(document, rows)))
            text = self._filled(document, rows)
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
        # those that alone have so many tokens, as an earlier input showed
        are_long = [len(self._ends.get(_key(document), ())) >= limit for document in documents]
        rooms = [room if is_long else math.inf for is_long in are_long]
        while True:
            texts = [self.text(document, room) for document, room in zip(documents, rooms, strict=True)]
            excess = [length - limit for length in lengths(texts)] if texts else []
            if not any(more > 0 for more in excess):
                return texts
            pairs = zip(rooms, excess, strict=True)
            rooms = [(room if left == math.inf else left - more) if more > 0 else left for left, more in pairs]

    def _filled(self, document: Document, text: str) -> str:
        return document_text(self._model, document.title, text)

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
                "give it in the model's entry, or as the prompt template"
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

"""The question put to a list-wise reranker: numbered passages around the query, as long as there is room for."""

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.json import decode

from heed.errors import ModelError
from heed.files import read_bytes
from heed.languages import counted, words_in
from heed.models.registry.entries import Model
from heed.models.text.templates import document_text
from heed.tables.text import fit
from heed.templates import placed
from heed.types import Document

Message = dict[str, str]  # role and content, as chat templates and the OpenAI protocol have them

WINDOW = 20  # documents in one question: Sun and others, RankGPT, EMNLP 2023, and rank_llm's default
WORDS = 300  # of each of these to begin with: rank_llm's create_prompt
# a run of letters longer than this counts as several words: text without spaces must be cut too
LONGEST_WORD = 20
WORD = counted(LONGEST_WORD)
IDENTIFIER = re.compile(r"\[\s*(\d+)\s*\]")


@dataclass(frozen=True)
class Style:
    """The rules of a prompt's authors that differ from rank_llm's.

    ``answer`` is the name of the function that reads the ranking, in :data:`heed.models.rerankers.listwise.READERS`.
    ``keeps_lines``: passages keep their line breaks; ``keeps_brackets``: ``[7]`` in a text stays as it is; ``fixed``:
    windows lie as those of a full pool do, whatever the number of documents.
    """

    answer: str = "brackets"
    keeps_lines: bool = False
    keeps_brackets: bool = False
    fixed: bool = False


@dataclass(frozen=True)
class Pieces:
    """The texts of a prompt, with ``{num}``, ``{query}``, ``{rank}`` and ``{candidate}``.

    ``welcome`` and ``receipt`` are the assistant's supposed answers to the opening and to each passage;
    without them all goes into one message, ``between`` separating the passages. ``thought`` is how many tokens the
    model may write, its ranking included; 0 for an answer that is a ranking alone.
    ``multiples``: fewer than ``WINDOW`` passages have a multiple of ``WORDS`` words each, else as many as ``WINDOW``
    of them have together.
    """

    system: str
    opening: str
    passage: str
    closing: str
    welcome: str = ""
    receipt: str = ""
    between: str = ""
    thought: int = 0
    multiples: bool = False
    form: Style = Style()


# by name; the file says where each comes from, and no character may change
PROMPTS = decode(read_bytes(Path(__file__).parents[1] / "registry" / "listwise_prompts.json"), type=dict[str, Pieces])


def pieces(model: Model, default: str) -> Pieces:
    """Return the texts that the entry's ``prompt`` names, or those of ``default``; :class:`ModelError` for others."""
    name = model.prompt or default
    if name not in PROMPTS:
        raise ModelError(f"{model.source}: prompt is {name[:60]!r}, expected one of {', '.join(PROMPTS)} (list-wise)")
    return PROMPTS[name]


def messages(texts: Pieces, query: str, passages: Sequence[str]) -> list[Message]:
    """Return the conversation that asks the model to rank ``passages``, which are numbered from 1."""
    query, num = query if texts.form.keeps_brackets else _unnumbered(query), str(len(passages))
    numbered = [
        (placed(texts.passage, rank=str(rank), candidate=text), placed(texts.receipt, rank=str(rank)))
        for rank, text in enumerate(passages, 1)
    ]
    opening, closing = (placed(text, query=query, num=num) for text in (texts.opening, texts.closing))
    if not texts.receipt:
        turns = [("user", opening + texts.between.join(passage for passage, _ in numbered) + closing)]
    else:
        exchanges = [(opening, texts.welcome), *numbered]
        turns = [turn for user, assistant in exchanges for turn in (("user", user), ("assistant", assistant))]
        turns.append(("user", closing))
    if texts.system:
        turns.insert(0, ("system", texts.system))
    return [{"role": role, "content": text} for role, text in turns]


def most_words(texts: Pieces, count: int) -> int:
    """Return how many words of each of ``count`` passages are shown at most, as in rank_llm's ``create_prompt``."""
    return WORDS * (WINDOW // count) if texts.multiples else WORDS * WINDOW // count


def longest(
    model: Model,
    documents: Sequence[Document],
    most: int,
    ask: Callable[[list[str]], list[Message]],
    fits: Callable[[list[Message]], bool],
) -> list[Message]:
    """Return the conversation that ``ask`` makes of passages with the most words, up to ``most``, that ``fits``.

    All are cut to the same number of words, at most ``most``, or the entry's ``document_length``, which their tokens
    were cut to. Raises :class:`ModelError` where not one word of each fits: query and instruction are never cut.
    """

    def conversation(words: int) -> list[Message]:
        return ask([passage(model, document, words) for document in documents])

    most = model.document_length or most
    whole = conversation(most)
    if fits(whole):
        return whole
    words = bisect_left(range(1, most), True, key=lambda words: not fits(conversation(words)))
    if not words:
        raise ModelError(
            f"query and instruction leave no room for one word of each of {len(documents)} passages; "
            "set a larger max_length in the model's entry, or choose a model with a longer context"
        )
    return conversation(words)


def passage(model: Model, document: Document, words: int) -> str:
    """Return a document in the model's template, cut to ``words`` words; ``[7]`` in it becomes ``(7)``.

    A table is cut between rows, and keeps its lines; other text becomes one line. The form of the model's prompt may
    say otherwise.
    """
    form = PROMPTS[model.prompt].form if model.prompt in PROMPTS else Style()
    part = document.text
    if document.is_table:
        part = fit(part, words - _count(document_text(model, document.title, "")), _count)
    text = _first(document_text(model, document.title, part), words)
    if not (document.is_table or form.keeps_lines):
        text = " ".join(text.split())
    return text if form.keeps_brackets else _unnumbered(text)


def _unnumbered(text: str) -> str:
    return IDENTIFIER.sub(r"(\1)", text)


def _first(text: str, words: int) -> str:
    """Return the beginning of ``text``, ``words`` words long; a Chinese or Thai character counts as a part of one."""
    total = 0.0
    for word in WORD.finditer(text):
        total += words_in(word[0])
        if total > words + 0.5:  # sums of fractions must not move a boundary by a character
            return text[: word.start()].rstrip()
    return text


def _count(text: str) -> int:
    return round(sum(words_in(word) for word in WORD.findall(text)))

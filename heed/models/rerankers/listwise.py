"""List-wise reranking: a language model orders twenty documents at a time, from the pool's end to its front."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import NamedTuple

from heed.errors import ModelError
from heed.models.registry.entries import Model
from heed.models.rerankers.listwise_prompt import WINDOW, WORDS, Message, Style, longest, messages, most_words, pieces
from heed.models.text.templates import query_text
from heed.progress import log, replies
from heed.reuse import recipe_version
from heed.types import Config, Document, Query, Reranker, System

STRIDE = 10  # documents: rank_llm's default, as WINDOW is
MAX_POOL = 100  # documents of a pool that are ordered: rank_llm's default; the rest stay below them in their order
CONTEXT = 4096  # tokens of question and answer where the entry does not say: rank_llm's default
THINK, THOUGHT = "<think>", "</think>"  # what a reasoning model writes between these is not its answer
# an identifier has two digits; int() refuses very long numbers
IN_BRACKETS, NUMBER = re.compile(r"\[\s*(\d{1,9})\s*\]"), re.compile(r"(?<!\d)\d{1,9}(?!\d)")
TAGGED = re.compile(r"<think>.*?</think>\s*<answer>(.*?)</answer>", re.DOTALL)
SINGLE = re.compile(r"\d{1,9}")

Answer = Callable[[list[Message], str], str | None]  # a conversation and a ranking of the expected length


class Order(NamedTuple):
    """An answer as a permutation, counted from 0: it is ``whole`` or was repaired, and ``is_one`` if it names any."""

    order: list[int]
    whole: bool
    is_one: bool = True


class Chat(System):
    """A language model that answers conversations."""

    config: Config

    def shortened(self, document: Document) -> Document:
        """Return the document, cut to the entry's ``document_length`` in tokens where it has one."""
        raise NotImplementedError

    def fits(self, conversation: list[Message], ranking: str) -> bool:
        """Whether there is room for the conversation and an answer as long as ``ranking``."""
        raise NotImplementedError

    def answer(self, conversation: list[Message], ranking: str) -> str:
        """Return the model's answer; ``ranking`` is an answer of the expected length."""
        raise NotImplementedError

    def estimate(self) -> tuple[Callable[[str], str], Answer] | None:
        """Return the sum of costs as a line, and a function that adds a question to it; None where nothing is paid.

        The function takes the place of :meth:`answer`, and returns an answer only where one is stored already.
        """
        raise NotImplementedError


class ListwiseReranker(Reranker):
    """A chat model as a :class:`heed.types.Reranker`.

    A score is one divided by the final rank: a position and nothing else, so measures that compare
    scores between runs (SICR) mean nothing here. The first ``MAX_POOL`` documents are ordered; the
    others keep their order below them.
    """

    def __init__(self, model: Model, chat: Chat, prompt: str) -> None:
        """Use ``prompt``, one of ``listwise_prompt.PROMPTS``, where the entry names none."""
        self.name = model.name
        self._model, self._chat = model, chat
        self._texts = pieces(model, prompt)
        texts = asdict(self._texts)
        form = texts.pop("form")
        self.config: Config = {
            **chat.config,
            "listwise": [recipe_version("listwise"), WINDOW, STRIDE, MAX_POOL, WORDS],
            "texts": texts,
            **({"form": form} if form != asdict(Style()) else {}),
        }
        self._rankings: list[Order] = []

    def load(self) -> None:
        """Load the model."""
        self._chat.load()

    def close(self) -> None:
        """Unload the model; a later score loads it again."""
        self._chat.close()

    def begin(self, queries: Sequence[Query], documents: Callable[[Query], Sequence[Document]]) -> None:
        """Log what scoring ``queries`` will cost, where answers are paid for."""
        estimate = self._chat.estimate()
        if estimate is not None and queries:
            line, answer = estimate
            for query in queries:
                self._order(query, documents(query), answer)
            log.info(line(f"{self.name}.{queries[0].condition}"))

    def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
        """Return one divided by its final rank for each document.

        Raises :class:`ModelError` where query and instruction leave no room for the documents.
        """
        order, rankings = self._order(query, documents, self._chat.answer)
        self._rankings += [ranking for ranking in rankings if ranking.is_one]
        missing = False if self._chat.estimate() is None else None  # a local model would say the same again
        replies()[query.qid] = [ranking.is_one or missing for ranking in rankings]
        scores = [0.0] * len(order)
        for rank, index in enumerate(order, 1):
            scores[index] = 1.0 / rank
        return scores

    def finish(self) -> None:
        """Log how many answers had to be repaired since the last time."""
        repaired = sum(not ranking.whole for ranking in self._rankings)
        if self._rankings:
            log.info(
                f"{self.name}: {repaired} of {len(self._rankings)} answers were no whole ranking and were repaired"
            )
        self._rankings.clear()

    def _order(self, query: Query, documents: Sequence[Document], answer: Answer) -> tuple[list[int], list[Order]]:
        """Return the documents' indices in their final order; a window without an answer stays as it is."""
        order = list(range(len(documents)))
        text = query_text(self._model, query.query, query.instruction)
        rankings = []
        for window in windows(min(len(documents), MAX_POOL), self._texts.form.fixed):
            part = order[window]
            expected = whole_ranking(len(part))
            try:
                conversation = longest(
                    self._model,
                    [self._chat.shortened(documents[index]) for index in part],
                    most_words(self._texts, len(part)),
                    lambda passages: messages(self._texts, text, passages),
                    partial(self._chat.fits, ranking=expected),
                )
            except ModelError as error:
                raise ModelError(f"{self.name}: topic {query.qid}: {error}") from error
            reply = answer(conversation, expected)
            if reply is not None:
                rankings.append(read_answer(self._texts.form, expected, reply))
                order[window] = [part[index] for index in rankings[-1].order]
        return order, rankings


def windows(count: int, fixed: bool = False) -> list[slice]:
    """Return the parts of ``count`` documents that are ordered one after another, the last ones first.

    Of 25: 5 to 25, then 0 to 15; where they are ``fixed`` as in a pool of ``MAX_POOL``, 20 to 25, 10 to 25, then 0 to
    20. One document needs no order.
    """
    last = MAX_POOL if fixed else count
    ends = [last, *range(last - STRIDE, WINDOW - STRIDE, -STRIDE)]
    parts = (slice(max(end - WINDOW, 0), min(end, count)) for end in ends)
    return [part for part in parts if part.stop - part.start > 1]


def whole_ranking(count: int) -> str:
    """Return a whole answer for ``count`` passages: ``[1] > [2] > [3]``."""
    return " > ".join(f"[{number}]" for number in range(1, count + 1))


def read_answer(form: Style, ranking: str, answer: str) -> Order:
    """Return the order that an answer gives in place of a whole ``ranking``, and whether it is one.

    It is none if it names no document, also a refusal of "these 20 passages", or is a thought that has no end.
    """
    count, text = ranking.count("["), answer.rpartition(THOUGHT)[2].strip()
    refuses = NUMBER.findall(text) == [str(count)] != [text] and not IN_BRACKETS.search(text)
    endless = THINK in re.split(f"{THOUGHT}|<answer>", answer)[-1]
    return READERS[form.answer]("" if refuses or endless else answer, count)


def parse_ranking(answer: str, count: int) -> Order:
    """Return the order that any text gives: a permutation of ``count`` documents.

    Identifiers are the numbers in brackets, or all numbers where none is in brackets. Repeated ones and those
    that no document has are dropped; documents that are not named follow in their order.
    """
    text = _plain(answer.rpartition(THOUGHT)[2])
    return _ranking(IN_BRACKETS.findall(text) or NUMBER.findall(text), count)


def parse_numbers(answer: str, count: int) -> Order:
    """Return the order that all numbers of a text give, in brackets or not, as rank_llm reads it.

    So ``8=[5]`` names two documents, and ``Of the 20 passages: [2] > [1]`` begins with the twentieth.
    """
    return _ranking(NUMBER.findall(_plain(answer.rpartition(THOUGHT)[2])), count)


def parse_tagged(answer: str, count: int) -> Order:
    """Return the order that ReasonRank's answer gives: all numbers between ``<answer>`` and ``</answer>``.

    As its authors' code: without a whole thought and answer they are those after the last ``<answer>``, without one
    those of all the text.
    """
    tagged = TAGGED.search(answer.lower())
    return _ranking(NUMBER.findall(_plain(tagged[1] if tagged else answer.rpartition("<answer>")[2])), count)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text)  # ［１］ and ① are numbers too


def _ranking(identifiers: Sequence[str], count: int) -> Order:
    numbers = [int(identifier) - 1 for identifier in identifiers]
    named = [number for number in dict.fromkeys(numbers) if 0 <= number < count]
    order = named + sorted(set(range(count)).difference(named))
    return Order(order, numbers == order, bool(named))


def parse_last_line(answer: str, count: int) -> Order:
    """Return the order that the last line of a reasoning answer gives: a permutation of ``count`` documents.

    As Rank-K's rerank.py: ``>`` and ``=`` separate the numbers, so that ties keep the order in which they are named;
    what is no number or no document is passed over, a repeated one ends the ranking, and documents that are not named
    follow in their order.
    """
    line = re.sub(r"[\[\]]", "", answer.strip().rpartition("\n")[2])
    parts = (part.strip() for part in re.split("[>=]", line))
    named: list[int] = []
    for number in (int(part) - 1 for part in parts if SINGLE.fullmatch(part)):
        if number in named:
            break
        if 0 <= number < count:
            named.append(number)
    return Order(named + sorted(set(range(count)).difference(named)), len(named) == count, bool(named))


READERS = {  # how answers are read, by a form's ``answer``
    "brackets": parse_ranking,
    "numbers": parse_numbers,
    "tagged": parse_tagged,
    "last line": parse_last_line,
}

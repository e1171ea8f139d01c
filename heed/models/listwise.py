"""List-wise reranking: a language model orders twenty documents at a time, from the pool's end to its front."""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from heed.errors import HeedError
from heed.io.artifacts import Recipe
from heed.io.document_store import DocumentStore
from heed.models.listwise_prompt import WORDS, Message, longest, messages, pieces
from heed.models.registry import Model
from heed.models.rendering import query_text
from heed.progress import log
from heed.types import Topic

VERSION = 1  # raise when orders change
WINDOW, STRIDE = 20, 10  # documents: Sun and others, RankGPT, EMNLP 2023, and rank_llm's defaults
MAX_POOL = 100  # documents of a pool that are ordered: rank_llm's default; the rest stay below them as they were
CONTEXT = 4096  # tokens of question and answer where the entry does not say: rank_llm's default
THOUGHT = "</think>"  # what a reasoning model says before this is not its answer
# an identifier has two digits; int() refuses very long numbers
IN_BRACKETS, NUMBER = re.compile(r"\[\s*(\d{1,9})\s*\]"), re.compile(r"(?<!\d)\d{1,9}(?!\d)")


class Reading(NamedTuple):
    """What was understood of an answer: the order of all, counted from 0; ``found`` identifiers, ``whole`` or not."""

    order: list[int]
    found: int
    whole: bool


class Chat(Protocol):
    """A language model that answers conversations."""

    @property
    def recipe(self) -> Recipe:
        """Everything that decides its answers."""

    def prepare(self) -> None:
        """Load what answering needs."""

    def fits(self, conversation: list[Message], ranking: str) -> bool:
        """Whether there is room for the conversation and an answer as long as ``ranking``."""

    def answer(self, conversation: list[Message], ranking: str) -> str:
        """What the model says; ``ranking`` is an answer of the length that is asked for."""

    def quote(self) -> "Quote | None":
        """What to ask in place of :meth:`answer` to know the cost before; None where nothing is paid."""


class Quote(Protocol):
    """What answers will cost."""

    def ask(self, conversation: list[Message], ranking: str) -> str | None:
        """The answer if it is paid already, else None: it is put on the bill."""

    def told(self, label: str) -> str:
        """The bill in one line."""


class ListwiseReranker:
    """A chat model as a :class:`heed.reranking.rescoring.Reranker`.

    A score is one divided by the final rank: it tells a position and nothing else, so measures that
    compare scores between runs (SICR) mean nothing here. The first ``MAX_POOL`` documents are
    ordered; the others keep their order below them.
    """

    def __init__(self, model: Model, store: DocumentStore, chat: Chat, prompt: str) -> None:
        """Take ``prompt``, one of ``listwise_prompt.PROMPTS``, where the entry names none."""
        self.name = model.name
        self._model, self._store, self._chat = model, store, chat
        self._texts = pieces(model, prompt)
        self.recipe: Recipe = {
            **chat.recipe,
            "listwise": [VERSION, WINDOW, STRIDE, MAX_POOL, WORDS],
            "texts": self._texts._asdict(),
            "documents": store.digest,
        }
        self._readings: list[Reading] = []

    def prepare(self) -> None:
        """Load the model."""
        self._chat.prepare()

    def begin(self, topics: Sequence[Topic], condition: str, pooled: Mapping[str, list[str]]) -> None:
        """Tell what scoring these topics will cost, where answers are paid for."""
        quote = self._chat.quote()
        if quote is not None:
            for topic in topics:
                self._order(topic, condition, pooled.get(topic.qid, []), quote.ask)
            log.info(quote.told(f"{self.name}.{condition}"))

    def score(self, topic: Topic, condition: str, docids: Sequence[str]) -> Sequence[float]:
        """One divided by its final rank for each document.

        Raises :class:`HeedError` where query and instruction leave no room for the documents.
        """
        order, readings = self._order(topic, condition, docids, self._chat.answer)
        self._readings += readings
        rank = {docid: at for at, docid in enumerate(order, 1)}
        return [1.0 / rank[docid] for docid in docids]

    def finish(self) -> None:
        """Tell how many answers had to be repaired since the last time."""
        repaired = sum(not one.whole for one in self._readings)
        silent = sum(not one.found for one in self._readings)
        if self._readings:
            counted = f"{repaired} of {len(self._readings)} answers were no whole ranking and were repaired"
            log.info(f"{self.name}: {counted}, {silent} of them named no document")
        self._readings.clear()

    def _order(
        self,
        topic: Topic,
        condition: str,
        docids: Sequence[str],
        answer: Callable[[list[Message], str], str | None],
    ) -> tuple[list[str], list[Reading]]:
        """All of ``docids`` in their final order; a window that has no answer stays as it is."""
        documents = self._store.get(docids[:MAX_POOL])
        instruction = "" if condition == "query" else topic.instructions[condition]
        query = query_text(self._model, topic.query, instruction)
        readings = []
        for window in windows(len(documents)):
            part = documents[window]
            wanted = ranking(len(part))
            try:
                asked = longest(
                    self._model,
                    part,
                    lambda passages: messages(self._texts, query, passages),
                    partial(self._chat.fits, ranking=wanted),
                )
            except HeedError as error:
                raise HeedError(f"{self.name}: topic {topic.qid}: {error}") from error
            told = answer(asked, wanted)
            if told is not None:
                readings.append(read(told, len(part)))
                documents[window] = [part[at] for at in readings[-1].order]
        return [*(document.docid for document in documents), *docids[MAX_POOL:]], readings


def windows(count: int) -> list[slice]:
    """The parts of ``count`` documents that are ordered one after another, the last ones first.

    Of 25: 5 to 25, then 0 to 15. One document needs no order.
    """
    found: list[slice] = []
    end = count
    while end > 1 and not (found and found[-1].start == 0):
        found.append(slice(max(end - WINDOW, 0), end))
        end -= STRIDE
    return found


def ranking(count: int) -> str:
    """A whole answer for ``count`` passages: ``[1] > [2] > [3]``."""
    return " > ".join(f"[{number}]" for number in range(1, count + 1))


def read(answer: str, count: int) -> Reading:
    """The order that any text asks for: a permutation of ``count`` documents.

    Identifiers are the numbers in brackets, or all numbers where none is in brackets. Those that
    come again or that no document has are dropped; documents that are not named follow in their order.
    """
    said = unicodedata.normalize("NFKC", answer.rpartition(THOUGHT)[2])  # ［１］ and ① are numbers too
    numbers = [int(number) - 1 for number in IN_BRACKETS.findall(said) or NUMBER.findall(said)]
    named = [at for at in dict.fromkeys(numbers) if 0 <= at < count]
    order = named + sorted(set(range(count)).difference(named))
    return Reading(order, len(named), numbers == order)

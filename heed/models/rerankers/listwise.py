"""List-wise reranking: a language model orders twenty documents at a time, from the pool's end to its front."""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from msgspec.json import decode

from heed.errors import ModelError
from heed.files import read_bytes
from heed.languages import counted, words_in
from heed.models.registry.entries import Model
from heed.models.text import document_text, query_text
from heed.progress import log, number_of, replies
from heed.reuse import recipe_version
from heed.tables.markup import fit
from heed.types import Config, Document, Query, Reranker, System, conditions_in, placed

Message = dict[str, str]  # role and content, as chat templates and the OpenAI protocol have them

WINDOW = 20  # documents in one question: Sun and others, RankGPT, EMNLP 2023, and rank_llm's default
WORDS = 300  # of each of these to begin with: rank_llm's create_prompt
# a run of letters longer than this counts as several words: text without spaces must be cut too
LONGEST_WORD = 20
WORD = counted(LONGEST_WORD)
IDENTIFIER = re.compile(r"\[\s*(\d+)\s*\]")

STRIDE = 10  # documents: rank_llm's default, as WINDOW is
MAX_POOL = 100  # documents of a pool that are ordered: rank_llm's default; the rest stay below them in their order
CONTEXT = 4096  # tokens of question and answer where the entry does not say: rank_llm's default
THINK, THOUGHT = "<think>", "</think>"  # what a reasoning model writes between these is not its answer
# an identifier has two digits; int() refuses very long numbers
IN_BRACKETS, NUMBER = re.compile(r"\[\s*(\d{1,9})\s*\]"), re.compile(r"(?<!\d)\d{1,9}(?!\d)")
TAGGED = re.compile(r"<think>.*?</think>\s*<answer>(.*?)</answer>", re.DOTALL)
SINGLE = re.compile(r"\d{1,9}")

Answer = Callable[[list[Message], str], str | None]  # a conversation and a ranking of the expected length


@dataclass(frozen=True)
class Style:
    """The rules of a prompt's authors that differ from rank_llm's.

    ``answer`` is the name of the function that reads the ranking, in :data:`READERS`.
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

    def estimate(self) -> tuple[Callable[[str], str], Callable[[], Answer]] | None:
        """Return the most that is paid, as a line, and what begins to add a query to it; None where nothing is paid.

        For each query it returns a function that takes the place of :meth:`answer`, and returns an answer only where
        one is stored already.
        """
        return None


class ListwiseReranker(Reranker):
    """A chat model as a :class:`heed.types.Reranker`.

    A score is one divided by the final rank: a position and nothing else, so measures that compare
    scores between runs (SICR) mean nothing here. The first ``MAX_POOL`` documents are ordered; the
    others keep their order below them.
    """

    def __init__(self, model: Model, chat: Chat, prompt: str) -> None:
        """Use ``prompt``, one of ``PROMPTS``, where the entry names none."""
        self.name = model.name
        self._model, self._chat = model, chat
        self._texts = pieces(model, prompt)
        texts = asdict(self._texts)
        form = texts.pop("form")
        sizes = ((model.window, WINDOW), (model.stride, STRIDE))
        window, stride = self._windows = [usual if size is None else size for size, usual in sizes]
        if not 1 <= stride <= window > 1:
            raise ModelError(
                f"{model.source}: window {window}, stride {stride}; expected 1 ≤ stride ≤ window, window > 1"
            )
        self.config: Config = {
            **chat.config,
            "listwise": [recipe_version("listwise"), window, stride, MAX_POOL, WORDS],
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

    def announce(self, queries: Sequence[Query], documents: Callable[[Query], Sequence[Document]]) -> None:
        """Log the estimated cost of scoring ``queries``, where answers are paid for."""
        estimate = self._chat.estimate()
        if estimate is not None and queries:
            line, begun = estimate
            for query in queries:
                self._order(query, documents(query), begun())
            log.info(line(f"{self.name}.{conditions_in(queries)}"))

    begin = announce

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
        """Log the number of answers that were repaired to a whole ranking, since the last time."""
        repaired = sum(not ranking.whole for ranking in self._rankings)
        if self._rankings:
            answers = number_of(len(self._rankings), "answer")
            log.info(f"{self.name}: {answers}, {repaired or 'none'} repaired to a whole ranking")
        self._rankings.clear()

    def _order(self, query: Query, documents: Sequence[Document], answer: Answer) -> tuple[list[int], list[Order]]:
        """Return the documents' indices in their final order; a window without an answer stays as it is."""
        order = list(range(len(documents)))
        text = query_text(self._model, query.query, query.instruction)
        rankings = []
        for window in windows(min(len(documents), MAX_POOL), self._texts.form.fixed, *self._windows):
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


def windows(count: int, fixed: bool = False, window: int = WINDOW, stride: int = STRIDE) -> list[slice]:
    """Return the parts of ``count`` documents that are ordered one after another, the last ones first.

    Of 25: 5 to 25, then 0 to 15; where they are ``fixed`` as in a pool of ``MAX_POOL``, 20 to 25, 10 to 25, then 0 to
    20. One document needs no order.
    """
    last = MAX_POOL if fixed else count
    ends = [last, *range(last - stride, window - stride, -stride)]
    parts = (slice(max(end - window, 0), min(end, count)) for end in ends)
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

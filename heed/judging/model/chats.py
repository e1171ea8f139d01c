"""The models that judge: behind the chat completions API, or local; every answer is kept."""

from typing import Protocol

from heed.errors import UsageError
from heed.files import digest_json
from heed.judging.model.prompts import EXPECTED
from heed.models.files.guessing import with_family
from heed.models.local.runtime import Runtime
from heed.models.registry.entries import Model
from heed.models.remote.cost import Answers
from heed.models.remote.listwise import ApiChat
from heed.models.rerankers.listwise_local import LocalChat
from heed.models.rerankers.listwise_prompt import Message
from heed.types import Config

VERSION = 1  # raise when the same question gives another answer
MOST = 100  # tokens of a local model's answer: umbrela 0.0.7, max_new_tokens
LOCAL = ("causal", "listwise", "reasoning")  # families of language models that answer conversations


class JudgeChat(Protocol):
    """A model that is asked about one passage at a time."""

    @property
    def config(self) -> Config:
        """JSON data that decides its answers."""

    @property
    def price(self) -> tuple[float, float] | None:
        """US dollars for a million tokens of questions, and of answers; None where it is not known."""

    def close(self) -> None:
        """Unload the model, or close its connections."""

    def fits(self, conversation: list[Message]) -> bool:
        """Whether there is room for the conversation and an answer."""

    def cached(self, conversation: list[Message]) -> str | None:
        """Return the answer if it is cached."""

    def answer(self, conversation: list[Message]) -> str:
        """Return the model's answer, empty where it refuses; a kept one is not requested again."""


def judge_chat(model: Model, runtime: Runtime) -> JudgeChat:
    """Return the model as one that judges; its answers are kept in ``runtime.answers``.

    Raises :class:`UsageError` for a model that answers no conversation, and as its family does for one that cannot
    be found.
    """
    model = with_family(model, "causal")
    if model.family == "api-chat":
        return _ApiJudge(model, runtime)
    if model.family not in LOCAL:
        families = ", ".join(("api-chat", *LOCAL))
        raise UsageError(f"{model.source}: of family {model.family}, which answers no question; expected {families}")
    return _LocalJudge(model, runtime)


class _ApiJudge:
    """A model of the chat completions API."""

    def __init__(self, model: Model, runtime: Runtime) -> None:
        self._chat = ApiChat(model, runtime)
        self.config, self.price = self._chat.config, model.price

    def close(self) -> None:
        self._chat.close()

    def fits(self, conversation: list[Message]) -> bool:
        return self._chat.fits(conversation, EXPECTED)

    def cached(self, conversation: list[Message]) -> str | None:
        return self._chat.kept(conversation)

    def answer(self, conversation: list[Message]) -> str:
        return self._chat.answer(conversation, EXPECTED)


class _LocalJudge:
    """A causal language model, decoded greedily."""

    price = (0.0, 0.0)

    def __init__(self, model: Model, runtime: Runtime) -> None:
        self._chat, self._answers = LocalChat(model, runtime), Answers(runtime.answers)
        self.config: Config = {**self._chat.config, "answer": [VERSION, MOST]}

    def close(self) -> None:
        self._chat.close()

    def fits(self, conversation: list[Message]) -> bool:
        return self._chat.has_room(conversation, MOST)

    def cached(self, conversation: list[Message]) -> str | None:
        key = self._key(conversation)
        answer = self._answers.get([key]).get(key)
        return None if answer is None else answer.decode()

    def answer(self, conversation: list[Message]) -> str:
        cached = self.cached(conversation)
        if cached is not None:
            return cached
        answer = self._chat.write(conversation, MOST)
        self._answers.put({self._key(conversation): answer.encode()})
        return answer

    def _key(self, conversation: list[Message]) -> str:
        return digest_json([self.config, conversation])

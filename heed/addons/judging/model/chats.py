"""The models that judge: behind the chat completions API, or local; every answer is cached."""

from pathlib import Path

from heed.addons.apis.cost import Answers
from heed.addons.apis.listwise import ApiChat
from heed.addons.judging.model.judge_prompts import parse_grade
from heed.compute import Compute
from heed.errors import ModelError, UsageError
from heed.extras import advice
from heed.files import digest_json
from heed.models.files import with_family
from heed.models.registry.entries import Model
from heed.models.rerankers.listwise import Message
from heed.models.rerankers.listwise_local import LocalChat
from heed.reuse import recipe_version
from heed.types import Config

MOST = 100  # tokens of a local model's answer: umbrela 0.0.7, max_new_tokens
LOCAL = ("causal", "listwise", "reasoning")  # families of language models that answer conversations


class LocalJudge:
    """A causal language model, decoded greedily, with the methods of :class:`ApiChat` that a judge calls."""

    def __init__(self, model: Model, compute: Compute, answers: Path) -> None:
        """Find the model's files; they are loaded for the first answer."""
        self._chat, self._answers = LocalChat(model, compute), Answers(answers)
        self.config: Config = {**self._chat.config, "answer": [recipe_version("answer"), MOST]}

    def close(self) -> None:
        """Unload the model."""
        self._chat.close()

    def fits(self, conversation: list[Message], _: str) -> bool:
        """Whether there is room for the conversation and an answer."""
        return self._chat.has_room(conversation, MOST)

    def stored(self, conversation: list[Message], _: str) -> str | None:
        """Return the answer if it is stored."""
        return self._answers.stored(self._key(conversation))

    def answer(self, conversation: list[Message], _: str) -> str:
        """Return the model's answer; a stored one is not asked for again."""
        return self._answers.answer(self._key(conversation), lambda: self._chat.write(conversation, MOST))

    def _key(self, conversation: list[Message]) -> str:
        return digest_json([self.config, conversation])


JudgeChat = ApiChat | LocalJudge


def judge_chat(model: Model, compute: Compute, answers: Path, needs_key: bool = True) -> JudgeChat:
    """Return the model as one that judges; its answers are cached in the folder ``answers``.

    Raises :class:`UsageError` for a model that answers no conversation or has no family and no files, and as its
    family does for one that cannot be found, or lacks the key that it needs.
    """
    try:
        model = with_family(model, "causal")
    except (ModuleNotFoundError, ModelError) as error:
        reason = advice(str(error.name)) if isinstance(error, ModuleNotFoundError) else error
        raise UsageError(
            f"{model.source}: has no entry that names its family; a model behind an API needs --family api-chat, "
            f"and one of the hub its files: {reason}"
        ) from error
    if model.family == "api-chat":
        return ApiChat(model, answers, lambda _, answer: parse_grade(answer) is not None, needs_key)
    if model.family not in LOCAL:
        families = ", ".join(("api-chat", *LOCAL))
        raise UsageError(f"{model.source}: of family {model.family}, which answers no question; expected {families}")
    return LocalJudge(model, compute, answers)

"""List-wise reranking by a causal language model of transformers, in its own chat form."""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from heed.compute import Compute
from heed.errors import ModelError
from heed.models.files import local_copy
from heed.models.language_models import LanguageModel, base_of, load_config
from heed.models.registry.entries import Model
from heed.models.registry.families import FAMILIES
from heed.models.rerankers.listwise import CONTEXT, Chat, ListwiseReranker, Message, pieces
from heed.models.text import Cutter
from heed.process import within
from heed.types import Document

TEMPLATE_TIME = 10.0  # seconds; a template takes milliseconds, but Jinja's sandbox lets loops in loops run for days
SLACK = 8  # tokens beyond a whole ranking: a space before it, an end token after it


def local_listwise(model: Model, compute: Compute) -> ListwiseReranker:
    """Return the reranker of family ``listwise``; :class:`ModelError` for a model that cannot be found."""
    prompt = FAMILIES["listwise"].prompt
    return ListwiseReranker(model, LocalChat(model, compute, pieces(model, prompt).thought), prompt)


class LocalChat(LanguageModel, Chat):
    """A causal language model as a :class:`heed.models.rerankers.listwise.Chat`."""

    def __init__(self, model: Model, compute: Compute, thought: int = 0) -> None:
        """As of :class:`LanguageModel`.

        With ``thought`` it answers in at most so many tokens, in which it may think before its ranking.
        """
        super().__init__(model, compute)
        self._thought = thought

    def fits(self, conversation: list[Message], ranking: str) -> bool:
        """Whether both fit into ``max_length``, 4096 by default, and into the model's positions."""
        return self.has_room(conversation, self._lengths(ranking)[1])

    def has_room(self, conversation: list[Message], most: int) -> bool:
        """Whether the conversation fits there with an answer of ``most`` tokens."""
        return len(self.question(conversation)) + most <= self._room

    def answer(self, conversation: list[Message], ranking: str) -> str:
        """Return the model's answer, decoded greedily; an empty one where thought and ranking have no end.

        Without a thought it is at least as long as ``ranking``, as rank_llm has it.
        """
        return self._generated(conversation, *self._lengths(ranking))

    def write(self, conversation: list[Message], most: int) -> str:
        """Return an answer of any length up to ``most`` tokens, decoded greedily."""
        return self._generated(conversation, 0, most)

    def _generated(self, conversation: list[Message], least: int, most: int) -> str:
        [answer] = self._loaded.generate([self.question(conversation)], least, [most], self._ends)
        if self._thought and len(answer) == most and answer[-1] not in self._ends:
            return ""  # cut off
        return str(self._tokenizer.decode(answer, skip_special_tokens=True))

    def shortened(self, document: Document) -> Document:
        """Return the document, title included, cut to the entry's ``document_length``, a table between rows."""
        room = self._model.document_length
        if room is None:
            return document
        return document._replace(title="", text=Cutter(self._model, self._tokenizer).text(document, room))

    def _lengths(self, ranking: str) -> tuple[int, int]:
        """Return the fewest and the most tokens of an answer."""
        length = len(self._ids(ranking))
        return (0, self._thought) if self._thought else (length, length + SLACK)

    def question(self, conversation: list[Message]) -> list[int]:
        """Return the ids of :meth:`text`, after the token that the tokenizer begins texts with, unless it is there.

        RankZephyr's chat template has no such token, and rank_llm gives its text to the tokenizer as it is.
        """
        ids, begin = self._ids(self.text(conversation)), self._tokenizer.bos_token_id
        begins = begin is not None and begin in self._tokenizer("a", verbose=False)["input_ids"][:1]
        return [begin, *ids] if begins and ids[:1] != [begin] else ids

    def text(self, conversation: list[Message]) -> str:
        """Return the conversation in the tokenizer's chat template, up to where the model answers.

        Without a template it has Vicuna's form, that of RankVicuna, which comes without one. A
        template that takes no system message gets it before the first question. Raises
        :class:`ModelError` for one that fails or leaves out a message.
        """
        escaped = [{**message, "content": self._escaped(message["content"])} for message in conversation]
        if self._tokenizer.chat_template is None:
            return _vicuna(escaped, self._tokenizer.bos_token or "", self._tokenizer.eos_token or "")
        problem = "it leaves out a message"
        forms = [escaped, _without_system(escaped)] if escaped[0]["role"] == "system" else [escaped]
        for form in forms:
            try:
                with within(TEMPLATE_TIME):
                    text = str(
                        self._tokenizer.apply_chat_template(
                            form,
                            tokenize=False,
                            add_generation_prompt=True,
                            enable_thinking=self._thought > 0,  # else Qwen3 has no room to think
                        )
                    )
            except Exception as error:  # a template is a program: it can fail in any way
                problem = " ".join(str(error).split())[:200] or type(error).__name__
                continue
            if all(message["content"].strip() in text for message in form):
                return text
        raise ModelError(f"{self._model.source}: its chat template cannot be used ({problem}); fix its template")

    def _escaped(self, text: str) -> str:
        """Return the text without the tokenizer's special tokens: a document must not end its own message."""
        return self._special.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)

    @cached_property
    def _special(self) -> re.Pattern[str]:
        added = self._tokenizer.added_tokens_decoder.values()
        special = [re.escape(token.content) for token in added if token.special and len(token.content) > 1]
        return re.compile("|".join(special) or r"(?!)")

    @cached_property
    def _room(self) -> int:
        """The most tokens of question and answer."""
        room = self._model.max_length or CONTEXT
        return min(room, getattr(load_config(self._model), "max_position_embeddings", None) or room)

    def _load(self) -> Any:
        return self._engine(self._room)

    @cached_property
    def _ends(self) -> list[int]:
        """The ids that end an answer: those of the model's generation settings, else the tokenizer's."""
        from transformers import GenerationConfig

        config: Any = GenerationConfig
        folder = local_copy(base_of(self._model) or self._model)
        is_there = (folder / "generation_config.json").is_file()
        settings = config.from_pretrained(folder) if is_there else config.from_model_config(load_config(self._model))
        ends = self._tokenizer.eos_token_id if settings.eos_token_id is None else settings.eos_token_id
        return [ends] if isinstance(ends, int) else list(ends or [])


def _without_system(conversation: Sequence[Message]) -> list[Message]:
    system, first, *rest = conversation
    return [{**first, "content": f"{system['content']}\n\n{first['content']}"}, *rest]


def _vicuna(conversation: Sequence[Message], begin: str, end: str) -> str:
    """Return the text of a conversation in FastChat's form vicuna_v1.1, which rank_llm sets for RankVicuna."""
    forms = {"system": "{} ", "user": "USER: {} ", "assistant": f"ASSISTANT: {{}}{end}"}
    text = "".join(forms[message["role"]].format(message["content"]) for message in conversation)
    return f"{begin}{text}ASSISTANT:"

"""List-wise reranking by a causal language model of transformers, in its own chat form."""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from heed.errors import HeedError
from heed.io.artifacts import Recipe
from heed.io.document_store import DocumentStore
from heed.models.deadline import within
from heed.models.language_models import base_of, load_config, load_network, load_tokenizer, precision
from heed.models.listwise import CONTEXT, ListwiseReranker
from heed.models.listwise_prompt import Message
from heed.models.model_files import fingerprint, local_copy
from heed.models.registry import Model
from heed.models.vllm import VllmModel, Wanted, by_vllm, recipe

PROMPT = "rank_zephyr"
TEMPLATE_TIME = 10.0  # seconds; a template takes milliseconds, but Jinja's sandbox lets loops in loops run for days
SLACK = 8  # tokens beyond a whole ranking: a space before it, an end token after it


def local_listwise(model: Model, store: DocumentStore, device: str) -> ListwiseReranker:
    """The reranker of family ``listwise``; :class:`HeedError` for a model that cannot be found."""
    return ListwiseReranker(model, store, LocalChat(model, device), PROMPT)


class LocalChat:
    """A causal language model as a :class:`heed.models.listwise.Chat`."""

    def __init__(self, model: Model, device: str) -> None:
        """Make sure that the files of ``model`` are here; it is loaded on ``device`` when first used."""
        base = base_of(model)
        self.recipe: Recipe = {
            **fingerprint(model),
            "precision": precision(model, device),
            "base": fingerprint(base) if base else None,
            **recipe(model),
        }
        self._model, self._device = model, device
        self._by_vllm = by_vllm(model)

    def prepare(self) -> None:
        """Load the model."""
        _ = self._engine.open() if self._by_vllm else self._language_model

    def quote(self) -> None:
        """Nothing is paid."""

    def fits(self, conversation: list[Message], ranking: str) -> bool:
        """Whether both fit into ``max_length``, 4096 if not told, and into what the model was made for."""
        return len(self._ids(self.text(conversation))) + len(self._ids(ranking)) + SLACK <= self._room

    def answer(self, conversation: list[Message], ranking: str) -> str:
        """What the model most likely says, token by token; as long as ``ranking`` at least, as rank_llm does."""
        import torch

        length, question = len(self._ids(ranking)), self._ids(self.text(conversation))
        if self._by_vllm:
            [written] = self._engine.written([question], Wanted(length, length + SLACK, self._ends))
            return str(self._tokenizer.decode(written, skip_special_tokens=True))
        asked = torch.tensor([question], device=self._language_model.device)
        with torch.inference_mode():
            said = self._language_model.generate(
                input_ids=asked,
                attention_mask=torch.ones_like(asked),
                min_new_tokens=length,
                max_new_tokens=length + SLACK,
            )
        return str(self._tokenizer.decode(said[0, asked.shape[1] :], skip_special_tokens=True))

    def text(self, conversation: list[Message]) -> str:
        """The conversation as the tokenizer's chat template has it, up to where the model speaks.

        Without a template it has Vicuna's form, that of RankVicuna, which comes without one. A
        template that takes no system message gets it before the first question. Raises
        :class:`HeedError` for one that fails or leaves out a message.
        """
        told = [{**message, "content": self._escaped(message["content"])} for message in conversation]
        if self._tokenizer.chat_template is None:
            return _vicuna(told, self._tokenizer.bos_token or "", self._tokenizer.eos_token or "")
        problem = "it leaves out a message"
        for form in (told, _without_system(told)):
            try:
                with within(TEMPLATE_TIME):
                    text = str(
                        self._tokenizer.apply_chat_template(
                            form,
                            tokenize=False,
                            add_generation_prompt=True,
                            enable_thinking=False,  # Qwen3 has no room to think in an answer of a ranking's length
                        )
                    )
            except Exception as error:  # a template is a program: it can fail in any way
                problem = " ".join(str(error).split())[:200] or type(error).__name__
                continue
            if all(message["content"].strip() in text for message in form):
                return text
        raise HeedError(f"{self._model.source}: its chat template cannot be used ({problem}); mend its template")

    def _escaped(self, text: str) -> str:
        """The text without the tokenizer's special tokens: a document must not end its own message."""
        return self._special.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text)

    @cached_property
    def _special(self) -> re.Pattern[str]:
        added = self._tokenizer.added_tokens_decoder.values()
        special = [re.escape(token.content) for token in added if token.special and len(token.content) > 1]
        return re.compile("|".join(special) or r"(?!)")

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    @cached_property
    def _room(self) -> int:
        """Tokens of question and answer."""
        room = self._model.max_length or CONTEXT
        return min(room, getattr(load_config(self._model), "max_position_embeddings", None) or room)

    @cached_property
    def _engine(self) -> VllmModel:
        return VllmModel(self._model, self._device, self._room)

    @cached_property
    def _ends(self) -> list[int]:
        """The ids that end an answer: those of the repository, else the tokenizer's."""
        from transformers import GenerationConfig

        config: Any = GenerationConfig
        folder = local_copy(base_of(self._model) or self._model)
        told = (folder / "generation_config.json").is_file()
        own = config.from_pretrained(folder) if told else config.from_model_config(load_config(self._model))
        found = self._tokenizer.eos_token_id if own.eos_token_id is None else own.eos_token_id
        return [found] if isinstance(found, int) else list(found or [])

    @cached_property
    def _tokenizer(self) -> Any:
        return load_tokenizer(self._model)

    @cached_property
    def _language_model(self) -> Any:
        import transformers

        loaded = load_network(self._model, self._device, transformers.AutoModelForCausalLM)
        tokenizer = self._tokenizer
        # greedy, whatever the repository's generation_config.json says of sampling, beams and penalties
        configuration: Any = transformers.GenerationConfig
        loaded.generation_config = configuration(
            do_sample=False,
            eos_token_id=self._ends,
            pad_token_id=tokenizer.eos_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id,
        )
        return loaded


def _without_system(conversation: Sequence[Message]) -> list[Message]:
    system, first, *rest = conversation
    return [{**first, "content": f"{system['content']}\n\n{first['content']}"}, *rest]


def _vicuna(conversation: Sequence[Message], begin: str, end: str) -> str:
    """FastChat's vicuna_v1.1: ``SYSTEM USER: … ASSISTANT:``, which rank_llm sets for RankVicuna."""
    forms = {"system": "{} ", "user": "USER: {} ", "assistant": f"ASSISTANT: {{}}{end}"}
    said = "".join(forms[message["role"]].format(message["content"]) for message in conversation)
    return f"{begin}{said}ASSISTANT:"

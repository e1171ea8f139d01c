"""Rerankers that reason in words before they answer yes or no: Rank1."""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from heed.errors import ModelError
from heed.models.files.model_files import runs_remote_code
from heed.models.local.language_models import (
    check_entry,
    entry_ids,
    load_config,
    load_network,
    load_tokenizer,
    network_config,
)
from heed.models.local.runtime import DEFAULT, Runtime, unload
from heed.models.local.vllm import VllmModel, engine_config, uses_vllm
from heed.models.registry.entries import Model
from heed.models.rerankers.yes_no import BATCH_TOKENS as ANSWER_TOKENS
from heed.models.text.batches import Batches
from heed.models.text.prompts import Prompts
from heed.models.text.templates import query_text
from heed.progress import log
from heed.types import Config, Document, Query

END = "</think>"
THOUGHT = 8192  # tokens of one thought, as in Rank1's rank1.py (max_tokens)
LEAST = 512  # tokens of a thought for which a document is cut; where a prompt leaves fewer than THOUGHT, it is shorter
BATCH_TOKENS = 131072  # prompts and thoughts of a batch; 8 GB of keys and values for Rank1-7B
VERSION = 3  # raise when scores change


class ReasoningReranker:
    """A causal language model of family ``reasoning`` as a :class:`heed.types.Reranker`.

    The model continues its prompt, which ends in ``<think>``, greedily until it writes
    ``</think>``. A score is ``logit(yes) − logit(no)`` of the entry's ``tokens`` as the word after
    that: the log-odds of Rank1's score, so without its ties at 0 and 1. A thought that does not end
    within 8192 tokens, or within those that its prompt leaves, is cut after its last sentence and ended
    for the model, as Rank1's code does.
    """

    def __init__(self, model: Model, runtime: Runtime = DEFAULT) -> None:
        """Find the files of ``model``, or fetch them; it is loaded when first used."""
        runs_remote_code(model)  # checked before anything is fetched
        check_entry(model)
        self.name = model.name
        self.config: Config = {
            **network_config(model, runtime),
            "reasoning": [VERSION, THOUGHT, LEAST],
            **engine_config(model, runtime.inference),
        }
        self._model, self._runtime = model, runtime

    @cached_property
    def _reasoner(self) -> "_Reasoner":
        return _Reasoner(self._model, self._runtime)

    def load(self) -> None:
        """Load the model."""
        _ = self._reasoner

    def close(self) -> None:
        """Unload the model; a later score loads it again."""
        unload(self, "_reasoner")

    def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
        """Return the log-odds of yes for each document, after reasoning about it.

        Where a prompt leaves less than 512 tokens for the thought the document is cut, a table
        between rows; raises :class:`ModelError` where query, instruction and prompt leave no room for it.
        """
        if not documents:
            return []
        text = query_text(self._model, query.query, query.instruction)
        return self._reasoner.scores(f"{self.name}: topic {query.qid}", text, documents)


class _Reasoner:
    """The loaded model with its prompts."""

    def __init__(self, model: Model, runtime: Runtime) -> None:
        self._tokenizer = load_tokenizer(model)
        limit = model.max_length or load_config(model).max_position_embeddings
        if limit <= LEAST:
            raise ModelError(
                f"{model.source}: max_length {limit}, expected more than the {LEAST} tokens that are left for a thought"
            )
        self.prompts = Prompts(model, self._tokenizer, limit - LEAST)
        generator = _VllmGenerator if uses_vllm(model, runtime.inference) else _TransformersGenerator
        self.generator = generator(model, runtime, self._tokenizer, limit)

    def scores(self, place: str, query: str, documents: Sequence[Document]) -> list[float]:
        prompts = self.prompts.ids(place, query, documents)
        thoughts = self.generator.thoughts(prompts)
        endless = sum(END not in thought for thought in thoughts)
        if endless:
            log.info(f"{place}: {endless} of {len(prompts)} thoughts had no end and were ended after a sentence")
        return self.generator.answers(
            [self.with_thought(prompt, thought) for prompt, thought in zip(prompts, thoughts, strict=True)]
        )

    def with_thought(self, prompt: list[int], thought: str) -> list[int]:
        """Return the ids of a prompt with its thought up to ``</think>``.

        A thought without one is added to the prompt's text, on a line of its own, and both are read again together.
        """
        before, end, _ = thought.partition(END)
        if end:
            return [*prompt, *self._ids(before + end)]
        text = self._tokenizer.decode(prompt, clean_up_tokenization_spaces=False)
        return self._ids(f"{text}\n{whole_sentences(thought)}\n{END}")

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        return ids

    def close(self) -> None:
        unload(self, "generator")


class _TransformersGenerator:
    """The model in transformers."""

    def __init__(self, model: Model, runtime: Runtime, tokenizer: Any, limit: int) -> None:
        from transformers import AutoModelForCausalLM, GenerationConfig

        from heed.models.local.logits import rows_of

        self._tokenizer, self._limit = tokenizer, limit
        entries = entry_ids(model, tokenizer)
        self._network = load_network(model, runtime, AutoModelForCausalLM)
        # else settings of the model's files, such as a repetition penalty, apply where _generate gives none
        self._network.generation_config = GenerationConfig()  # type: ignore[no-untyped-call]
        self._head, self._rows = self._network.get_output_embeddings(), rows_of(self._network, entries, model.source)
        device, texts = self._network.device, runtime.batch_size
        self._thoughts = Batches(model.source, device, texts, BATCH_TOKENS)
        self._answers = Batches(model.source, device, texts, ANSWER_TOKENS)

    def thoughts(self, prompts: list[list[int]]) -> list[str]:
        """Return what the model writes after each prompt."""
        self._network.set_output_embeddings(self._head)
        rooms = rooms_of(prompts, self._limit)
        lengths = [len(prompt) + room for prompt, room in zip(prompts, rooms, strict=True)]
        return self._thoughts.read(lengths, lambda batch: self._generate([prompts[index] for index in batch]))

    def _generate(self, prompts: list[list[int]]) -> list[str]:
        from transformers import GenerationConfig

        from heed.models.local.logits import padded

        ids, mask = padded(prompts, "left", self._network.device)
        stop, rooms = self._tokenizer.eos_token_id, rooms_of(prompts, self._limit)
        settings = GenerationConfig(  # type: ignore[no-untyped-call]
            max_new_tokens=max(rooms), do_sample=False, stop_strings=[END], eos_token_id=stop, pad_token_id=stop
        )
        output = self._network.generate(ids, attention_mask=mask, generation_config=settings, tokenizer=self._tokenizer)
        written = [row[:room] for row, room in zip(output[:, ids.shape[1] :].tolist(), rooms, strict=True)]
        # without special tokens: shorter thoughts are filled up with that of the end
        return _decoded(self._tokenizer, written)

    def answers(self, prompts: list[list[int]]) -> list[float]:
        """Return ``logit(yes) − logit(no)`` after each prompt with its thought."""
        from heed.models.local.logits import causal_logits, score_of

        def read(batch: list[int]) -> list[list[float]]:
            return causal_logits(self._network, [prompts[index] for index in batch], "left").tolist()

        self._network.set_output_embeddings(self._rows)
        return list(map(score_of, self._answers.read(list(map(len, prompts)), read)))


class _VllmGenerator:
    """The model in vLLM."""

    def __init__(self, model: Model, runtime: Runtime, tokenizer: Any, limit: int) -> None:
        self._tokenizer, self._limit = tokenizer, limit
        self._entries = entry_ids(model, tokenizer)
        # a thought may grow when its text is tokenised again
        longest = min(2 * limit, max(limit, load_config(model).max_position_embeddings))
        self._engine = VllmModel(model, runtime, longest + 1)
        self._engine.open()

    def thoughts(self, prompts: list[list[int]]) -> list[str]:
        """Return what the model writes after each prompt."""
        generated = self._engine.generate(prompts, 0, THOUGHT, [self._tokenizer.eos_token_id], END)
        written = [ids[:room] for ids, room in zip(generated, rooms_of(prompts, self._limit), strict=True)]
        return _decoded(self._tokenizer, written)

    def answers(self, prompts: list[list[int]]) -> list[float]:
        """Return ``logit(yes) − logit(no)`` after each prompt with its thought."""
        from heed.models.local.logits import score_of

        return list(map(score_of, self._engine.logits(prompts, self._entries)))

    def close(self) -> None:
        """End the engine."""
        self._engine.close()


def _decoded(tokenizer: Any, written: list[list[int]]) -> list[str]:
    texts: list[str] = tokenizer.batch_decode(written, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    return texts


def rooms_of(prompts: Sequence[Sequence[int]], limit: int) -> list[int]:
    """Return how many tokens the thought after each prompt may have."""
    return [min(THOUGHT, limit - len(prompt)) for prompt in prompts]


def whole_sentences(thought: str) -> str:
    """Return a thought up to the end of its last sentence, whole where it has none, without white space around it."""
    sentences = re.match(r".*[.!?]", thought, re.DOTALL)
    return (sentences[0] if sentences else thought).strip()

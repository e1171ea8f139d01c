"""Rerankers that answer one word, such as yes or no, at once or after reasoning about it (Rank1)."""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from heed.compute import Compute
from heed.errors import ModelError
from heed.models.language_models import LanguageModel, check_entry, entry_ids, limit_of, load_config
from heed.models.registry.entries import Model
from heed.models.text import Prompts, query_text
from heed.progress import log
from heed.reuse import recipe_version
from heed.types import Config, Document, Query, Reranker

END = "</think>"
THOUGHT = 8192  # tokens of one thought, as in Rank1's rank1.py (max_tokens)
LEAST = 512  # tokens of a thought for which a document is cut; where a prompt leaves fewer than THOUGHT, it is shorter


class YesNoReranker(LanguageModel, Reranker):
    """A language model of family ``causal`` or ``seq2seq`` as a :class:`heed.types.Reranker`.

    A score is ``logit(yes) − logit(no)`` of the entry's ``tokens`` as the answer's first word, the
    log-odds of P(yes) = softmax over the two, which is ``1 / (1 + exp(−score))``. It orders documents
    as P(yes) does, but does not saturate: at 1.0 P(yes) makes ties that the model did not mean.
    With one of ``tokens`` a score is its logit.
    """

    independent = True

    GENERATES = False  # whether the model writes anything before its answer

    def __init__(self, model: Model, compute: Compute) -> None:
        """As of :class:`LocalModel`; :class:`ModelError` for an entry without prompt or tokens, before all else."""
        check_entry(model)
        super().__init__(model, compute)

    def _recipe(self) -> Config:
        return {"yes-no": recipe_version("yes-no")}

    @cached_property
    def _limit(self) -> int:
        """The most tokens of a prompt, with what the model writes before its answer."""
        return limit_of(self._model, self._tokenizer, load_config(self._model))

    @cached_property
    def _prompts(self) -> Prompts:
        return Prompts(self._model, self._tokenizer, self._limit)

    @cached_property
    def _answers(self) -> tuple[int, ...]:
        return entry_ids(self._model, self._tokenizer)

    def _load(self) -> Any:
        _ = self._answers, self._prompts  # checked before weights are read
        longest = self._longest() + 1
        return self._engine(longest, self.GENERATES)

    def _longest(self) -> int:
        return self._limit

    def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
        """Return the log-odds of yes, or the one token's logit, for each document.

        Where a prompt is too long the document is cut, a table between rows; raises
        :class:`heed.errors.ModelError` where query, instruction and prompt leave no room for it.
        """
        if not documents:
            return []
        topic = f"{self.name}: topic {query.qid}"
        prompts = self._prompts.ids(topic, query_text(self._model, query.query, query.instruction), documents)
        return list(map(score_of, self._loaded.logits(self._before_answer(topic, prompts), self._answers)))

    def _before_answer(self, topic: str, prompts: list[list[int]]) -> list[list[int]]:
        """Return the ids that precede the answers; messages begin with ``topic``."""
        return prompts


def score_of(logits: Sequence[float]) -> float:
    """Return ``logit(yes) − logit(no)`` of the logits of no and yes, or the one logit that there is."""
    return logits[-1] - logits[0] if len(logits) == 2 else logits[0]


class ReasoningReranker(YesNoReranker):
    """A causal language model of family ``reasoning`` as a :class:`heed.types.Reranker`.

    The model continues its prompt, which ends in ``<think>``, greedily until it writes
    ``</think>``. A score is ``logit(yes) − logit(no)`` of the entry's ``tokens`` as the word after
    that: the log-odds of Rank1's score, so without its ties at 0 and 1. A thought that does not end
    within 8192 tokens, or within those that its prompt leaves, is cut after its last sentence and ended
    for the model, as Rank1's code does. A document is cut where its prompt leaves less than 512 tokens for the thought.
    """

    GENERATES = True

    def _recipe(self) -> Config:
        return {"reasoning": [recipe_version("reasoning"), THOUGHT, LEAST]}

    @cached_property
    def _limit(self) -> int:
        positions: int = load_config(self._model).max_position_embeddings
        limit = self._model.max_length or positions
        if limit <= LEAST:
            raise ModelError(
                f"{self._model.source}: max_length {limit}, expected more than the {LEAST} tokens that are left for a "
                "thought"
            )
        return limit

    @cached_property
    def _prompts(self) -> Prompts:
        return Prompts(self._model, self._tokenizer, self._limit - LEAST)

    def _longest(self) -> int:
        positions: int = load_config(self._model).max_position_embeddings
        return min(2 * self._limit, max(self._limit, positions))  # a thought may grow when it is tokenised again

    def _before_answer(self, topic: str, prompts: list[list[int]]) -> list[list[int]]:
        thoughts = self.thoughts(prompts)
        endless = sum(END not in thought for thought in thoughts)
        if endless:
            log.info(f"{topic}: {endless} of {len(prompts)} thoughts had no end and were ended after a sentence")
        return [self.with_thought(prompt, thought) for prompt, thought in zip(prompts, thoughts, strict=True)]

    def thoughts(self, prompts: list[list[int]]) -> list[str]:
        """Return the text that the model writes after each prompt, whose tokens are given by their ids."""
        rooms = [min(THOUGHT, self._limit - len(prompt)) for prompt in prompts]
        written = self._loaded.generate(prompts, 0, rooms, [self._tokenizer.eos_token_id], END)
        texts: list[str] = self._tokenizer.batch_decode(
            written, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return texts

    def with_thought(self, prompt: list[int], thought: str) -> list[int]:
        """Return the ids of a prompt with its thought up to ``</think>``.

        A thought without one is added to the prompt's text, on a line of its own, and both are read again together.
        """
        before, end, _ = thought.partition(END)
        if end:
            return [*prompt, *self._ids(before + end)]
        text = self._tokenizer.decode(prompt, clean_up_tokenization_spaces=False)
        return self._ids(f"{text}\n{whole_sentences(thought)}\n{END}")


def whole_sentences(thought: str) -> str:
    """Return a thought up to the end of its last sentence, whole where it has none, without white space around it."""
    sentences = re.match(r".*[.!?]", thought, re.DOTALL)
    return (sentences[0] if sentences else thought).strip()

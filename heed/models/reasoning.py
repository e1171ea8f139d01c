"""Rerankers that think in words before they answer yes or no: Rank1."""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from heed.errors import HeedError
from heed.io.artifacts import Recipe
from heed.io.document_store import DocumentStore
from heed.models.language_models import (
    base_of,
    entry_ids,
    load_config,
    load_network,
    load_tokenizer,
    precision,
)
from heed.models.model_files import fingerprint, runs_remote_code
from heed.models.prompts import Prompts
from heed.models.registry import Model
from heed.models.rendering import query_text
from heed.models.vllm import VllmModel, Wanted, by_vllm, recipe
from heed.models.yes_no import batches
from heed.progress import log
from heed.types import Document, Topic

END = "</think>"
THOUGHT = 8192  # tokens of one thought, as in Rank1's rank1.py (max_tokens)
BATCH_TOKENS = 131072  # prompts and thoughts of a batch; 8 GB of keys and values for Rank1-7B
VERSION = 2  # raise when scores change


class ReasoningReranker:
    """A causal language model of family ``reasoning`` as a :class:`heed.reranking.rescoring.Reranker`.

    The model goes on from its prompt, which ends in ``<think>``, always with the likeliest token, until
    it writes ``</think>``. A score is ``logit(yes) − logit(no)`` of the entry's ``tokens`` as the
    word after that: the log-odds of Rank1's score, so without its ties at 0 and 1. A thought that does
    not end within 8192 tokens is cut after its last sentence and ended for the model, as Rank1's code does.
    """

    def __init__(self, model: Model, store: DocumentStore, device: str) -> None:
        """Make sure that the files of ``model`` are here; it is loaded on ``device`` when first used."""
        runs_remote_code(model)  # asked before anything is fetched
        base = base_of(model)
        self.name = model.name
        self.recipe: Recipe = {
            **fingerprint(model),
            "reasoning": [VERSION, THOUGHT],
            "dtype": precision(model, device),
            "base": fingerprint(base) if base else None,
            "documents": store.digest,
            **recipe(model),
        }
        self._model, self._store, self._device = model, store, device
        self._by_vllm = by_vllm(model)

    @cached_property
    def _thinker(self) -> "_Thinker":
        return _Thinker(self._model, self._device, self._by_vllm)

    def prepare(self) -> None:
        """Load the model."""
        _ = self._thinker

    def score(self, topic: Topic, condition: str, docids: Sequence[str]) -> Sequence[float]:
        """The log-odds of yes for each document, after thinking about it.

        Where a prompt leaves less than 8192 tokens for the thought the document is cut, a table
        between rows; raises :class:`HeedError` where query, instruction and prompt leave no room for it.
        """
        if not docids:
            return []
        instruction = topic.instructions[condition] if condition != "query" else ""
        query = query_text(self._model, topic.query, instruction)
        return self._thinker.scores(f"{self.name}: topic {topic.qid}", query, self._store.get(docids))


class _Thinker:
    """The loaded model with its prompts."""

    def __init__(self, model: Model, device: str, by_vllm: bool) -> None:
        self._tokenizer = load_tokenizer(model)
        limit = model.max_length or load_config(model).max_position_embeddings
        if limit <= THOUGHT:
            raise HeedError(
                f"{model.source}: max_length {limit}, expected more than the {THOUGHT} tokens that a thought may take"
            )
        self._prompts = Prompts(model, self._tokenizer, limit - THOUGHT)
        self._mind = (_EngineMind if by_vllm else _Mind)(model, device, self._tokenizer, limit)

    def scores(self, place: str, query: str, documents: Sequence[Document]) -> list[float]:
        prompts = self._prompts.ids(place, query, documents)
        thoughts = self._mind.thoughts(prompts)
        endless = sum(END not in thought for thought in thoughts)
        if endless:
            log.info(f"{place}: {endless} of {len(prompts)} thoughts had no end and were ended after a sentence")
        added = self._tokenizer(list(map(ended, thoughts)), add_special_tokens=False, verbose=False)["input_ids"]
        return self._mind.answers([[*prompt, *thought] for prompt, thought in zip(prompts, added, strict=True)])


class _Mind:
    """The model in transformers."""

    def __init__(self, model: Model, device: str, tokenizer: Any, limit: int) -> None:
        from transformers import AutoModelForCausalLM, GenerationConfig

        from heed.models.answers import two_rows

        self._tokenizer = tokenizer
        entries = entry_ids(model, tokenizer)
        self._network = load_network(model, device, AutoModelForCausalLM)
        # else what the model's files say, such as a penalty for repetition, fills up what _written leaves open
        self._network.generation_config = GenerationConfig()  # type: ignore[no-untyped-call]
        self._head, self._two = self._network.get_output_embeddings(), two_rows(self._network, entries, model.source)

    def thoughts(self, prompts: list[list[int]]) -> list[str]:
        """What the model writes after each prompt."""
        thoughts = [""] * len(prompts)
        self._network.set_output_embeddings(self._head)
        for batch in batches([len(prompt) + THOUGHT for prompt in prompts], BATCH_TOKENS):
            for at, thought in zip(batch, self._written([prompts[at] for at in batch]), strict=True):
                thoughts[at] = thought
        return thoughts

    def _written(self, prompts: list[list[int]]) -> list[str]:
        from transformers import GenerationConfig

        from heed.models.answers import padded

        ids, mask = padded(prompts, "left", self._network.device)
        stop = self._tokenizer.eos_token_id
        settings = GenerationConfig(  # type: ignore[no-untyped-call]
            max_new_tokens=THOUGHT, do_sample=False, stop_strings=[END], eos_token_id=stop, pad_token_id=stop
        )
        made = self._network.generate(ids, attention_mask=mask, generation_config=settings, tokenizer=self._tokenizer)
        # without special tokens: shorter thoughts are filled up with that of the end
        found: list[str] = self._tokenizer.batch_decode(made[:, ids.shape[1] :], skip_special_tokens=True)
        return found

    def answers(self, prompts: list[list[int]]) -> list[float]:
        """``logit(yes) − logit(no)`` after each prompt with its thought."""
        from heed.models.answers import causal_logits

        scores = [0.0] * len(prompts)
        self._network.set_output_embeddings(self._two)
        for batch in batches(list(map(len, prompts))):
            logits = causal_logits(self._network, [prompts[at] for at in batch], "left")
            for at, (no, yes) in zip(batch, logits.tolist(), strict=True):
                scores[at] = yes - no
        return scores


class _EngineMind:
    """The model in vLLM."""

    def __init__(self, model: Model, device: str, tokenizer: Any, limit: int) -> None:
        self._tokenizer = tokenizer
        self._entries = entry_ids(model, tokenizer)
        # a thought may grow where its text becomes other tokens than it was written in
        longest = min(2 * limit, max(limit, load_config(model).max_position_embeddings))
        self._engine = VllmModel(model, device, longest + 1)
        self._engine.open()

    def thoughts(self, prompts: list[list[int]]) -> list[str]:
        """What the model writes after each prompt."""
        wanted = Wanted(0, THOUGHT, [self._tokenizer.eos_token_id], END)
        written = self._engine.written(prompts, wanted)
        found: list[str] = self._tokenizer.batch_decode(written, skip_special_tokens=True)
        return found

    def answers(self, prompts: list[list[int]]) -> list[float]:
        """``logit(yes) − logit(no)`` after each prompt with its thought."""
        return self._engine.differences(prompts, self._entries)


def ended(thought: str) -> str:
    """A thought up to its ``</think>``; one without is cut after its last sentence and gets one."""
    before, end, _ = thought.partition(END)
    if end:
        return before + end
    sentences = re.match(r".*[.!?]", thought, re.DOTALL)
    return f"{sentences[0] if sentences else thought}\n{END}"

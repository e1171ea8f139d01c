"""Rerankers that are asked for one word, yes or no: causal and encoder-decoder language models."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from heed.io.artifacts import Recipe
from heed.io.document_store import DocumentStore
from heed.models.language_models import (
    base_of,
    entry_ids,
    limit_of,
    load_config,
    load_network,
    load_tokenizer,
    precision,
)
from heed.models.model_files import fingerprint, runs_remote_code
from heed.models.prompts import Prompts
from heed.models.registry import Model
from heed.models.rendering import query_text
from heed.models.vllm import VllmModel, by_vllm, recipe
from heed.types import Topic

BATCH_TOKENS = 8192  # a batch's rows times its longest; keeps a 7-billion-parameter GPU busy within 4 GB
VERSION = 1  # raise when scores change


class YesNoReranker:
    """A language model of family ``causal`` or ``seq2seq`` as a :class:`heed.reranking.rescoring.Reranker`.

    A score is ``logit(yes) − logit(no)`` of the entry's ``tokens`` as the answer's first word, the
    log-odds of P(yes) = softmax over the two, which is ``1 / (1 + exp(−score))``. It orders documents
    as P(yes) does, but does not saturate: at 1.0 P(yes) makes ties that the model did not mean.
    """

    def __init__(self, model: Model, store: DocumentStore, device: str, share_prefix: bool = True) -> None:
        """Make sure that the files of ``model`` are here; it is loaded on ``device`` when first used.

        ``share_prefix``: let causal models read what the prompts of a topic begin with only once; vLLM
        does so in any case.
        """
        runs_remote_code(model)  # asked before anything is fetched
        base = base_of(model)
        self.name = model.name
        self.recipe: Recipe = {
            **fingerprint(model),
            "truefalse": VERSION,
            "dtype": precision(model, device),
            "base": fingerprint(base) if base else None,
            "documents": store.digest,
            **recipe(model),
        }
        self._model, self._store, self._device, self._share = model, store, device, share_prefix
        self._by_vllm = by_vllm(model)

    @cached_property
    def _reader(self) -> "_Reader | _EngineReader":
        if self._by_vllm:
            return _EngineReader(self._model, self._device)
        return _Reader(self._model, self._device, self._share)

    def prepare(self) -> None:
        """Load the model."""
        _ = self._reader

    def score(self, topic: Topic, condition: str, docids: Sequence[str]) -> Sequence[float]:
        """The log-odds of yes for each document.

        Where a prompt is too long the document is cut, a table between rows; raises
        :class:`HeedError` where query, instruction and prompt alone leave no room for it.
        """
        if not docids:
            return []
        instruction = topic.instructions[condition] if condition != "query" else ""
        query = query_text(self._model, topic.query, instruction)
        found = self._store.get(docids)
        return self._reader.scores(f"{self.name}: topic {topic.qid}", query, found)


class _Reader:
    """The loaded model."""

    def __init__(self, model: Model, device: str, share_prefix: bool) -> None:
        from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

        from heed.models.answers import shares_prefixes, two_rows

        self._causal = model.family == "causal"
        tokenizer = load_tokenizer(model)
        entries = entry_ids(model, tokenizer)
        self._network = load_network(model, device, AutoModelForCausalLM if self._causal else AutoModelForSeq2SeqLM)
        self._network.set_output_embeddings(two_rows(self._network, entries, model.source))
        self._prompts = Prompts(model, tokenizer, limit_of(model, tokenizer, self._network.config))
        self._side = model.padding or ("left" if self._causal else "right")
        known = self._causal and not model.remote_code  # what states other code keeps cannot be told
        self._share = share_prefix and known and shares_prefixes(self._network.config)

    def scores(self, place: str, query: str, documents: Sequence[Any]) -> list[float]:
        from heed.models.answers import causal_logits, read_prefix, seq2seq_logits

        prompts = self._prompts.ids(place, query, documents)
        shared = _shared(prompts) if self._share else 0
        prefix = read_prefix(self._network, prompts[0][:shared]) if shared else None
        scores = [0.0] * len(prompts)
        for batch in batches(list(map(len, prompts))):
            rows = [prompts[at][shared:] for at in batch]
            logits = (
                causal_logits(self._network, rows, self._side, prefix)
                if self._causal
                else seq2seq_logits(self._network, rows, self._side)
            )
            for at, (no, yes) in zip(batch, logits.tolist(), strict=True):
                scores[at] = yes - no
        return scores


class _EngineReader:
    """The model in vLLM, whose prefix caching and batches take the place of ours."""

    def __init__(self, model: Model, device: str) -> None:
        tokenizer = load_tokenizer(model)
        self._entries = entry_ids(model, tokenizer)
        limit = limit_of(model, tokenizer, load_config(model))
        self._prompts = Prompts(model, tokenizer, limit)
        self._engine = VllmModel(model, device, limit + 1)
        self._engine.open()

    def scores(self, place: str, query: str, documents: Sequence[Any]) -> list[float]:
        return self._engine.differences(self._prompts.ids(place, query, documents), self._entries)


def batches(lengths: Sequence[int], tokens: int = BATCH_TOKENS) -> Iterator[list[int]]:
    """Which prompts are read together: positions in ``lengths``, longest first, at most ``tokens`` with padding.

    A prompt that is longer than ``tokens`` is read alone.
    """
    batch: list[int] = []
    for at in sorted(range(len(lengths)), key=lambda one: -lengths[one]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > tokens:
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch


def _shared(prompts: Sequence[list[int]]) -> int:
    """How many first tokens all prompts have in common, the last of the shortest not among them."""
    first, last = min(prompts), max(prompts)  # all others lie between these two in dictionary order
    most = min(map(len, prompts)) - 1
    return next((at for at in range(most) if first[at] != last[at]), most)

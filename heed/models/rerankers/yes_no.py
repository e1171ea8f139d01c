"""Rerankers that answer one word, such as yes or no: causal and encoder-decoder language models."""

from collections.abc import Sequence
from functools import cached_property

from heed.models.files.model_files import runs_remote_code
from heed.models.local.language_models import (
    check_entry,
    entry_ids,
    limit_of,
    load_config,
    load_network,
    load_tokenizer,
    network_config,
)
from heed.models.local.runtime import DEFAULT, Runtime, unload
from heed.models.local.vllm import VllmModel, engine_config, uses_vllm
from heed.models.registry.entries import Model
from heed.models.text.batches import Batches
from heed.models.text.prompts import Prompts
from heed.models.text.templates import query_text
from heed.types import Config, Document, Query

BATCH_TOKENS = 8192  # a batch's rows times its longest; keeps a 7-billion-parameter GPU busy within 4 GB
VERSION = 1  # raise when scores change


class YesNoReranker:
    """A language model of family ``causal`` or ``seq2seq`` as a :class:`heed.types.Reranker`.

    A score is ``logit(yes) − logit(no)`` of the entry's ``tokens`` as the answer's first word, the
    log-odds of P(yes) = softmax over the two, which is ``1 / (1 + exp(−score))``. It orders documents
    as P(yes) does, but does not saturate: at 1.0 P(yes) makes ties that the model did not mean.
    With one of ``tokens`` a score is its logit.
    """

    def __init__(self, model: Model, runtime: Runtime = DEFAULT, share_prefix: bool = True) -> None:
        """Find the files of ``model``, or fetch them; it is loaded when first used.

        ``share_prefix``: causal models read what the prompts of a query begin with only once; vLLM
        does so in any case.
        """
        runs_remote_code(model)  # checked before anything is fetched
        check_entry(model)
        self.name = model.name
        self.config: Config = {
            **network_config(model, runtime),
            "yes-no": VERSION,
            **engine_config(model, runtime.inference),
        }
        self._model, self._runtime, self._share = model, runtime, share_prefix

    @cached_property
    def _scorer(self) -> "_TransformersScorer | _VllmScorer":
        if uses_vllm(self._model, self._runtime.inference):
            return _VllmScorer(self._model, self._runtime)
        return _TransformersScorer(self._model, self._runtime, self._share)

    def load(self) -> None:
        """Load the model."""
        _ = self._scorer

    def close(self) -> None:
        """Unload the model; a later score loads it again."""
        unload(self, "_scorer")

    def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
        """Return the log-odds of yes, or the one token's logit, for each document.

        Where a prompt is too long the document is cut, a table between rows; raises
        :class:`heed.errors.ModelError` where query, instruction and prompt leave no room for it.
        """
        if not documents:
            return []
        text = query_text(self._model, query.query, query.instruction)
        return self._scorer.scores(f"{self.name}: topic {query.qid}", text, documents)


class _TransformersScorer:
    """The loaded model."""

    def __init__(self, model: Model, runtime: Runtime, share_prefix: bool) -> None:
        from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

        from heed.models.local.logits import rows_of, shares_prefixes

        self._causal = model.family == "causal"
        tokenizer = load_tokenizer(model)
        entries = entry_ids(model, tokenizer)
        self._network = load_network(model, runtime, AutoModelForCausalLM if self._causal else AutoModelForSeq2SeqLM)
        self._network.set_output_embeddings(rows_of(self._network, entries, model.source))
        self._prompts = Prompts(model, tokenizer, limit_of(model, tokenizer, self._network.config))
        self._side = model.padding or ("left" if self._causal else "right")
        known = self._causal and not model.remote_code  # which states other code caches is unknown
        self._share = share_prefix and known and shares_prefixes(self._network.config)
        self._batches = Batches(model.source, self._network.device, runtime.batch_size, BATCH_TOKENS)

    def scores(self, place: str, query: str, documents: Sequence[Document]) -> list[float]:
        from heed.models.local.logits import causal_logits, read_prefix, score_of, seq2seq_logits

        prompts = self._prompts.ids(place, query, documents)
        shared = _shared(prompts) if self._share else 0
        prefix = read_prefix(self._network, prompts[0][:shared]) if shared else None

        def read(batch: list[int]) -> list[list[float]]:
            rows = [prompts[position][shared:] for position in batch]
            if self._causal:
                return causal_logits(self._network, rows, self._side, prefix).tolist()
            return seq2seq_logits(self._network, rows, self._side).tolist()

        return list(map(score_of, self._batches.read(list(map(len, prompts)), read)))


class _VllmScorer:
    """The model in vLLM, whose prefix caching and batches take the place of ours."""

    def __init__(self, model: Model, runtime: Runtime) -> None:
        tokenizer = load_tokenizer(model)
        self._entries = entry_ids(model, tokenizer)
        limit = limit_of(model, tokenizer, load_config(model))
        self._prompts = Prompts(model, tokenizer, limit)
        self._engine = VllmModel(model, runtime, limit + 1)
        self._engine.open()

    def scores(self, place: str, query: str, documents: Sequence[Document]) -> list[float]:
        from heed.models.local.logits import score_of

        return list(map(score_of, self._engine.logits(self._prompts.ids(place, query, documents), self._entries)))

    def close(self) -> None:
        self._engine.close()


def _shared(prompts: Sequence[list[int]]) -> int:
    """Return how many first tokens all prompts share, without the last token of the shortest."""
    first, last = min(prompts), max(prompts)  # all others lie between these two in lexicographic order
    most = min(map(len, prompts)) - 1
    return next((position for position in range(most) if first[position] != last[position]), most)

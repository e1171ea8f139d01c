"""Rerankers that answer one word, such as yes or no: causal and encoder-decoder language models."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from heed.addons.architectures.vllm import engine_config
from heed.compute import Compute
from heed.models.local.language_models import (
    LanguageModel,
    check_entry,
    entry_ids,
    limit_of,
    load_config,
    network_config,
)
from heed.models.registry.entries import Model
from heed.models.text.prompts import Prompts
from heed.models.text.templates import query_text
from heed.reuse import recipe_version
from heed.types import Config, Document, Query, Reranker


class YesNoReranker(LanguageModel, Reranker):
    """A language model of family ``causal`` or ``seq2seq`` as a :class:`heed.types.Reranker`.

    A score is ``logit(yes) − logit(no)`` of the entry's ``tokens`` as the answer's first word, the
    log-odds of P(yes) = softmax over the two, which is ``1 / (1 + exp(−score))``. It orders documents
    as P(yes) does, but does not saturate: at 1.0 P(yes) makes ties that the model did not mean.
    With one of ``tokens`` a score is its logit.
    """

    def __init__(self, model: Model, compute: Compute, share_prefix: bool = True) -> None:
        """Find the files of ``model``, or fetch them; it is loaded when first used.

        ``share_prefix``: causal models read what the prompts of a query begin with only once; vLLM
        does so in any case.
        """
        super().__init__(model, compute)
        check_entry(model)
        self.config: Config = {
            **network_config(model, compute),
            "yes-no": recipe_version("yes-no"),
            **engine_config(model, compute),
        }
        self._share_prefix = share_prefix

    @cached_property
    def _prompts(self) -> Prompts:
        return Prompts(self._model, self._tokenizer, self._limit)

    @cached_property
    def _limit(self) -> int:
        return limit_of(self._model, self._tokenizer, load_config(self._model))

    @cached_property
    def _engine(self) -> Any:
        from heed.models.local.engine import open_engine

        entry_ids(self._model, self._tokenizer)  # these and the prompt are checked before weights are read
        _ = self._prompts
        return open_engine(
            self._model,
            self._compute,
            self._tokenizer,
            self._limit + 1,
            generates=False,
            share_prefix=self._share_prefix,
        )

    def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
        """Return the log-odds of yes, or the one token's logit, for each document.

        Where a prompt is too long the document is cut, a table between rows; raises
        :class:`heed.errors.ModelError` where query, instruction and prompt leave no room for it.
        """
        if not documents:
            return []
        text = query_text(self._model, query.query, query.instruction)
        prompts = self._prompts.ids(f"{self.name}: topic {query.qid}", text, documents)
        logits = self._engine.logits(prompts, entry_ids(self._model, self._tokenizer))
        return list(map(score_of, logits))


def score_of(logits: Sequence[float]) -> float:
    """Return ``logit(yes) − logit(no)`` of the logits of no and yes, or the one logit that there is."""
    return logits[-1] - logits[0] if len(logits) == 2 else logits[0]

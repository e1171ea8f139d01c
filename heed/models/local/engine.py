"""Language models as engines: the next word's logits and greedy continuations, in transformers or in vLLM."""

from collections.abc import Sequence
from typing import Any

from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, GenerationConfig

from heed.addons.architectures.vllm import VllmModel, uses_vllm
from heed.compute import Compute
from heed.models.local.language_models import load_network
from heed.models.local.logits import Rows, causal_logits, padded, read_prefix, rows_of, seq2seq_logits, shares_prefixes
from heed.models.registry.entries import Model
from heed.models.text.batches import NEXT_WORD_TOKENS, Batches

GENERATED_TOKENS = 131072  # prompts and answers of a batch; 8 GB of keys and values for a model of 7 billion weights


class TransformersModel:
    """A language model of family ``seq2seq``, or a causal one, in transformers; as :class:`VllmModel`."""

    def __init__(
        self, model: Model, compute: Compute, tokenizer: Any, generates: bool = True, share_prefix: bool = False
    ) -> None:
        """Load the model; only one that ``generates`` keeps its whole output layer.

        ``share_prefix``: for logits, what prompts begin with is read once, where the network's states allow that.
        """
        self._model, self._tokenizer, self._causal = model, tokenizer, model.family != "seq2seq"
        self._network = load_network(model, compute, AutoModelForCausalLM if self._causal else AutoModelForSeq2SeqLM)
        # else settings of the model's files, such as a repetition penalty, apply where generate is given none
        self._network.generation_config = GenerationConfig()  # type: ignore[no-untyped-call]
        # which states the code of a repository caches is unknown
        shares = self._causal and not model.remote_code and shares_prefixes(self._network.config)
        self._share_prefix = share_prefix and shares
        self._rows: dict[tuple[int, ...], Rows] = {}
        self._head = self._network.get_output_embeddings() if generates else None
        device, texts = self._network.device, compute.batch_size
        self._next_words = Batches(model.source, device, texts, NEXT_WORD_TOKENS)
        self._answers = Batches(model.source, device, texts, GENERATED_TOKENS)

    def logits(self, prompts: Sequence[list[int]], entries: tuple[int, ...]) -> list[list[float]]:
        """Return the logits of the vocabulary ``entries`` after each prompt."""
        self._use_rows(entries)
        side = self._model.padding or ("left" if self._causal else "right")
        shared = _shared(prompts) if self._share_prefix else 0
        prefix = read_prefix(self._network, prompts[0][:shared]) if shared else None

        def read(batch: list[int]) -> list[list[float]]:
            rows = [prompts[position][shared:] for position in batch]
            if self._causal:
                return causal_logits(self._network, rows, side, prefix).tolist()
            return seq2seq_logits(self._network, rows, side).tolist()

        return self._next_words.read(list(map(len, prompts)), read)

    def _use_rows(self, entries: tuple[int, ...]) -> None:
        if entries not in self._rows:
            self._rows[entries] = rows_of(self._network, entries, self._model.source)
        self._network.set_output_embeddings(self._rows[entries])

    def generate(
        self, prompts: Sequence[list[int]], least: int, most: Sequence[int], ends: list[int], stop: str | None = None
    ) -> list[list[int]]:
        """Return ``least`` to ``most`` ids that the model generates after each prompt, greedily.

        The ids ``ends`` and the text ``stop`` end an answer, and are included in it; what fills it up to the longest
        of its batch is one of the tokenizer's special tokens.
        """
        self._network.set_output_embeddings(self._head)
        tokenizer = self._tokenizer
        fill = tokenizer.pad_token_id if tokenizer.eos_token_id is None else tokenizer.eos_token_id

        def read(batch: list[int]) -> list[list[int]]:
            ids, mask = padded([prompts[position] for position in batch], "left", self._network.device)
            rooms = [most[position] for position in batch]
            settings = GenerationConfig(  # type: ignore[no-untyped-call]
                min_new_tokens=least or None,
                max_new_tokens=max(rooms),
                do_sample=False,
                stop_strings=None if stop is None else [stop],
                eos_token_id=ends or None,
                pad_token_id=fill,
            )
            output = self._network.generate(ids, attention_mask=mask, generation_config=settings, tokenizer=tokenizer)
            return [row[:room] for row, room in zip(output[:, ids.shape[1] :].tolist(), rooms, strict=True)]

        return self._answers.read([len(prompt) + room for prompt, room in zip(prompts, most, strict=True)], read)


def open_engine(
    model: Model, compute: Compute, tokenizer: Any, length: int, generates: bool = True, share_prefix: bool = False
) -> TransformersModel | VllmModel:
    """Return the opened engine of ``model``: vLLM where the user chose it and it can run the family.

    ``length`` is how many tokens a prompt and its answer have at most; vLLM shares prefixes in any case.
    """
    if uses_vllm(model, compute):
        return VllmModel(model, compute, length)
    return TransformersModel(model, compute, tokenizer, generates, share_prefix)


def _shared(prompts: Sequence[list[int]]) -> int:
    """Return how many first tokens all prompts share, without the last token of the shortest."""
    first, last = min(prompts), max(prompts)  # all others lie between these two in lexicographic order
    most = min(map(len, prompts)) - 1
    return next((position for position in range(most) if first[position] != last[position]), most)

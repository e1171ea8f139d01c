"""Language models as engines: the next word's logits, and greedy continuations, for batches of prompts."""

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence
from transformers import DynamicCache, GenerationConfig
from transformers.cache_utils import Cache, DynamicLayer, DynamicSlidingWindowLayer

from heed.compute import Compute
from heed.errors import ModelError
from heed.models.local import NEXT_WORD_TOKENS, Batches
from heed.models.registry.entries import Model
from heed.models.weights import LENGTH_DEPENDENT

GENERATED_TOKENS = 131072  # prompts and answers of a batch; 8 GB of keys and values for a model of 7 billion weights


class TransformersModel:
    """A language model of family ``seq2seq``, or a causal one, in transformers."""

    def __init__(self, model: Model, network: Any, tokenizer: Any, compute: Compute, generates: bool = True) -> None:
        """Use the loaded ``network``; only one that ``generates`` keeps its whole output layer.

        Of others, what prompts begin with is read once, where the network's states allow that.
        """
        self._model, self._network, self._tokenizer = model, network, tokenizer
        self._causal = model.family != "seq2seq"
        # else settings of the model's files, such as a repetition penalty, apply where generate is given none
        self._network.generation_config = GenerationConfig()  # type: ignore[no-untyped-call]
        # which states the code of a repository caches is unknown
        shares = self._causal and not model.remote_code and shares_prefixes(self._network.config)
        self._share_prefix = shares and not generates
        self._rows: dict[tuple[int, ...], AnswerRows] = {}
        self._head = self._network.get_output_embeddings() if generates else None
        self._next_words = Batches(model.source, network.device, compute, NEXT_WORD_TOKENS)
        self._answers = Batches(model.source, network.device, compute, GENERATED_TOKENS)

    def logits(self, prompts: Sequence[list[int]], entries: tuple[int, ...]) -> list[list[float]]:
        """Return the logits of the vocabulary ``entries`` after each prompt."""
        if entries not in self._rows:
            self._rows[entries] = rows_of(self._network, entries, self._model.source)
        self._network.set_output_embeddings(self._rows[entries])
        side = self._model.padding or ("left" if self._causal else "right")
        shared = _shared(prompts) if self._share_prefix else 0
        prefix = read_prefix(self._network, prompts[0][:shared]) if shared else None

        def read(batch: list[int]) -> list[list[float]]:
            rows = [prompts[position][shared:] for position in batch]
            if self._causal:
                return causal_logits(self._network, rows, side, prefix).tolist()
            return seq2seq_logits(self._network, rows, side).tolist()

        return self._next_words.read(list(map(len, prompts)), read)

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


def _shared(prompts: Sequence[list[int]]) -> int:
    """Return how many first tokens all prompts share, without the last token of the shortest."""
    first, last = min(prompts), max(prompts)  # all others lie between these two in lexicographic order
    most = min(map(len, prompts)) - 1
    return next((position for position in range(most) if first[position] != last[position]), most)


class AnswerRows(torch.nn.Linear):
    """The output layer's rows of some vocabulary entries, multiplied in float32.

    A half-precision output layer rounds its logits to about three digits, so that many documents
    tie by rounding alone, although their final hidden states differ.
    """

    def __init__(self, head: torch.nn.Linear, entries: tuple[int, ...]) -> None:
        """Copy the rows ``entries`` of ``head``, bias included."""
        super().__init__(head.in_features, len(entries), bias=head.bias is not None, device=head.weight.device)
        rows = list(entries)
        self.weight = torch.nn.Parameter(head.weight.detach()[rows].float())
        if head.bias is not None:
            self.bias = torch.nn.Parameter(head.bias.detach()[rows].float())

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return ``(…, entries)`` logits of ``(…, width)`` hidden states."""
        return super().forward(hidden.float())


class Prefix(DynamicLayer):
    """Keys and values of the tokens that begin every row of a batch; reading does not change them."""

    def __init__(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Both are ``(1, heads, tokens, width)``."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.lazy_initialization(keys, values)
        self.keys, self.values = keys, values
        self._states = keys, values

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the prefix's states followed by those of each row."""
        keys, values = (states.expand(len(key_states), -1, -1, -1) for states in self._states)
        return torch.cat([keys, key_states], dim=-2), torch.cat([values, value_states], dim=-2)


def rows_of(network: Any, entries: tuple[int, ...], source: str) -> AnswerRows:
    """Return an output layer for ``entries`` alone; :class:`ModelError` if the network's own lacks them."""
    head = network.get_output_embeddings()
    if not isinstance(head, torch.nn.Linear) or max(entries) >= head.out_features:
        size = getattr(head, "out_features", None)
        raise ModelError(f"{source}: output layer {type(head).__name__} of {size} rows, expected ids {entries} in it")
    return AnswerRows(head, entries)


def seq2seq_logits(network: Any, prompts: Sequence[Sequence[int]], side: str) -> torch.Tensor:
    """Return the logits of the answer's first word by a network with :func:`rows_of`: ``(prompts, entries)``."""
    ids, mask = padded(prompts, side, network.device)
    start = torch.full((len(prompts), 1), network.config.decoder_start_token_id, device=network.device)
    with torch.inference_mode():
        logits: torch.Tensor = network(input_ids=ids, attention_mask=mask, decoder_input_ids=start).logits[:, 0]
    return logits


def causal_logits(
    network: Any, prompts: Sequence[Sequence[int]], side: str, prefix: Cache | None = None
) -> torch.Tensor:
    """Return the logits of the word after each prompt by a network with :func:`rows_of`: ``(prompts, entries)``.

    ``prompts`` are what follows ``prefix``, if there is one; they are then padded on the right
    whatever ``side`` says, so that there is no padding between the two.
    """
    shared, side = (prefix.get_seq_length(), "right") if prefix else (0, side)
    ids, mask = padded(prompts, side, network.device)
    last = [ids.shape[1] - 1 if side == "left" else len(prompt) - 1 for prompt in prompts]
    positions = sorted(set(last))
    with torch.inference_mode():
        logits = network(
            input_ids=ids,
            attention_mask=torch.cat([mask.new_ones(len(ids), shared), mask], dim=-1),
            position_ids=(mask.cumsum(-1) - 1).clamp(min=0) + shared,
            past_key_values=prefix,
            use_cache=False,
            logits_to_keep=torch.tensor(positions, device=ids.device),
        ).logits
    return torch.stack([row[positions.index(position)] for row, position in zip(logits, last, strict=True)])


def read_prefix(network: Any, ids: Sequence[int]) -> Cache:
    """Return the states of ``ids``, the first tokens of any number of prompts."""
    cache = DynamicCache()
    tokens = torch.tensor([list(ids)], device=network.device)
    with torch.inference_mode():
        network(input_ids=tokens, past_key_values=cache, use_cache=True, logits_to_keep=1)
    layers: list[Any] = cache.layers
    return Cache(layers=[Prefix(layer.keys, layer.values) for layer in layers])


def shares_prefixes(config: Any) -> bool:
    """Whether a prefix's states do not depend on what follows, nor on its length, and are keys and values alone."""
    text = config.get_text_config(decoder=True)
    rotary = getattr(text, "rope_parameters", None) or {}
    kinds = {type(layer) for layer in DynamicCache(config=text).layers}
    return rotary.get("rope_type") not in LENGTH_DEPENDENT and kinds <= {DynamicLayer, DynamicSlidingWindowLayer}


def padded(prompts: Sequence[Sequence[int]], side: str, device: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ids and attention mask, ``(prompts, longest)``; the padding is masked, so its ids do not matter."""
    rows = [torch.tensor(list(prompt)) for prompt in prompts]
    ids, mask = (
        pad_sequence(texts, batch_first=True, padding_side=side) for texts in (rows, list(map(torch.ones_like, rows)))
    )
    return ids.to(device), mask.to(device)

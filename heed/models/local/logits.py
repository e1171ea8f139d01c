"""The logits of one or two vocabulary entries as a language model's next word, for padded batches of prompts."""

from collections.abc import Sequence
from typing import Any

import torch
from transformers import DynamicCache
from transformers.cache_utils import Cache, DynamicLayer, DynamicSlidingWindowLayer

from heed.errors import ModelError
from heed.models.local.network_checks import LENGTH_DEPENDENT


class Rows(torch.nn.Linear):
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


def rows_of(network: Any, entries: tuple[int, ...], source: str) -> Rows:
    """Return an output layer for ``entries`` alone; :class:`ModelError` if the network's own lacks them."""
    head = network.get_output_embeddings()
    if not isinstance(head, torch.nn.Linear) or max(entries) >= head.out_features:
        size = getattr(head, "out_features", None)
        raise ModelError(f"{source}: output layer {type(head).__name__} of {size} rows, expected ids {entries} in it")
    return Rows(head, entries)


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
    width = max(map(len, prompts))
    ids = torch.zeros(len(prompts), width, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, prompt in enumerate(prompts):
        columns = slice(width - len(prompt), width) if side == "left" else slice(0, len(prompt))
        ids[row, columns] = torch.tensor(list(prompt))
        mask[row, columns] = 1
    return ids.to(device), mask.to(device)

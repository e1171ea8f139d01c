"""Networks of BERT's, RoBERTa's, MPNet's and DistilBERT's form without padding, in float32 on a CPU: faster.

The texts of a batch are concatenated into one row of tokens, so nothing is computed for padding;
attention is computed for texts of one length at a time. Key and value are one product; oneDNN,
where torch has it, keeps the weights in its own order and applies GELU before a product leaves the
cache. Where only the first token is pooled, the last layer computes no other.

``NAME@int8`` computes the products with eight-bit integers. Weights are rounded to 127 steps either side of zero for
every output, their inputs to as many for every token (dynamic quantisation: https://docs.pytorch.org, "Dynamic
Quantization"). A token's scale is its own, not its batch's, so that a text's vector does not depend on what was read
with it. oneDNN, inside torch, multiplies.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

import torch
from torch.nn.functional import embedding, gelu, layer_norm, linear, scaled_dot_product_attention
from transformers.modeling_outputs import BaseModelOutputWithPoolingAndCrossAttentions

from heed.models.yes_no import batches

# model_type of the networks of this form, and the prefix of their tensors
KINDS = {
    "bert": "bert",
    "camembert": "roberta",
    "distilbert": "distilbert",
    "mpnet": "mpnet",
    "roberta": "roberta",
    "xlm-roberta": "roberta",
}
NAMES = {  # of tensors, as BERT calls them
    "distilbert": {
        "transformer.layer.": "encoder.layer.",
        ".attention.q_lin.": ".attention.self.query.",
        ".attention.k_lin.": ".attention.self.key.",
        ".attention.v_lin.": ".attention.self.value.",
        ".attention.out_lin.": ".attention.output.dense.",
        ".sa_layer_norm.": ".attention.output.LayerNorm.",
        ".ffn.lin1.": ".intermediate.dense.",
        ".ffn.lin2.": ".output.dense.",
        ".output_layer_norm.": ".output.LayerNorm.",
    },
    "mpnet": {
        ".attention.attn.q.": ".attention.self.query.",
        ".attention.attn.k.": ".attention.self.key.",
        ".attention.attn.v.": ".attention.self.value.",
        ".attention.attn.o.": ".attention.output.dense.",
        ".attention.LayerNorm.": ".attention.output.LayerNorm.",
    },
}
EPSILON = 1e-12  # DistilBERT's, which its configuration does not say
FARTHEST = 128  # MPNet: from this distance on, tokens are all as far (``relative_position_bucket``)
ROWS = 2048  # of a product for which oneDNN orders weights; any number of rows may follow
TOKENS = 32 * 512  # a batch's rows times its longest: sentence-transformers' 32 texts, at a BERT's full length
TOKENS_CPU = 2048  # the same for a CPU's thread, so that its results stay in its cache
STEPS = 127  # either side of zero
MIDDLE = 128  # zero among the unsigned integers that oneDNN takes
Rows = TypeVar("Rows")


class Linear(NamedTuple):
    """The parameters of a linear layer, ``(out, in)`` and ``(out)``, or of a layer norm, ``(width)`` each."""

    weight: torch.Tensor
    bias: torch.Tensor


class Weights:
    """Tensors of a network by name, below ``prefix``."""

    def __init__(self, tensors: Mapping[str, torch.Tensor], prefix: str = "") -> None:
        """Keep ``tensors`` as they are; nothing is copied."""
        self._tensors, self._prefix = tensors, prefix

    def below(self, name: str) -> "Weights":
        """Return the weights of the part ``name``."""
        return Weights(self._tensors, f"{self._prefix}{name}.")

    def tensor(self, name: str) -> torch.Tensor:
        """Return one tensor; raises :class:`KeyError` with its whole name."""
        return self._tensors[self._prefix + name].detach()

    def linear(self, name: str) -> Linear:
        """Return weight and bias of the layer ``name``."""
        return Linear(self.tensor(f"{name}.weight"), self.tensor(f"{name}.bias"))

    def has(self, name: str) -> bool:
        """Whether there is a layer of this name."""
        return f"{self._prefix}{name}.weight" in self._tensors


class Product:
    """A linear layer, or several with one input side by side; ``activation`` is none or gelu, the exact one."""

    def __init__(self, layers: Sequence[Linear], activation: str = "none") -> None:
        """Copy the weights of ``layers``, which have the same input."""
        self._weight = torch.cat([layer.weight for layer in layers])
        self._bias = torch.cat([layer.bias for layer in layers])
        self._activation = activation
        self._packed: Any = None
        if torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
            self._packed = torch.ops.mkldnn._reorder_linear_weight(self._weight, ROWS)
            self._weight = self._weight[:0]  # one copy is enough

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        """Return ``(tokens, out)`` of ``(tokens, in)``."""
        if self._packed is not None:
            packed: torch.Tensor = torch.ops.mkldnn._linear_pointwise(
                rows, self._packed, self._bias, self._activation, [], "none"
            )
            return packed
        product = linear(rows, self._weight, self._bias)
        return gelu(product) if self._activation == "gelu" else product


class Int8Product:
    """A :class:`Product` of eight-bit integers."""

    def __init__(self, layers: Sequence[Linear], activation: str = "none") -> None:
        """Round the weights of ``layers``, which have the same input."""
        weight = torch.cat([layer.weight for layer in layers])
        self._bias = torch.cat([layer.bias for layer in layers])
        self._activation = activation
        self._scales, whole = _rounded(weight)
        self._zeros = torch.zeros(len(weight), dtype=torch.long)
        self._packed = torch.ops.onednn.qlinear_prepack(whole.to(torch.int8), None)

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        """Return ``(tokens, out)`` of ``(tokens, in)``, both float32."""
        scales, whole = _rounded(rows)
        sums = torch.ops.onednn.qlinear_pointwise(
            whole.add_(MIDDLE).to(torch.uint8), 1.0, MIDDLE, self._packed, self._scales, self._zeros,
            None, 1.0, 0, torch.float32, "none", [], "none",
        )  # fmt: skip
        product = torch.addcmul(self._bias, sums, scales[:, None])
        return gelu(product) if self._activation == "gelu" else product


def _rounded(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return each row's scale, and the row as whole numbers of it (still float32)."""
    scales = rows.abs().amax(dim=1).clamp_min_(torch.finfo(torch.float32).tiny).div_(STEPS)
    return scales, torch.div(rows, scales[:, None]).round_()


class Layer:
    """One layer of the encoder."""

    def __init__(self, weights: Weights, config: Any, product: type[Product | Int8Product]) -> None:
        """Copy the ``weights`` of a layer, by transformers' names."""
        attention = weights.below("attention")
        own = attention.below("self")
        self._heads = config.num_attention_heads
        self._width = config.hidden_size // self._heads
        self._query = product([own.linear("query")])
        self._states = product([own.linear("key"), own.linear("value")])
        self._joined = product([attention.linear("output.dense")])
        self._up = product([weights.linear("intermediate.dense")], "gelu")
        self._down = product([weights.linear("output.dense")])
        self._first, self._second = attention.linear("output.LayerNorm"), weights.linear("output.LayerNorm")
        self._epsilon = getattr(config, "layer_norm_eps", EPSILON)

    def __call__(
        self, rows: torch.Tensor, lengths: Sequence[int], first: bool, bias: torch.Tensor | None
    ) -> torch.Tensor:
        """Return the states after this layer, ``(tokens, width)``; with ``first`` the texts' first alone.

        ``bias``, ``(heads, longest, longest)``, is added to the attention between two places.
        """
        inputs = rows[_begins(lengths)] if first else rows
        queries, states = self._query(inputs), self._states(rows)
        attended = torch.empty_like(queries)
        token = row = 0
        for length, run in groupby(lengths):
            texts = len(list(run))  # neighbours of one length
            wanted = 1 if first else length
            targets, sources = slice(row, row + texts * wanted), slice(token, token + texts * length)
            keys, values = self._split(states[sources], texts, 2)
            added = None if bias is None else bias[:, :wanted, :length]
            heads = scaled_dot_product_attention(self._split(queries[targets], texts, 1)[0], keys, values, added)
            attended[targets] = heads.transpose(1, 2).reshape(texts * wanted, -1)
            token, row = sources.stop, targets.stop
        between = _normal(self._joined(attended).add_(inputs), self._first, self._epsilon)
        return _normal(self._down(self._up(between)).add_(between), self._second, self._epsilon)

    def _split(self, rows: torch.Tensor, texts: int, parts: int) -> list[torch.Tensor]:
        """Return each of the ``parts`` that are side by side, as ``(texts, heads, length, width)``."""
        shaped = rows.view(texts, -1, parts, self._heads, self._width)
        return [shaped[:, :, part].transpose(1, 2) for part in range(parts)]


class Unpadded(torch.nn.Module):
    """Replaces a network of transformers and takes the same inputs; padding may be on either side."""

    def __init__(self, config: Any, weights: Weights, first: bool, product: type[Product | Int8Product]) -> None:
        """Read a network of ``config`` from its ``weights``; with ``first`` return the state of the first token alone.

        Raises :class:`KeyError` with the name of a tensor that is not there.
        """
        super().__init__()
        self.config, self._first = config, first
        roberta = KINDS[config.model_type] == "roberta"
        self._begin = config.pad_token_id + 1 if roberta else 2 if config.model_type == "mpnet" else 0
        parts = weights.below("embeddings")
        typed = config.model_type not in NAMES
        names = ("word_embeddings", *(["token_type_embeddings"] if typed else []), "position_embeddings")
        self._embeddings = [parts.tensor(f"{name}.weight") for name in names]
        self._distances: torch.Tensor | None = None
        if config.model_type == "mpnet":
            self._distances = weights.tensor("encoder.relative_attention_bias.weight")
        self._norm = parts.linear("LayerNorm")
        layers = weights.below("encoder.layer")
        self._layers = [Layer(layers.below(str(at)), config, product) for at in range(config.num_hidden_layers)]
        self._pooler = weights.linear("pooler.dense") if weights.has("pooler.dense") else None

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        return_dict: bool = True,
    ) -> BaseModelOutputWithPoolingAndCrossAttentions:
        """Return the states after the last layer, zero at padding: ``(texts, longest or 1, width)``."""
        if position_ids is not None or inputs_embeds is not None or not return_dict:
            raise NotImplementedError("only ids, types and mask are supported")
        mask = attention_mask.bool()
        lengths = mask.sum(dim=1).tolist()
        types = torch.zeros_like(input_ids) if token_type_ids is None else token_type_ids
        positions = torch.cat([torch.arange(self._begin, self._begin + length) for length in lengths])
        rows = self._embedded(input_ids[mask], types[mask], positions)
        bias = None if self._distances is None else _between_places(self._distances, max(lengths))
        for number, layer in enumerate(self._layers, start=1):
            rows = layer(rows, lengths, self._first and number == len(self._layers), bias)
        states = (
            rows[:, None]
            if self._first
            else rows.new_zeros(*mask.shape, rows.shape[1]).masked_scatter_(mask[:, :, None], rows)
        )
        pooled = None
        if self._pooler is not None:  # BERT's: a layer with tanh over the first token
            pooled = linear(states[:, 0] if self._first else rows[_begins(lengths)], *self._pooler).tanh()
        return BaseModelOutputWithPoolingAndCrossAttentions(last_hidden_state=states, pooler_output=pooled)

    def _embedded(self, ids: torch.Tensor, types: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        read = (ids, types, positions) if len(self._embeddings) == 3 else (ids, positions)
        parts = [embedding(at, table) for at, table in zip(read, self._embeddings, strict=True)]
        return _normal(sum(parts[1:], start=parts[0]), self._norm, getattr(self.config, "layer_norm_eps", EPSILON))


def inner_weights(kind: str, tensors: Mapping[str, torch.Tensor]) -> Weights:
    """Return the weights of a network of ``kind`` by BERT's names, without those of a head.

    Raises :class:`KeyError` where none has a name of this kind.
    """
    own = NAMES.get(kind, {})
    if own and not any(part in name for name in tensors for part in own):
        raise KeyError(kind)
    prefix = f"{KINDS[kind]}."
    if any(name.startswith(f"{prefix}embeddings.") for name in tensors):
        tensors = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
    named = {}
    for name, tensor in tensors.items():
        for part, bert in own.items():
            name = name.replace(part, bert)
        named[name] = tensor
    return Weights(named)


def _between_places(table: torch.Tensor, length: int) -> torch.Tensor:
    """Return what MPNet adds to attention, ``(heads, length, length)``, from its ``(buckets, heads)``.

    Half of the buckets are for places before, half for those behind; half of these for one distance each, the others
    for distances that grow up to ``FARTHEST``, by their logarithm.
    """
    half = len(table) // 2
    exact = half // 2
    places = torch.arange(length)
    behind = places[None, :] - places[:, None]
    distances = behind.abs()
    logarithms = torch.log(distances.float() / exact) / math.log(FARTHEST / exact) * (half - exact)
    far = (exact + logarithms.clamp(min=0).long()).clamp(max=half - 1)
    return embedding(torch.where(distances < exact, distances, far) + (behind > 0) * half, table).permute(2, 0, 1)


def can_read(config: Any) -> bool:
    """Whether :class:`Unpadded` computes what transformers' network of this configuration does."""
    gelu = "gelu" in (getattr(config, "hidden_act", None), getattr(config, "activation", None))
    decodes = getattr(config, "is_decoder", False)
    return bool(config.model_type in KINDS and gelu and not decodes and not config.output_hidden_states)


def in_batches(
    lengths: Sequence[int], read: Callable[[list[int]], Rows], network: Any, device: Any
) -> Iterator[tuple[list[int], Rows]]:
    """Yield indices of ``lengths`` with the result of ``read`` for them, longest first, in fitting batches.

    Without padding each thread reads batches of its own, as many at once as torch has threads, so that none
    waits for another between products; fewer batches than threads are read one by one by all threads.
    """
    threads = torch.get_num_threads()
    if not isinstance(network, Unpadded):
        tokens = min(TOKENS, TOKENS_CPU * threads) if device.type == "cpu" else TOKENS
        yield from ((batch, read(batch)) for batch in batches(lengths, tokens))
        return
    small = list(batches(lengths, TOKENS_CPU))
    if threads == 1 or len(small) < threads:
        yield from ((batch, read(batch)) for batch in small)
        return
    with _one_thread(threads), ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        yield from zip(small, pool.map(read, small), strict=True)


@contextmanager
def _one_thread(before: int) -> Iterator[None]:
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _begins(lengths: Sequence[int]) -> torch.Tensor:
    """Return the token at which each text begins."""
    return torch.tensor([0, *lengths[:-1]]).cumsum(0)


def _normal(rows: torch.Tensor, norm: Linear, epsilon: float) -> torch.Tensor:
    return layer_norm(rows, norm.weight.shape, norm.weight, norm.bias, epsilon)

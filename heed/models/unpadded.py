"""Networks of BERT's, RoBERTa's, MPNet's and DistilBERT's form without padding, in float32 on a CPU: faster.

The texts of a batch are concatenated into one row of tokens, so nothing is computed for padding;
attention is computed for texts of one length at a time. Key and value are one product
(:mod:`heed.models.products`). Where only the first token is pooled, the last layer computes no other.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

import torch
from torch.nn.functional import embedding, layer_norm, scaled_dot_product_attention

from heed.models.products import Int8Product, Linear, Product, Weights
from heed.models.yes_no import batches

DEBERTA = "deberta-v2"  # of version 3 too; see heed.models.deberta
# model_type of the networks of this form, and the prefix of their tensors
KINDS = {
    "bert": "bert",
    "camembert": "roberta",
    DEBERTA: "deberta",
    "distilbert": "distilbert",
    "mpnet": "mpnet",
    "roberta": "roberta",
    "xlm-roberta": "roberta",
}
NAMES = {  # of tensors, as BERT calls them
    DEBERTA: {f".self.{name}_proj.": f".self.{name}." for name in ("query", "key", "value")},
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
FARTHEST = 128  # MPNet and T5: from this distance on, tokens are all as far (``relative_position_bucket``)
TOKENS = 32 * 512  # a batch's rows times its longest: sentence-transformers' 32 texts, at a BERT's full length
TOKENS_CPU = 2048  # the same for a CPU's thread, so that its results stay in its cache
Rows = TypeVar("Rows")


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

    def __call__(self, rows: torch.Tensor, lengths: Sequence[int], places: "Places") -> torch.Tensor:
        """Return the states after this layer, ``(tokens, width)``, or of the texts' first alone."""
        inputs = rows[begins(lengths)] if places.first else rows
        heads = (-1, self._heads, self._width)
        states = self._states(rows).view(-1, 2, *heads[1:])
        attended = attention(self._query(inputs).view(heads), states[:, 0], states[:, 1], lengths, places)
        between = normal(self._joined(attended).add_(inputs), self._first, self._epsilon)
        return normal(self._down(self._up(between)).add_(between), self._second, self._epsilon)


Bias = torch.Tensor | Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class Places(NamedTuple):
    """Which places of a text attend to which.

    With ``first`` its first alone does. ``bias``, ``(heads or 1, longest, longest)``, is added between two places, or
    says whether one attends to the other, or is computed from queries and keys of texts of one length, ``(texts,
    heads, queries or keys, width)``; else with ``causal`` a place attends to those up to it. Products are
    multiplied by ``scale``, else divided by the root of their width.
    """

    first: bool
    bias: Bias | None = None
    causal: bool = False
    scale: float | None = None


def attention(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, lengths: Sequence[int], places: Places
) -> torch.Tensor:
    """Return ``(queries, heads × width)`` of ``(queries, heads, width)`` and ``(tokens, heads, width)``."""
    attended = queries.new_empty(len(queries), queries.shape[1] * values.shape[2])
    token = row = 0
    for length, run in groupby(lengths):
        if not length:
            continue
        texts = len(list(run))  # neighbours of one length
        wanted = 1 if places.first else length
        targets, sources = slice(row, row + texts * wanted), slice(token, token + texts * length)
        query, key, value = (
            part.view(texts, -1, *part.shape[1:]).transpose(1, 2)
            for part in (queries[targets], keys[sources], values[sources])
        )
        bias = places.bias
        added = bias(query, key) if callable(bias) else None if bias is None else bias[:, :wanted, :length]
        causal = places.causal and added is None
        heads = scaled_dot_product_attention(query, key, value, added, is_causal=causal, scale=places.scale)
        attended[targets] = heads.transpose(1, 2).reshape(texts * wanted, -1)
        token, row = sources.stop, targets.stop
    return attended


class States(NamedTuple):
    """What a network returns, by transformers' name."""

    last_hidden_state: torch.Tensor


class Unpadded(torch.nn.Module):
    """Replaces a network of transformers and takes the same inputs; padding may be on either side.

    Each form of networks has a class of its own.
    """

    def __init__(self, config: Any, first: bool) -> None:
        """Keep transformers' ``config``; with ``first`` return the state of the first token alone."""
        super().__init__()
        self.config, self._first = config, first

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor | None = None
    ) -> States:
        """Return the states after the last layer, zero at padding: ``(texts, longest or 1, width)``."""
        mask = attention_mask.bool()
        types = torch.zeros_like(input_ids) if token_type_ids is None else token_type_ids
        rows = self.read(input_ids[mask], types[mask], mask.sum(dim=1).tolist())
        if self._first:
            return States(rows[:, None])
        return States(rows.new_zeros(*mask.shape, rows.shape[1]).masked_scatter_(mask[:, :, None], rows))

    @abstractmethod
    def read(self, ids: torch.Tensor, types: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
        """Return the states of all tokens, or of the texts' first, ``(tokens, width)``."""


class UnpaddedBert(Unpadded):
    """A network of BERT's form."""

    def __init__(self, config: Any, weights: Weights, first: bool, product: type[Product | Int8Product]) -> None:
        """Read a network of ``config`` from its ``weights``; with ``first`` return the state of the first token alone.

        Raises :class:`KeyError` with the name of a tensor that is not there.
        """
        super().__init__(config, first)
        roberta = KINDS[config.model_type] == "roberta"
        self._begin = config.pad_token_id + 1 if roberta else 2 if config.model_type == "mpnet" else 0
        parts = weights.below("embeddings")
        deberta = config.model_type == DEBERTA
        typed = config.type_vocab_size > 0 if deberta else config.model_type not in NAMES
        placed = not deberta or config.position_biased_input
        tables = {"word_embeddings": True, "token_type_embeddings": typed, "position_embeddings": placed}
        self._embeddings = {name: parts.tensor(f"{name}.weight") for name, has in tables.items() if has}
        self._scale = 1 / math.sqrt(config.hidden_size // config.num_attention_heads)
        self._distances: torch.Tensor | None = None
        if config.model_type == "mpnet":
            self._distances = weights.tensor("encoder.relative_attention_bias.weight")
        self._norm = parts.linear("LayerNorm")
        layers = weights.below("encoder.layer")
        self._layers = [Layer(layers.below(str(at)), config, product) for at in range(config.num_hidden_layers)]

    def read(self, ids: torch.Tensor, types: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
        """Return the states of all tokens, or of the texts' first, ``(tokens, width)``."""
        positions = torch.cat([torch.arange(self._begin, self._begin + length) for length in lengths])
        rows = self._embedded(ids, types, positions)
        for layer, bias in zip(self._layers, self._biases(max(lengths)), strict=True):
            rows = layer(rows, lengths, Places(self._first and layer is self._layers[-1], bias, scale=self._scale))
        return rows

    def _biases(self, longest: int) -> Sequence[Bias | None]:
        """Return what each layer adds to attention."""
        bias = None if self._distances is None else between_places(self._distances, longest)
        return [bias] * len(self._layers)

    def _embedded(self, ids: torch.Tensor, types: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        read = {"word_embeddings": ids, "token_type_embeddings": types, "position_embeddings": positions}
        parts = [embedding(read[name], table) for name, table in self._embeddings.items()]
        return normal(sum(parts[1:], start=parts[0]), self._norm, getattr(self.config, "layer_norm_eps", EPSILON))


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


def between_places(table: torch.Tensor, length: int) -> torch.Tensor:
    """Return what MPNet and T5 add to attention, ``(heads, length, length)``, from its ``(buckets, heads)``.

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
    """Whether :class:`UnpaddedBert` computes what transformers' network of this configuration does."""
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


def begins(lengths: Sequence[int]) -> torch.Tensor:
    """Return the token at which each text begins."""
    return torch.tensor([0, *lengths[:-1]]).cumsum(0)


def normal(rows: torch.Tensor, norm: Linear, epsilon: float) -> torch.Tensor:
    """Return the layer norm of each row."""
    return layer_norm(rows, norm.weight.shape, norm.weight, norm.bias, epsilon)

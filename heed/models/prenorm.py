"""Networks of ModernBERT's, Llama's and T5's form without padding: normalised before each part, BERT's are after it.

They are read without transformers' networks, whose import takes seconds, and computed as :mod:`heed.models.unpadded`
says. Places are told apart by turning queries and keys (https://arxiv.org/abs/2104.09864), or by T5's bias, so that
only how far two are apart counts. What is not known here, such as stretched turns, is left to transformers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch.nn.functional import embedding, gelu, relu, rms_norm, silu

from heed.models.products import Product, Weights
from heed.models.unpadded import FARTHEST, Places, Unpadded, attention, begins, between_places, normal

ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "gelu": gelu,
    "gelu_new": partial(gelu, approximate="tanh"),
    "relu": relu,
    "silu": silu,
    "tanh": torch.tanh,
}


class Names(NamedTuple):
    """What a form calls its tensors; those with the same input are several, or one."""

    embeddings: str
    layers: str
    norms: tuple[str, str]  # before attention, and before what follows it
    states: tuple[str, ...]  # queries, keys, values
    joined: str
    up: tuple[str, ...]  # what is activated, and what that is multiplied by
    down: str
    last: str  # the norm behind all layers


MODERN = Names(
    "embeddings.tok_embeddings", "layers", ("attn_norm", "mlp_norm"), ("attn.Wqkv",), "attn.Wo", ("mlp.Wi",), "mlp.Wo",
    "final_norm",
)  # fmt: skip
LLAMA = Names(
    "embed_tokens", "layers", ("input_layernorm", "post_attention_layernorm"),
    ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"), "self_attn.o_proj",
    ("mlp.gate_proj", "mlp.up_proj"), "mlp.down_proj", "norm",
)  # fmt: skip
T5 = Names(
    "shared", "encoder.block", ("layer.0.layer_norm", "layer.1.layer_norm"),
    ("layer.0.SelfAttention.q", "layer.0.SelfAttention.k", "layer.0.SelfAttention.v"), "layer.0.SelfAttention.o",
    ("layer.1.DenseReluDense.wi_0", "layer.1.DenseReluDense.wi_1"), "layer.1.DenseReluDense.wo",
    "encoder.final_layer_norm",
)  # fmt: skip
UNGATED = T5._replace(up=("layer.1.DenseReluDense.wi",))
FORMS = {
    "llama": LLAMA,
    "mistral": LLAMA,
    "modernbert": MODERN,
    "mt5": T5,
    "qwen2": LLAMA,
    "qwen3": LLAMA,
    "t5": T5,
    "umt5": T5,
}
PREFIXES = ("", "model.")  # of tensors, without and with a head
DISTANCES = "layer.0.SelfAttention.relative_attention_bias"
ROTATION = {"rope_type", "rope_theta"}  # all that a plain one says


class Shape(NamedTuple):
    """What a configuration says of a network.

    ``thetas`` are the bases of each layer's turns, ``windows`` how far a place attends there; None for none.
    """

    names: Names
    heads: int
    keys: int
    width: int
    epsilon: float
    activation: str
    biased: dict[str, bool]  # by states, joined, up, norms; else not
    causal: bool = False
    thetas: Sequence[float | None] = ()
    windows: Sequence[int | None] = ()


def shape_of(config: Any) -> Shape | None:
    """Return the shape of a network of transformers' ``config``; None for what is not known here."""
    names = FORMS.get(config.model_type)
    if names is None or config.output_hidden_states:
        return None
    shape = _t5(config) if names is T5 else _turning(config, names)
    return shape if shape and shape.activation in ACTIVATIONS else None


def _t5(config: Any) -> Shape | None:
    if config.relative_attention_max_distance != FARTHEST:
        return None
    names, heads, nothing = T5 if config.is_gated_act else UNGATED, config.num_heads, [None] * config.num_layers
    sizes = (heads, heads, config.d_kv, config.layer_norm_epsilon)
    return Shape(names, *sizes, config.dense_act_fn, {}, False, nothing, nothing)


def _turning(config: Any, names: Names) -> Shape | None:
    modern, heads = names is MODERN, config.num_attention_heads
    causal = not modern and getattr(config, "is_causal", None) is not False
    kinds = getattr(config, "layer_types", None) or ["full_attention"] * config.num_hidden_layers
    window, everywhere = getattr(config, "sliding_window", None), config.model_type == "mistral"
    windows = [window if everywhere or kind == "sliding_attention" else None for kind in kinds]
    turns = [config.rope_parameters[kind] if modern else config.rope_parameters for kind in kinds]
    plain = all(one and one.keys() == ROTATION and one["rope_type"] == "default" for one in turns)
    plain &= set(kinds) <= {"full_attention", "sliding_attention"}
    if not plain or (any(windows) and not (causal or modern)):
        return None
    attention, mlp, norms = (bool(getattr(config, f"{part}_bias", False)) for part in ("attention", "mlp", "norm"))
    states = attention or config.model_type == "qwen2"
    return Shape(
        names, heads, heads if modern else getattr(config, "num_key_value_heads", heads),
        getattr(config, "head_dim", None) or config.hidden_size // heads,
        config.norm_eps if modern else config.rms_norm_eps,
        config.hidden_activation if modern else config.hidden_act,
        {"states": states, "joined": attention, "up": mlp, "norms": norms},
        causal, [one["rope_theta"] for one in turns], windows,
    )  # fmt: skip


class Layer:
    """One layer."""

    def __init__(self, weights: Weights, shape: Shape, bare: bool) -> None:
        """Copy the ``weights`` of a layer; with ``bare`` it has no norm before its attention."""
        names, biased, self._shape = shape.names, shape.biased, shape
        self._before = None if bare else _norm(weights, names.norms[0], shape)
        self._between = _norm(weights, names.norms[1], shape)
        self._states = Product([weights.linear(name, biased.get("states", False)) for name in names.states])
        self._joined = Product([weights.linear(names.joined, biased.get("joined", False))])
        self._up = Product([weights.linear(name, biased.get("up", False)) for name in names.up])
        down = weights.linear(names.down, biased.get("up", False))
        self._down, self._inner = Product([down]), down.weight.shape[1]
        own = ("self_attn.q_norm", "self_attn.k_norm")  # Qwen 3's, of each head
        self._own = [weights.tensor(f"{name}.weight") for name in own if weights.has(name)]
        self.distances = weights.tensor(f"{DISTANCES}.weight") if weights.has(DISTANCES) else None

    def __call__(
        self, rows: torch.Tensor, lengths: Sequence[int], places: Places, turns: "Turns | None"
    ) -> torch.Tensor:
        """Return the states after this layer."""
        _, heads, keys, width, epsilon, activation, *_ = self._shape
        read = rows if self._before is None else self._before(rows)
        parts = list(torch.split(self._states(read).view(len(rows), -1, width), [heads, keys, keys], dim=1))
        for at, norm in enumerate(self._own):
            parts[at] = rms_norm(parts[at], (width,), norm, epsilon)
        if turns:
            parts[:2] = turns.of(parts[0]), turns.of(parts[1])
        if keys < heads:
            parts[1:] = (part.repeat_interleave(heads // keys, dim=1) for part in parts[1:])
        if places.first:
            rows, parts[0] = rows[begins(lengths)], parts[0][begins(lengths)]
        rows = self._joined(attention(parts[0], parts[1], parts[2], lengths, places)).add_(rows)
        first, *second = torch.split(self._up(self._between(rows)), self._inner, dim=1)
        active = ACTIVATIONS[activation](first)
        return self._down(active * second[0] if second else active).add_(rows)


class Turns:
    """How queries and keys are turned at each token's place."""

    def __init__(self, positions: torch.Tensor, theta: float, width: int) -> None:
        """Make cosines and sines of each of ``positions``, ``(tokens, 1, width)``."""
        angles = positions[:, None, None].float() * (1.0 / theta ** (torch.arange(0, width, 2).float() / width))
        angles = torch.cat([angles, angles], dim=-1)
        self._cosines, self._sines = angles.cos(), angles.sin()

    def of(self, states: torch.Tensor) -> torch.Tensor:
        """Return ``states``, ``(tokens, heads, width)``, turned: the first half against the second."""
        first, second = states.chunk(2, dim=-1)
        return states * self._cosines + torch.cat([-second, first], dim=-1) * self._sines


class UnpaddedPreNorm(Unpadded):
    """A network of these forms."""

    def __init__(self, config: Any, shape: Shape, tensors: Mapping[str, torch.Tensor], first: bool) -> None:
        """Read a network of ``shape`` from ``tensors``; with ``first`` return the state of the first token alone.

        Raises :class:`KeyError` with the name of a tensor that is not there.
        """
        super().__init__(config, first)
        names = shape.names
        prefix = next((one for one in PREFIXES if f"{one}{names.embeddings}.weight" in tensors), "")
        weights, modern = Weights(tensors, prefix), names is MODERN
        self._shape, self._embeddings = shape, weights.tensor(f"{names.embeddings}.weight")
        self._begin = _norm(weights, "embeddings.norm", shape) if modern else None
        layers = (weights.below(f"{names.layers}.{at}") for at in range(len(shape.windows)))
        self._layers = [Layer(layer, shape, modern and not at) for at, layer in enumerate(layers)]
        self._last = _norm(weights, names.last, shape)

    def read(self, ids: torch.Tensor, types: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
        """Return the states of all tokens, or of the texts' first, ``(tokens, width)``."""
        rows = embedding(ids, self._embeddings)
        if self._begin is not None:
            rows = self._begin(rows)
        positions = torch.cat([torch.arange(length) for length in lengths])
        turns = {theta: Turns(positions, theta, self._shape.width) for theta in set(self._shape.thetas) if theta}
        every = zip(self._layers, self._places(max(lengths)), self._shape.thetas, strict=True)
        for layer, places, theta in every:
            rows = layer(rows, lengths, places, turns[theta] if theta else None)
        return self._last(rows)

    def _places(self, longest: int) -> Iterator[Places]:
        """Yield which places attend to which in each layer; T5's bias stays until a layer has another."""
        near = {window: self._near(longest, window) for window in set(self._shape.windows)}
        bias = None
        for layer, window in zip(self._layers, self._shape.windows, strict=True):
            bias = bias if layer.distances is None else between_places(layer.distances, longest)
            first = self._first and layer is self._layers[-1]
            if bias is None:
                yield Places(first, near[window], self._shape.causal)
            else:
                yield Places(first, bias, scale=1.0)

    def _near(self, longest: int, window: int | None) -> torch.Tensor | None:
        """Return whether a place attends to another, ``(1, longest, longest)``; None where ``window`` has no part."""
        if not window or longest <= window:
            return None
        back = torch.arange(longest)[:, None] - torch.arange(longest)
        return ((back >= 0) & (back < window) if self._shape.causal else back.abs() <= window)[None]


def _norm(weights: Weights, name: str, shape: Shape) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return ModernBERT's layer norm, or the others' division by the root mean square."""
    if shape.names is MODERN:
        return partial(normal, norm=weights.linear(name, shape.biased["norms"]), epsilon=shape.epsilon)
    weight = weights.tensor(f"{name}.weight")
    return partial(rms_norm, normalized_shape=weight.shape, weight=weight, eps=shape.epsilon)

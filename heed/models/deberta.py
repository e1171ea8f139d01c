"""Networks of DeBERTa-v2's and v3's form without padding: BERT's, but attention knows how far two tokens are apart.

To the product of query and key are added the query's with a vector of the distance, and the key's with another
(https://arxiv.org/abs/2006.03654, equation 4). What is not known here, such as convolutions, is left to transformers.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch.nn.functional import linear

from heed.models.prenorm import ACTIVATIONS
from heed.models.products import Int8Product, Product, Weights
from heed.models.unpadded import Bias, UnpaddedBert, normal


class Tables(NamedTuple):
    """A layer's vectors of distances, ``(heads, distances, width)``, by the scale of attention; None for no such."""

    keys: torch.Tensor | None  # for queries
    queries: torch.Tensor | None  # for keys


class UnpaddedDeberta(UnpaddedBert):
    """A network of this form."""

    def __init__(self, config: Any, weights: Weights, first: bool, product: type[Product | Int8Product]) -> None:
        """Read a network of ``config`` from its ``weights``; with ``first`` return the state of the first token alone.

        Raises :class:`KeyError` with the name of a tensor that is not there.
        """
        super().__init__(config, weights, first, product)
        kinds = {"c2p", "p2c"}.intersection(config.pos_att_type or ())
        self._scale /= math.sqrt(1 + len(kinds))
        self._tables: list[Tables] = []
        if not config.relative_attention or not kinds:
            return
        encoder = weights.below("encoder")
        distances = encoder.tensor("rel_embeddings.weight")[: 2 * _span(config)]
        if "layer_norm" in [one.strip() for one in getattr(config, "norm_rel_ebd", "none").lower().split("|")]:
            distances = normal(distances, encoder.linear("LayerNorm"), config.layer_norm_eps)
        key, query = ("key", "query") if getattr(config, "share_att_key", False) else ("pos_key_proj", "pos_query_proj")
        for at in range(config.num_hidden_layers):
            layer = encoder.below(f"layer.{at}.attention.self")
            keys = self._table(distances, layer, key) if "c2p" in kinds else None
            self._tables.append(Tables(keys, self._table(distances, layer, query) if "p2c" in kinds else None))

    def _table(self, distances: torch.Tensor, layer: Weights, name: str) -> torch.Tensor:
        vectors = linear(distances, *layer.linear(name)) * self._scale
        return vectors.view(len(vectors), self.config.num_attention_heads, -1).transpose(0, 1).contiguous()

    def _biases(self, longest: int) -> Sequence[Bias | None]:
        if not self._tables:
            return super()._biases(longest)
        rows = rows_between(self.config, longest)
        return [partial(_bias, tables, rows) for tables in self._tables]


def is_known(config: Any) -> bool:
    """Whether :class:`UnpaddedDeberta` computes what transformers' network of this configuration does."""
    width, heads = config.hidden_size, config.num_attention_heads
    sizes = {getattr(config, name, width) for name in ("embedding_size", "pooler_hidden_size")}
    whole = sizes == {width} and getattr(config, "attention_head_size", width / heads) * heads == width
    convolves = getattr(config, "conv_kernel_size", 0) > 0
    return whole and not convolves and config.hidden_act == "gelu" and config.pooler_hidden_act in ACTIVATIONS


def rows_between(config: Any, length: int) -> torch.Tensor:
    """Return which row of the tables stands for the distance of two places, ``(length, length)``.

    With ``position_buckets`` half of them are for one distance each, the others for distances that grow by their
    logarithm (``make_log_bucket_position``); farther places have the last row.
    """
    places = torch.arange(length)
    apart = places[:, None] - places
    buckets, span = getattr(config, "position_buckets", -1), _span(config)
    if buckets > 0:
        half = buckets // 2
        distances = torch.where(apart.abs() < half, half - 1, apart.abs())
        farthest = torch.log(torch.tensor((_farthest(config) - 1) / half))
        logarithms = torch.ceil(torch.log(distances / half) / farthest * (half - 1)) + half
        apart = torch.where(distances <= half, apart, logarithms * apart.sign()).long()
    return (apart + span).clamp(0, 2 * span - 1)


def _farthest(config: Any) -> int:
    farthest: int = config.max_relative_positions
    return farthest if farthest > 0 else int(config.max_position_embeddings)


def _span(config: Any) -> int:
    """Return how many rows of the tables there are on either side."""
    buckets: int = getattr(config, "position_buckets", -1)
    return buckets if buckets > 0 else _farthest(config)


def _bias(tables: Tables, rows: torch.Tensor, queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """Return what is added to attention, ``(texts, heads, queries, keys)``: text by text, which stay in the cache."""
    rows = rows[: queries.shape[2], : keys.shape[2]]
    least, most = int(rows[0, -1]), int(rows[-1, 0])
    kept = Tables(*(None if table is None else table[:, least : most + 1] for table in tables))
    return torch.stack([_of_text(kept, rows - least, *text) for text in zip(queries, keys, strict=True)])


def _of_text(tables: Tables, rows: torch.Tensor, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    rows, parts = rows.expand(len(query), -1, -1), []
    if tables.keys is not None:
        parts.append(torch.gather(query @ tables.keys.transpose(1, 2), 2, rows))
    if tables.queries is not None:
        parts.append(torch.gather(tables.queries @ key.transpose(1, 2), 1, rows))
    return torch.add(*parts) if len(parts) == 2 else parts[0]

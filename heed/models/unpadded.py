"""Encoders of BERT's and RoBERTa's form read without padding, in float32 on a CPU: the same states, sooner.

Texts of a batch stand behind each other in one row of tokens, so nothing is computed for padding but
attention, which is asked for texts of one length at a time. Query, key and value are one product;
oneDNN, where torch has it, keeps the weights in its own order and applies GELU before a product
leaves the cache. Who pools the first token asks the last layer for no other.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch.nn.functional import gelu, layer_norm, linear, scaled_dot_product_attention
from transformers import BertModel, CamembertModel, RobertaModel, XLMRobertaModel
from transformers.modeling_outputs import BaseModelOutputWithPoolingAndCrossAttentions

from heed.models.int8 import Int8Product
from heed.models.yes_no import batches

KINDS = (BertModel, CamembertModel, RobertaModel, XLMRobertaModel)
ROWS = 2048  # of a product for which oneDNN orders weights; any number of rows may follow
TOKENS = 32 * 512  # a batch's rows times its longest: sentence-transformers' 32 texts, at a BERT's full length
TOKENS_CPU = 2048  # the same for a CPU's thread, so that what it computes stays in its cache
Rows = TypeVar("Rows")


class Product:
    """A linear layer, or several with one input beside each other; ``activation`` is none or gelu, the exact one."""

    def __init__(self, layers: Sequence[torch.nn.Linear], activation: str = "none") -> None:
        """Take the weights of ``layers``, which have the same input."""
        self._weight = torch.cat([layer.weight.detach() for layer in layers])
        self._bias = torch.cat([layer.bias.detach() for layer in layers])
        self._activation = activation
        self._packed: Any = None
        if torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
            self._packed = torch.ops.mkldnn._reorder_linear_weight(self._weight, ROWS)
            self._weight = self._weight[:0]  # one copy is enough

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        """``(tokens, in)`` to ``(tokens, out)``."""
        if self._packed is not None:
            packed: torch.Tensor = torch.ops.mkldnn._linear_pointwise(
                rows, self._packed, self._bias, self._activation, [], "none"
            )
            return packed
        found = linear(rows, self._weight, self._bias)
        return gelu(found) if self._activation == "gelu" else found


class Layer:
    """One layer of the encoder."""

    def __init__(self, layer: Any, product: type[Product | Int8Product]) -> None:
        """Take the weights of a transformers layer."""
        attention = layer.attention.self
        self._heads, self._width = attention.num_attention_heads, attention.attention_head_size
        self._query = product([attention.query])
        self._states = product([attention.key, attention.value])
        self._joined = product([layer.attention.output.dense])
        self._up, self._down = product([layer.intermediate.dense], "gelu"), product([layer.output.dense])
        self._first, self._second = layer.attention.output.LayerNorm, layer.output.LayerNorm

    def __call__(self, rows: torch.Tensor, lengths: Sequence[int], first: bool) -> torch.Tensor:
        """``(tokens, width)`` to the same, or with ``first`` to ``(texts, width)``, the texts' first tokens alone."""
        asking = rows[_begins(lengths)] if first else rows
        queries, states = self._query(asking), self._states(rows)
        read = torch.empty_like(queries)
        at = row = 0
        for length, texts in _runs(lengths):
            asked = 1 if first else length
            here, there = slice(row, row + texts * asked), slice(at, at + texts * length)
            keys, values = self._parted(states[there], texts, 2)
            found = scaled_dot_product_attention(self._parted(queries[here], texts, 1)[0], keys, values)
            read[here] = found.transpose(1, 2).reshape(texts * asked, -1)
            at, row = there.stop, here.stop
        between = _normal(self._joined(read).add_(asking), self._first)
        return _normal(self._down(self._up(between)).add_(between), self._second)

    def _parted(self, rows: torch.Tensor, texts: int, parts: int) -> list[torch.Tensor]:
        """Each of the ``parts`` that stand beside each other, as ``(texts, heads, length, width)``."""
        shaped = rows.view(texts, -1, parts, self._heads, self._width)
        return [shaped[:, :, part].transpose(1, 2) for part in range(parts)]


class Unpadded(torch.nn.Module):
    """Stands where a network of transformers stood and takes what that took; padding may be on either side."""

    def __init__(self, network: Any, first: bool, product: type[Product | Int8Product]) -> None:
        """Take over ``network``, which loses its layers; with ``first`` give the state of the first token alone."""
        super().__init__()
        self.config, self.embeddings, self.pooler = network.config, network.embeddings, network.pooler
        self._first = first
        self._begin = 0 if isinstance(network, BertModel) else network.config.pad_token_id + 1
        self._layers = [Layer(layer, product) for layer in network.encoder.layer]
        network.encoder.layer = torch.nn.ModuleList()

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        return_dict: bool = True,
    ) -> BaseModelOutputWithPoolingAndCrossAttentions:
        """The states after the last layer, zero at padding: ``(texts, longest, width)``, or ``(texts, 1, width)``."""
        if position_ids is not None or inputs_embeds is not None or not return_dict:
            raise NotImplementedError("ids and mask are all that is read")
        mask = attention_mask.bool()
        lengths = mask.sum(dim=1).tolist()
        types = torch.zeros_like(input_ids) if token_type_ids is None else token_type_ids
        places = torch.cat([torch.arange(self._begin, self._begin + length) for length in lengths])
        rows = self.embeddings(
            input_ids=input_ids[mask][None], token_type_ids=types[mask][None], position_ids=places[None]
        )[0]
        for number, layer in enumerate(self._layers, start=1):
            rows = layer(rows, lengths, self._first and number == len(self._layers))
        states = (
            rows[:, None]
            if self._first
            else rows.new_zeros(*mask.shape, rows.shape[1]).masked_scatter_(mask[:, :, None], rows)
        )
        pooled = None
        if self.pooler is not None:
            pooled = self.pooler(states if self._first else rows[_begins(lengths)][:, None])
        return BaseModelOutputWithPoolingAndCrossAttentions(last_hidden_state=states, pooler_output=pooled)


def unpadded(network: Any, first: bool, int8: bool) -> Unpadded | None:
    """``network`` read without padding, where it is one of :data:`KINDS` in float32 on a CPU; else None.

    A class of the model's own repository is none of them. ``int8`` computes its products in integers.
    """
    config = network.config
    plain = type(network) in KINDS and config.hidden_act == "gelu" and not config.is_decoder
    plain = plain and not config.output_hidden_states
    if not plain or any(one.dtype != torch.float32 or one.device.type != "cpu" for one in network.parameters()):
        return None
    return Unpadded(network, first, Int8Product if int8 else Product)


def in_batches(
    lengths: Sequence[int], read: Callable[[list[int]], Rows], network: Any, device: Any
) -> Iterator[tuple[list[int], Rows]]:
    """Places in ``lengths`` with what ``read`` gives for them, longest first, in batches that suit network and device.

    Without padding a thread reads a batch alone, as many at once as torch has threads, so that none
    waits for another between products; fewer batches than threads are read one by one by all threads.
    """
    threads = torch.get_num_threads()
    if not isinstance(network, Unpadded):
        tokens = min(TOKENS, TOKENS_CPU * threads) if device.type == "cpu" else TOKENS
        yield from ((batch, read(batch)) for batch in batches(lengths, tokens))
        return
    places = list(batches(lengths, TOKENS_CPU))
    if threads == 1 or len(places) < threads:
        yield from ((batch, read(batch)) for batch in places)
        return
    with _one_thread(threads), ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        yield from zip(places, pool.map(read, places), strict=True)


@contextmanager
def _one_thread(before: int) -> Iterator[None]:
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _begins(lengths: Sequence[int]) -> torch.Tensor:
    """At which token each text begins."""
    return torch.tensor([0, *lengths[:-1]]).cumsum(0)


def _runs(lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """A length and how many texts of it stand behind each other."""
    begin = 0
    for at in range(1, len(lengths) + 1):
        if at == len(lengths) or lengths[at] != lengths[begin]:
            yield lengths[begin], at - begin
            begin = at


def _normal(rows: torch.Tensor, norm: torch.nn.LayerNorm) -> torch.Tensor:
    return layer_norm(rows, norm.normalized_shape, norm.weight, norm.bias, norm.eps)

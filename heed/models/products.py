"""Weights of networks by name, and the products with them on a CPU, in float32 or eight-bit integers.

oneDNN, where torch has it, keeps the weights in its own order and applies GELU before a product leaves the cache.

``NAME@int8`` computes the products with eight-bit integers. Weights are rounded to 127 steps either side of zero for
every output, their inputs to as many for every token (dynamic quantisation: https://docs.pytorch.org, "Dynamic
Quantization"). A token's scale is its own, not its batch's, so that a text's vector does not depend on what was read
with it. oneDNN, inside torch, multiplies.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch.nn.functional import gelu, linear

ROWS = 2048  # of a product for which oneDNN orders weights; any number of rows may follow
STEPS = 127  # either side of zero
MIDDLE = 128  # zero among the unsigned integers that oneDNN takes


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

    def linear(self, name: str, biased: bool = True) -> Linear:
        """Return weight and bias of the layer ``name``; zeros for one that is not ``biased``."""
        weight = self.tensor(f"{name}.weight")
        return Linear(weight, self.tensor(f"{name}.bias") if biased else weight.new_zeros(len(weight)))

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

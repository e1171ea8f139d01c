"""Products of eight-bit integers on a CPU, for encoders and cross-encoders that are asked for as ``NAME@int8``.

Weights are rounded to 127 steps either side of zero for every output, what is multiplied by them to as many for every
token (dynamic quantisation: https://docs.pytorch.org, "Dynamic Quantization"). A token's scale is its own, not its
batch's, so that a text's vector does not depend on what was read with it. oneDNN, inside torch, multiplies.
"""

from collections.abc import Sequence

import torch
from torch.nn.functional import gelu

STEPS = 127  # either side of zero
MIDDLE = 128  # where zero stands among the unsigned integers that oneDNN takes


class Int8Product:
    """A linear layer, or several with one input beside each other, in integers; ``activation`` is none or gelu."""

    def __init__(self, layers: Sequence[torch.nn.Linear], activation: str = "none") -> None:
        """Round the weights of ``layers``, which have the same input."""
        weight = torch.cat([layer.weight.detach() for layer in layers])
        self._bias = torch.cat([layer.bias.detach() for layer in layers])
        self._activation = activation
        self._scales, whole = _rounded(weight)
        self._zeros = torch.zeros(len(weight), dtype=torch.long)
        self._packed = torch.ops.onednn.qlinear_prepack(whole.to(torch.int8), None)

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        """``(tokens, in)`` to ``(tokens, out)``, both float32."""
        scales, whole = _rounded(rows)
        found = torch.ops.onednn.qlinear_pointwise(
            whole.add_(MIDDLE).to(torch.uint8), 1.0, MIDDLE, self._packed, self._scales, self._zeros,
            None, 1.0, 0, torch.float32, "none", [], "none",
        )  # fmt: skip
        product = torch.addcmul(self._bias, found, scales[:, None])
        return gelu(product) if self._activation == "gelu" else product


def _rounded(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Each row's scale, and the row as whole numbers of it (still float32)."""
    scales = rows.abs().amax(dim=1).clamp_min_(torch.finfo(torch.float32).tiny).div_(STEPS)
    return scales, torch.div(rows, scales[:, None]).round_()

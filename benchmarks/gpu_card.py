"""The card that a benchmark runs on: its name, its matrix peak, its memory, and waiting until its work is done."""

import gc
import re
import time
from typing import Any

import torch

# TFLOP/s of dense matrix products with accumulation in float32, (bfloat16, float32 without TF32), of NVIDIA's data
# sheets: H200 (2024), H100 (2023), A100 (2021), L40S (2023), L4 (2023), A10 (2021), the Ada whitepaper (RTX 4090)
PEAKS = {
    "H200": (989, 67),
    "H100 PCIe": (756, 51),
    "H100 NVL": (835, 60),
    "H100": (989, 67),
    "A100": (312, 19.5),
    "L40S": (362, 91.6),
    "L4": (121, 30.3),
    "A10": (125, 31.2),
    "RTX 4090": (165, 82.6),
}
SIZE = 8192  # of a matrix whose product is measured where no peak is known
ROUNDS = 10  # products, of which the fastest counts
TERA = 1e12


class Card:
    """A GPU, or a CPU for a trial."""

    def __init__(self, device: str, size: int = SIZE) -> None:
        """Take the first GPU for ``cuda``; ``size`` is of the matrices that are multiplied where a peak is unknown."""
        self.device, self._gpu = device, device == "cuda"
        self.name = torch.cuda.get_device_name() if self._gpu else "CPU"
        self._known = next((peak for name, peak in PEAKS.items() if re.search(rf"\b{name}\b", self.name)), None)
        self.source = "its data sheet" if self._known else f"a product of matrices of {size} measured here"
        self._size, self._measured = size, dict[str, float]()

    def peak(self, dtype: str) -> float:
        """Return how many operations a second the card can do in ``dtype``."""
        if self._known:
            return self._known[dtype == "float32"] * TERA
        if dtype not in self._measured:
            self._measured[dtype] = self._product(getattr(torch, dtype))
        return self._measured[dtype]

    def _product(self, dtype: torch.dtype) -> float:
        one, other = (torch.randn(self._size, self._size, device=self.device, dtype=dtype) for _ in range(2))
        best = 0.0
        for _ in range(ROUNDS):
            begun = self.now()
            one @ other
            best = max(best, 2 * self._size**3 / (self.now() - begun))
        return best

    def now(self) -> float:
        """Return the time after all work that was given to the card."""
        if self._gpu:
            torch.cuda.synchronize()
        return time.perf_counter()

    def free(self) -> float:
        """Return how many bytes are free on the card; on a CPU there is no limit."""
        gc.collect()
        torch.cuda.empty_cache()
        return torch.cuda.mem_get_info()[0] if self._gpu else float("inf")

    def begin(self) -> None:
        """Count memory from here."""
        self.free()
        if self._gpu:
            torch.cuda.reset_peak_memory_stats()

    def most(self) -> int | None:
        """Return the most bytes that tensors took since :meth:`begin`; None on a CPU."""
        return torch.cuda.max_memory_allocated() if self._gpu else None

    def described(self) -> dict[str, Any]:
        """Return what a table says of the card."""
        return {"card": self.name, "cuda": torch.version.cuda, "peaks from": self.source}

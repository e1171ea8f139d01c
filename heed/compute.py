"""How systems are run: device, precision, batches, lengths, threads."""

import math
import re
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from heed.errors import UsageError, fail

DTYPES = ("auto", "float32", "bfloat16", "float16")
INFERENCE = ("transformers", "vllm")
READS = ("both", "query")
VLLM = "vllm==0.32.0"


def described(default: Any, text: str, **more: Any) -> Any:
    """Return a field with its ``default`` and the ``text`` that says what it is, which the commands show as help.

    ``more`` is what a command needs beside it: ``choices`` or ``metavar``.
    """
    return field(default=default, metadata={"help": text, **more})


@dataclass(frozen=True)
class Compute:
    """How systems are run; no score depends on it but by what is part of a system's ``config``."""

    device: str = described(
        "auto", "where models run: auto, cpu, cuda, cuda:1 for the second GPU, or mps for a Mac's", metavar="NAME"
    )
    dtype: str = described(
        "auto", "precision of models' weights; auto is float32 on a CPU, the model's own on a GPU", choices=DTYPES
    )
    batch_size: int | None = described(None, "at most N texts in a batch (default: as many as fit)", metavar="N")
    max_length: int | None = described(
        None,
        "at most N tokens in an input, with query, instruction and template (default: the model's own limit)",
        metavar="N",
    )
    inference: str = described(
        "transformers",
        "library that runs causal, reasoning and local list-wise rerankers, and no others; vllm needs pip install "
        f"{VLLM}",
        choices=INFERENCE,
    )
    fusion_weight: float | None = described(
        None, "weight of NAME's scores in polarity+NAME, both from 0 to 1 (default: 0.1)", metavar="W", type=float
    )
    encoder_reads: str = described(
        "both",
        "what an encoder reads that reranks by similarity: query and instruction, or the query alone",
        choices=READS,
    )
    threads: int | None = described(None, "threads for Java and search (default: all cores)", metavar="N")
    heap: str = described("768m", "largest heap of Java, such as 512m or 8g", metavar="SIZE")
    reader: str | None = described(
        None, "folder of another reader of instructions, as make reader writes it", metavar="DIR"
    )

    @property
    def torch_device(self) -> str:
        """Torch's name of the device; ``auto`` is a GPU of NVIDIA where there is one, else the CPU."""
        import torch

        return self.device if self.device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"

    def check(self, here: bool = True) -> None:
        """Raise :class:`UsageError` that names each field with a value that cannot be, before any work.

        ``here``: whether models run on this machine, whose GPUs are then looked for.
        """
        problems = [
            f"{name}: found {getattr(self, name)!r}, expected one of {', '.join(known)}"
            for name, known in (("dtype", DTYPES), ("inference", INFERENCE), ("encoder_reads", READS))
            if getattr(self, name) not in known
        ]
        for name in ("batch_size", "max_length", "threads"):
            number = getattr(self, name)
            if number is not None and number < 1:
                problems.append(f"{name}: found {number}, expected at least 1")
        if not 0 <= (self.fusion_weight or 0) < math.inf:
            problems.append(f"fusion_weight: found {self.fusion_weight}, expected a number from 0")
        if not re.fullmatch(r"[1-9]\d*[mg]", self.heap):
            problems.append(f"heap: found {self.heap!r}, expected a number with m or g, such as 512m or 8g")
        if self.inference == "vllm" and find_spec("vllm") is None:
            problems.append(f"inference: vllm is not installed; give inference=transformers, or pip install '{VLLM}'")
        fail([*problems, *self._device_problems(here)], UsageError)

    def _device_problems(self, here: bool) -> list[str]:
        kind, _, number = self.device.partition(":")
        if not re.fullmatch(r"auto|cpu|cuda(:\d+)?|mps", self.device):
            return [f"device: found {self.device!r}, expected auto, cpu, cuda, cuda:N or mps"]
        if not here:
            gpu = f"device: {self.device} names a GPU of this machine, but models run on a cluster; give device=cuda"
            return [gpu] if number else []
        if kind in ("auto", "cpu"):
            return []
        import torch

        if not (torch.backends.mps.is_available() if kind == "mps" else torch.cuda.is_available()):
            return [
                f"device: torch {torch.__version__} finds no GPU for {self.device} here; give device=cpu, or install "
                "the GPU's driver and a torch that is built for it"
            ]
        if number and int(number) >= (count := torch.cuda.device_count()):
            return [
                f"device: found {self.device}, but this machine has {count} GPUs, counted from 0; use another number"
            ]
        return []

"""How systems are run: device, precision, batches, threads."""

from dataclasses import dataclass, field
from typing import Any

DTYPES = ("auto", "float32", "bfloat16", "float16")
INFERENCE = ("transformers", "vllm")


def described(default: Any, text: str, **more: Any) -> Any:
    """Return a field with its ``default`` and the ``text`` that says what it is, which the commands show as help.

    ``more`` is what a command needs beside it: ``choices`` or ``metavar``.
    """
    return field(default=default, metadata={"help": text, **more})


@dataclass(frozen=True)
class Compute:
    """How systems are run; no score depends on it but by precision and lengths of models, parts of their ``config``."""

    device: str = described(
        "auto", "where models run: auto, cpu, cuda, cuda:1 for the second GPU, or mps for a Mac's", metavar="NAME"
    )
    dtype: str = described(
        "auto", "precision of models' weights (auto: float32 on a CPU, the model's own on a GPU)", choices=DTYPES
    )
    batch_size: int | None = described(None, "at most N texts in a batch (default: as many as fit)", metavar="N")
    max_length: int | None = described(
        None,
        "at most N tokens in an input, with query, instruction and template (default: the model's own limit)",
        metavar="N",
    )
    inference: str = described(
        "transformers",
        "library that runs causal, reasoning and local list-wise rerankers, and no others (vllm needs pip install "
        "vllm==0.32.0)",
        choices=INFERENCE,
    )
    threads: int | None = described(None, "threads for Java and search (default: all cores)", metavar="N")
    heap: str = described("4g", "largest heap of Java, such as 512m or 8g", metavar="SIZE")

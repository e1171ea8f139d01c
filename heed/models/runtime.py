"""How the models of an experiment are run."""

from pathlib import Path
from typing import NamedTuple


class Runtime(NamedTuple):
    """The device (``auto``, ``cpu``, ``cuda``), what runs language models, and where paid API answers are kept.

    ``inference`` is one of :data:`heed.models.vllm.INFERENCE`. A new device or folder changes no score,
    but for half precision on a GPU, which is part of a model's ``config``.
    """

    device: str = "auto"
    inference: str = "transformers"
    answers: Path = Path("indexes") / "api"

"""How the models of an experiment are run, and how their memory is freed."""

from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from heed.errors import UsageError
from heed.models.files.model_files import runs_remote_code
from heed.models.registry.entries import Model
from heed.process import free_memory
from heed.types import System

DTYPES = ("auto", "float32", "bfloat16", "float16")


class Runtime(NamedTuple):
    """The settings with which models are run, the same for all models of an experiment.

    ``device`` is ``auto``, ``cpu``, ``cuda``, ``cuda:N`` or ``mps``; ``inference``, ``transformers`` or ``vllm``, runs
    language models; ``answers`` is the folder with the answers of paid APIs.
    ``dtype``, one of ``DTYPES``, is the precision of weights, ``auto`` float32 on a CPU and the model's own elsewhere.
    ``max_length`` bounds a model's input in tokens. Precision and lengths are part of a model's ``config``.
    ``batch_size`` is the most texts in a batch, None for as many as a number of tokens allows; it changes no score but
    for rounding.
    """

    device: str = "auto"
    inference: str = "transformers"
    answers: Path = Path("indexes") / "api"
    dtype: str = DTYPES[0]
    max_length: int | None = None
    batch_size: int | None = None

    def check(self) -> None:
        """Raise :class:`UsageError` for an unknown precision, and for numbers below 1."""
        if self.dtype not in DTYPES:
            raise UsageError(f"dtype: found {self.dtype!r}, expected one of {', '.join(DTYPES)}")
        for name, number in (("max_length", self.max_length), ("batch_size", self.batch_size)):
            if number is not None and number < 1:
                raise UsageError(f"{name}: found {number}, expected at least 1")


DEFAULT = Runtime()


class LocalModel(System):
    """A model of this machine: its name, loading at its first use, and unloading.

    Each class keeps what it loads in cached properties; :meth:`load` asks for the one that ``LOADED`` names.
    """

    LOADED = "_loaded"

    def __init__(self, model: Model, runtime: Runtime) -> None:
        """Keep entry and settings; :class:`ModelError` for code of the repository that the user has not allowed."""
        runs_remote_code(model)  # checked before anything is fetched
        self.name = model.name
        self._model, self._runtime = model, runtime

    def load(self) -> None:
        """Load the model."""
        getattr(self, self.LOADED)

    def close(self) -> None:
        """Unload the model and free its memory; a later use loads it again."""
        kinds = type(self).__mro__
        names = {name for kind in kinds for name, value in vars(kind).items() if isinstance(value, cached_property)}
        for name in names & vars(self).keys():
            part = vars(self).pop(name)
            if hasattr(part, "close"):
                part.close()
            del part  # no variable may refer to it when memory is freed
        free_memory()


def on_device(features: Any, device: Any) -> dict[str, Any]:
    """Return a model's input with its tensors on ``device``."""
    return {name: value.to(device) if hasattr(value, "to") else value for name, value in features.items()}

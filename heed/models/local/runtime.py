"""A model of this machine: loaded at its first use, and its memory freed."""

from functools import cached_property
from typing import Any

from heed.compute import Compute
from heed.memory import free_memory
from heed.models.files.model_files import runs_remote_code
from heed.models.registry.entries import Model
from heed.types import System


class LocalModel(System):
    """A model of this machine: its name, loading at its first use, and unloading.

    Each class keeps what it loads in cached properties; :meth:`load` asks for the one that ``LOADED`` names.
    """

    LOADED = "_loaded"

    def __init__(self, model: Model, compute: Compute) -> None:
        """Keep entry and settings; :class:`ModelError` for code of the repository that the user has not allowed."""
        runs_remote_code(model)  # checked before anything is fetched
        self.name = model.name
        self._model, self._compute = model, compute

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

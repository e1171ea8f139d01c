"""From an entry of the registry to the system of its family: a reranker or an encoder."""

from typing import Any

from heed.errors import UsageError
from heed.extras import require
from heed.models.local.runtime import Runtime
from heed.models.registry.entries import Model, Registry
from heed.models.registry.families import FAMILIES, SERVICE
from heed.types import Encoder, Reranker


def model_without_documents(model: Model, runtime: Runtime) -> Reranker | Encoder:
    """Return the reranker or bi-encoder of a model, not loaded yet; :class:`UsageError` for another family."""
    if not FAMILIES[model.family].system:
        raise UsageError(f"{model.source}: of family {family_of(model)}, neither a reranker nor a bi-encoder")
    system: Reranker | Encoder = make_system(model, runtime)
    return system


def make_system(model: Model, runtime: Runtime) -> Any:
    """Return the system of a model of any family, not loaded yet; a worker calls it too."""
    return FAMILIES[model.family].make(model, runtime)


def installed_model(name: str, registry: Registry, built_in: tuple[str, ...]) -> Model:
    """Return the model of a name; :class:`UsageError`, before anything is built, where a package for it is missing."""
    require("huggingface_hub", name)
    model = registry.resolve(name, built_in)
    if model.status != "api" and (not model.family or FAMILIES[model.family].library not in ("", SERVICE)):
        require("torch", name)
    return model


def family_of(model: Model) -> str:
    """Return the family, and what it was guessed from, so that a wrong guess can be seen and overruled."""
    guess = f" (guessed from {model.guessed_from}; --family overrules it)" if model.guessed_from else ""
    return f"{model.family}{guess}"

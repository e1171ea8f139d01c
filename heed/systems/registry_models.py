"""From an entry of the registry to the system of its family: a reranker or an encoder, here or by the workers."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from heed.addons.cluster.parallel import ParallelEncoder, ParallelReranker
from heed.addons.cluster.pool import WorkerPool
from heed.addons.cluster.tasks import system_of
from heed.compute import Compute
from heed.errors import UsageError
from heed.extras import require
from heed.models.registry.entries import Model, Registry
from heed.models.registry.families import FAMILIES, SERVICE
from heed.systems.user_objects import is_encoder
from heed.types import Encoder, Reranker


def model_without_documents(model: Model, compute: Compute) -> Reranker | Encoder:
    """Return the reranker or bi-encoder of a model, not loaded yet; :class:`UsageError` for another family."""
    if not FAMILIES[model.family].system:
        raise UsageError(f"{model.source}: of family {family_of(model)}, neither a reranker nor a bi-encoder")
    system: Reranker | Encoder = make_system(model, compute)
    return system


def make_system(model: Model, compute: Compute) -> Any:
    """Return the system of a model of any family, not loaded yet; a worker calls it too."""
    return FAMILIES[model.family].make(model, compute)


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


def system_by_workers(
    model: Model, compute: Compute, pool: WorkerPool | None, make: Callable[[Model, Compute], Any] = make_system
) -> Any:
    """Return the system that ``make`` makes of a model; the workers of ``pool`` do its work where there are any."""
    if not (pool and pool.workers):
        return make(model, compute)
    compute = replace(compute, device=pool.device(compute.device))
    local = make(model, compute)
    parallel = ParallelEncoder if is_encoder(local) else ParallelReranker
    return parallel(local, system_of(local.config, make, _absolute(model), compute), pool)


def _absolute(model: Model) -> Model:
    """Return ``model`` with absolute paths, and without facts for people: a worker may run in another folder."""
    return model._replace(source=_path(model.source), base=model.base and _path(model.base), names={}, presets={})


def _path(source: str) -> str:
    return os.path.abspath(source) if Path(source).is_dir() else source  # noqa: PTH100 (a link stays a link)

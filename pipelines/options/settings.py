"""From options to the library's settings: a function for each object. Imported by commands when they run."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from heed.addon_table import brought, brought_if_here
from heed.compute import Compute
from heed.errors import UsageError
from heed.models.registry.entries import Registry
from heed.reranking.maxp import Cut, parse_cut
from heed.retrieval.bm25.feedback import Feedback
from heed.retrieval.bm25.index import Bm25Settings
from heed.systems.make import MODEL, PROGRAM, Place, Search, kind_of, split_name
from heed.types import System
from pipelines.options.machine import RAY, compute_of

DESCRIBED = ("family", "query_template", "document_template", "prompt_template")  # of models without an entry


def registry_of(options: argparse.Namespace, described: Sequence[str] = DESCRIBED) -> Registry:
    """Return the models that the options describe; ``described`` are those of models without an entry."""
    fields = {option.removesuffix("_template"): getattr(options, option) for option in described}
    return Registry(options.models, fields, options.trust_remote_code)


@dataclass(frozen=True)
class Machinery:
    """What runs the systems that a command names: which models, how, and by which ``workers``, if any are asked for.

    ``version`` is that of programs.
    """

    registry: Registry
    compute: Compute
    workers: Any = None
    version: str | None = None

    @property
    def here(self) -> Compute:
        """How this process runs systems; a device that the user names is that of a cluster's machines, if any."""
        if self.workers is None or not self.workers.on_ray:
            return self.compute
        self.compute.check(here=False)
        return replace(self.compute, device="auto")

    def system(self, system: str, role: type[System]) -> object:
        """Return a name as the library gets it: an object where workers do its work or its program has a version.

        Raises :class:`UsageError` and :class:`heed.errors.ModelError` where it cannot be made.
        """
        name, source = split_name(system)
        kind = kind_of(source)
        share = brought_if_here("workers of a system") if self.workers or kind == MODEL else None
        shared: object = share and share(system, Place(self.registry, self.compute), role, self.workers, self.version)
        if shared is None and kind == PROGRAM and self.version is not None:
            return brought("program")(source.removeprefix(PROGRAM), name=name, config=self.version)
        return system if shared is None else shared

    def check_version(self, rerankers: Sequence[str]) -> None:
        """Raise :class:`UsageError` for the version of a program where none of ``rerankers`` is one."""
        if self.version is not None and not any(split_name(name)[1].startswith(PROGRAM) for name in rerankers):
            raise UsageError(f"--config: is the version of a program, and --reranker names none as {PROGRAM}PROGRAM")


def machinery_of(options: argparse.Namespace) -> Machinery:
    """Return the machinery that the options describe; :class:`UsageError` for workers that cannot be."""
    on_ray, workers = options.engine == RAY, None
    if options.ray_address and not on_ray:
        raise UsageError("ray_address: used with engine=ray alone")
    if on_ray or options.workers:
        workers = brought("workers")(options.workers, on_ray, options.ray_address)
    return Machinery(registry_of(options), compute_of(options), workers, options.config)


def maxp_of(options: argparse.Namespace) -> Cut | None:
    """Return the passages by which documents are scored, None for whole documents."""
    return parse_cut(options.maxp) if options.maxp else None


def search_of(options: argparse.Namespace) -> Search:
    """Return how documents are searched."""
    feedback = Feedback(*(getattr(options, name) for name in Feedback._fields))
    caption, header, cells = options.field_weights
    bm25 = Bm25Settings(options.k1, options.b, caption, header, cells, feedback)
    return Search(bm25, options.faiss, options.index, options.vectors)

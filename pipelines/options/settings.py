"""From options to the library's settings: a function for each object. Imported by commands when they run."""

import argparse
from collections.abc import Sequence
from dataclasses import replace

from heed.addon_table import brought, brought_if_here
from heed.compute import Compute
from heed.errors import UsageError
from heed.models.registry.entries import Registry
from heed.reranking.maxp import Cut, parse_cut
from heed.retrieval.bm25.index import Bm25Settings
from heed.systems.make import Place, Search, split_name
from heed.types import System
from pipelines.options.machine import ENGINES, compute_of

PROGRAM = "command:"
DESCRIBED = ("family", "query_template", "document_template", "prompt_template")  # of models without an entry


def registry_of(options: argparse.Namespace, described: Sequence[str] = DESCRIBED) -> Registry:
    """Return the models that the options describe; ``described`` are those of models without an entry."""
    fields = {option.removesuffix("_template"): getattr(options, option) for option in described}
    return Registry(options.models, fields, options.trust_remote_code)


def compute_here(options: argparse.Namespace) -> Compute:
    """Return how this process runs systems; a device that the user names is that of a cluster's machines, if any."""
    compute = compute_of(options)
    if options.engine == ENGINES[0]:
        return compute
    compute.check(here=False)
    return replace(compute, device="auto")


def system_of(options: argparse.Namespace, system: str, role: type[System]) -> object:
    """Return a system's name as the library gets it: an object where workers do its work or its program has a version.

    Raises :class:`UsageError` and :class:`heed.errors.ModelError` where it cannot be made.
    """
    requested = options.engine != ENGINES[0] or options.workers or options.ray_address
    share = (brought if requested else brought_if_here)("workers")
    version = getattr(options, "config", None)  # explore has none: it writes no runs
    shared: object = None
    if share:
        from heed.addons.cluster import Workers

        workers = Workers(options.engine, options.workers, options.ray_address)
        workers.check()
        shared = share(system, Place(registry_of(options), compute_of(options)), role, workers, version)
    name, source = split_name(system)
    if shared is None and version is not None and source.startswith(PROGRAM):
        program: object = brought("program")(source.removeprefix(PROGRAM), name=name, config=version)
        return program
    return system if shared is None else shared


def check_version(options: argparse.Namespace, rerankers: Sequence[str]) -> None:
    """Raise :class:`UsageError` for the version of a program where none of ``rerankers`` is one."""
    if options.config is not None and not any(split_name(name)[1].startswith(PROGRAM) for name in rerankers):
        raise UsageError(f"--config: is the version of a program, and --reranker names none as {PROGRAM}PROGRAM")


def maxp_of(options: argparse.Namespace) -> Cut | None:
    """Return the passages by which documents are scored, None for whole documents."""
    return parse_cut(options.maxp) if options.maxp else None


def search_of(options: argparse.Namespace) -> Search:
    """Return how documents are searched."""
    bm25 = Bm25Settings(options.k1, options.b, *options.field_weights)
    return Search(bm25, options.shards, options.faiss, options.index, options.vectors)

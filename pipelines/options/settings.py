"""From options to the library's settings: a function for each object. Imported by commands when they run."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict

from heed.addons.bridges.programs import COMMAND
from heed.addons.cluster import Workers
from heed.errors import UsageError
from heed.formats.user_files import OwnFiles
from heed.models.registry.entries import Registry
from heed.reranking.maxp import Cut, parse_cut
from heed.retrieval.bm25.index import Bm25Settings
from heed.systems.settings import Machine, Search
from pipelines.options.machine import compute_of

DESCRIBED = ("family", "query_template", "document_template", "prompt_template")  # of models without an entry


def own_files(options: argparse.Namespace) -> OwnFiles:
    """Return the documents, topics and judgements that the options name."""
    paths = (options.qrels, options.changed_qrels, options.reversed_qrels)
    docs = tuple(options.docs or ())
    return OwnFiles(docs, options.topics, options.topics_format, *paths, options.name, options.encoding)


def registry_of(options: argparse.Namespace, described: Sequence[str] = DESCRIBED) -> Registry:
    """Return the models that the options describe; ``described`` are those of models without an entry."""
    fields = {option.removesuffix("_template"): getattr(options, option) for option in described}
    return Registry(options.models, fields, options.trust_remote_code)


def machine_of(options: argparse.Namespace) -> Machine:
    """Return the settings of threads, Java's heap, workers and models."""
    workers = Workers(options.engine, options.workers, options.ray_address)
    version = _program_version(options)
    return Machine(workers=workers, program_version=version, **asdict(compute_of(options)))


def _program_version(options: argparse.Namespace) -> str | None:
    version: str | None = getattr(options, "config", None)  # explore has none: it writes no runs
    if version is not None and COMMAND not in str(options.reranker):
        raise UsageError(f"--config: is the version of a program, and --reranker names none as {COMMAND}PROGRAM")
    return version


def maxp_of(options: argparse.Namespace) -> Cut | None:
    """Return the passages by which documents are scored, None for whole documents."""
    return parse_cut(options.maxp) if options.maxp else None


def search_of(options: argparse.Namespace) -> Search:
    """Return how documents are searched."""
    bm25 = Bm25Settings(options.k1, options.b, *options.field_weights)
    return Search(bm25, options.shards, options.faiss, options.index, options.vectors)

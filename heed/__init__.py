"""Heed: does a search system do what the user asked?

The library; its commands are in ``pipelines``. Data flows one way::

    documents ──► indexes (Lucene BM25 · FAISS) ─┐
    topics (query + instruction, per condition) ─┴─► runs ──► pool ──► rerankers ──► runs
    runs + qrels ──► measures ──► report

Start with :func:`heed.load` and :class:`heed.Experiment`. Names are imported when they are first used.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heed.compute import Compute
    from heed.datasets.collection import Collection
    from heed.datasets.loading import load, load_files
    from heed.errors import DataError, HeedError, ModelError, UsageError
    from heed.experiment.experiment import Experiment
    from heed.experiment.results import Results
    from heed.experiment.run_files import SystemRuns
    from heed.experiment.runs import Qrels, Run
    from heed.formats.documents import Documents
    from heed.instructions.reader import read_instruction
    from heed.languages import language
    from heed.measures.evaluate import Judging, Pair
    from heed.measures.registry import measure
    from heed.models.registry.entries import Registry
    from heed.reranking.maxp import Cut
    from heed.retrieval.bm25.index import Bm25Settings
    from heed.systems.alone import encoder, reranker
    from heed.systems.make import Search
    from heed.types import Document, Encoder, Query, Reranker, Retriever, Span, Topic

_HOMES = {
    "compute": ("Compute",),
    "datasets.collection": ("Collection",),
    "datasets.loading": ("load", "load_files"),
    "errors": ("DataError", "HeedError", "ModelError", "UsageError"),
    "measures.evaluate": ("Judging", "Pair"),
    "measures.registry": ("measure",),
    "experiment.experiment": ("Experiment",),
    "formats.documents": ("Documents",),
    "instructions.reader": ("read_instruction",),
    "languages": ("language",),
    "models.registry.entries": ("Registry",),
    "reranking.maxp": ("Cut",),
    "experiment.results": ("Results",),
    "experiment.run_files": ("SystemRuns",),
    "retrieval.bm25.index": ("Bm25Settings",),
    "experiment.runs": ("Qrels", "Run"),
    "systems.alone": ("encoder", "reranker"),
    "systems.make": ("Search",),
    "types": ("Document", "Encoder", "Query", "Reranker", "Retriever", "Span", "Topic"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Bm25Settings",
    "Collection",
    "Compute",
    "Cut",
    "DataError",
    "Document",
    "Documents",
    "Encoder",
    "Experiment",
    "HeedError",
    "Judging",
    "ModelError",
    "Pair",
    "Qrels",
    "Query",
    "Registry",
    "Reranker",
    "Results",
    "Retriever",
    "Run",
    "Search",
    "Span",
    "SystemRuns",
    "Topic",
    "UsageError",
    "encoder",
    "language",
    "load",
    "load_files",
    "measure",
    "read_instruction",
    "reranker",
]

if find_spec("fcntl") is None:  # Windows
    raise ImportError(
        "Heed needs Linux or macOS; on Windows install it in WSL (wsl --install): docs/installation.md, Platforms"
    )


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name not in _HOME:
        raise AttributeError(f"module 'heed' has no attribute {name!r}")
    return getattr(import_module(f"heed.{_HOME[name]}"), name)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # a fifth of what a process that reads tables imports

    try:
        return version("heed-ir")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "0"


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])

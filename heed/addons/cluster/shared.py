"""Encoders and rerankers whose work is shared by workers, each of which builds the whole system itself.

Names, configs and results, in their order, are those of the system alone, so that runs and vectors are used again with
and without workers. The workers of a system are started at its first use and stopped when it is closed.
"""

import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import Any

from heed.addon_table import brought
from heed.addons.cluster import Workers
from heed.addons.cluster.ray_cluster import Cluster
from heed.addons.cluster.workers import Call, Processes, SystemMaker, WorkerPool
from heed.compute import Compute
from heed.files import digest_json
from heed.models.files import with_family
from heed.models.registry.entries import Model
from heed.models.registry.families import API_RERANK, BI_ENCODER, CROSS_ENCODER, FAMILIES, LATE, SPARSE
from heed.progress import Replies, log, replies, replying
from heed.systems.make import MODEL, PROGRAM, Place, built_in, installed_model, kind_of, split_name
from heed.types import Document, Encoder, Matrix, Query, Reranker, System

HERE = {  # families that no worker runs, and why
    **dict.fromkeys((LATE, SPARSE), "it keeps the vectors of documents from topic to topic"),
    **dict.fromkeys(("api-chat", "api-embedding", API_RERANK), "it runs at a service"),
}

Machines = Processes | Cluster


def shared(
    system: str, place: Place, role: type[System], workers: Workers | None, version: str | None = None
) -> "SharedEncoder | SharedReranker | None":
    """Return the model or program called ``system``, its work shared by ``workers``; None where this process does it.

    Where none are asked for, each of several GPUs has one. A bi-encoder is an encoder, whatever the ``role``.
    ``version`` names a program's version. That this process does the work is logged, with the reason, where the user
    asked for workers. Raises :class:`UsageError` and
    :class:`ModelError` as making the system alone does, and :class:`WorkerError` where Ray is not installed or no
    cluster answers.
    """
    workers = workers or Workers()
    requested = workers.on_ray or bool(workers.number)
    name, source = split_name(system)
    kind = kind_of(source)
    if kind == PROGRAM and requested:
        program = brought("program")(source.removeprefix(PROGRAM), name=name, config=version)
        return SharedReranker(program, SystemMaker(copy, (program,)), _machines(workers, "cpu"))
    reason = "" if kind in (MODEL, PROGRAM) else "workers run models and programs alone"
    # first, as counting GPUs needs its packages
    resolved = installed_model(source, place, built_in(role)) if kind == MODEL else None
    if resolved and (requested or (resolved.family not in HERE and Processes(None, place.compute.device).count)):
        model = with_family(resolved, CROSS_ENCODER if role is Reranker else BI_ENCODER)
        reason = HERE.get(model.family, "")
        if not reason:
            by_workers = shared_model(model, place.compute, workers)
            by_workers.name = name or by_workers.name
            return by_workers
    if reason and requested:
        log.info(f"{source}: runs in this process, not by workers: {reason}")
    return None


def shared_model(model: Model, compute: Compute, workers: Workers) -> "SharedEncoder | SharedReranker":
    """Return the system of a model, its work shared by workers, of which there must be some."""
    import torch

    machines = _machines(workers, compute.device)
    compute = replace(compute, device=machines.device(compute.device))
    system = _system_of(model, compute)
    maker = SystemMaker(_system_of, (_absolute(model), compute), digest_json(system.config), torch.get_num_threads())
    kind = SharedEncoder if isinstance(system, Encoder) else SharedReranker
    return kind(system, maker, machines)


def _system_of(model: Model, compute: Compute) -> Any:
    """Return the system of a model; workers call it too."""
    return FAMILIES[model.family].make(model, compute)


def _machines(workers: Workers, device: str) -> Machines:
    if workers.on_ray:
        return Cluster(workers.number, workers.address, device)
    return Processes(workers.number, device)


def _absolute(model: Model) -> Model:
    """Return ``model`` with absolute paths, and without facts for people: a worker may run in another folder."""
    return model._replace(source=_path(model.source), base=model.base and _path(model.base), names={}, presets={})


def _path(source: str) -> str:
    return os.path.abspath(source) if Path(source).is_dir() else source  # noqa: PTH100 (a link stays a link)


class _Shared(System):
    """What an encoder and a reranker share: workers, started at the first use and stopped by :meth:`close`."""

    def __init__(self, system: System, maker: SystemMaker, machines: Machines) -> None:
        """Have workers on ``machines`` make calls of what ``maker`` makes, which is ``system`` here."""
        self.name, self.config, self.made_by = system.name, system.config, system.made_by
        self._maker, self._machines = maker, machines
        self._pool: WorkerPool | None = None

    def _results(self, functions: Iterable[Callable[[Any], Any]]) -> Iterator[Any]:
        """Yield what each of ``functions`` returns for the system, in their order."""
        if self._pool is None:
            self._pool = WorkerPool(self._machines.workers())
            weakref.finalize(self, self._pool.close)  # of a system that nobody closes
            log.info(f"{self.name}: its work is shared by workers ({self._machines.place})")
        return self._pool.results(Call(self._maker, function) for function in functions)

    def load(self) -> None:
        """Load the model in each worker, so that the first use takes no longer than the others."""
        list(self._results([methodcaller("load")] * self._machines.count))

    def close(self) -> None:
        """Stop the workers; a later use starts others."""
        pool, self._pool = self._pool, None
        if pool:
            pool.close()
            log.info(f"{self.name}: workers: peak memory {pool.peak:.0f} MiB each at most")
        self._machines.close()


class SharedEncoder(_Shared, Encoder):
    """An :class:`heed.types.Encoder` whose batches are read by several workers at once."""

    def __init__(self, system: Encoder, maker: SystemMaker, machines: Machines) -> None:
        super().__init__(system, maker, machines)
        self.cosine = system.cosine

    def encode_documents(self, documents: Sequence[Document]) -> Matrix:
        """Return the vectors of documents."""
        return next(self.encode_batches([documents]))

    def encode_batches(self, batches: Iterable[Sequence[Document]]) -> Iterator[Matrix]:
        """Yield the vectors of each batch of documents, in their order."""
        return self._results(methodcaller("encode_documents", batch) for batch in batches)

    def encode_queries(self, queries: Sequence[Query]) -> Matrix:
        """Return the vectors of queries."""
        vectors: Matrix = next(self._results([methodcaller("encode_queries", queries)]))
        return vectors


class SharedReranker(_Shared, Reranker):
    """A :class:`heed.types.Reranker` whose queries are scored by several workers at once."""

    def __init__(self, system: Reranker, maker: SystemMaker, machines: Machines) -> None:
        super().__init__(system, maker, machines)
        self.at_once, self.independent = machines.count, system.independent

    def score(self, query: Query, documents: Sequence[Document]) -> Sequence[float]:
        """Return one score for each document."""
        return next(self.score_all([(query, documents)]))

    def score_all(self, pairs: Iterable[tuple[Query, Sequence[Document]]]) -> Iterator[Sequence[float]]:
        """Yield the scores of each query's documents, in their order."""
        for scores, gathered in self._results(partial(_score, *pair) for pair in pairs):
            replies().update(gathered)
            yield scores


def _score(query: Query, documents: Sequence[Document], reranker: Reranker) -> tuple[list[float], Replies]:
    """Return a worker's scores, and its model's replies; what its reranker logs before and after is logged here."""
    reranker.begin([query], lambda _: documents)
    with replying() as gathered:
        scores = [float(score) for score in reranker.score(query, documents)]
    reranker.finish()
    return scores, gathered

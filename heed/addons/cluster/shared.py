"""Encoders and rerankers whose work is shared by workers, each of which builds the whole system itself.

Names, configs and results, in their order, are those of the system alone, so that runs and vectors are used again with
and without workers. The workers of a system are started at its first use and stopped when it is closed.
"""

import os
import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import methodcaller
from pathlib import Path
from typing import Any

from heed.addon_table import brought
from heed.addons.cluster import ENGINES, Workers
from heed.addons.cluster.pool import Processes, WorkerPool
from heed.addons.cluster.ray_cluster import Cluster
from heed.addons.cluster.tasks import Call, Machines, SystemMaker
from heed.compute import Compute
from heed.files import digest_json
from heed.models.files.guessing import with_family
from heed.models.local.runtime import Runtime
from heed.models.registry.entries import Model, Registry
from heed.models.registry.families import BI_ENCODER, CROSS_ENCODER, FAMILIES, LATE, RERANKER
from heed.progress import Replies, log, replies, replying
from heed.systems.registry_models import installed_model, make_system
from heed.systems.user_objects import OwnReranker, is_encoder
from heed.types import Config, Document, Encoder, Matrix, Query, Reranker, System

PROGRAM = "command:"
LOCAL = (  # names of what no worker runs, and why
    (re.compile("rank_bm25"), "it reads a pool's documents together"),
    (re.compile("mteb:.*"), "it runs by MTEB's code"),
    (re.compile(r"bm25(\+.*)?|lsa|polarity"), "workers run models and programs"),
    (
        re.compile(r"polarity\+.*|decompose:.*|[A-Za-z_][\w.]*:[A-Za-z_][\w.]*"),
        "",
    ),  # the model within one may be shared
)


def shared(
    name: str, registry: Registry, compute: Compute, workers: Workers, role: str = RERANKER, version: str | None = None
) -> Encoder | Reranker | None:
    """Return the model or program called ``name``, its work shared by ``workers``; None where this process does it.

    It is the system that ``role`` asks for: an encoder for a retriever, and of a model of late interaction its encoder
    alone. ``version`` names a program's version. That this process does the work is logged, with the reason, where
    the user asked for workers. Raises :class:`UsageError` and :class:`ModelError` as making the system alone does, and
    :class:`WorkerError` where Ray is not installed or no cluster answers.
    """
    if name.startswith(PROGRAM):
        return shared_program(brought("program")(name.removeprefix(PROGRAM), config=version), workers)
    reason = next((why for names, why in LOCAL if names.fullmatch(name)), None)
    if reason is not None:
        in_this_process(name, workers, reason)
        return None
    if not (_requested(workers) or Processes(None, compute.device).count):
        return None
    model = installed_model(name, registry, ()).limited(compute.max_length)
    model = with_family(model, CROSS_ENCODER if role == RERANKER else BI_ENCODER)
    if model.family == LATE and role != RERANKER:
        return shared_model(model, _runtime(compute), workers, brought("late-interaction encoder"))
    if reason := FAMILIES[model.family].local:
        in_this_process(name, workers, reason)
        return None
    return shared_model(model, _runtime(compute), workers)


def shared_model(
    model: Model, runtime: Runtime, workers: Workers, make: Callable[[Model, Runtime], Any] = make_system
) -> Encoder | Reranker | None:
    """Return the system that ``make`` makes of a model, its work shared by workers; None where there are none."""
    machines = _machines(workers, runtime.device)
    if not machines.count:
        return None
    import torch

    runtime = runtime._replace(device=machines.device(runtime.device))
    system = make(model, runtime)
    maker = SystemMaker(make, (_absolute(model), runtime), digest_json(system.config), torch.get_num_threads())
    return SharedEncoder(system, maker, machines) if is_encoder(system) else SharedReranker(system, maker, machines)


def shared_program(program: Any, workers: Workers) -> Reranker | None:
    """Return the reranker of a program that each worker starts; None where the user asked for no workers."""
    if not _requested(workers):
        return None
    maker = SystemMaker(OwnReranker, (program, program.label))
    return SharedReranker(OwnReranker(program, program.label), maker, _machines(workers, "cpu"))


def _requested(workers: Workers) -> bool:
    return workers.engine != ENGINES[0] or bool(workers.number)


def in_this_process(name: str, workers: Workers, reason: str) -> None:
    """Log why no worker runs a system, where the user asked for workers."""
    if reason and _requested(workers):
        log.info(f"{name}: runs in this process, not by workers: {reason}")


def _machines(workers: Workers, device: str) -> Machines:
    if workers.engine == ENGINES[0]:
        return Processes(workers.number, device)
    return Cluster(workers.number, workers.address, device)


def _runtime(compute: Compute) -> Runtime:
    return Runtime(
        compute.device,
        compute.inference,
        dtype=compute.dtype,
        max_length=compute.max_length,
        batch_size=compute.batch_size,
    )


def _absolute(model: Model) -> Model:
    """Return ``model`` with absolute paths, and without facts for people: a worker may run in another folder."""
    return model._replace(source=_path(model.source), base=model.base and _path(model.base), names={}, presets={})


def _path(source: str) -> str:
    return os.path.abspath(source) if Path(source).is_dir() else source  # noqa: PTH100 (a link stays a link)


class _Shared(System):
    """What an encoder and a reranker share: workers, started at the first use and stopped by :meth:`close`."""

    def __init__(self, system: Any, maker: SystemMaker, machines: Machines) -> None:
        """Have workers on ``machines`` make calls of what ``maker`` makes, which is ``system`` here."""
        self.name: str = system.name
        self.config: Config | None = system.config
        self.made_by: Config | None = system.made_by
        self._maker, self._machines = maker, machines
        self._pool: WorkerPool | None = None

    def _results(self, function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Yield ``function(system, *each)`` of each of ``arguments``, in their order."""
        if self._pool is None:
            self._pool = WorkerPool(self._machines.workers())
            weakref.finalize(self, self._pool.close)  # of a system that nobody closes
            log.info(f"{self.name}: its work is shared by workers ({self._machines.place})")
        return self._pool.results(Call(self._maker, function, each) for each in arguments)

    def load(self) -> None:
        """Load the model in each worker, so that the first use takes no longer than the others."""
        list(self._results(methodcaller("load"), [()] * self._machines.count))

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
        """As its base class says."""
        super().__init__(system, maker, machines)
        self.cosine = system.cosine

    def encode_documents(self, documents: Sequence[Document]) -> Matrix:
        """Return the vectors of documents."""
        return next(self.encode_batches([documents]))

    def encode_batches(self, batches: Iterable[Sequence[Document]]) -> Iterator[Matrix]:
        """Yield the vectors of each batch of documents, in their order."""
        return self._results(_encode_documents, ((batch,) for batch in batches))

    def encode_queries(self, queries: Sequence[Query]) -> Matrix:
        """Return the vectors of queries."""
        vectors: Matrix = next(self._results(_encode_queries, [(queries,)]))
        return vectors


class SharedReranker(_Shared, Reranker):
    """A :class:`heed.types.Reranker` whose queries are scored by several workers at once."""

    def __init__(self, system: Reranker, maker: SystemMaker, machines: Machines) -> None:
        """As its base class says."""
        super().__init__(system, maker, machines)
        self.reads_cues, self.at_once = system.reads_cues, machines.count

    def score(self, query: Query, documents: Sequence[Document]) -> Sequence[float]:
        """Return one score for each document."""
        return next(self.score_all([(query, documents)]))

    def score_all(self, pairs: Iterable[tuple[Query, Sequence[Document]]]) -> Iterator[Sequence[float]]:
        """Yield the scores of each query's documents, in their order."""
        for scores, gathered in self._results(_score, pairs):
            replies().update(gathered)
            yield scores


def _encode_documents(encoder: Encoder, documents: Sequence[Document]) -> Matrix:
    return encoder.encode_documents(documents)


def _encode_queries(encoder: Encoder, queries: Sequence[Query]) -> Matrix:
    return encoder.encode_queries(queries)


def _score(reranker: Reranker, query: Query, documents: Sequence[Document]) -> tuple[list[float], Replies]:
    """Return a worker's scores, and its model's replies; what its reranker logs before and after is logged here."""
    reranker.begin([query], lambda _: documents)
    with replying() as gathered:
        scores = [float(score) for score in reranker.score(query, documents)]
    reranker.finish()
    return scores, gathered

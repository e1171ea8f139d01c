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
from heed.models.registry.families import BI_ENCODER, CROSS_ENCODER, FAMILIES
from heed.progress import Replies, log, replies, replying
from heed.systems.by_name import renamed, split_name
from heed.systems.registry_models import installed_model, make_system
from heed.systems.user_objects import OwnReranker, is_encoder
from heed.types import Config, Document, Encoder, Matrix, Query, Reranker, System

PROGRAM = "command:"
NO_MODEL = re.compile(r"(bm25|lsa|polarity|rank_bm25)(\+.*)?|(mteb|decompose):.*|[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def shared(
    system: str,
    registry: Registry,
    compute: Compute,
    workers: Workers,
    role: type[System] = Reranker,
    version: str | None = None,
) -> Encoder | Reranker | None:
    """Return the model or program of a name, its work shared by ``workers``; None where this process does it.

    A model is of the family that ``role`` suggests where nothing else tells it; ``version`` names a program's version.
    That this process does the work is logged, with the reason, where the user asked for workers. Raises
    :class:`UsageError` and :class:`ModelError` as making the system alone does, and :class:`WorkerError` where Ray is
    not installed or no cluster answers.
    """
    requested = workers.engine != ENGINES[0] or bool(workers.number)
    name, source = split_name(system)
    if source.startswith(PROGRAM):
        program = brought("program")(source.removeprefix(PROGRAM), name=name, config=version)
        return shared_program(program, workers) if requested else None
    reason = "workers run models and programs alone" if NO_MODEL.fullmatch(source) else ""
    if not reason and (requested or Processes(None, compute.device).count):
        model = with_family(installed_model(source, registry, ()), CROSS_ENCODER if role is Reranker else BI_ENCODER)
        reason = FAMILIES[model.family].local
        if not reason:
            return renamed(shared_model(model, compute, workers), name)
    if reason and requested:
        log.info(f"{system}: runs in this process, not by workers: {reason}")
    return None


def shared_model(model: Model, compute: Compute, workers: Workers) -> Encoder | Reranker:
    """Return the system of a model, its work shared by workers, of which there must be some."""
    import torch

    machines = _machines(workers, compute.device)
    runtime = Runtime(
        machines.device(compute.device),
        compute.inference,
        dtype=compute.dtype,
        max_length=compute.max_length,
        batch_size=compute.batch_size,
    )
    model = model.limited(compute.max_length)
    system = make_system(model, runtime)
    maker = SystemMaker(make_system, (_absolute(model), runtime), digest_json(system.config), torch.get_num_threads())
    return SharedEncoder(system, maker, machines) if is_encoder(system) else SharedReranker(system, maker, machines)


def shared_program(program: Any, workers: Workers) -> Reranker:
    """Return the reranker of a program that each worker starts."""
    maker = SystemMaker(OwnReranker, (program, program.label))
    return SharedReranker(OwnReranker(program, program.label), maker, _machines(workers, "cpu"))


def _machines(workers: Workers, device: str) -> Machines:
    if workers.engine == ENGINES[0]:
        return Processes(workers.number, device)
    return Cluster(workers.number, workers.address, device)


def _absolute(model: Model) -> Model:
    """Return ``model`` with absolute paths, and without facts for people: a worker may run in another folder."""
    here = [os.path.abspath(each) if Path(each).is_dir() else each for each in (model.source, model.base)]  # noqa: PTH100 (a link stays a link)
    return model._replace(source=here[0], base=here[1], names={}, presets={})


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

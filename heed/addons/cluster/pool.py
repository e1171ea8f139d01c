"""A pool of workers; the tasks of dead workers are retried by others."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from threading import Condition
from typing import Any

from heed.addons.cluster import ENGINES, Workers
from heed.addons.cluster.processes import Processes
from heed.addons.cluster.ray_cluster import Cluster
from heed.addons.cluster.tasks import LostError, Machines, Result, Worker, WorkerTask, value_of
from heed.errors import WorkerError
from heed.progress import log

ATTEMPTS = 3  # times that a task is started before it is taken for what kills workers

TaskFor = Callable[[Worker], WorkerTask]  # the task for the worker that is to run it


class WorkerPool:
    """The workers of an experiment; they are started when there is work for them."""

    def __init__(self, machines: Machines, requested: bool) -> None:
        """Run tasks on ``machines``; ``requested``: the user asked for workers."""
        self._machines, self.requested = machines, requested
        self._changed = Condition()
        self._idle: list[Worker] = []  # started or not
        self._lost: dict[str, str] = {}  # why workers that cannot be started again were lost
        self._started: set[Worker] = set()
        self._closed = False
        self._peak = 0.0
        self._local: set[str] = set()

    @cached_property
    def workers(self) -> list[Worker]:
        """The workers; empty where this process does the work itself."""
        self._idle = self._machines.workers()
        return list(self._idle)

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(len(self.workers), thread_name_prefix="heed-workers")

    @property
    def remote(self) -> bool:
        """Whether tasks are run by workers that may be on other machines."""
        return self._machines.remote and bool(self.workers)

    def device(self, requested: str) -> str:
        """Return the device of models that the workers run where the user requested ``requested``."""
        return self._machines.device(requested)

    def log_local(self, name: str, why: str) -> None:
        """Log that system ``name`` runs in this process although the user asked for workers."""
        if self.requested and name not in self._local:
            self._local.add(name)
            log.info(f"{name}: runs in this process, not by workers: {why}")

    def submit(self, task_for: TaskFor, home: Worker | None = None) -> "Future[Result]":
        """Have a task run by any worker, or by ``home`` as long as that one is there."""
        return self._threads.submit(self._run, task_for, home)

    def results(self, tasks: Iterable[TaskFor]) -> Iterator[Any]:
        """Yield the result of each task, in their order; up to two tasks a worker are submitted ahead."""
        ahead: deque[Future[Result]] = deque()
        for task_for in tasks:
            ahead.append(self.submit(task_for))
            if len(ahead) >= 2 * len(self.workers):
                yield result_of(ahead.popleft())
        while ahead:
            yield result_of(ahead.popleft())

    def broadcast(self, task_for: TaskFor) -> None:
        """Have a task run by each worker."""
        for future in [self.submit(task_for, worker) for worker in self.workers]:
            result_of(future)

    def close(self) -> None:
        """Stop all workers at once."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if "_threads" in self.__dict__:
            self._stop_workers()
            self._threads.shutdown(cancel_futures=True)
        if "workers" in self.__dict__:
            self._stop_workers()  # one that was started in the meantime too
        if self._peak:
            log.info(f"workers: peak memory {self._peak:.0f} MiB each at most")
        self._machines.close()

    def _stop_workers(self) -> None:
        for worker in self.workers:
            worker.stop()

    def _run(self, task_for: TaskFor, home: Worker | None) -> Result:
        losses = 0
        while losses < ATTEMPTS:
            worker = self._take(home)
            try:
                if worker not in self._started:
                    worker.start()
                    self._started.add(worker)
                result = worker.run(task_for(worker))
            except LostError as lost:
                losses += worker in self._started
                self._replace(worker, lost, losses)
            except BaseException:
                worker.built = ""
                self._give_back(worker)
                raise
            else:
                if result.error or result.trace:
                    worker.built = ""  # or half of it
                self._peak = max(self._peak, result.peak)
                self._give_back(worker)
                return result
        raise WorkerError(
            f"{ATTEMPTS} workers were lost at the same task; they may lack memory: use fewer workers, or none"
        )

    def _take(self, home: Worker | None) -> Worker:
        """Wait for ``home``, or for any idle worker if there is no such home, and return it."""
        with self._changed:
            while not self._closed:
                if len(self._lost) == len(self.workers):
                    reasons = ", ".join(sorted(set(self._lost.values())))
                    raise WorkerError(f"no worker is left, and none can be started: {reasons}")
                at_home = home if home and home.name not in self._lost else None
                if at_home in self._idle or (at_home is None and self._idle):
                    worker = at_home or self._idle[0]
                    self._idle.remove(worker)
                    return worker
                self._changed.wait()
        raise WorkerError("stopped")

    def _give_back(self, worker: Worker) -> None:
        with self._changed:
            self._idle.append(worker)
            self._changed.notify_all()

    def _replace(self, worker: Worker, lost: LostError, losses: int) -> None:
        """Let a lost worker be started again when its turn comes; do without one that could not be started."""
        worker.stop()
        if self._closed:
            return
        if worker in self._started:
            self._started.discard(worker)
            then = f"its task is retried, attempt {losses + 1} of {ATTEMPTS}" if losses < ATTEMPTS else "given up"
            log.info(f"{worker.name}: lost ({lost}); {then}")
            self._give_back(worker)
            return
        log.info(f"{worker.name}: cannot be started ({lost})")
        with self._changed:
            self._lost[worker.name] = str(lost)
            self._changed.notify_all()


def result_of(future: "Future[Result]") -> Any:
    """Return the value of a task's result; log its messages, and raise its error."""
    return value_of(future.result())


@contextmanager
def open_pool(settings: Workers, device: str) -> Iterator[WorkerPool]:
    """Yield the workers for models on ``device``, stopped at the end of the block.

    ``settings`` are checked. Raises :class:`WorkerError` where Ray is requested and not installed.
    """
    machines: Machines
    if settings.engine == "ray":
        machines = Cluster(settings.number, settings.address, device)
    else:
        machines = Processes(settings.number, device)
    pool = WorkerPool(machines, requested=settings.engine != ENGINES[0] or bool(settings.number))
    try:
        yield pool
    finally:
        pool.close()

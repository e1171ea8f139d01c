"""Tasks for workers: each carries all it needs, since another machine has none of our folders."""

import logging
import os
import platform
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from heed.addons.cluster.versions import versions
from heed.errors import HeedError, WorkerError
from heed.files import digest_json
from heed.process import peak_mib
from heed.progress import log, warn
from heed.types import Config


class LostError(Exception):
    """A worker ended, or cannot be reached or started; says why."""


class System(NamedTuple):
    """An encoder or reranker that a worker builds: ``make(*arguments)``, both picklable.

    ``key`` is the digest of its ``config``, so that a worker whose copy of the model differs refuses the
    task. ``threads`` is the number of torch's threads in the process that sends it: on a CPU they decide which
    texts are read together, and so the last bits of the scores. It is None for what does without torch.
    """

    key: str
    threads: int | None
    make: Callable[..., Any]
    arguments: tuple[Any, ...]


def system_of(config: Config, make: Callable[..., Any], *arguments: Any) -> System:
    """Return how workers build the system that has ``config`` here."""
    import torch

    return System(digest_json(config), torch.get_num_threads(), make, arguments)


def plain_system(config: Config, make: Callable[..., Any], *arguments: Any) -> System:
    """Return the same of a system that does without torch, which workers do not import for it."""
    return System(digest_json(config), None, make, arguments)


class Result(NamedTuple):
    """The ``value`` of a task, or the ``error`` that the user can fix, or the ``trace`` of another one.

    ``messages`` were logged meanwhile, as (level, text); ``peak`` is the worker's peak memory in MiB.
    """

    value: Any = None
    messages: tuple[tuple[int, str], ...] = ()
    error: HeedError | None = None
    trace: str = ""
    peak: float = 0.0


def value_of(result: Result) -> Any:
    """Return the value of a task's result; log its messages, and raise its error."""
    for level, message in result.messages:
        if level == logging.WARNING:
            warn(message)
        else:
            log.log(level, message)
    if result.error:
        raise result.error
    if result.trace:
        raise RuntimeError(result.trace.splitlines()[-1]) from RuntimeError(f"in a worker:\n{result.trace}")
    return result.value


class WorkerTask(Protocol):
    """Work that can be sent, done anywhere, and done again."""

    def run(self, worker: "WorkerState") -> Any:
        """Run the task; its result must be picklable."""


class SystemTask(NamedTuple):
    """Work by a system: ``run(what the worker built, *arguments)``."""

    system: System
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()

    def run(self, worker: "WorkerState") -> Any:
        """Run the function."""
        return self.function(worker.build(self.system), *self.arguments)

    def sent_to(self, worker: "Worker") -> "SystemTask":
        """Return the task for ``worker``: without the system's arguments where it built that system last."""
        known, worker.built = worker.built == self.system.key, self.system.key
        return self._replace(system=self.system._replace(arguments=())) if known else self


class Worker(Protocol):
    """A process somewhere that runs one task at a time."""

    name: str
    pid: int  # of its process, 0 before it is started
    built: str  # key of the system that it holds; its arguments, which may be large, are not sent again
    shards: set[tuple[str, int]]  # collections and numbers of the shards that it holds

    def start(self) -> None:
        """Start it; :class:`LostError` if it cannot be started."""

    def run(self, task: WorkerTask) -> Result:
        """Return the result of ``task``; :class:`LostError` if the worker ended meanwhile."""

    def stop(self) -> None:
        """Stop it at once, whatever it does; nothing where it does not run."""


class Machines(Protocol):
    """The machines where workers run."""

    @property
    def remote(self) -> bool:
        """Whether they may run on other machines."""

    def device(self, requested: str) -> str:
        """Return the device of models there, where the user requested ``requested``."""

    def workers(self) -> list[Worker]:
        """Return the workers, none of them started; an empty list where this process does the work itself."""

    def close(self) -> None:
        """Leave the machines."""


class _Messages(logging.Handler):
    """Collects what is logged, to be logged again by the process that sent the task."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[tuple[int, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append((record.levelno, record.getMessage()))

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Collect what is logged inside the block."""
        log.addHandler(self)
        log.setLevel(logging.INFO)
        log.propagate = False  # else Python would print warnings here too
        try:
            yield
        finally:
            log.removeHandler(self)


class WorkerState:
    """What one worker has built, kept for the next tasks; one model at a time."""

    def __init__(self) -> None:
        """Build nothing yet."""
        self._key, self._system = "", None
        self._collection, self._shards = "", dict[int, Any]()

    def here(self) -> tuple[str, int, dict[str, str]]:
        """Return the machine, the process, and the versions that must be the same everywhere."""
        return platform.node(), os.getpid(), versions()

    def run(self, task: WorkerTask) -> Result:
        """Return the result of ``task``, also where it raises an error."""
        messages = _Messages()
        try:
            with messages.collected():
                result = Result(task.run(self))
        except HeedError as error:
            result = Result(error=error)
        except Exception:
            result = Result(trace=traceback.format_exc())
        return result._replace(messages=tuple(messages.records), peak=peak_mib())

    def build(self, system: System) -> Any:
        """Return ``system``, built at its first task; :class:`WorkerError` where its ``config`` differs here."""
        if system.threads is not None:
            import torch

            torch.set_num_threads(system.threads)
        if system.key != self._key:
            if self._system:
                self._system.close()  # makes room for another model
            self._key, self._system = "", None
            built = system.make(*system.arguments)
            if digest_json(built.config) != system.key:
                raise WorkerError(
                    f"{built.name}: a worker has other files of this model, or another precision, than the machine "
                    "where the command runs; give every machine the same files, or pin the revision"
                )
            self._key, self._system = system.key, built
        return self._system

    def shard(self, collection: str, number: int, sent: Any) -> Any:
        """Return the vectors of a shard, which are ``sent`` the first time; those of one collection are kept."""
        if collection != self._collection:
            self._collection, self._shards = collection, {}
        if sent is not None:
            self._shards[number] = sent
        return self._shards[number]

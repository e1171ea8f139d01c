"""What workers are sent and send back, the workers that are processes of this machine, and the pool that they work in.

A call carries all that it needs, since another machine has none of our folders, and can be made again by another
worker: so are those of workers that died. Machines must have the same versions, so that the same call gives the same
bytes on all.
"""

import atexit
import logging
import os
import platform
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.util import find_spec
from logging.handlers import BufferingHandler
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from heed.errors import HeedError, WorkerError, fail
from heed.extras import installed_version
from heed.files import digest, digest_json
from heed.process import ending, peak_mib
from heed.progress import log, warn

PACKAGES = ("numpy", "torch", "transformers", "tokenizers", "sentence-transformers", "peft", "vllm")


class LostError(Exception):
    """A worker ended, or cannot be reached or started; says why."""


class SystemMaker(NamedTuple):
    """How a worker builds an encoder or reranker: ``make(*arguments)``, both picklable.

    ``key`` is the digest of its ``config``, so that a worker whose copy of the model differs refuses the call; empty
    where it has none. ``threads`` is the number of torch's threads in the process that sends it: on a CPU they decide
    which texts are read together, and so the last bits of the scores. It is None for what does without torch.
    """

    make: Callable[..., Any]
    arguments: tuple[Any, ...]
    key: str = ""
    threads: int | None = None


class Call(NamedTuple):
    """Work by a system: ``function(system)``; function and result must be picklable."""

    maker: SystemMaker
    function: Callable[[Any], Any]


class Result(NamedTuple):
    """The ``value`` of a call, or the ``error`` that the user can fix, or the ``trace`` of another one.

    ``messages`` were logged meanwhile, as (level, text); ``peak`` is the worker's peak memory in MiB.
    """

    value: Any = None
    messages: tuple[tuple[int, str], ...] = ()
    error: HeedError | None = None
    trace: str = ""
    peak: float = 0.0


def value_of(result: Result) -> Any:
    """Return the value of a call's result; log its messages, and raise its error."""
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


class Worker(Protocol):
    """A process somewhere that makes one call at a time."""

    name: str
    pid: int  # of its process, 0 before it is started

    def start(self) -> None:
        """Start it; :class:`LostError` if it cannot be started."""

    def run(self, call: Call) -> Result:
        """Return the result of ``call``; :class:`LostError` if the worker ended meanwhile."""

    def stop(self) -> None:
        """Stop it at once, whatever it does; nothing where it does not run."""


class WorkerState:
    """The system that a worker has built, kept for the next calls."""

    def __init__(self) -> None:
        """Build nothing yet; from now on this process logs to those that send calls."""
        self._system: Any = None
        self._messages = BufferingHandler(sys.maxsize)
        log.addHandler(self._messages)
        log.setLevel(logging.INFO)
        log.propagate = False  # else Python would print warnings here too

    def here(self) -> tuple[str, int, dict[str, str]]:
        """Return the machine, the process, and the versions that must be the same everywhere."""
        return platform.node(), os.getpid(), versions()

    def run(self, call: Call) -> Result:
        """Return the result of ``call``, also where it raises an error."""
        self._messages.buffer.clear()
        try:
            result = Result(call.function(self._built(call.maker)))
        except HeedError as error:
            result = Result(error=error)
        except Exception:
            result = Result(trace=traceback.format_exc())
        messages = tuple((record.levelno, record.getMessage()) for record in self._messages.buffer)
        return result._replace(messages=messages, peak=peak_mib())

    def _built(self, maker: SystemMaker) -> Any:
        """Return the system, built at the first call; :class:`WorkerError` where its ``config`` differs here."""
        if self._system is None:
            if maker.threads is not None:
                import torch

                torch.set_num_threads(maker.threads)
            system = maker.make(*maker.arguments)
            if maker.key and digest_json(system.config) != maker.key:
                raise WorkerError(
                    f"{system.name}: a worker has other files of this model, or another precision, than the machine "
                    "where the command runs; give every machine the same files, or pin the revision"
                )
            self._system = system
        return self._system


def versions() -> dict[str, str]:
    """Return the versions of Python and of what computes vectors and scores, and a digest of Heed's own code."""
    package = Path(__file__).parents[2]
    code = {str(path.relative_to(package)): digest(path) for path in package.rglob("*.py")}
    return {
        "Python": platform.python_version(),
        **{name: installed_version(name) for name in PACKAGES},
        "Heed's code": digest_json(code)[:12],
    }


def check_versions(worker: str, ours: Mapping[str, str], theirs: Mapping[str, str]) -> None:
    """Raise :class:`WorkerError` that lists the versions at ``worker`` which differ from ours."""
    problems = [
        f"{worker}: {name} is {theirs.get(name)}, here it is {here}; install the same on every machine"
        for name, here in ours.items()
        if theirs.get(name) != here
    ]
    fail(problems, WorkerError)


ATTEMPTS = 3  # times that a call is begun before it is taken for what kills workers
VISIBLE = "CUDA_VISIBLE_DEVICES"
GRACE = 2.0  # seconds for a process to end


class WorkerPool:
    """The workers of one system, one for each thread; a worker is started when there is work for it."""

    def __init__(self, workers: Sequence[Worker]) -> None:
        self.workers = tuple(workers)
        self._free, self._own = deque(workers), threading.local()
        self._lost: dict[str, str] = {}  # why workers that cannot be started were lost
        self._started: set[Worker] = set()
        self._closed = False
        self._threads = ThreadPoolExecutor(len(self.workers), "heed-workers", self._take)
        self.peak = 0.0  # MiB of the largest worker

    def _take(self) -> None:
        """Take a worker for this thread."""
        self._own.worker = self._free.popleft()

    def results(self, calls: Iterable[Call]) -> Iterator[Any]:
        """Yield the value of each call, in their order; up to two calls a worker are submitted ahead.

        Logs the messages of each, and raises its error.
        """
        ahead: deque[Future[Result]] = deque()
        for call in calls:
            ahead.append(self._threads.submit(self._run, call))
            if len(ahead) >= 2 * len(self.workers):
                yield value_of(ahead.popleft().result())
        while ahead:
            yield value_of(ahead.popleft().result())

    def close(self) -> None:
        """Stop all workers at once."""
        self._closed = True
        for worker in self.workers:
            worker.stop()
        self._threads.shutdown(cancel_futures=True)
        for worker in self.workers:  # one that was started in the meantime too
            worker.stop()

    def _run(self, call: Call) -> Result:
        worker: Worker = self._own.worker
        for attempt in range(1, ATTEMPTS + 1):
            if worker not in self._started and not self._start(worker):
                return self._threads.submit(self._run, call).result()  # by one that can be started
            try:
                result = worker.run(call)
                self.peak = max(self.peak, result.peak)
                return result
            except LostError as lost:
                worker.stop()
                self._started.discard(worker)
                if not self._closed:
                    then = f"its task is retried, attempt {attempt + 1} of {ATTEMPTS}"
                    log.info(f"{worker.name}: lost ({lost}); {then if attempt < ATTEMPTS else 'given up'}")
        raise WorkerError(
            f"{ATTEMPTS} workers were lost at the same task; they may lack memory: use fewer workers, or none"
        )

    def _start(self, worker: Worker) -> bool:
        """Return whether a worker can be started, which it is then; :class:`WorkerError` where none can."""
        if self._closed:
            raise WorkerError("stopped")
        if worker.name not in self._lost:
            try:
                worker.start()
                self._started.add(worker)
                return True
            except LostError as lost:
                worker.stop()
                log.info(f"{worker.name}: cannot be started ({lost})")
                self._lost[worker.name] = str(lost)
        if len(self._lost) == len(self.workers):
            reasons = ", ".join(sorted({*self._lost.values()}))
            raise WorkerError(f"no worker is left, and none can be started: {reasons}")
        return False


class Processes:
    """Workers that are processes of this machine.

    ``count`` is their number, 0 where this process does the work itself; ``place`` says how many are where.
    """

    def __init__(self, count: int | None, device: str) -> None:
        """Use ``count`` workers; if that is None one for each GPU where there are several, else none."""
        gpus = visible_gpus() if device != "cpu" else []
        number = device.partition(":")[2]
        self._gpus = [gpus[int(number)]] if number else gpus
        self.count = count or (len(self._gpus) if len(self._gpus) > 1 else 0)
        self.place = f"processes {self.count}, GPUs {min(self.count, len(self._gpus))}"

    def device(self, requested: str) -> str:
        """Return the device in a worker, which sees one GPU; ``auto`` finds the same one in all processes."""
        return requested.partition(":")[0]

    def workers(self) -> list[Worker]:
        """Return the workers; several share a GPU where there are fewer GPUs."""
        gpus: Sequence[str | None] = self._gpus or [None]
        return [Process(number, gpus[number % len(gpus)]) for number in range(self.count)]

    def close(self) -> None:
        """Do nothing: the workers are all there is."""


def visible_gpus() -> list[str]:
    """Return the GPUs that torch sees, as ``CUDA_VISIBLE_DEVICES`` names them; none where it is not installed."""
    if find_spec("torch") is None:
        return []
    import torch

    count = torch.cuda.device_count()
    named = [name.strip() for name in os.environ.get(VISIBLE, "").split(",") if name.strip()]
    return named[:count] if named else [str(number) for number in range(count)]


class Process:
    """A process as a :class:`heed.addons.cluster.workers.Worker`; it sees one GPU, or all where ``gpu`` is None."""

    def __init__(self, number: int, gpu: str | None) -> None:
        self.name = f"worker {number + 1}"
        self.gpu, self.pid = gpu, 0
        self._process: Any = None
        self._pipe: Any = None

    def start(self) -> None:
        """Start the process; its errors come with its first call."""
        context = get_context("spawn")  # CUDA and Java do not survive a fork
        self._pipe, other_end = context.Pipe()
        self._process = context.Process(target=_serve, args=(other_end, self.gpu), name=self.name)
        self._process.start()
        self.pid = self._process.pid
        atexit.register(self.stop)  # no daemon: those can have no child processes, which vLLM needs
        other_end.close()  # so that the pipe ends where the process ends

    def run(self, call: Call) -> Result:
        """Return the result of ``call``; :class:`LostError` if the process ended meanwhile."""
        try:
            self._pipe.send(call)
            result: Result = self._pipe.recv()
        except (EOFError, OSError) as error:
            self._process.join(GRACE)
            raise LostError(f"process {self.pid} ended{ending(self._process.exitcode)}") from error
        return result

    def stop(self) -> None:
        """Stop the process; the pipe of a lost one is closed when another takes its place."""
        atexit.unregister(self.stop)
        process = self._process
        if process is not None and process.is_alive():
            process.terminate()
            process.join(GRACE)
            process.kill()
            process.join()


def _serve(pipe: Connection, gpu: str | None) -> None:
    """Make calls until the pipe, or the process at its other end, ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of a terminal: the first one stops us
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))  # so that what it started ends with it
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if gpu is not None:
        os.environ[VISIBLE] = gpu  # before torch is imported, as it may be by what a call holds
    state = WorkerState()
    while True:
        try:
            call: Call = pipe.recv()
            pipe.send(state.run(call))
        except (EOFError, OSError):
            return


def _end_with_parent() -> None:
    """End at once when the parent was killed, also in the middle of a call."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)

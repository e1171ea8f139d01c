"""Workers on a Ray cluster."""

import ctypes
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from heed.addons.cluster.workers import Call, LostError, Result, Worker, WorkerState, check_versions, versions
from heed.errors import UsageError, WorkerError, first_line

START = 120.0  # seconds until a worker that finds no place is given up
ANSWER = 20.0  # seconds until an address where nobody answers is given up
# nothing leaves the machine; and Ray is to leave GPUs alone where none is requested
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
FAULTS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)  # those that Java handles
ACTION = 256  # bytes, more than any system's struct sigaction has

_CONNECTED: "list[Cluster]" = []  # a process has one connection, which ends with the last of them


@contextmanager
def faults_left_to_java() -> Iterator[None]:
    """Restore the handlers of faults after the block, whatever it sets.

    Java needs SIGSEGV: by it its compiled code finds nulls and pauses. Ray sets handlers of its own when it starts,
    removes all when it ends, and enables ``faulthandler``; Java's next null then ends the process.
    """
    libc = ctypes.CDLL(None)
    actions = {number: ctypes.create_string_buffer(ACTION) for number in FAULTS}
    for number, action in actions.items():
        libc.sigaction(int(number), None, action)
    try:
        yield
    finally:
        for number, action in actions.items():
            libc.sigaction(int(number), action, None)


class Cluster:
    """Workers on a Ray cluster, with what :class:`heed.addons.cluster.workers.Processes` has."""

    def __init__(self, count: int | None, address: str | None, device: str) -> None:
        """Connect, for ``count`` workers; if that is None for one for each GPU, or on CPUs one for each machine.

        Raises :class:`UsageError` without an address, :class:`WorkerError` where Ray is not installed, the cluster
        cannot be reached, or has no GPU for ``device``.
        """
        self._address = address or os.environ.get("RAY_ADDRESS", "")
        if not self._address:
            raise UsageError(
                "ray_address: none is given; begin a cluster with 'ray start --head' and give ray_address=auto, or "
                "give workers=N alone for processes of this machine"
            )
        if self._address.startswith("ray://"):
            raise UsageError(f"ray_address: {self._address}: run on a machine of the cluster, with ray_address=auto")
        self._ray: Any = _imported()
        self._connect()
        gpus = int(self._ray.cluster_resources().get("GPU", 0)) if device in ("auto", "cuda") else 0
        if device == "cuda" and not gpus:
            raise WorkerError("device: found cuda, the Ray cluster has no GPU; give device=cpu")
        machines = sum(node["Alive"] for node in self._ray.nodes())
        self._gpus, self.count = gpus, count or gpus or machines
        self.place = f"Ray, workers {self.count}, machines {machines}, GPUs {gpus}"

    def _connect(self) -> None:
        if self in _CONNECTED:
            return
        if not _CONNECTED:
            check_answer(self._address)
            self._begin()
        _CONNECTED.append(self)

    def _begin(self) -> None:
        main = threading.current_thread() is threading.main_thread()
        before = signal.getsignal(signal.SIGTERM)
        try:
            with faults_left_to_java():
                self._ray.init(self._address, configure_logging=False, log_to_driver=False, logging_level="ERROR")
        except Exception as error:  # of a machine too busy to begin, Ray raises no class of its own
            raise WorkerError(
                f"Ray cluster {self._address}: cannot be reached ({first_line(error)}); expected HOST:PORT of one that "
                "was begun with 'ray start --head'"
            ) from error
        finally:
            if main:
                signal.signal(signal.SIGTERM, before)  # Ray's own would end the command as if all was well
        # what Ray says of lost machines would go to stdout, among our tables; of 2.60, which has no public way
        vars(import_module("ray._private.worker"))["_worker_logs_enabled"] = False

    def device(self, requested: str) -> str:
        """Return for auto ``cuda`` if any machine of the cluster has a GPU, else ``cpu``."""
        return requested if requested != "auto" else "cuda" if self._gpus else "cpu"

    def workers(self) -> list[Worker]:
        """Return the workers, spread over the machines."""
        self._connect()
        return [Actor(self._ray, number, gpus=1 if self._gpus else 0) for number in range(self.count)]

    def close(self) -> None:
        """Leave the cluster, if no other system is there."""
        if self in _CONNECTED:
            _CONNECTED.remove(self)
            if not _CONNECTED:
                with faults_left_to_java():
                    self._ray.shutdown()


def check_answer(address: str) -> None:
    """Raise :class:`WorkerError` if nobody answers at ``HOST:PORT``, for which Ray itself would wait a long time."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), ANSWER).close()
    except (OSError, OverflowError) as error:
        raise WorkerError(
            f"Ray cluster {address}: nobody answers there ({error}); expected HOST:PORT of one that was begun with "
            "'ray start --head'"
        ) from error


def _imported() -> Any:
    """Return Ray, with its environment variables set before it is imported, as a running cluster has them."""
    os.environ.update(QUIET)
    try:
        return import_module("ray")
    except ImportError as error:
        raise WorkerError("engine ray: needs Ray; install it with pip install 'ray>=2.60,<2.61'") from error


class Actor:
    """A Ray actor as a :class:`heed.addons.cluster.workers.Worker`."""

    def __init__(self, ray: Any, number: int, gpus: int) -> None:
        self.name = f"worker {number + 1}"
        self._ray = ray
        self._kind = ray.remote(WorkerState).options(num_cpus=1, num_gpus=gpus, scheduling_strategy="SPREAD")
        self._actor: Any = None
        self._machine, self.pid = "", 0

    def start(self) -> None:
        """Start the actor where there is room; :class:`WorkerError` where the machine has other versions."""
        self._actor = self._kind.remote()
        self._machine, self.pid, theirs = self._get(self._actor.here.remote(), START)
        check_versions(f"{self.name} on {self._machine}", versions(), theirs)

    def run(self, call: Call) -> Result:
        """Return the result of ``call``; :class:`LostError` if the actor ended meanwhile."""
        try:
            result: Result = self._get(self._actor.run.remote(call), None)
        except LostError as lost:
            raise LostError(f"process {self.pid} on {self._machine}: {lost}") from lost
        return result

    def stop(self) -> None:
        """Kill the actor."""
        if self._actor is not None and self._ray.is_initialized():
            self._ray.kill(self._actor)

    def _get(self, reference: Any, seconds: float | None) -> Any:
        try:
            return self._ray.get(reference, timeout=seconds)
        except self._ray.exceptions.GetTimeoutError as error:
            raise LostError(f"found no room on the cluster within {seconds:g} s") from error
        except self._ray.exceptions.RayError as error:
            raise LostError(first_line(error)) from error

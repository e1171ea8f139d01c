"""Workers that are processes of this machine, one for each GPU or as many as the user says."""

import atexit
import os
import signal
import sys
import threading
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from typing import Any

from heed.addons.cluster.tasks import LostError, Result, Worker, WorkerState, WorkerTask
from heed.progress import log

VISIBLE = "CUDA_VISIBLE_DEVICES"
GRACE = 2.0  # seconds for a process to end


class Processes:
    """This machine as a :class:`heed.addons.cluster.tasks.Machines`."""

    remote = False

    def __init__(self, count: int | None, device: str) -> None:
        """Use ``count`` workers; if that is None one for each GPU where there are several, else none."""
        self._count, self._device = count, device

    def device(self, requested: str) -> str:
        """Return the device in a worker, which sees one GPU; ``auto`` finds the same one in all processes."""
        return requested.partition(":")[0]

    def workers(self) -> list[Worker]:
        """Return the workers; several share a GPU where there are fewer GPUs."""
        gpus = visible_gpus() if self._device != "cpu" else []
        number = self._device.partition(":")[2]
        gpus = [gpus[int(number)]] if number else gpus
        count = self._count or (len(gpus) if len(gpus) > 1 else 0)
        if count:
            log.info(f"work is shared by {count} processes" + (f" on {min(count, len(gpus))} GPUs" if gpus else ""))
        return [Process(number, gpus[number % len(gpus)] if gpus else None) for number in range(count)]

    def close(self) -> None:
        """Do nothing: the workers are all there is."""


def visible_gpus() -> list[str]:
    """Return the GPUs that torch sees, as ``CUDA_VISIBLE_DEVICES`` names them."""
    import torch

    count = torch.cuda.device_count()
    named = [name.strip() for name in os.environ.get(VISIBLE, "").split(",") if name.strip()]
    return named[:count] if named else [str(number) for number in range(count)]


class Process:
    """A process as a :class:`heed.addons.cluster.tasks.Worker`; it sees one GPU, or all where ``gpu`` is None."""

    def __init__(self, number: int, gpu: str | None) -> None:
        """Start nothing yet."""
        self.name = f"worker {number + 1}"
        self.built = ""
        self.shards: set[tuple[str, int]] = set()
        self.gpu, self.pid = gpu, 0
        self._process: Any = None
        self._pipe: Any = None

    def start(self) -> None:
        """Start the process; its errors come with its first task."""
        self.built, self.shards = "", set()
        context = get_context("spawn")  # CUDA and Java do not survive a fork
        self._pipe, other_end = context.Pipe()
        self._process = context.Process(target=_serve, args=(other_end, self.gpu), name=self.name)
        self._process.start()
        self.pid = self._process.pid
        atexit.register(self.stop)  # no daemon: those can have no child processes, which vLLM needs
        other_end.close()  # so that the pipe ends where the process ends

    def run(self, task: WorkerTask) -> Result:
        """Return the result of ``task``; :class:`LostError` if the process ended meanwhile."""
        try:
            self._pipe.send(task)
            result: Result = self._pipe.recv()
        except (EOFError, OSError) as error:
            self._process.join(GRACE)
            raise LostError(f"process {self.pid} ended{ending(self._process.exitcode)}") from error
        return result

    def stop(self) -> None:
        """Stop the process; the pipe of a lost one is closed when another takes its place."""
        process = self._process
        if process is not None and process.is_alive():
            process.terminate()
            process.join(GRACE)
            process.kill()
            process.join()


def ending(status: int | None) -> str:
    """Return in words how a process ended: with a status or by a signal; nothing for one that still runs."""
    if status is None:
        return ""
    return f" by signal {signal.Signals(-status).name}" if status < 0 else f" with status {status}"


def _serve(pipe: Connection, gpu: str | None) -> None:
    """Run tasks until the pipe, or the process at its other end, ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of a terminal: the first one stops us
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))  # so that what it started ends with it
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if gpu is not None:
        os.environ[VISIBLE] = gpu  # before torch is imported
    state = WorkerState()
    while True:
        try:
            task: WorkerTask = pipe.recv()
            pipe.send(state.run(task))
        except (EOFError, OSError):
            return


def _end_with_parent() -> None:
    """End at once when the parent was killed, also in the middle of a task."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)

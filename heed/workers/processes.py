"""Workers that are processes of this machine, one for each GPU or as many as the user says."""

import atexit
import os
import signal
import sys
import threading
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from typing import Any

from heed.progress import log
from heed.workers.pool import LostError, Worker
from heed.workers.work import Answer, Bench, Unit

VISIBLE = "CUDA_VISIBLE_DEVICES"
GRACE = 2.0  # seconds for a process to end


class Processes:
    """This machine as a :class:`heed.workers.pool.Place`."""

    far = False

    def __init__(self, asked: int | None, device: str) -> None:
        """Have ``asked`` workers; if that is None one for each GPU where there are several, else none."""
        self._asked, self._device = asked, device

    def device(self, asked: str) -> str:
        """``asked``: what is found automatically is the same for all processes of a machine."""
        return asked

    def workers(self) -> list[Worker]:
        """The workers; several share a GPU where there are fewer GPUs."""
        gpus = visible_gpus() if self._device != "cpu" else []
        count = self._asked or (len(gpus) if len(gpus) > 1 else 0)
        if count:
            log.info(f"models run in {count} processes" + (f" on {min(count, len(gpus))} GPUs" if gpus else ""))
        return [Process(number, gpus[number % len(gpus)] if gpus else None) for number in range(count)]

    def end(self) -> None:
        """Nothing to let go of."""


def visible_gpus() -> list[str]:
    """The GPUs that torch sees, as ``CUDA_VISIBLE_DEVICES`` names them."""
    import torch

    count = torch.cuda.device_count()
    named = [name.strip() for name in os.environ.get(VISIBLE, "").split(",") if name.strip()]
    return named[:count] if named else [str(number) for number in range(count)]


class Process:
    """A process as a :class:`heed.workers.pool.Worker`; it sees one GPU, or all where ``gpu`` is None."""

    def __init__(self, number: int, gpu: str | None) -> None:
        """Start nothing yet."""
        self.name = f"worker {number + 1}"
        self.kept: set[tuple[str, int]] = set()
        self._gpu = gpu
        self._process: Any = None
        self._pipe: Connection | None = None

    def begin(self) -> None:
        """Start the process; what it cannot do it tells at its first unit."""
        self.kept = set()
        context = get_context("spawn")  # CUDA and Java do not survive a fork
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self._gpu), name=self.name)
        self._process.start()
        atexit.register(self.end)  # no daemon, which could have no processes of its own, as vLLM has them
        theirs.close()  # so that the pipe ends where the process ends

    def do(self, unit: Unit) -> Answer:
        """What came of ``unit``."""
        process, pipe = self._process, self._pipe
        if pipe is None:
            raise LostError("stopped")
        try:
            pipe.send(unit)
            answer: Answer = pipe.recv()
        except (EOFError, OSError) as error:
            process.join(GRACE)
            raise LostError(f"process {process.pid} ended{_how(process.exitcode)}") from error
        return answer

    def end(self) -> None:
        """Stop the process; a lost one's pipe is closed when another takes its place."""
        process = self._process
        if process is not None and process.is_alive():
            process.terminate()
            process.join(GRACE)
            process.kill()
            process.join()


def _how(status: int | None) -> str:
    if status is None:
        return ""
    return f" by signal {signal.Signals(-status).name}" if status < 0 else f" with status {status}"


def _serve(pipe: Connection, gpu: str | None) -> None:
    """Do units until the pipe, or the process at its other end, ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of a terminal: the first one stops us
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))  # so that what it started ends with it
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    if gpu is not None:
        os.environ[VISIBLE] = gpu  # before torch is imported
    bench = Bench()
    while True:
        try:
            unit: Unit = pipe.recv()
            pipe.send(bench.do(unit))
        except (EOFError, OSError):
            return


def _leave_with_parent() -> None:
    """End at once when the parent was killed, also in the middle of a unit."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)

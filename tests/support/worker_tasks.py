"""Tasks of the tests' own; a worker imports this file alone, and so not torch."""

import os
import signal
import sys
from typing import NamedTuple

from heed.addons.cluster.tasks import WorkerState


class Seen(NamedTuple):
    """Returns what the process that runs it has."""

    def run(self, worker: WorkerState) -> tuple[str | None, bool]:
        return os.environ.get("CUDA_VISIBLE_DEVICES"), "torch" in sys.modules


class Deadly(NamedTuple):
    """Kills the process that runs it."""

    def run(self, worker: WorkerState) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class Failing(NamedTuple):
    """Has a mistake in it."""

    def run(self, worker: WorkerState) -> float:
        return 1 / 0

"""Units of work of the tests' own; a worker imports this file alone, and so not torch."""

import os
import signal
import sys
from pathlib import Path
from typing import NamedTuple

from heed.workers.work import Bench


class Seen(NamedTuple):
    """Tells where it is done."""

    def done(self, bench: Bench) -> tuple[str | None, bool, str]:
        return os.environ.get("CUDA_VISIBLE_DEVICES"), "torch" in sys.modules, str(Path.cwd())


class Deadly(NamedTuple):
    """Kills whoever does it."""

    def done(self, bench: Bench) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class Failing(NamedTuple):
    """Has a mistake in it."""

    def done(self, bench: Bench) -> float:
        return 1 / 0

"""A system of the tests' own and calls of it; a worker imports this file alone, and so not torch."""

import os
import signal
import sys

from heed.addons.cluster.workers import Call, SystemMaker


class Plain:
    """A system that says what its process has, and has mistakes in it."""

    name = "plain"
    config = None

    def seen(self) -> tuple[str | None, bool]:
        return os.environ.get("CUDA_VISIBLE_DEVICES"), "torch" in sys.modules

    def deadly(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def failing(self) -> float:
        return 1 / 0


MAKER = SystemMaker(Plain, ())
SEEN, DEADLY, FAILING = Call(MAKER, Plain.seen), Call(MAKER, Plain.deadly), Call(MAKER, Plain.failing)

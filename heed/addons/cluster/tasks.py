"""What workers are sent and send back: the system that each builds, calls of it and their results.

A call carries all that it needs, since another machine has none of our folders, and can be made again by another
worker. Machines must have the same versions, so that the same call gives the same bytes on all.
"""

import logging
import os
import platform
import sys
import traceback
from collections.abc import Callable, Mapping
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from heed.errors import HeedError, WorkerError, fail
from heed.extras import installed_version
from heed.files import digest, digest_json
from heed.process import peak_mib
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

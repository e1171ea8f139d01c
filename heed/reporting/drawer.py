"""The process that draws a page's charts, which can be started before they are known."""

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import IO, Self, cast

from heed.reporting.drawing import BASE, VERSION
from heed.reporting.spec import Spec

PROGRAM = Path(__file__).with_name("vega.py")


class Drawer:
    """Draws charts once, in a process of its own: Vega takes half a second to start, and holds Python's lock.

    As a context manager it ends that process in any case. Where this process is killed, the other reads the end of its
    input, and ends by itself.
    """

    def __init__(self) -> None:
        """Start nothing yet."""
        self._process: subprocess.Popen[str] | None = None
        self._talking = Lock()

    def __enter__(self) -> Self:
        """Return this."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the process, if it was started and has not ended."""
        if self._process is not None:
            self._process.kill()
            with self._talking:  # another thread that waits for charts reads to the end first
                self._process.communicate()

    def start(self) -> None:
        """Let Vega start, while measures are computed or results read."""
        self._started()

    def svgs(self, specs: Iterable[Spec]) -> Iterator[str]:
        """Yield charts as SVG texts; while one is drawn the one before is out, and the next is specified."""
        waiting, svg = iter(specs), ""
        spec = next(waiting, None)
        while spec is not None:
            self._ask(spec)
            if svg:
                yield svg
            spec = next(waiting, None)
            svg = self._answer()
        if svg:
            yield svg

    def _ask(self, spec: Spec) -> None:
        requests = cast(IO[str], self._started().stdin)
        with self._talking, suppress(BrokenPipeError):  # it has failed: the answer says why
            requests.write(json.dumps(spec) + "\n")
            requests.flush()

    def _answer(self) -> str:
        process = self._started()
        with self._talking:
            line = cast(IO[str], process.stdout).readline()
            problems = "" if line else process.communicate()[1].strip()
        if not line:
            raise RuntimeError(f"{PROGRAM.name}: status {process.returncode}: {problems}")
        return str(json.loads(line)).replace(BASE, "")

    def _started(self) -> "subprocess.Popen[str]":
        if self._process is None:
            pipe = subprocess.PIPE
            command = [sys.executable, "-P", str(PROGRAM), VERSION]
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, encoding="utf-8")  # noqa: S603
        return self._process

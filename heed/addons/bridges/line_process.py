"""A program that runs beside Heed and answers each line of its input with a line of its output."""

import atexit
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from heed.process import ending
from heed.progress import log

CHUNK = 65536  # bytes, what a pipe of Linux holds
LONGEST = 16 * 2**20  # bytes of an answer; that for 100,000 documents has 3 MB
LAST = 2000  # bytes of stderr that an error shows
SILENCE = 20.0  # seconds without a byte after which the log says what may be the reason
GRACE = 5.0  # seconds for a program to end once its input has ended
AT_EXIT = 1.0  # the same where this process ends, which may be a worker that is about to be killed
SIGNALLED = 0.5  # seconds for a program to end after SIGTERM


class LineError(Exception):
    """A program did not answer with a line; says why."""


class LineProcess:
    """A running program, in a process group of its own: Ctrl-C in a terminal reaches it through Heed alone."""

    def __init__(self, name: str, arguments: Sequence[str], folder: Path) -> None:
        """Start the program in ``folder``; OSError or ValueError where it cannot be started."""
        self._process = subprocess.Popen(  # noqa: S603 (the program that the user names; no shell)
            arguments,
            cwd=folder,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},  # Python keeps lines back where it writes into a pipe
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        pipes = [pipe for pipe in (self._process.stdin, self._process.stdout, self._process.stderr) if pipe]
        for pipe in pipes:
            os.set_blocking(pipe.fileno(), False)
        self._stdin, self._stdout, self._stderr = pipes
        self._name, self._silent = name, False
        self._output, self._remarks = bytearray(), b""  # of stdout what is no answer yet, of stderr the end
        atexit.register(self.close, AT_EXIT)

    def answer(self, line: bytes, seconds: float) -> bytes:
        """Return the line with which the program answers ``line``; both without the end of a line.

        Raises :class:`LineError` where none comes within ``seconds``, and where the program ends or prints more.
        """
        if self._output:
            raise LineError(f"printed more than one line for the topic before: {shown(self._output)}")
        self._exchange(memoryview(line + b"\n"), seconds)
        answer, _, self._output = self._output.partition(b"\n")
        return bytes(answer)

    def _exchange(self, unsent: memoryview, seconds: float) -> None:
        """Write and read whatever the pipes take and have: neither side waits for the other with a full pipe."""
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._stdin, selectors.EVENT_WRITE)
            selector.register(self._stdout, selectors.EVENT_READ)
            selector.register(self._stderr, selectors.EVENT_READ)
            complete = False
            while unsent or not complete:
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    raise LineError(f"no answer within {seconds:g} s, so it was stopped")
                ready = [key.fileobj for key, _ in selector.select(min(remaining, SILENCE, seconds / 2))]
                if not ready:
                    self._log_silence()
                if self._stdin in ready:
                    unsent = self._send(unsent)
                    if not unsent:
                        selector.unregister(self._stdin)
                if self._stderr in ready and not self._read_remarks():
                    selector.unregister(self._stderr)
                if self._stdout in ready:
                    complete = self._read_output() or complete

    def _send(self, unsent: memoryview) -> memoryview:
        """Write what the pipe takes; return the rest, nothing where the program reads no more."""
        try:
            return unsent[os.write(self._stdin.fileno(), unsent[:CHUNK]) :]
        except BrokenPipeError:
            return unsent[:0]  # it has ended, as the end of its output will say, or closed its input

    def _read_output(self) -> bool:
        """Read from stdout; return whether a line ended."""
        chunk = os.read(self._stdout.fileno(), CHUNK)
        if not chunk:
            raise LineError(self._end())
        self._output += chunk
        if len(self._output) > LONGEST:
            raise LineError(f"printed more than {LONGEST // 2**20} MiB: {shown(self._output)}")
        return b"\n" in chunk

    def _read_remarks(self) -> bool:
        """Read from stderr; return whether it is still open."""
        chunk = os.read(self._stderr.fileno(), CHUNK)
        self._remarks = (self._remarks + chunk)[-LAST:]
        return bool(chunk)

    def _log_silence(self) -> None:
        if not self._silent:
            self._silent = True
            log.info(f"{self._name}: no answer yet; a program must flush its output after each answer")

    def _end(self) -> str:
        try:
            status = self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            return "closed its output without an answer"
        line = f" and printed {shown(self._output)} without the end of a line" if self._output else " without an answer"
        return f"ended{ending(status)}{line}; a program reads topics until its input ends"

    def close(self, seconds: float = GRACE) -> str:
        """End the program's input, wait ``seconds`` for its end, then stop it; return in words what went wrong."""
        problem = ""
        try:
            output, remarks = self._process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            problem = f"did not end within {seconds:g} s of the end of its input, so it was stopped"
        else:
            self._remarks = (self._remarks + remarks)[-LAST:]
            self._output += output
            if self._output:
                problem = f"printed more than one line for the last topic: {shown(self._output)}"
            if self._process.returncode:
                problem = f"ended{ending(self._process.returncode)} after its last topic"
        self.stop()
        return problem

    def stop(self) -> None:
        """Stop the program and all that it started; do nothing where it has ended."""
        atexit.unregister(self.close)
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError, PermissionError):  # on macOS the second, of a group that has ended
                os.killpg(self._process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(SIGNALLED)
        with suppress(BlockingIOError, ValueError):  # nothing more to read, or closed
            while self._read_remarks():
                pass
        for pipe in (self._stdin, self._stdout, self._stderr):
            pipe.close()

    def remarks(self) -> list[str]:
        """Return the last lines of the program's stderr."""
        return self._remarks.decode(errors="backslashreplace").strip().splitlines()[-10:]


def shown(output: bytes | bytearray) -> str:
    """Return the beginning of what a program printed."""
    return repr(output[:60].decode(errors="backslashreplace"))

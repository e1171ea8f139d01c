"""A reranker that is a program in any language, ``command:./score``: a JSON line a topic in, one out."""

import atexit
import json
import os
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from heed.errors import ModelError, UsageError
from heed.formats.document_store import docids_of
from heed.process import ending
from heed.progress import log
from heed.reranking.rescore import checked
from heed.systems.make import Place, is_reserved
from heed.systems.user_objects import check_name, plain_json
from heed.types import Config, Document, Query, Reranker

COMMAND = "command:"
START, EACH = 600.0, 60.0  # seconds for an answer: to load a model, and for each document; a thousand have 17 hours
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
            log.info(
                f"{self._name}: no answer yet; a program must flush its output after each answer (mawk: -W interactive)"
            )

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


class Program(Reranker):
    """A program as a :class:`heed.types.Reranker`: it is started once and answers each topic with its scores.

    It reads lines from stdin until they end, each a JSON object in ASCII, ``qid, query, instruction, text, lang,
    condition, documents``; the last is a list of ``{docid, title, text}``. It answers each with one line on stdout,
    ``{"qid": …, "scores": […]}``: a number for each document, in their order, higher is better.
    """

    def __init__(
        self, command: str | Sequence[str], *, name: str = "", config: Any = None, seconds: float | None = None
    ) -> None:
        """Look for the program; :class:`UsageError` where there is none. It will be started in this working directory.

        ``command`` is split as a shell would, and no shell runs it. ``name`` is by default the program's file name.
        ``config``, JSON data, names the program's version: with it runs are used again. An answer may take
        ``seconds``, by default ten minutes and a minute for each document.
        """
        self.arguments, self.folder, self.seconds = _split(command), Path.cwd(), seconds
        self.label = f"{COMMAND}{shlex.join(self.arguments)}"
        self.made_by = {"command": self.arguments}
        self._executable()
        self.name = name or re.sub(r"[^\w.+@:-]", "-", Path(self.arguments[0]).name)
        check_name(self.name)
        if is_reserved(self.name):
            raise UsageError(f"{self.label}: {self.name} is a system of Heed's own; give the program another name")
        self.config: Config | None = (
            None if config is None else plain_json({"command": self.arguments, "version": config}, self.label)
        )
        self._process: LineProcess | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the program as a worker starts it: without the process that may run here."""
        return {**vars(self), "_process": None}

    def _executable(self) -> str:
        """Return the program's path, looked for as a shell would; :class:`UsageError` where it cannot be run."""
        program = self.arguments[0]
        path = shutil.which(self.folder / program if os.sep in program else program)
        if path is None:
            name = Path(program).name
            raise UsageError(
                f"{self.label}: no program that can be executed; one in the working directory is called ./{name}, and "
                f"needs chmod +x {name}, or its interpreter before it, such as {COMMAND}python3 {name}"
            )
        return str(Path(path).absolute())

    def load(self) -> None:
        """Start the program; :class:`ModelError` where it cannot be started."""
        self._started()

    def _started(self) -> LineProcess:
        if self._process is None:
            executable = self._executable()
            try:
                self._process = LineProcess(self.name, [executable, *self.arguments[1:]], self.folder)
            except (OSError, ValueError) as error:
                raise ModelError(
                    f"{self.name}: {executable} cannot be started in {self.folder} ({error}); a script begins "
                    "with a line such as #!/usr/bin/env python3, or has its interpreter named: command:python3 score.py"
                ) from error
        return self._process

    def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
        """Return the program's scores; :class:`ModelError`, with the end of its stderr, where it gives none."""
        if not documents:
            return []
        seconds = START + EACH * len(documents) if self.seconds is None else self.seconds
        process = self._started()
        try:
            scores = _scores(process.answer(_line(query, documents), seconds), query.qid)
        except BaseException as error:
            self._process = None
            process.stop()
            if not isinstance(error, LineError):
                raise
            remarks = "".join(f"\n  {line}" for line in process.remarks())
            stderr = f"the end of its stderr:{remarks}" if remarks else "it printed nothing to stderr"
            raise ModelError(f"{self.name}.{query.condition}: topic {query.qid}: {error}; {stderr}") from error
        return checked(self.name, query.qid, docids_of(documents), scores)

    def close(self) -> None:
        """End the program's input and wait for its end; log a warning where it fails then."""
        process, self._process = self._process, None
        if process and (problem := process.close()):
            log.warning(": ".join([self.name, problem, *process.remarks()[-1:]]))


def make_program(name: str, _: Place) -> Program:
    """Return the program called ``command:PROGRAM``; :class:`UsageError` where there is none."""
    return Program(name.removeprefix(COMMAND))


def _split(command: str | Sequence[str]) -> list[str]:
    """Return the arguments of a command line; :class:`UsageError` for one without any or with an open quotation."""
    try:
        arguments = shlex.split(command) if isinstance(command, str) else list(command)
    except ValueError as error:
        raise UsageError(f"{COMMAND}{command}: {error}; it is split as a shell would") from error
    if not arguments or not arguments[0]:
        raise UsageError(f"{COMMAND}{command}: names no program; expected such as command:./score")
    return arguments


def _line(query: Query, documents: Sequence[Document]) -> bytes:
    """Return a topic as a line; in ASCII, as some languages end lines at U+2028 too, or read another encoding."""
    listed = [{"docid": document.docid, "title": document.title, "text": document.text} for document in documents]
    topic = {
        "qid": query.qid,
        "query": query.query,
        "instruction": query.instruction,
        "text": query.text,
        "lang": query.lang,
        "condition": query.condition,
        "documents": listed,
    }
    return json.dumps(topic).encode()


def _scores(line: bytes, qid: str) -> list[Any]:
    """Return the scores in a program's answer to topic ``qid``; :class:`LineError` where it is no answer to it."""
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        answer = None
    if isinstance(answer, dict) and answer.get("qid") == qid and isinstance(answer.get("scores"), list):
        scores: list[Any] = answer["scores"]
        return scores
    raise LineError(
        f"printed {shown(line)}, expected a line of JSON with qid {json.dumps(qid)} and a list of scores; remarks go "
        "to stderr"
    )


def shown(output: bytes | bytearray) -> str:
    """Return the beginning of what a program printed."""
    return repr(output[:60].decode(errors="backslashreplace"))

"""A reranker that is a program in any language, ``command:./score --fast``: a JSON line a topic in, one out."""

import json
import os
import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heed.addons.bridges.line_process import LineError, LineProcess, shown
from heed.errors import ModelError, UsageError
from heed.formats.document_store import docids_of
from heed.progress import log
from heed.reranking.rescore import checked
from heed.systems.make import Place
from heed.systems.user_objects import RESERVED, check_name, plain_json
from heed.types import Config, Document, Query, Reranker

COMMAND = "command:"
START, EACH = 600.0, 60.0  # seconds for an answer: to load a model, and for each document; a thousand have 17 hours


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
        if RESERVED.fullmatch(self.name):
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
            raise ModelError(f"{self.name}: topic {query.qid}: {error}; {stderr}") from error
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
        raise UsageError(f"{COMMAND}{command}: names no program; expected such as command:./score --fast")
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

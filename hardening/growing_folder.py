"""A folder in which somebody works for weeks: documents, topics, judgements, code, and what must hold of its results.

Each command is a process of its own, forked from one that has Heed's modules in memory, so that a sequence of commands
takes seconds. It can be killed just before any of its writes into the folder of results.
"""

import contextlib
import csv
import functools
import hashlib
import importlib
import io
import json
import os
import random
import re
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from math import fsum
from pathlib import Path
from typing import Any, NamedTuple

from hardening.jobs import QRELS, ROOT, SAMPLE, left_over, results

TOPICS = ("01", "02", "03", "04", "05")
RESULTS = Path("runs/own/eng")
OWN = (
    *("trec", "--docs", "docs.jsonl", "--topics", "topics.jsonl", "--qrels", "original.qrels"),
    *("--changed-qrels", "changed.qrels", "--lang", "eng", "--name", "own"),
)
BM25 = ("--retriever", "bm25")
JUDGED = {"query": "original.qrels", "original": "original.qrels", "changed": "changed.qrels"}
FIRST_STAGES, ELSEWHERE = ("bm25", "lsa", "words"), ("elsewhere", "other")  # all other systems are rerankers
CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate"}
BUSY = "another Heed process is writing here"
CODE = '''"""Systems of one's own."""


def common(query, text):
    return len(set(query.text.lower().split()) & set(text.lower().split()))


class Words:
    name = "words"
    config = {"version": 1}

    def index(self, documents):
        self.texts = {document.docid: document.text for document in documents}

    def search(self, queries, depth):
        return {q.qid: {docid: common(q, text) for docid, text in self.texts.items()} for q in queries}


class Over:
    name = "over"
    config = {"version": 1}

    def score(self, query, documents):
        return [common(query, document.text) for document in documents]


class Short:
    name = "short"
    config = {"version": 1}

    def score(self, query, documents):
        return [-len(document.text) for document in documents]


class Stops:
    name = "stops"
    config = {"version": 1}

    def score(self, query, documents):
        import os
        import time
        from pathlib import Path

        if query.condition == "original" and query.qid == "03":
            if Path("stop").exists():
                os.kill(os.getpid(), 9)
            Path("third").touch()
            while Path("wait").exists():
                time.sleep(0.05)
        with Path("scored").open("a") as stream:
            stream.write(f"{query.condition} {query.qid}\\n")
        return [len(document.text) for document in documents]
'''
PROGRAM = """#!/usr/bin/env python3
import json, sys
for line in sys.stdin:
    topic = json.loads(line)
    scores = [len(document["text"]) for document in topic["documents"]]
    print(json.dumps({"qid": topic["qid"], "scores": scores}), flush=True)
"""


class Said(NamedTuple):
    """Exit status and output of a command, and how often it changed something in the folder of results."""

    status: int
    out: str
    err: str
    writes: int


class GrowingFolder:
    """Runs commands in a folder, and gathers in ``problems`` what does not hold after each of them."""

    def __init__(self, folder: Path, kills: int, chooser: random.Random, source: Path | None = None) -> None:
        """Write documents, topics, judgements and code, or copy them as they are by now in ``source``.

        Each command is also killed ``kills`` times, each time before another write.
        """
        self.folder, self.work = folder, folder / "work"
        self.results = self.work / RESULTS
        self.problems: dict[str, None] = {}
        self.commands = self.killed = self.refused = 0
        self.said = Said(0, "", "", 0)
        self._kills, self.chooser, self.unnoted = kills, chooser, False
        self._finished: dict[str, str] = {}  # SHA-256 -> where the run was first
        self._step = ""
        if source:
            shutil.copytree(source, self.work, ignore=shutil.ignore_patterns("runs", "indexes"))
        else:
            self._begin()

    def _begin(self) -> None:
        self.work.mkdir(parents=True)
        topics = [json.loads(line) for line in (ROOT / f"topics/{SAMPLE}/eng.jsonl").read_text().splitlines()]
        self.write("topics.jsonl", "".join(f"{json.dumps(one)}\n" for one in topics if one["qid"] in TOPICS))
        judged = set()
        for name in set(JUDGED.values()):
            lines = [line for line in (QRELS / name).read_text().splitlines() if line.split()[0] in TOPICS]
            judged |= {line.split()[2] for line in lines}
            self.write(name, "".join(f"{line}\n" for line in lines))
        documents = (ROOT / f"documents/{SAMPLE}/eng.jsonl").read_text().splitlines()
        self.write("docs.jsonl", "".join(f"{line}\n" for line in documents if json.loads(line)["id"] in judged))
        self.write("own.py", CODE)
        self.write("score.py", PROGRAM)
        (self.work / "score.py").chmod(0o755)

    def write(self, name: str, text: str) -> None:
        """Write a file of the user's."""
        (self.work / name).write_text(text)

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace the first ``old`` in a file of the user's."""
        text = (self.work / name).read_text()
        if old not in text:
            raise ValueError(f"{name}: no {old!r} to replace")
        self.write(name, text.replace(old, new, 1))

    def run(self, *command: str, cwd: str = ".", fails: bool = False) -> Said:
        """Run ``heed COMMAND …`` undisturbed, then killed and repeated; note what does not hold."""
        return self.call(" ".join(command), functools.partial(_command, command), cwd, fails)

    def own(self, *options: str, fails: bool = False) -> Said:
        """Run ``heed trec`` over the documents, topics and judgements of the folder with bm25 and ``options``."""
        return self.run(*OWN, *BM25, *options, fails=fails)

    def call(self, name: str, work: Callable[[], int], cwd: str = ".", fails: bool = False) -> Said:
        """Run ``work`` in a process of its own, as :meth:`run` does a command."""
        self._step = name.removeprefix(" ".join(OWN)).strip() or "trec"
        before, after = self.folder / "before", self.folder / "after"
        if self._kills and not fails:
            _copied(self.work, before)
        said = self._undisturbed(work, cwd, fails)
        if self._kills and not fails and not said.status:
            _copied(self.work, after)
            for write in sorted(self.chooser.sample(range(1, said.writes + 1), min(self._kills, said.writes))):
                _copied(before, self.work)
                self._disturbed(work, cwd, write, after)
            _copied(after, self.work)
        return said

    def _undisturbed(self, work: Callable[[], int], cwd: str, fails: bool) -> Said:
        self.said = _Process(self, work, cwd).end()
        self.commands += 1
        if bool(self.said.status) != fails or "Traceback" in self.said.err:
            self.problem(f"status {self.said.status}: {self.said.err[-400:]}")
        if fails or self._step.startswith("rerank "):  # nothing was measured
            self._check_kept()
        else:
            self.check()
        return self.said

    def _disturbed(self, work: Callable[[], int], cwd: str, write: int, after: Path) -> None:
        step, finished = self._step, dict(self._finished)
        for digest in finished.keys() - set(self._runs().values()):
            del self._finished[digest]  # made by the command itself
        self._step = f"{step}, killed before write {write}"
        said = _Process(self, work, cwd, write).end()
        if said.status != -signal.SIGKILL:
            self.problem(f"was not killed: status {said.status}")
        self.killed += 1
        self._check_kept()
        again = _Process(self, work, cwd).end()
        if again.status:
            self.problem(f"again: status {again.status}: {again.err[-400:]}")
        self._finished = finished
        self._check_kept()
        expected, found = results(after), results(self.work)
        for name in sorted(expected.keys() | found.keys()):
            if expected.get(name) != found.get(name):
                self.problem(
                    f"{name} {'differs' if name in expected.keys() & found.keys() else 'is missing or too much'}"
                )
        self._step = step

    def begin(self, *command: str) -> "_Process":
        """Begin a command; whoever began it calls ``end`` of what is returned."""
        return _Process(self, functools.partial(_command, command), number=1)

    def at_once(self, *commands: Sequence[str]) -> None:
        """Run several commands at once; one that was refused because another one writes is run again afterwards."""
        self._step = " | ".join(" ".join(command).removeprefix(" ".join(OWN)).strip() for command in commands)
        processes = [
            _Process(self, functools.partial(_command, command), number=at) for at, command in enumerate(commands)
        ]
        for command, said in zip(commands, [process.end() for process in processes], strict=True):
            self.commands += 1
            self.said = said
            if said.status and BUSY in said.err:
                self.refused += 1
                self.said = _Process(self, functools.partial(_command, command)).end()
            if self.said.status or "Traceback" in said.err:
                self.problem(f"status {said.status}: {said.err[-400:]}")
        self.said = self.said._replace(err="")  # all runs must be measured
        self.check()

    def problem(self, text: str) -> None:
        """Note that something does not hold after the last command."""
        self.problems[f"[{self._step}] {text}"] = None

    def add(self, other: "GrowingFolder") -> None:
        """Add the numbers and problems of another folder."""
        self.commands += other.commands
        self.problems |= other.problems

    # what must hold

    def check(self) -> None:
        """Note what does not hold of the folder of results after any command."""
        self._check_kept()
        for name in left_over(self.work):
            if not name.endswith(".partial") or not (self.work / "stop").exists():
                self.problem(f"{name} is left over")
        if not (self.results / "summary.json").exists():
            return
        summary = self.summary()
        systems, entries = _systems(summary), {entry["system"]: entry for entry in summary.get("systems", [])}
        self._check_systems(systems, list(entries))
        self._check_runs(systems, summary["rows"])
        self._check_pools(entries)
        self._check_commands(systems, entries)

    def _check_kept(self) -> None:
        """Every finished run is somewhere in the tree, with its note beside it."""
        runs, noted = self._runs(), {}
        for name, digest in runs.items():
            path = self.results / name
            note = path.parent / ".made" / f"{path.name}.json"
            with suppress(OSError, ValueError, KeyError):
                if json.loads(note.read_text())["files"][path.name] == digest:
                    noted[digest] = name
        for digest, name in self._finished.items():
            if digest not in runs.values():
                self.problem(f"{name}, a finished run, is lost")
            elif digest not in noted and not self.unnoted:
                self.problem(f"{name}, a finished run, has lost its note")
        if "killed" not in self._step:
            for name in sorted(name for name, digest in runs.items() if digest not in noted):
                if not self.unnoted:
                    self.problem(f"{name} has no note")
            for note in sorted(self.results.rglob(".made/*.run.json")):
                if not (note.parent.parent / note.name.removesuffix(".json")).exists():
                    self.problem(f"{note.relative_to(self.results)} is the note of no run")
            self._finished |= {digest: name for digest, name in noted.items() if digest not in self._finished}

    def _check_systems(self, systems: list[str], entries: list[str]) -> None:
        for what, found in (("rows", systems), ("systems", entries)):
            if found != (expected := in_order(found)):
                self.problem(f"summary.json's {what} are in the order {found}, not {expected}")
        if systems != entries:
            self.problem(f"summary.json has rows of {systems} and systems {entries}")

    def _check_runs(self, systems: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
        """Every run is measured, or named in a line; its average precision is that of the file, computed here."""
        measured = {(row["system"], row["condition"]): row["value"] for row in rows if row["measure"] == "AP"}
        runs = {path: path.name.rsplit(".", 2)[:2] for path in sorted(self.results.glob("*.run"))}
        for path, (system, condition) in runs.items():
            if (value := measured.get((system, condition))) is None:
                if path.name not in self.said.err:
                    self.problem(f"{path.name} is neither measured nor named in a line")
            elif abs(value - (own := mean_average_precision(path, self.work / JUDGED[condition]))) > 1e-9:
                self.problem(f"{path.name}: AP is {value:.6f} in summary.json, {own:.6f} of the file")
        for name in sorted(set(systems) - {system for system, _ in runs.values()}):
            self.problem(f"{name} is in summary.json and has no runs here")

    def _check_pools(self, entries: Mapping[str, Mapping[str, Any]]) -> None:
        for name, entry in entries.items():
            if name in FIRST_STAGES + ELSEWHERE:
                if entry.get("pool"):
                    self.problem(f"{name}: a pool in summary.json, though it rescored none")
                continue
            if not (entry.get("pool") and entry.get("documents")):
                self.problem(f"{name}: summary.json does not say what it rescored")
                continue
            for path in self.results.glob(f"{name}.*.run"):
                if (lines := path.read_text().count("\n")) != entry["documents"]:
                    self.problem(f"{path.name}: {lines} documents, in summary.json {entry['documents']}")

    def _check_commands(self, systems: list[str], entries: Mapping[str, Mapping[str, Any]]) -> None:
        runs = sorted(str(path.relative_to(self.work)) for path in self.results.glob("*.run"))
        checked = self.quietly("check", *runs, "--topics", "topics.jsonl")
        if checked.status:
            self.problem(f"heed check: {checked.out[-300:]}{checked.err[-300:]}")
        pools = {name: entry["pool"] for name, entry in entries.items() if entry.get("pool")}
        if compared := self.compared(*(("--baseline", next(iter(pools))) if len(pools) > 1 else ())):
            found = list(dict.fromkeys(row["system"] for row in compared["rows"]))
            if found != systems:
                self.problem(f"heed compare: {found}, in summary.json {systems}")
            if len(pools) > 1:
                self._check_marks(pools, compared)
        printed = self.quietly("report", str(RESULTS), "--format", "csv")
        found = list(dict.fromkeys(row["system"] for row in csv.DictReader(io.StringIO(printed.out))))
        if printed.status or found != systems:
            self.problem(
                f"heed report: {found}, in summary.json {systems}; status {printed.status} {printed.err[-300:]}"
            )

    def _check_marks(self, pools: Mapping[str, str], marked: Mapping[str, Any]) -> None:
        """A reranker over another pool than the baseline's is marked, and not tested; one over the same is tested."""
        for row in marked["rows"]:
            if row["system"] == marked["baseline"] or row["system"] not in pools or row["value"] is None:
                continue  # without a value: a measure that looks deeper than the lists, which compares nothing
            same = pools[row["system"]] == pools[marked["baseline"]]
            if row["same_pool"] is not same or (not same and row["p"] is not None):
                told = f"same_pool {row['same_pool']}, p {row['p']}"
                self.problem(
                    f"heed compare: {row['system']} beside {marked['baseline']}: {told}; the pools are {same=}"
                )

    # what can be asked of it

    def quietly(self, *command: str) -> Said:
        """Run a command that only reads."""
        return _Process(self, functools.partial(_command, command)).end()

    def compared(self, *options: str) -> dict[str, Any] | None:
        """Return the JSON of ``heed compare DIR``; None, with a problem noted, where it fails."""
        said = self.quietly("compare", str(RESULTS), "--json", "compared.json", *options)
        if said.status:
            self.problem(f"heed compare DIR: status {said.status}: {said.err[-200:]}")
            return None
        content: dict[str, Any] = json.loads((self.work / "compared.json").read_text())
        return content

    def summary(self) -> dict[str, Any]:
        """Return the content of ``summary.json``."""
        content: dict[str, Any] = json.loads((self.results / "summary.json").read_text())
        return content

    def expect(self, systems: str, earlier: str = "", said: str = "") -> None:
        """Note a problem unless the summary has ``systems`` and ``earlier/`` the runs of the systems named there.

        ``said`` is a pattern of a line that the last command must have printed.
        """
        found = set(_systems(self.summary()))
        if found != set(systems.split()):
            self.problem(f"summary.json has {sorted(found)}, expected {systems.split()}")
        moved = {path.name.rsplit(".", 2)[0] for path in (self.results / "earlier").rglob("*.run")}
        if moved != set(earlier.split()):
            self.problem(f"in earlier/ are {sorted(moved)}, expected {earlier.split()}")
        if said and not re.search(said, self.said.err):
            self.problem(f"no line has {said!r}: {self.said.err[-600:]}")

    def depth(self, system: str) -> int | None:
        """Return the depth of a system's pool in the summary; None where it is not there."""
        entries = self.summary().get("systems", [])
        return next((entry.get("depth") for entry in entries if entry["system"] == system), None)

    def delete(self, pattern: str) -> None:
        """Delete runs and their notes, as a user does."""
        for path in [*self.results.glob(pattern)]:
            self._finished.pop(hashlib.sha256(path.read_bytes()).hexdigest(), None)
            path.unlink()
            (path.parent / ".made" / f"{path.name}.json").unlink(missing_ok=True)

    def move_back(self, number: int, pattern: str, notes: bool = True) -> None:
        """Move runs of ``earlier/<number>/`` back where they were, as a user does."""
        earlier = self.results / "earlier" / str(number)
        for path in [*earlier.glob(pattern)]:
            note = earlier / ".made" / f"{path.name}.json"
            path.rename(self.results / path.name)
            if note.exists():
                note.rename(self.results / ".made" / note.name) if notes else note.unlink()

    def _runs(self) -> dict[str, str]:
        """Return the SHA-256 of every run in the tree by its place."""
        paths = sorted(self.results.rglob("*.run"))
        return {str(path.relative_to(self.results)): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


class _Process:
    """A process of its own that does ``work`` in a folder; killed just before its ``last`` write, if that is given."""

    def __init__(
        self, of: GrowingFolder, work: Callable[[], int], cwd: str = ".", last: int | None = None, number: int = 0
    ) -> None:
        self._files = [of.folder / f"{name}.{number}" for name in ("out", "err", "writes")]
        for path in self._files:
            path.write_text("")
        sys.stdout.flush()
        self._pid = os.fork()
        if not self._pid:
            _work(work, of.work / cwd, of.work / "runs", self._files, last)

    def end(self) -> Said:
        """Wait for its end."""
        status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        out, err, writes = (path.read_text(errors="replace") for path in self._files)
        return Said(status, out, err, int(writes or 0))


def _work(work: Callable[[], int], cwd: Path, watched: Path, files: Sequence[Path], last: int | None) -> None:
    """Do the work of a child process, and end it."""
    status = 70
    try:
        for path, stream in zip(files, (1, 2), strict=False):
            os.dup2(os.open(path, os.O_WRONLY | os.O_TRUNC), stream)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
        sys.dont_write_bytecode = True  # code that is edited within a second is not seen by its time
        os.chdir(cwd)
        os.environ |= {"HF_HUB_OFFLINE": "1", "HOME": "/nonexistent"}
        writes = _watch(str(watched.resolve()), last)
        status = work()
        sys.stdout.flush()
        sys.stderr.flush()
        files[2].write_text(str(len(writes)))
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(status)


def _watch(folder: str, last: int | None) -> list[str]:
    """Return a list that grows with each change below ``folder``; kill this process just before the ``last``."""
    seen: list[str] = []

    def hook(event: str, values: tuple[Any, ...]) -> None:
        if event == "open":
            if not (isinstance(values[2], int) and values[2] & (os.O_WRONLY | os.O_RDWR)):
                return
        elif event not in CHANGES:
            return
        paths = [os.fspath(value) for value in values[:2] if isinstance(value, str | os.PathLike)]
        if any(os.path.abspath(path).startswith(folder) for path in paths):  # noqa: PTH100 (no link is followed)
            seen.append(event)
            if len(seen) == last:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    return seen


def _command(command: Sequence[str]) -> int:
    status: int = importlib.import_module(f"pipelines.{command[0]}").main(list(command[1:]))
    return status


def _copied(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, symlinks=True)


def _systems(summary: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys(row["system"] for row in summary["rows"]))


def in_order(systems: Sequence[str]) -> list[str]:
    """Return systems as files have them: first stages by name, rerankers by name, then runs made elsewhere."""
    return sorted(systems, key=lambda name: (name in ELSEWHERE, name not in FIRST_STAGES, name))


def mean_average_precision(run: Path, qrels: Path) -> float:
    """Return the mean over all judged topics of average precision, as trec_eval has it (``map`` with ``-c``)."""
    relevant: dict[str, set[str]] = {}
    for qid, _, docid, grade in map(str.split, qrels.read_text().splitlines()):
        relevant.setdefault(qid, set()).update([docid] if int(grade) > 0 else [])
    lists: dict[str, list[tuple[float, str]]] = {}
    for qid, _, docid, _, score, _ in map(str.split, run.read_text().splitlines()):
        lists.setdefault(qid, []).append((float(score), docid))
    return fsum(_average_precision(sorted(lists.get(qid, []), reverse=True), relevant[qid]) for qid in relevant) / len(
        relevant
    )


def _average_precision(ranking: Sequence[tuple[float, str]], relevant: set[str]) -> float:
    return fsum(_precisions(ranking, relevant)) / len(relevant) if relevant else 0.0


def _precisions(ranking: Sequence[tuple[float, str]], relevant: set[str]) -> Iterator[float]:
    hits = 0
    for rank, (_, docid) in enumerate(ranking, 1):
        if docid in relevant:
            hits += 1
            yield hits / rank

"""The commands that are disturbed, each on a sample that comes with Heed, in a folder of its own."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import yaml

from hardening.hub import online, slow_hub
from hardening.tiny import tiny_causal, tiny_models

ROOT = Path(__file__).parent.parent
SAMPLE = "neuclir-sample"
QRELS = ROOT / f"qrels/{SAMPLE}"
ZHO = (
    *("--topics", str(ROOT / f"topics/{SAMPLE}/zho.jsonl"), "--docs", str(ROOT / f"documents/{SAMPLE}/zho.jsonl")),
    *("--lang", "zho"),
)
# differ from run to run by design, or are what a killed process leaves and the next one takes over
OTHER = ("timings.json", ".lock")
LEFT = (".part", ".old", ".partial")


class Job(NamedTuple):
    """A command line; ``prepare`` puts what it needs into an empty folder before anything is disturbed.

    ``settings`` are variables of its environment, for the folder in which it runs. One with ``moments`` is killed
    between two writes of its results, not at any time.
    """

    name: str
    command: tuple[str, ...]
    prepare: Callable[[Path], None] = lambda folder: None
    settings: Callable[[Path], dict[str, str]] = lambda folder: {}
    moments: bool = False


def _runs(folder: Path) -> None:
    """Runs to pool, compare, check and rescore; the indexes that they were made with are not theirs to damage."""
    done = run(Job("runs", ("pipelines.neuclir", "--lang", "zho", "--collection", "sample")), folder)
    if done.returncode:
        raise RuntimeError(done.stderr)
    (folder / f"runs/{SAMPLE}/zho").rename(folder / "given")
    for left in ("indexes", "runs"):  # what is there afterwards, the command under test has begun
        shutil.rmtree(folder / left)


def _models(folder: Path) -> None:
    tiny_models(folder / "models")


def _tree(folder: Path) -> None:
    """A results folder to report on."""
    _runs(folder)
    (folder / "given").rename(folder / "results")


def _examples(folder: Path) -> None:
    """A base to train, and eight examples."""
    base = folder.parent / "base"
    tiny_causal(base)
    (folder / "base").symlink_to(base.resolve())  # one for all copies of the folder: the adapter names its place
    records = [
        {"query": "water", "instruction": "rivers", "document": f"river {at}" * 3, "label": at % 2 == 0}
        for at in range(8)
    ]
    (folder / "examples.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))


def _facts(folder: Path) -> None:
    """Answers to the questions of a release."""
    questions = (ROOT / "heed/addons/judging/publishing/facts.yaml").read_text(encoding="utf-8")
    answers = {name: f"The {name}." for name in yaml.safe_load(questions)["needed"]} | {"name": "sample"}
    (folder / "facts.json").write_text(json.dumps(answers), encoding="utf-8")


def _from_hub(folder: Path) -> dict[str, str]:
    return online(slow_hub().url, folder.resolve() / "runs")


# Another command in the folder of an earlier one, whose finished runs stay.
OVER = """
class Over:
    name, config = "over", {"version": 1}

    def score(self, query, documents):
        return [len({*query.text} & {*document.text}) for document in documents]
"""
FIRST = (
    *("pipelines.trec", "--docs", "docs.jsonl", "--topics", "topics.jsonl", "--lang", "zho", "--retriever", "bm25"),
    *("--qrels", str(QRELS / "original.qrels"), "--changed-qrels", str(QRELS / "changed.qrels"), "--name", "mine"),
    *("--reranker", "over:Over", "--condition", "original"),
)


def _after_first(change: Callable[[Path], None] = lambda folder: None) -> Callable[[Path], None]:
    """Return what runs the first command in a folder, and then makes a change there."""

    def prepare(folder: Path) -> None:
        for kind, name in (("documents", "docs"), ("topics", "topics")):
            shutil.copyfile(ROOT / f"{kind}/{SAMPLE}/zho.jsonl", folder / f"{name}.jsonl")
        (folder / "over.py").write_text(OVER)
        done = run(Job("first", (*FIRST, "--condition", "changed")), folder)
        if done.returncode:
            raise RuntimeError(done.stderr)
        change(folder)

    return prepare


def _edit_class(folder: Path) -> None:
    (folder / "over.py").write_text(OVER.replace("document.text", "document.title").replace("1}", "2}"))


def _edit_documents(folder: Path) -> None:
    lines = (folder / "docs.jsonl").read_text("utf-8").splitlines(keepends=True)
    (folder / "docs.jsonl").write_text("".join(lines[:-9]), "utf-8")


BOTH = (*FIRST, "--condition", "changed")
AFTER = (
    Job("deeper", (*BOTH, "--rerank-depth", "10"), _after_first(), moments=True),
    Job("added", (*BOTH, "--retriever", "lsa"), _after_first(), moments=True),
    Job("condition", (*FIRST[:-1], "query"), _after_first(), moments=True),
    Job("edited", BOTH, _after_first(_edit_class), moments=True),
    Job("documents", BOTH, _after_first(_edit_documents), moments=True),
)
GIVEN = tuple(f"given/{system}.{condition}.run" for system in ("bm25", "lsa") for condition in ("original", "changed"))
JOBS = (
    *AFTER,
    Job("neuclir", ("pipelines.neuclir", "--lang", "zho", "--collection", "sample")),
    Job("trec", ("pipelines.trec", "--retriever", "bm25+rm3", "--reranker", "polarity", "--maxp", "60/20")),
    Job("tables", ("pipelines.tables", "--retriever", "bm25", "--retriever", "bm25+fields")),
    Job("infosearch", ("pipelines.infosearch", "--collection", "sample", "--dimension", "audience")),
    Job(
        "models",
        (
            *("pipelines.neuclir", "--lang", "zho", "--collection", "sample", "--retriever", "models/bi", "--faiss"),
            *("hnsw", "--reranker", "models/cross", "--rerank-depth", "30", "--device", "cpu"),
        ),
        _models,
    ),
    Job(
        "rerank",
        ("pipelines.rerank", "given/bm25.original.run", *ZHO, "--reranker", "polarity", "--out", "runs/new.run"),
        _runs,
    ),
    Job(
        "pool",
        (
            *("pipelines.pool", *GIVEN, "--out", "runs/pool.jsonl", "--json", "runs/pool.json", *ZHO),
            *("--export", "label-studio=runs/tasks.json", "--export", "mteb=runs/mteb"),
        ),
        _runs,
    ),
    Job("check", ("pipelines.check", *GIVEN, "--fix", "runs/fixed", "--json", "runs/check.json"), _runs),
    Job(
        "compare",
        (
            *("pipelines.compare", "given/polarity.original.run", "given/polarity.changed.run", "--qrels"),
            *(f"{QRELS}/original.qrels", "--new-qrels", f"{QRELS}/changed.qrels", "--json", "runs/compare.json"),
        ),
        _runs,
    ),
    Job(
        "report",
        (
            *("pipelines.report", "results", "--format", "latex", "--out", "runs/tables.tex", "--html"),
            *("runs/report.html", "--plots", "runs/plots", "--site", "runs/site"),
        ),
        _tree,
    ),
    Job(
        "train",
        (
            *("pipelines.train", "examples.jsonl", "--base", "base", "--out", "runs/adapter", "--device", "cpu"),
            *("--prompt-template", "{query} {document} ?", "--tokens", "n", "y", "--max-length", "96"),
            *("--epochs", "8", "--batch", "2", "--lr", "0.01"),
        ),
        _examples,
    ),
    Job("fetch", ("pipelines.fetch", "followir/core17"), settings=_from_hub),
    Job(
        "publish",
        (
            *("pipelines.publish", *ZHO, "--qrels", str(QRELS / "original.qrels"), "--changed-qrels"),
            *(str(QRELS / "changed.qrels"), "--facts", "facts.json", "--out", "runs/release"),
        ),
        _facts,
    ),
    Job("judgements", ("pipelines.judgements", f"{QRELS}/changed.qrels", "--out", "runs/new.qrels")),
)


def environment() -> dict[str, str]:
    """A stranger's: no Java, no hub."""
    return {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}


def start(job: Job, folder: Path, moment: int | None = None) -> "subprocess.Popen[str]":
    """The command, begun in ``folder``, in a process group of its own, killed before the write number ``moment``."""
    counting = () if moment is None else ("hardening.moments", str(moment))
    return subprocess.Popen(
        [sys.executable, "-m", *counting, *job.command],
        cwd=folder,
        env=environment() | job.settings(folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(job: Job, folder: Path, moment: int | None = None) -> "subprocess.CompletedProcess[str]":
    """The command, run to its end, or to the write number ``moment``."""
    process = start(job, folder, moment)
    told = process.communicate()[1]
    return subprocess.CompletedProcess(process.args, process.returncode, "", told)


def kill(process: "subprocess.Popen[str]", number: int = signal.SIGKILL) -> None:
    """Send a signal to the process and its children."""
    os.killpg(process.pid, number)


def results(folder: Path) -> dict[str, str]:
    """SHA-256 of every result file under ``runs/``; ``folder`` itself, which an adapter names its base by, left out."""
    paths = (path for path in sorted((folder / "runs").rglob("*")) if path.is_file() and path.name not in OTHER)
    place = str(folder.resolve()).encode()
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes().replace(place, b"")).hexdigest()
        for path in paths
    }


def size(folder: Path, names: Mapping[str, str]) -> int:
    """Bytes of the files called ``names``."""
    return sum((folder / name).stat().st_size for name in names)


def without_note(folder: Path) -> list[str]:
    """Runs that lie without the note of their bytes: none may, whenever a process is killed."""
    runs = [path for path in (folder / "runs").rglob("*.run") if ".made" not in path.parts]
    notes = [(path, path.parent / ".made" / f"{path.name}.json") for path in runs]
    digests = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in runs}
    return [str(path) for path, note in notes if not note.exists() or digests[path] not in note.read_text()]


def left_over(folder: Path) -> list[str]:
    """Half-written files that should have been swept away."""
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.name.endswith(LEFT)]

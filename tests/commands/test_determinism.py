"""The same bytes from any number of threads, from shuffled files and from two processes."""

import ast
import json
import random
import re
import subprocess
import sys
from functools import reduce
from operator import add
from pathlib import Path

from conftest import ROOT, Heed, call, stranger

from hardening.tiny import tiny_models
from heed.measures import mean
from heed.measures.two_runs import statistics

SAMPLE = "neuclir-sample"
INPUTS = {
    "docs.jsonl": ROOT / f"documents/{SAMPLE}/zho.jsonl",
    "topics.jsonl": ROOT / f"topics/{SAMPLE}/zho.jsonl",
    "original.qrels": ROOT / f"qrels/{SAMPLE}/original.qrels",
    "changed.qrels": ROOT / f"qrels/{SAMPLE}/changed.qrels",
}
DATA = (
    *("--docs", "docs.jsonl", "--topics", "topics.jsonl", "--qrels", "original.qrels"),
    *("--changed-qrels", "changed.qrels", "--lang", "zho"),
)
TIMED = ("timings.json", ".lock")  # differ by design
TOPICS = ("01", "02", "03", "04")  # more of them only take longer


def lay(folder: Path, seed: int = 0) -> Path:
    """The documents, and a few topics with their judgements, in ``folder``, shuffled unless ``seed`` is 0."""
    folder.mkdir()
    for name, path in INPUTS.items():
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        if path.suffix == ".qrels":
            lines = [line for line in lines if line.split()[0] in TOPICS]
        elif name == "topics.jsonl":
            lines = [line for line in lines if json.loads(line)["qid"] in TOPICS]
        if seed:
            random.Random(seed).shuffle(lines)
        (folder / name).write_text("".join(lines), encoding="utf-8")
    return folder


def run(folder: Path, command: str, *arguments: str, python: str = "") -> None:
    """Run a command by a call or, where sets and hashes shall have another order, in a process of ``python``."""
    environment = stranger(folder)
    if not python:
        result = call(command, folder, environment, *arguments)  # as a process writes them
    else:
        del environment["OMP_NUM_THREADS"]  # torch has as many threads as cores, and one in this process
        line = [python, "-m", command, *arguments]
        result = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr


def written(folder: Path) -> dict[str, bytes]:
    """Every result by its place below ``runs``; what runs are kept with, for the next run, is left out."""
    paths = [path for path in (folder / "runs").rglob("*") if path.is_file() and path.name not in TIMED]
    return {
        str(path.relative_to(folder / "runs")): path.read_bytes() for path in sorted(paths) if ".made" not in path.parts
    }


def test_threads_and_the_order_of_input_files_move_no_byte(tmp_path: Path) -> None:
    """BM25, LSA, a bi-encoder, polarity and a cross-encoder: by one thread, then by two with everything shuffled.

    That threads alone change no byte of the other files either is seen in test_neuclir.
    """
    tiny_models(tmp_path / "models")
    systems = (
        *("--retriever", "bm25", "--retriever", "lsa", "--retriever", "../models/bi", "--device", "cpu"),
        *("--reranker", "polarity", "--reranker", "../models/cross", "--rerank-depth", "8"),
    )
    found = {}
    for name, threads, seed, python in (("one", 1, 0, ""), ("shuffled", 2, 7, sys.executable)):
        folder = lay(tmp_path / name, seed)
        run(folder, "pipelines.trec", *DATA, *systems, "--threads", str(threads), python=python)
        # the folder is where the documents are named from
        found[name] = {path: text.replace(str(folder).encode(), b"") for path, text in written(folder).items()}
    one, shuffled = found["one"], found["shuffled"]
    assert {Path(path).name for path in one} >= {"bm25.query.run", "bi.query.run", "cross.changed.run", "summary.json"}
    assert shuffled.keys() == one.keys()
    for path, content in one.items():
        if path.endswith((".run", "pool.jsonl", "summary.json", "per_topic.json")):
            assert shuffled[path] == content, path


RUNS = ("bm25.original.run", "bm25.changed.run", "polarity.original.run", "polarity.changed.run")
JUDGED = ("original.qrels", "changed.qrels")
COMPARE = (*RUNS[2:], "--qrels", JUDGED[0], "--new-qrels", JUDGED[1], "--json", "runs/compare.json")


def test_shuffled_runs_and_judgements_are_compared_pooled_and_merged_to_the_same_bytes(
    heed: Heed, tmp_path: Path
) -> None:
    """The second time in processes of their own, with the pool's runs in another order too."""
    result = heed("pipelines.neuclir", "--lang", "zho", "--collection", "sample", "--retriever", "bm25")
    assert result.returncode == 0, result.stderr
    paths = [*(tmp_path / f"runs/{SAMPLE}/zho" / name for name in RUNS), *(INPUTS[name] for name in JUDGED)]
    found = []
    for seed, runs, python in ((1, RUNS, ""), (2, RUNS[::-1], sys.executable)):
        folder = tmp_path / f"shuffled{seed}"
        folder.mkdir()
        for path in paths:
            lines = path.read_text().splitlines(keepends=True)
            random.Random(seed).shuffle(lines)
            (folder / path.name).write_text("".join(lines))
        run(folder, "pipelines.compare", *COMPARE, python=python)
        run(folder, "pipelines.pool", *runs, "--out", "runs/pool.jsonl", "--depth", "20", python=python)
        run(folder, "pipelines.judgements", JUDGED[1], "--out", "runs/new.qrels", python=python)
        found.append(written(folder))
    assert found[0].keys() == {"compare.json", "pool.jsonl", "new.qrels"}
    assert found[0] == found[1]


def test_means_and_intervals_do_not_depend_on_the_order_of_topics() -> None:
    """Sums of floats do: (0.1 + 0.2) + 0.3 is not 0.1 + (0.2 + 0.3)."""
    chooser = random.Random(0)
    values = {str(qid): chooser.uniform(-1, 1) for qid in range(101)}
    other = dict(sorted(values.items(), key=lambda item: item[1]))
    assert reduce(add, values.values()) != reduce(add, other.values())  # sum() itself loses less from Python 3.12 on
    assert mean(values) == mean(other)
    assert statistics(values) == statistics(other)


def test_what_draws_at_random_is_given_a_seed() -> None:
    """No global generator, no generator without a seed; tokens and temporary names alone come from the system."""
    unseeded = re.compile(
        r"\brandom\.(random|shuffle|choice|choices|sample|randint|randrange|uniform|gauss)\("
        r"|\bRandom\(\)|default_rng\(\)|np\.random\.(?!default_rng|Generator)\w+|TruncatedSVD\((?![^)]*random_state)"
        r"|KMeans\((?![^)]*random_state)|torch\.(rand|randn|randint)\("
    )
    paths = sorted([*(ROOT / "heed").rglob("*.py"), *(ROOT / "pipelines").rglob("*.py")])
    assert [(path.name, found[0]) for path in paths for found in unseeded.finditer(path.read_text())] == []


def test_no_pattern_has_possessive_quantifiers_or_atomic_groups() -> None:
    """Python 3.11.2, Debian 12's, reads repeated ones wrongly: ``(?:[<&](?![a-zA-Z])[^<&]*+)*+`` matches "<W" there."""
    found = []
    for path in sorted([*(ROOT / "heed").rglob("*.py"), *(ROOT / "pipelines").rglob("*.py")]):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        docstrings = {node.value for node in nodes if isinstance(node, ast.Expr)}
        strings = [node for node in nodes if isinstance(node, ast.Constant) and node not in docstrings]
        found += [(path.name, node.lineno) for node in strings if re.search(r"[*+?}]\+|\(\?>", str(node.value))]
    assert found == []

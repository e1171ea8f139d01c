"""One run rescored by command: the same scores as a collection command's, resumed, and refused where nothing fits."""

import gzip
import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT, Heed, hear_interrupts

from heed.formats.trec_files import read_run

COMMAND = "pipelines.rerank"
SAMPLE = (
    *("--topics", ROOT / "topics/neuclir-sample/zho.jsonl"),
    *("--docs", ROOT / "documents/neuclir-sample/zho.jsonl", "--lang", "zho"),
)


@pytest.fixture
def made(sample_runs: Callable[[str], Path]) -> Path:
    """What the collection command makes of the sample."""
    return sample_runs("zho")


@pytest.mark.parametrize("condition", ["query", "original", "changed"])
def test_a_pool_gives_the_run_of_the_collection_command(made: Path, heed: Heed, tmp_path: Path, condition: str) -> None:
    told = ("--reranker", "polarity", "--condition", condition, "--out", "new.run")
    result = heed(COMMAND, made / "pool.jsonl", *SAMPLE, *told)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "new.run").read_bytes() == (made / f"polarity.{condition}.run").read_bytes()


def test_a_run_is_cut_rescored_and_tagged(made: Path, heed: Heed, tmp_path: Path) -> None:
    told = ("--reranker", "polarity", "--depth", "7", "--tag", "mine", "--out", "deep/new.run.gz")
    for again in ("written", "used again"):
        result = heed(COMMAND, made / "bm25.original.run", *SAMPLE, *told)
        assert result.returncode == 0, result.stderr
        assert f"new.run.gz: {again}; 12 topics under original" in result.stderr
    lines = gzip.decompress((tmp_path / "deep/new.run.gz").read_bytes()).decode().splitlines()
    assert {line.split()[5] for line in lines} == {"mine"} and len(lines) == 7 * 12
    base, new = read_run(made / "bm25.original.run"), read_run(tmp_path / "deep/new.run.gz")
    for qid, scores in new.items():
        assert set(scores) == set(list(base[qid])[:7])


def test_the_condition_is_that_of_the_run_and_a_contradiction_is_said(made: Path, heed: Heed, tmp_path: Path) -> None:
    lines = (made / "bm25.changed.run").read_text().splitlines(keepends=True)
    half = "".join(line for line in lines if line.split()[0] < "04")  # 01, 02, 03 of 12
    (tmp_path / "half.run").write_text(half)
    (tmp_path / "mine.changed.txt").write_text(half.replace("bm25-changed", "bm25"))
    by = "condition changed by its"
    lacks = "half.run: lacks 9 of 12 topics of "
    contradiction = "half.run: is of changed by its tag or name, and is rescored under original"
    for run, options, tag, said in (
        (made / "bm25.changed.run", (), "changed", [f"{by} note; --condition names another"]),
        ("half.run", (), "changed", [f"{by} tag or name", lacks]),
        ("mine.changed.txt", (), "changed", [f"{by} tag or name"]),
        ("half.run", ("--condition", "original"), "original", [f"warning: {contradiction}"]),
        (made / "pool.jsonl", (), "original", []),
    ):
        out = f"{len(said)}{tag}.run"
        result = heed(COMMAND, run, *SAMPLE, *options, "--reranker", "rank_bm25", "--out", out)
        assert result.returncode == 0 and [one for one in said if one not in result.stderr] == [], result.stderr
        assert (tmp_path / out).read_text().split(maxsplit=6)[5] == f"rank_bm25-{tag}"


def test_a_finished_run_among_results_is_moved_aside_with_its_other_conditions(
    made: Path, heed: Heed, tmp_path: Path
) -> None:
    folder = shutil.copytree(made, tmp_path / "zho")
    run, before = folder / "polarity.original.run", (made / "polarity.original.run").read_bytes()
    for again in (False, True):
        told = ("--reranker", "polarity", "--depth", "7", "--out", run)
        result = heed(COMMAND, folder / "bm25.original.run", *SAMPLE, *told)
        assert result.returncode == 0, result.stderr
        assert run.read_bytes().count(b"\n") == 7 * 12
        assert (f"give one of them another name: --out {folder}/NAME.original.run" in result.stderr) != again
    assert sorted(path.name for path in folder.rglob("polarity.*.run")) == [
        f"polarity.{condition}.run" for condition in ("changed", "original", "original", "query")
    ]
    assert (folder / "earlier/1/polarity.original.run").read_bytes() == before


def test_a_run_that_lacks_a_topic_is_among_results_when_it_was_rescored(made: Path, heed: Heed, tmp_path: Path) -> None:
    folder = shutil.copytree(made, tmp_path / "zho")
    lines = (made / "bm25.original.run").read_text().splitlines(keepends=True)
    (tmp_path / "part.run").write_text("".join(line for line in lines if not line.startswith("11 ")))
    told = ("--reranker", "rank_bm25", "--out", folder / "rank_bm25.original.run")
    result = heed(COMMAND, "part.run", *SAMPLE, *told)
    assert result.returncode == 0 and "nothing found for 1 of 12 topics: 11" in result.stderr
    assert "rank_bm25 " in heed("pipelines.compare", folder).stdout and not (folder / "earlier").exists()


@pytest.mark.disturbance
def test_a_local_model_by_passages_killed_and_started_again(
    made: Path, heed: Heed, tmp_path: Path, tiny_cross_encoder: Path, environment: dict[str, str]
) -> None:
    short = [json.loads(line) for line in Path(SAMPLE[1]).read_text().splitlines()]
    topics = tmp_path / "t.jsonl"
    topics.write_text(
        "".join(json.dumps({**one, "query": "a", "instructions": {"original": "b"}}) + "\n" for one in short)
    )
    told = (
        made / "bm25.query.run",
        *SAMPLE[2:],
        "--topics",
        topics,
        "--reranker",
        tiny_cross_encoder,
        "--maxp",
        "30/10",
    )
    assert heed(COMMAND, *told, "--device", "cpu", "--out", "whole/new.run").returncode == 0
    command = [sys.executable, "-m", COMMAND, *map(str, told), "--device", "cpu", "--out", "killed/new.run"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE)

    def journals() -> list[Path]:
        return [*(tmp_path / "killed").rglob("new.run.partial")]

    while process.poll() is None and not any(journal.read_bytes().count(b"\n") >= 4 for journal in journals()):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (tmp_path / "killed/new.run").exists()
    result = heed(COMMAND, *told, "--device", "cpu", "--out", "killed/new.run")
    assert result.returncode == 0 and "of 12 topics are done already" in result.stderr
    assert (tmp_path / "killed/new.run").read_bytes() == (tmp_path / "whole/new.run").read_bytes()
    assert not journals()


@pytest.mark.parametrize(
    ("version", "said"),
    [((), "; a program without --config is asked for all again"), (("--config", "v1"), "")],
)
def test_a_stopped_program_is_asked_again_unless_its_version_is_known(
    made: Path, tmp_path: Path, environment: dict[str, str], version: tuple[str, ...], said: str
) -> None:
    (tmp_path / "stops.py").write_text(
        "import os, signal, time\nos.kill(os.getppid(), signal.SIGINT)\ntime.sleep(60)\n"
    )
    options = ("--reranker", "stops=command:python3 stops.py", *version, "--out", "new.run", "--quiet")
    process = subprocess.run(
        [sys.executable, "-m", COMMAND, *map(str, (made / "bm25.query.run", *SAMPLE, *options))],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, preexec_fn=hear_interrupts,
    )  # fmt: skip
    assert process.returncode == 130
    assert process.stderr == f"stopped; what was complete is kept and used again{said}\n"


def test_a_finished_run_outside_results_is_moved_aside(made: Path, heed: Heed, tmp_path: Path) -> None:
    def rerank(depth: int, said: str, reranker: str = "rank_bm25") -> bytes:
        told = ("--reranker", reranker, "--condition", "query", "--depth", str(depth), "--out", "o/p.run")
        result = heed(COMMAND, made / "bm25.query.run", *SAMPLE, *told)
        assert result.returncode == 0 and said in result.stderr, result.stderr
        assert [*(tmp_path / "o").rglob("*.run.json")] and not (tmp_path / "o/.made/new").exists()
        return (tmp_path / "o/p.run").read_bytes()

    first = rerank(3, "o/p.run: written")
    note = (tmp_path / "o/.made/p.run.json").read_bytes()
    assert rerank(3, "o/p.run: used again") == first and not (tmp_path / "o/earlier").exists()
    deeper = rerank(5, "o/p.run: the pool has changed; the earlier run is o/earlier/1/p.run")
    assert deeper.count(b"\n") == 5 * 12 and (tmp_path / "o/earlier/1/p.run").read_bytes() == first
    assert (tmp_path / "o/earlier/1/.made/p.run.json").read_bytes() == note
    (tmp_path / "o/p.run").write_text("01 Q0 d 1 1.0 mine\n")
    assert (
        rerank(
            5, "o/p.run: somebody changed or brought p.run (its note lists other bytes); the earlier run is o/earlier/2"
        )
        == deeper
    )
    assert (tmp_path / "o/earlier/2/p.run").read_text() == "01 Q0 d 1 1.0 mine\n"
    rerank(5, "p.run: it is now polarity-query, was rank_bm25-query; the earlier run is o/earlier/3/", "polarity")


def test_an_out_that_would_replace_something_else_is_refused_first(made: Path, heed: Heed, tmp_path: Path) -> None:
    run, topics = shutil.copy(made / "bm25.query.run", tmp_path / "a.run"), shutil.copy(SAMPLE[1], tmp_path / "t.jsonl")
    (tmp_path / "notes").write_text("mine\n")
    (tmp_path / "folder").mkdir()
    for told, problem in (
        (("--out", run), f"--out: {run}: is given to this command, and would be overwritten; give another: --out"),
        (("--out", topics), f"--out: {topics}: is given to this command"),
        (("--out", "notes"), "--out: notes: is no run, and would be overwritten; give another: --out notes-new.run"),
        (("--out", "folder"), "--out: folder: is no file; give another: --out folder-new.run"),
        (("--out", "no/such/x.run"), "--out: no/such/x.run: no such folder; make it first: mkdir -p no/such"),
        (("--out", "x.run", "--tag", "my tag"), "--tag: found 'my tag', expected one word, such as my-tag"),
    ):
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        result = heed(COMMAND, run, "--topics", topics, *SAMPLE[2:], "--reranker", "rank_bm25", *told)
        assert result.returncode == 1 and problem in result.stderr, result.stderr
        assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_what_cannot_be_rescored_is_an_error(made: Path, heed: Heed, tmp_path: Path) -> None:
    (tmp_path / "other.run").write_text("9999 Q0 d1 1 2.0 t\n")
    (tmp_path / "strange.run").write_text("01 Q0 nowhere 1 2.0 t\n")
    for run, told, problem in (
        ("other.run", (), "other.run: none of its topics (9999) is asked in"),
        ("strange.run", (), "strange.run: 1 of its documents are not in --docs: nowhere"),
        (
            made / "bm25.query.run",
            ("--condition", "reversed"),
            "--condition: found reversed, but none of the 12 topics carries an instruction for it",
        ),
    ):
        result = heed(COMMAND, run, *SAMPLE, *told, "--reranker", "polarity", "--out", "new.run", "--quiet")
        assert result.returncode == 1 and problem in result.stderr, result.stderr
        assert not (tmp_path / "new.run").exists()

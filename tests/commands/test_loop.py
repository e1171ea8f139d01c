"""docs/loop.sh as a track organiser goes through it, the judging done in a real Chromium."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from annotating import Running
from annotating_browser import CHROMIUM, assessor
from conftest import ROOT

from heed.formats.trec_files import read_pool, read_qrels, read_run
from heed.measures.pairwise import p_mrr

if TYPE_CHECKING:
    from playwright.sync_api import Browser

TOPICS = ("01", "02")


@pytest.fixture
def script(tmp_path: Path, environment: dict[str, str]) -> Iterator["subprocess.Popen[str]"]:
    """The script on two topics, in a process group of its own as on a terminal."""
    topics = [option for qid in TOPICS for option in ("--topic", qid)]
    with subprocess.Popen(
        ["bash", str(ROOT / "docs/loop.sh"), "zho", "loop", *topics],
        cwd=tmp_path,
        env=environment | {"PYTHON": sys.executable, "BROWSER": "true"},  # the program `true` opens no window
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        yield process
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.skipif(not CHROMIUM.exists(), reason="no Chromium at /usr/bin/chromium")
def test_from_runs_to_changed_judgements_and_a_comparison(
    chromium: "Browser", script: "subprocess.Popen[str]", tmp_path: Path
) -> None:
    assert script.stdout
    address = next(line.strip() for line in script.stdout if line.startswith("http://127.0.0.1:"))
    pooled = read_pool(tmp_path / "loop/pool.jsonl")
    assert tuple(pooled) == TOPICS
    with assessor(chromium, Running(script, address)) as ann:
        for qid in TOPICS:
            ann.page.wait_for_selector(f"#topics [data-qid='{qid}'][aria-current]")
            docids = pooled[qid]
            grades = ["3" if at < 4 else "0" for at in range(len(docids))]
            ann.press(*grades)
            ann.saved()
            ann.press("c", "e", "Control+End")
            ann.page.keyboard.insert_text("只要有人受伤的事故。")
            ann.press("Escape")
            ann.shown()
            while ann.shown() != docids[0]:
                ann.press("k")
            ann.press("0", "0", "3", "3")  # the relevant ones alone are read again
            ann.saved()
            ann.press("o", "n")
    os.killpg(script.pid, signal.SIGINT)  # Ctrl-C on a terminal goes to the whole group
    rest = script.stdout.read()
    assert script.wait(timeout=120) == 0, rest
    original, changed = (read_qrels(tmp_path / f"loop/judged/{name}.qrels") for name in ("original", "changed"))
    for qid in TOPICS:
        assert {docid for docid, grade in original[qid].items() if grade} == set(pooled[qid][:4])
        assert {docid for docid, grade in changed[qid].items() if grade} == set(pooled[qid][2:4])
    folder = tmp_path / "loop/after/neuclir-sample/zho"
    base, new = (read_run(folder / f"polarity.{name}.run") for name in ("original", "changed"))
    expected = p_mrr(base, new, {qid: set(pooled[qid][:2]) for qid in TOPICS})
    values = json.loads((tmp_path / "loop/comparison.json").read_text())["per_topic"]["p-MRR"]
    assert values == pytest.approx(expected) and set(values) == set(TOPICS)
    rows = json.loads((folder / "summary.json").read_text())["rows"]
    [row] = [row for row in rows if (row["system"], row["measure"]) == ("polarity", "p-MRR")]
    assert row["n"] == 2 and row["value"] == pytest.approx(sum(values.values()) / 2)


def test_the_script_takes_the_checkouts_python_else_the_given_one(tmp_path: Path) -> None:
    """Stand-ins for Python print who they are, where the script's first command starts one."""
    (tmp_path / "docs").mkdir()
    script = tmp_path / "docs" / "loop.sh"
    script.write_bytes((ROOT / "docs/loop.sh").read_bytes())

    def python(folder: str, name: str) -> Path:
        path = tmp_path / folder / name
        path.parent.mkdir(parents=True)
        path.write_text(f'#!/bin/sh\necho {folder} "$2"\nexit 1\n')
        path.chmod(0o755)
        return path

    def started(**variables: str) -> str:
        environment = {"PATH": f"{tmp_path}/path:/usr/bin:/bin"} | variables
        return subprocess.run(
            ["bash", str(script)], cwd=tmp_path, env=environment, capture_output=True, text=True
        ).stdout

    python("path", "python3")
    assert started() == "path pipelines.neuclir\n"
    assert started(PYTHON=str(python("given", "python"))) == "given pipelines.neuclir\n"
    python(".venv/bin", "python")
    assert started(PYTHON=str(tmp_path / "given/python")) == ".venv/bin pipelines.neuclir\n"

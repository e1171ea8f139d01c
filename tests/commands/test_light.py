"""Without the extras: what runs, and what a command says that needs one."""

import subprocess
import sys

import pytest
from conftest import ROOT, stranger

from heed.errors import UsageError
from heed.extras import advice, require
from pipelines import missing_package

EXTRA = {"torch", "transformers", "sentence_transformers", "huggingface_hub", "peft", "safetensors", "sentencepiece"}
EXTRA |= {
    "google.protobuf",
    "ir_datasets",
    "pandas",
    "pyarrow",
    "sklearn",
    "ray",
    "nltk",
    "rank_bm25",
    "mteb",
    "vl_convert",
}
WITHOUT = f"""
import sys
sys.modules.update(dict.fromkeys({sorted(EXTRA)!r}))  # None: cannot be imported
from pipelines.__main__ import main
for line in sys.stdin.read().splitlines():
    sys.argv = ["heed", *line.split()]
    try:
        status = main()
    except SystemExit as exit:
        status = exit.code
    print(f"{{line.split()[0]}}: {{status or 0}}", flush=True)
"""


@pytest.fixture(scope="module")
def light(tmp_path_factory: pytest.TempPathFactory) -> "subprocess.CompletedProcess[str]":
    """The commands one after another in a process where no package of an extra can be imported."""
    folder = tmp_path_factory.mktemp("light")
    run = "runs/neuclir-sample/fas/bm25"
    lines = [
        "neuclir --lang fas --quiet",
        f"compare {run}.original.run {run}.changed.run --qrels {ROOT}/qrels/neuclir-sample/original.qrels",
        f"check {run}.original.run --topics {ROOT}/topics/neuclir-sample/fas.jsonl",
        f"pool {run}.original.run --out pool.jsonl --depth 5",
        "report runs --html",
        "report runs --plots plots",
        "published followtable",
        "fetch",
        "annotate pool.jsonl --help",
        "neuclir --lang fas --reranker cross-encoder/ms-marco-MiniLM-L6-v2",
        "train --help",
    ]
    return subprocess.run(
        [sys.executable, "-c", WITHOUT],
        input="\n".join(lines),
        cwd=folder,
        env=stranger(folder / "home"),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("command", ["neuclir", "compare", "check", "pool", "report", "published", "annotate", "train"])
def test_a_command_without_models_needs_no_extra(light: "subprocess.CompletedProcess[str]", command: str) -> None:
    assert f"{command}: 0\n" in light.stdout, light.stderr


def test_a_model_without_its_extra_is_refused_before_anything_is_built(
    light: "subprocess.CompletedProcess[str]",
) -> None:
    last = light.stderr.splitlines()[-1]
    assert last.startswith("error: cross-encoder/ms-marco-MiniLM-L6-v2: the Python package huggingface_hub is not inst")
    assert "make models, or " in last and "pip install -c constraints.txt -e '.[models]'" in last
    assert "neuclir: 1\n" in light.stdout


def test_charts_as_files_name_the_extra(light: "subprocess.CompletedProcess[str]") -> None:
    assert "error: charts as files: the Python package vl_convert is not installed" in light.stderr
    assert "pip install -c constraints.txt -e '.[plots]'" in light.stderr and "report: 1\n" in light.stdout


def test_collections_of_ir_datasets_name_the_extra(light: "subprocess.CompletedProcess[str]") -> None:
    assert "ir_datasets is not installed" in light.stderr and "extra 'data'" in light.stderr


@pytest.mark.parametrize(
    ("package", "extra"),
    [
        ("torch", "models"),
        ("sentence_transformers", "models"),
        ("ir_datasets", "data"),
        ("ray", "ray"),
        ("vl_convert", "plots"),
    ],
)
def test_a_missing_package_names_its_extra(package: str, extra: str) -> None:
    assert f"extra '{extra}'" in str(missing_package(ModuleNotFoundError("", name=f"{package}.part")))


def test_a_package_that_is_always_installed_names_no_extra() -> None:
    assert "extra" not in advice("numpy") and "make demo" in advice("numpy")
    with pytest.raises(UsageError, match=r"purpose: the Python package not_there is not installed"):
        require("not_there", "purpose")
    require("numpy", "purpose")


@pytest.mark.parametrize(
    ("start", "begin"),
    [("import pipelines.__main__", "error: Heed needs"), ("import heed", "ImportError: Heed needs")],
)
def test_a_system_without_posix_is_told_in_one_sentence(start: str, begin: str) -> None:
    """Windows has no ``fcntl``; the console script imports ``pipelines.__main__``, programs import ``heed``."""
    absent = f"import sys; sys.modules['fcntl'] = None; {start}"
    done = subprocess.run([sys.executable, "-c", absent], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"{begin} Linux or macOS; on Windows install it in WSL")
    assert ("Traceback" in done.stderr) == (start == "import heed")

"""Every example of docs/extending.md, executed in order, and its classes by their names on the command line."""

import io
import json
import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Heed

from heed.formats.trec_files import read_run

# PyTerrier's own frames under pandas 3
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.drop is deprecated")

GUIDE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```\w+ title=\"([\w.]+)\"\n(.*?)```", GUIDE, re.DOTALL))
SHOWN = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", GUIDE, re.DOTALL)
CODE = r"```python\n(.*?)```"
BLOCKS = [block for block, _ in SHOWN]


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The folder in which all blocks were executed one after the other, and the names that they left."""
    folder = tmp_path_factory.mktemp("extending")
    names: dict[str, Any] = {"__name__": "guide", "printed": []}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        for name, text in FILES.items():
            Path(name).write_text(text)
        for block in BLOCKS:
            with redirect_stdout(io.StringIO()) as printed:
                exec(compile(block, "docs/extending.md", "exec"), names)  # noqa: S102 (our own guide)
            names["printed"].append(printed.getvalue())
        yield folder, names


def test_every_example_runs(executed: tuple[Path, dict[str, Any]]) -> None:
    folder, names = executed
    assert len(BLOCKS) == 15
    assert names["printed"] == [shown for _, shown in SHOWN]
    runs = folder / "runs" / "neuclir-sample" / "eng"
    for system in ("bm25", "overlap", "first-words", "letters"):
        assert names["bm25"].keys() == {"query", "original", "changed"}
        assert all((runs / f"{system}.{condition}.run").stat().st_size for condition in names["bm25"])
    assert (folder / "overlap.changed.run").read_bytes() == (runs / "overlap.changed.run").read_bytes()
    assert list(names["results"].to_pandas().columns) == ["system", "condition", "measure", "value", "n"]
    assert (folder / "runs-cars/cars/eng/polarity.changed.run").is_file()
    assert names["random_order"].name == "mteb:baseline-random-cross-encoder"
    assert [names[one].mteb_model_meta.name for one in ("model", "encoder")] == ["heed/overlap", "heed/letters"]
    best = {qid: next(iter(scores.values())) for qid, scores in names["piped"].items()}
    assert best == {qid: max(names["mine"]["changed"][qid].values()) for qid in best}  # of a pool of more documents
    assert (runs / "words.changed.run").is_file()
    assert names["figures"].value("polarity", "original>changed", "p-MRR") > 0  # the red car falls


def test_the_classes_of_the_guide_give_the_same_runs_by_name(
    executed: tuple[Path, dict[str, Any]], tmp_path: Path, heed: Heed
) -> None:
    classes = "\n".join(re.findall(r"^class \w+:\n(?:    .*\n|\n)+", "\n".join(BLOCKS), re.MULTILINE))
    (tmp_path / "guide_classes.py").write_text(
        f"from collections.abc import Sequence\nimport heed\nimport numpy as np\n{classes}"
    )
    systems = ("--retriever", "bm25", "--reranker", "guide_classes:Overlap", "--rerank-depth", 50)
    options = ("--lang", "zho", "--query-lang", "eng", "--docs-lang", "eng", "--depth", 100, "--quiet")
    result = heed("pipelines.neuclir", *options, *systems)
    assert result.returncode == 0, result.stderr
    folder, _ = executed
    theirs = folder / "runs" / "neuclir-sample" / "eng"
    for condition in ("query", "original", "changed"):
        ours = tmp_path / "runs/neuclir-sample/eng-zho-mt" / f"overlap.{condition}.run"
        assert ours.read_bytes() == (theirs / ours.name).read_bytes()
    others = ("--retriever", "guide_classes:FirstWords", "--retriever", "guide_classes:Letters", "--reranker", "none")
    result = heed("pipelines.neuclir", *options, *others)
    assert result.returncode == 0, result.stderr
    for system in ("first-words", "letters"):
        ours = tmp_path / "runs/neuclir-sample/eng-zho-mt" / f"{system}.changed.run"
        assert ours.read_bytes() == (theirs / ours.name).read_bytes()
    recipes = ("--reranker", "polarity+guide_classes:Overlap", "--reranker", "decompose:guide_classes:Letters")
    result = heed("pipelines.neuclir", *options, "--retriever", "bm25", *recipes)
    assert result.returncode == 0, result.stderr


def test_the_program_of_the_guide_gives_the_scores_of_its_class(
    executed: tuple[Path, dict[str, Any]], tmp_path: Path, heed: Heed
) -> None:
    folder, names = executed
    (tmp_path / "score.py").write_text(FILES["score.py"])
    sample = (
        "--topics",
        ROOT / "topics/neuclir-sample/eng.jsonl",
        "--docs",
        ROOT / "documents/neuclir-sample/eng.jsonl",
    )
    program = f"own=command:{sys.executable} score.py"
    system = ("--condition", "changed", "--reranker", program, "--out", "own.run")
    result = heed("pipelines.rerank", folder / "overlap.changed.run", *sample, *system)
    assert result.returncode == 0, result.stderr
    assert read_run(tmp_path / "own.run") == dict(names["mine"]["changed"])


def test_the_benchmark_of_the_guide_runs_from_its_entry(
    executed: tuple[Path, dict[str, Any]], tmp_path: Path, heed: Heed
) -> None:
    folder, _ = executed
    entry = ("--catalogue", folder / "mine.json")
    copy = ("--dataset", "alerts/ports", "--data", folder / "alerts")
    result = heed("pipelines.trec", *entry, *copy, "--retriever", "bm25", "--reranker", "none")
    assert result.returncode == 0, result.stderr
    figures = json.loads((tmp_path / "runs/alerts/ports/summary.json").read_text())["rows"]
    assert {row["measure"] for row in figures} == {"nDCG@10", "R@5"}
    told = heed("pipelines.fetch", "alerts", *entry, "--dry-run", "--quiet").stdout
    assert "licence: CC-BY-4.0" in told and "me/alerts, hub data set at main" in told

"""The scripts of examples/, started as their docstrings say."""

import io
import re
import runpy
import sys
from collections.abc import Callable
from math import log2
from pathlib import Path

import pytest
from conftest import ROOT, tiny_config, tiny_tokenizer
from mfollowir_copy import hub_copy

EXAMPLES = ROOT / "examples"
# of other libraries' own modules
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.drop is deprecated"),
]

Start = Callable[..., str]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Start:
    """Run a script in an empty folder and return what it prints."""
    monkeypatch.chdir(tmp_path)

    def run(name: str, *arguments: object) -> str:
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out

    return run


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT with one label and random weights, long enough for the sample's instructions."""
    import torch
    from transformers import BertForSequenceClassification

    folder = tmp_path_factory.mktemp("models") / "cross"
    torch.manual_seed(1)
    BertForSequenceClassification(tiny_config(512, num_labels=1)).save_pretrained(folder)  # type: ignore[arg-type]
    tiny_tokenizer(512).save_pretrained(folder)  # type: ignore[attr-defined]
    return folder


def systems(printed: str) -> set[str]:
    """Return the systems of a printed table that compare two conditions."""
    return set(re.findall(r"^(\S+) +original>changed ", printed, re.MULTILINE))


def test_a_cross_encoder_on_the_sample_reads_the_instruction(start: Start, cross_encoder: Path) -> None:
    printed = start("cross_encoder.py", cross_encoder)
    assert systems(printed) == {"bm25", "my-cross-encoder"}
    folder = Path("runs/neuclir-sample/zho")
    assert f"why: open {folder}/report.html" in printed and (folder / "report.html").is_file()
    runs = [(folder / f"my-cross-encoder.{name}.run").read_text() for name in ("query", "original", "changed")]
    assert len({re.sub(r"\S+$", "", run, flags=re.MULTILINE) for run in runs}) == 3


def test_a_cross_encoder_in_torch_gives_the_scores_of_its_folder(start: Start, cross_encoder: Path) -> None:
    """As the docstring says, experiment.rerank("MODEL", [bm25]) does the same."""
    import heed

    hub_copy(Path("copy"), "jsonl")
    assert "my-cross-encoder" in start("cross_encoder.py", cross_encoder, "mfollowir", "copy")
    with heed.Experiment(heed.load("mfollowir", lang="zho", data="copy"), device="cpu") as experiment:
        bm25 = experiment.retrieve("bm25")
        by_name = experiment.rerank(str(cross_encoder), [bm25], depth=20)
        ours = heed.Run.read(experiment.folder / "my-cross-encoder.changed.run")
    assert {qid: pytest.approx(scores, abs=1e-5) for qid, scores in by_name["changed"].items()} == ours


def test_a_model_of_mteb(start: Start) -> None:
    pytest.importorskip("mteb")
    assert systems(start("mteb_model.py")) == {"bm25", "mteb:baseline-random-cross-encoder"}


def test_a_pipeline_of_pyterrier(start: Start) -> None:
    pytest.importorskip("pyterrier")
    assert systems(start("pyterrier_pipeline.py")) == {"bm25", "bm25-then-count"}


def test_a_pool_is_judged_and_measured(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("3\n0\n0\n0\n0\n"))
    printed = start("pool_judge_qrels.py", "02")
    relevant, *others = [line.split() for line in Path("judged.qrels").read_text().splitlines()]
    assert [(qid, grade) for qid, _, _, grade in (relevant, *others)] == [("02", "3"), *[("02", "0")] * 4]
    figures = dict(re.findall(r"(\w+): nDCG@5 ([0-9.]+)$", printed, re.MULTILINE))
    for system in ("bm25", "lsa"):  # of one relevant document nDCG is 1 ÷ log₂(rank + 1)
        run = Path(f"runs/neuclir-sample/eng/{system}.original.run").read_text().splitlines()
        [rank] = [int(rank) for qid, _, docid, rank, _, _ in map(str.split, run) if (qid, docid) == ("02", relevant[2])]
        assert figures.pop(system) == (f"{100 / log2(rank + 1):.1f}" if rank <= 5 else "0.0")
    assert not figures


def test_how_many_topics(start: Start) -> None:
    printed = start("how_many_topics.py", 2)
    lines = re.findall(r"^(.+): 12 topics can show ([0-9.]+) points; (\d+) topics would show 2$", printed, re.MULTILINE)
    assert [title for title, _, _ in lines] == [
        "difference of nDCG@20",
        "selectivity of bm25",
        "selectivity of polarity",
    ]
    # of many topics, their number times the square of what they can show is the same: 2.8² times the variance
    assert all(int(needed) * 4 < 12 * float(least) ** 2 < int(needed) * 4 * 1.3 for _, least, needed in lines)


def test_every_example_is_in_the_table_of_their_page() -> None:
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| \[\w+\.py\]\((\w+\.py)\)", page, re.MULTILINE)) == sorted(
        path.name for path in EXAMPLES.glob("*.py")
    )

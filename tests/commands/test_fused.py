"""First stages fused to one list, by name and over files: the values of ranx and pyserini, ties in the one order."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

from heed import Experiment, Query, Run, UsageError, load
from heed.formats.trec_files import read_run, write_run
from heed.ranking import fused_runs
from pipelines.pool import main

GOLDEN = json.loads((ROOT / "tests/data/golden/fusion.json").read_text())
ALL = 100  # more than the lists have


def close(run: Run, expected: Run) -> None:
    assert run.keys() == expected.keys()
    for qid, scores in expected.items():
        assert run[qid] == pytest.approx(scores, rel=1e-12, abs=1e-12)


@pytest.mark.golden(program="ranx 0.3.21", compared="reciprocal rank fusion, and sums of min-max scores", systems=())
@pytest.mark.parametrize("case", GOLDEN["cases"])
@pytest.mark.parametrize("how", ["rrf", "sum"])
def test_the_scores_are_those_of_ranx(case: dict[str, Any], how: str) -> None:
    close(fused_runs(case["runs"], how, ALL), case["ranx"][how])


@pytest.mark.golden(program="pyserini 1.6.0", compared="fused runs, the files of heed pool --fused", systems=())
@pytest.mark.parametrize("case", GOLDEN["cases"])
def test_files_are_fused_as_by_pyserini(case: dict[str, Any], tmp_path: Path) -> None:
    paths = [str(tmp_path / f"{number}.run") for number in range(len(case["runs"]))]
    for path, run in zip(paths, case["runs"], strict=True):
        write_run(Path(path), run, "t")
    out = tmp_path / "fused.run.gz"
    for method, options in (("rrf", ()), ("sum", ("--fusion", "sum"))):
        assert main([*paths, "--fused", str(out), *options]) == 0
        close(read_run(out), case["pyserini"][method])
    assert main([*reversed(paths), "--fused", str(out), "--depth", str(GOLDEN["depth"])]) == 0
    cut = read_run(out)
    for qid, theirs in case["pyserini"]["rrf to depth"].items():  # of equal scores at the depth ours has other docids
        assert [*cut[qid].values()] == pytest.approx(sorted(theirs.values(), reverse=True), rel=1e-12)


def test_equal_scores_are_in_the_one_order() -> None:
    runs: list[Run] = [{"1": {"b": 2.0, "a": 2.0, "c": 1.0}}, {"1": {"a": 3.0, "b": 1.0}, "2": {"d": 7.0}}]
    # b is before a in the first list: 1/61 + 1/62 each
    fused = fused_runs(runs, "rrf", 2)
    assert fused == {"1": {"b": 1 / 61 + 1 / 62, "a": 1 / 61 + 1 / 62}, "2": {"d": 1 / 61}}
    assert list(fused["1"]) == ["b", "a"]
    # min-max: b 1, a 1, c 0, and a 1, b 0; a list of one score
    assert fused_runs(runs, "sum", 3) == {"1": {"a": 2.0, "b": 1.0, "c": 0.0}, "2": {"d": 1.0}}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--size", "3"), "--size: of a pool, and --fused writes a run; leave it out"),
        (("--order", "fused"), "--order: of a pool"),
    ],
)
def test_no_option_of_pools_is_ignored(
    options: tuple[str, ...], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [str(tmp_path / name) for name in ("a.run", "b.run")]
    for path in paths:
        write_run(Path(path), {"1": {path[-5]: 1.0}}, "t")
    assert main([*paths, "--fused", str(tmp_path / "out.run"), *options]) == 1
    assert problem in capsys.readouterr().err
    for fused, told in ((paths[0], "would be overwritten"), (str(tmp_path / "out.run"), "fewer than two runs")):
        assert main([paths[0], "--fused", fused]) == 1
        assert told in capsys.readouterr().err
    assert main([*paths, "--out", str(tmp_path / "pool.jsonl"), "--fusion", "sum"]) == 1
    assert "--fusion: only used with --fused" in capsys.readouterr().err


def test_a_fused_list_is_a_first_stage_like_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Experiment(load("neuclir-sample", lang="eng"), depth=20, conditions=["original"]) as experiment:
        parts = [experiment.retrieve(name)["original"] for name in ("bm25", "lsa")]
        for how in ("rrf", "sum"):
            fused = experiment.retrieve(f"{how}:bm25,lsa")
            assert fused.name == f"{how}-bm25-lsa" and (experiment.folder / f"{how}-bm25-lsa.original.run").exists()
            close(fused["original"], fused_runs(parts, how, 20))
        again = experiment.retrieve("rrf:bm25,lsa")
        assert all(file.reused for file in again.files.values())
        assert experiment.retrieve("both=rrf:bm25,mine=lsa").name == "both"
        results = experiment.evaluate([again, experiment.rerank("polarity", [again], depth=10)])
    assert {row["system"] for row in results.to_pandas().to_dict("records")} >= {"rrf-bm25-lsa", "polarity"}
    page = (experiment.folder / "report.html").read_text(encoding="utf-8")
    assert '"reciprocal rank fusion of bm25, lsa"' in page
    found = experiment.search("ferry accidents", 3, "rrf:bm25,lsa")
    assert len(list(found)) == 3


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("rrf:bm25", "one list cannot be fused"),
        ("sum:bm25,bm25", "named twice"),
        ("rrf:bm25,polarity", "polarity: a reranker, no retriever"),
    ],
)
def test_a_wrong_name_is_an_error(name: str, problem: str, tmp_path: Path) -> None:
    experiment = Experiment(load("neuclir-sample", lang="eng"), indexes=tmp_path / "i", out=tmp_path / "r")
    with pytest.raises(UsageError, match=problem):
        experiment.retriever(name)
    with pytest.raises(UsageError, match="a retriever, no reranker"):
        experiment.reranker("rrf:bm25,lsa")


def test_one_without_a_config_is_made_anew(tmp_path: Path) -> None:
    class Letters:
        name = "letters"

        def search(self, queries: list[Query], depth: int) -> Run:
            return {query.qid: {} for query in queries}

    from heed.retrieval.fused import FusedRetriever

    experiment = Experiment(load("neuclir-sample", lang="eng"), indexes=tmp_path / "i", out=tmp_path / "r")
    parts = [experiment.retriever("bm25"), experiment.retriever(Letters())]
    assert FusedRetriever("rrf", parts).config is None and FusedRetriever("rrf", parts).name == "rrf-bm25-letters"

"""The user's own measures, from the function to tables, files and report; and the page of all measures."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from comparing import order
from conftest import ROOT, Heed

import heed as library
from heed import Experiment, Judging, ModelError, Topic, UsageError, load
from heed.measures import Measure
from heed.measures.baseline import against_baseline
from heed.measures.evaluate import evaluate
from heed.measures.registry import BUILT_IN, as_measure, help_text
from heed.measures.summary import own_directions
from heed.report.page import page
from heed.report.results import read_tree

Lists = dict[str, dict[str, float]]
Grades = dict[str, dict[str, int]]

MODULE = '''
import heed


@heed.measure("Moved@1", lower_is_better=True)
def moved(base, new, qrels, new_qrels):
    """1 where another document is first."""
    return {qid: float(max(base[qid], key=base[qid].get) != max(new[qid], key=new[qid].get)) for qid in new_qrels}


def length(run, qrels):
    return {qid: len(run[qid]) / 1000 for qid in qrels}
'''


@library.measure("Moved", lower_is_better=True)
def moved(base: Lists, new: Lists, qrels: Grades, new_qrels: Grades) -> dict[str, float]:
    """1 where another document is first."""
    return {qid: float(_first(base[qid]) != _first(new[qid])) for qid in new_qrels}


def _first(scores: dict[str, float]) -> str:
    return max(scores, key=lambda docid: scores[docid])


def test_a_measure_of_a_module_reaches_the_table_the_files_the_report_and_compare(tmp_path: Path, heed: Heed) -> None:
    (tmp_path / "mine.py").write_text(MODULE)
    measures = ("--measure", "mine:moved", "--measure", "mine:length")
    result = heed("pipelines.neuclir", "--lang", "zho", "--retriever", "bm25", "--reranker", "none", *measures)
    assert result.returncode == 0, result.stderr
    head = re.split("  +", result.stdout.splitlines()[1])
    assert {"Moved@1", "length"} <= set(head)
    folder = tmp_path / "runs/neuclir-sample/zho"
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["lower_is_better"] == {"length": False, "Moved@1": True}
    rows = {(row["condition"], row["measure"]): (row["value"], row["n"]) for row in summary["rows"]}
    runs = {name: (folder / f"bm25.{name}.run").read_text().splitlines() for name in ("original", "changed")}
    tops = {name: {line.split()[0]: line.split()[2] for line in lines[::-1]} for name, lines in runs.items()}
    other = sum(tops["original"][qid] != docid for qid, docid in tops["changed"].items())
    assert rows["original>changed", "Moved@1"] == (pytest.approx(other / 12), 12) and other > 0
    assert rows["changed", "length"] == (pytest.approx(len(runs["changed"]) / 12_000), 12)
    topics = {row["measure"]: row["per_topic"] for row in json.loads((folder / "per_topic.json").read_text())["rows"]}
    assert sum(topics["Moved@1"].values()) == other
    assert "Moved@1" in (folder / "report.html").read_text()
    qrels = ROOT / "qrels/neuclir-sample"
    pair = (folder / "bm25.original.run", folder / "bm25.changed.run")
    judged = ("--qrels", qrels / "original.qrels", "--new-qrels", qrels / "changed.qrels")
    result = heed("pipelines.compare", *pair, *judged, *measures, "--json", "c.json")
    assert result.returncode == 0, result.stderr
    means = {name: each["mean"] for name, each in json.loads((tmp_path / "c.json").read_text())["measures"].items()}
    assert means["Moved@1"] == pytest.approx(other / 12)
    assert {"length base", "length new", "length change"} <= means.keys()


def test_the_lowest_is_best_where_the_measure_says_so(tmp_path: Path) -> None:
    judgements = {"1": {"a": 1, "b": 1}}, {"1": {"a": 0, "b": 1}}
    assert moved({"1": order(*"ab")}, {"1": order(*"ba")}, *judgements) == {"1": 1.0}  # it is a function still
    lists = {"calm": "abc", "wild": "cba"}
    runs = {(system, "original"): {"1": order(*"abc")} for system in lists}
    runs |= {(system, "changed"): {"1": order(*changed)} for system, changed in lists.items()}
    topics = [Topic("1", "eng", "q", {"original": "i", "changed": "j"})]
    judging = Judging(dict(zip(("original", "changed"), judgements, strict=True))).also([moved])
    details = evaluate(runs, judging, topics, 0)
    compared = against_baseline(details, [], "calm", across_pools=True, directions=own_directions([moved]))
    rows_of_it = {row["system"]: row for row in compared.rows if row["measure"] == "Moved"}
    assert (rows_of_it["calm"]["value"], rows_of_it["wild"]["value"], rows_of_it["wild"]["worse"]) == (0.0, 1.0, 1)
    values = {"calm": 0.125, "wild": 0.875}
    rows = [
        {"system": system, "condition": "original>changed", "measure": measure, "value": value, "n": 1}
        for measure in ("Moved", "Stayed")
        for system, value in values.items()
    ]
    summary = {"collection": "c", "subset": "s", "rows": rows, "warnings": [], "lower_is_better": {"Moved": True}}
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    text = page(read_tree(tmp_path), tmp_path)
    assert re.findall(r'"measure":"(\w+)","lower":(\w+)', text) == [("Moved", "true"), ("Stayed", "false")]


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Experiment:
    """An experiment over the English sample in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return Experiment(load("neuclir-sample", lang="eng"))


def test_without_a_config_values_are_computed_anew_and_with_it_used_again(small: Experiment) -> None:
    calls: list[str] = []

    def depth(run: Lists, qrels: Grades) -> dict[str, float]:
        calls.append("depth")
        return {qid: float(len(run[qid])) for qid in qrels}

    def computed(measure: Any) -> int:
        calls.clear()
        results = small.evaluate(bm25, measures=["P@5", measure])
        assert results.value("bm25", "original", "depth") > 0 and results.value("bm25", "original", "P@5") > 0
        assert results.lower_is_better == {"depth": False}
        return len(calls)

    bm25 = small.retrieve("bm25")
    conditions = len(bm25)
    assert [computed(depth), computed(depth)] == [conditions, conditions]
    declared = library.measure("depth", config={"version": 1})(depth)
    assert [computed(declared), computed(declared)] == [conditions, 0]
    assert computed(library.measure("depth", config={"version": 2})(depth)) == conditions
    assert "depth" not in {row["measure"] for row in small.evaluate(bm25).rows}  # it came with one call alone


def nothing(run: Lists, qrels: Grades) -> dict[str, float]:
    return {}


@pytest.mark.parametrize("name", ["p-MRR", "FlipRate", "WinRate@3", "nDCG@7", "AP"])
def test_a_name_that_exists_already_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f"measure {name}: exists already, in Heed or ir_measures"):
        library.measure(name)(nothing)


@pytest.mark.parametrize("name", ["mean gold rank", "", "@5", "a\n"])
def test_a_name_that_no_table_can_have_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="expected a name of letters"):
        library.measure(name)(nothing)


def test_what_is_no_measure_is_refused() -> None:
    with pytest.raises(UsageError, match=r"its function takes 1 arguments; expected \(run, qrels\), or of a pair"):
        library.measure("mine")(lambda run: {})
    with pytest.raises(UsageError, match="its config is no JSON data"):
        library.measure("mine", config={1, 2})(nothing)
    with pytest.raises(UsageError, match="two functions have this name"):
        Judging({}).also([library.measure("mine")(nothing), library.measure("mine")(lambda run, qrels: {})])
    with pytest.raises(UsageError, match="measure Moved: compares two runs, but this collection"):
        Judging({}, pairs=()).also([moved])
    assert isinstance(as_measure(moved), Measure) and as_measure("P@5") == "P@5"


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (lambda run, qrels: {"1": "high"}, "measure mine, topic 1: 'high'; expected a number"),
        (lambda run, qrels: {"1": float("nan")}, "measure mine, topic 1: nan"),
        (lambda run, qrels: [0.5], "measure mine: returned list; expected qid -> value"),
        (lambda run, qrels: {"2": run["2"]}, "measure mine: its function fails, KeyError: '2'"),
    ],
)
def test_a_function_that_fails_or_returns_what_no_file_can_hold_is_an_error(function: Any, problem: str) -> None:
    judging = Judging({"original": {"1": {"a": 1}}}, (library.measure("mine")(function),), ())
    topics = [Topic("1", "eng", "q", {"original": "i"})]
    with pytest.raises(ModelError, match=problem):
        evaluate({("s", "original"): {"1": order(*"ab")}}, judging, topics, 2)


def test_the_page_of_measures_and_the_help_have_all_of_the_registry() -> None:
    text = (ROOT / "docs/measures.md").read_text()
    for measure in BUILT_IN.values():
        names = measure.example or measure.name
        [row] = re.findall(rf"\| `?{re.escape(names)}(?:@\d+)?`?(?:, `\S+`)? \| `(\w+)` \| (.+) \| .+ \| .+ \|\n", text)
        assert row[0] == measure.function.__name__  # type: ignore[attr-defined]
        assert ("lower is better" in row[1]) == measure.lower_is_better
    asked = {name for name, measure in BUILT_IN.items() if measure.by_name}
    assert asked == {name.partition("@")[0] for name in help_text().split(", ")} & BUILT_IN.keys()

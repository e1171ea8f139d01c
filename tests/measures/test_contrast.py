"""Measures of NevIR, MultiConIR, ExcluIR and IFIR: by hand, by mteb's program, and what holds for any input."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from comparing import compared, order, write_qrels
from conftest import ROOT, Heed
from hypothesis import given
from hypothesis import strategies as st

from heed.errors import UsageError
from heed.formats.trec_files import write_run
from heed.measures import (
    delta_mrr,
    delta_recall,
    flip_rate,
    instfol,
    mean,
    monotonic_order,
    pairwise_accuracy,
    right_rank,
    standard,
    win_rate,
)

EXCLUIR = json.loads((ROOT / "tests" / "data" / "golden" / "excluir.json").read_text())
IDS = [f"d{number}" for number in range(8)]
SCORES = st.dictionaries(st.sampled_from(IDS), st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=1)
GRADES = st.dictionaries(st.sampled_from(IDS), st.sampled_from([-1, 0, 1, 2]), min_size=2)


def test_pairwise_accuracy_wants_both_queries_of_a_pair_right() -> None:
    qrels = {f"{key}_{query}": {f"{key}{query}": 1} for key in "abcd" for query in ("q1", "q2")}
    run = {
        **{"a_q1": order("aq1", "aq2"), "a_q2": order("aq2", "aq1")},  # both right
        **{"b_q1": order("bq1", "bq2"), "b_q2": order("bq1", "bq2")},  # the same document twice: one of two
        **{"c_q1": {"cq1": 1.0, "cq2": 1.0}, "c_q2": order("cq2", "cq1")},  # a tie
        **{"d_q1": order("other", "dq1"), "d_q2": order("dq2")},  # in a longer list, and without the other's document
    }
    assert pairwise_accuracy(run, qrels) == {"a": 1.0, "b": 0.0, "c": 0.0, "d": 1.0}
    # c_q2 is judged, and the run lacks it; the ties of an empty run are wrong too
    assert pairwise_accuracy({"a_q1": run["a_q1"]}, qrels) == {"a": 0.0, "b": 0.0, "c": 0.0, "d": 0.0}


def test_a_pair_without_both_documents_has_no_pairwise_accuracy() -> None:
    run = {"7_q1": order("a", "b"), "7_q2": order("a", "b")}
    assert pairwise_accuracy(run, {"7_q1": {"a": 1, "b": 0}, "7_q2": {"a": 0, "b": 0}}) == {}
    assert pairwise_accuracy(run, {"7_q1": {"a": 1}, "7_q2": {"a": 1}}) == {}


def test_pairwise_accuracy_takes_the_other_document_from_lower_grades_too() -> None:
    qrels = {"1_q1": {"x": 1, "y": 0}, "1_q2": {"x": 0, "y": 1}, "alone": {"x": 1}, "2_q1": {"x": 1}}
    assert pairwise_accuracy({"1_q1": order("x", "y"), "1_q2": order("y", "x")}, qrels) == {"1": 1.0}


@pytest.mark.golden(program="mteb 2.26.24", compared="NevIR's pairwise accuracy", systems=())
def test_pairwise_accuracy_equals_mtebs_where_nothing_ties() -> None:
    from mteb._evaluators.retrieval_metrics import paired_accuracy

    chooser, values = random.Random(3), set()
    for _ in range(50):
        keys = [f"{number}-{chooser.randint(0, 9)}" for number in range(chooser.randint(1, 6))]
        qrels = {f"{key}_q{side}": {f"{key}_d{side}": 1} for key in keys for side in (1, 2)}
        run = {
            f"{key}_q{side}": order(*chooser.sample([f"{key}_d1", f"{key}_d2"], 2)) for key in keys for side in (1, 2)
        }
        first = {qid: {"recall_1": value} for qid, value in standard(run, qrels, ["R@1"])["R@1"].items()}
        ours = mean(standard(run, qrels, ["PairwiseAccuracy"])["PairwiseAccuracy"])
        assert ours == pytest.approx(paired_accuracy(qrels, run, first), abs=1e-12)
        values.add(ours)
    assert len(values) > 3


@pytest.mark.golden(program="mteb 2.26.24", compared="InstructIR's Robustness@10", systems=())
def test_robustness_equals_mtebs() -> None:
    from mteb._evaluators.retrieval_metrics import robustness_at_10

    from heed.measures import robustness

    chooser = random.Random(5)
    qrels = {f"{query}_{number}": {f"d{query + number}": 1} for query in range(6) for number in range(3)}
    run = {qid: order(*chooser.sample([*IDS, "d8"], 9)) for qid in qrels}
    values = standard(run, qrels, ["nDCG@10"])["nDCG@10"]
    ours = mean(robustness(values, {qid: qid.partition("_")[0] for qid in qrels}))
    theirs = robustness_at_10(qrels, run, {qid: {"ndcg_cut_10": value} for qid, value in values.items()})
    assert ours == pytest.approx(theirs, abs=1e-12)
    assert 0 < ours < 1


def test_win_rate_of_neighbouring_grades() -> None:
    # p > h1 > h2 > h3 by grade; p above h1 is won, h1 and h2 tie, h3 (absent) is below h2
    grades = {"q": {"p": 3, "h1": 2, "h2": 1, "h3": 0}}
    run = {"q": {"p": 9.0, "h1": 5.0, "h2": 5.0, "x": 10.0}}
    assert win_rate(run, grades) == {"q": pytest.approx(2 / 3)}
    assert [win_rate(run, grades, step) for step in (1, 2, 3, 4)] == [{"q": 1.0}, {"q": 0.0}, {"q": 1.0}, {}]
    assert monotonic_order(run, grades) == {"q": 0.0}
    assert monotonic_order({"q": order("p", "h1", "h2")}, grades) == {"q": 1.0}
    # of two documents of a grade each makes a pair; a topic of one grade has no value, one not in the run has 0
    assert win_rate(
        {"1": order("a", "c", "b")}, {"1": {"a": 1, "b": 1, "c": 0}, "2": {"a": 1}, "3": {"a": 1, "b": 0}}
    ) == {
        "1": 0.5,
        "3": 0.0,
    }


@pytest.mark.parametrize(
    "name", ["WinRate", "WinRate@2", "MonotonicOrder", "PairwiseAccuracy", "dR@1", "dMRR@10", "RightRank@10"]
)
def test_a_negative_grade_is_not_judged(name: str) -> None:
    """It is passed over, as is a document without a grade."""
    graded = {"7_q1": {"p": 2, "h": 1, "z": 0}, "7_q2": {"p": 0, "h": 1, "z": 0}}
    run = {"7_q1": order("n", "p", "m", "h", "z"), "7_q2": order("m", "h", "n", "p", "z")}
    negative = {qid: grades | {"n": -1, "m": -2} for qid, grades in graded.items()}
    assert standard(run, negative, [name]) == standard(run, graded, [name])
    assert standard(run, {"7_q1": {"p": 1, "n": -1}}, [name])[name] == {}  # nothing that is unwanted
    assert flip_rate(run, {qid: order(*"zhpmn") for qid in run}, negative) == {"7_q1": 1.0, "7_q2": 0.5}


def test_flip_rate_counts_pairs_decided_otherwise() -> None:
    # pairs p>h1, h1>h2, h2>h3. As conditions: won, won, lost; in natural language: won, lost, won
    grades = {"q": {"p": 3, "h1": 2, "h2": 1, "h3": 0}}
    base = {"q": order("p", "h1", "h3", "h2")}
    natural = {"q": order("p", "h2", "h1", "h3")}
    assert flip_rate(base, natural, grades) == {"q": pytest.approx(2 / 3)}
    assert flip_rate(base, base, grades) == {"q": 0.0}
    assert flip_rate(base, {}, grades) == {}


def test_excluirs_measures_by_hand() -> None:
    qrels = {qid: {"pos": 1, "neg": 0} for qid in "12345"} | {"6": {"pos": 1}}
    run = {
        "1": order("pos", "x", "neg"),  # R@1 1 − 0; MRR 1 − 1/3; right
        "2": order("neg", "pos"),  # 0 − 1; 1/2 − 1; wrong
        "3": order(
            *(f"x{number:02}" for number in range(9)), "pos", "neg"
        ),  # 0; 1/10 − 0; right, the other is beyond 10
        "4": order(*(f"x{number:02}" for number in range(10)), "pos"),  # 0; 0; wrong: not in the first 10
        "6": order("pos"),  # nothing to be excluded
    }
    assert delta_recall(run, qrels, 1) == {"1": 1.0, "2": -1.0, "3": 0.0, "4": 0.0, "5": 0.0}
    expected = {"1": 1 - 1 / 3, "2": -0.5, "3": 0.1, "4": 0.0, "5": 0.0}
    assert delta_mrr(run, qrels, 10) == pytest.approx(expected)
    assert right_rank(run, qrels, 10) == {"1": 1.0, "2": 0.0, "3": 1.0, "4": 0.0, "5": 0.0}
    named = standard(run, qrels, ["dR@1", "dMRR@10", "RightRank@10"])
    assert [mean(values) for values in named.values()] == pytest.approx([0.0, (1 - 1 / 3 - 0.5 + 0.1) / 5, 2 / 5])


@pytest.mark.golden(program="ExcluIR 4f39822", compared="dR@1, dMRR@10 and right rank", systems=())
def test_excluirs_measures_equal_its_own_programs() -> None:
    names = ["dR@1", "dMRR@10", "RightRank@10"]
    for case in EXCLUIR["cases"]:
        run = {str(qid): order(*map(str, docids)) for qid, docids in enumerate(case["lists"])}
        sides = enumerate(case["sides"])
        qrels = {str(qid): {str(wanted): 1, str(unwanted): 0} for qid, (unwanted, wanted) in sides}
        values = {name: mean(per_topic) for name, per_topic in standard(run, qrels, names).items()}
        assert values == pytest.approx({name: case[name] for name in names}, abs=1e-12)


def test_instfol_by_hand() -> None:
    base = {qid: order("a", "b", "c") for qid in "12345"}
    new = {qid: order("b", "c", "a") for qid in "12345"}
    grades = {
        "1": {"a": 0, "b": 1, "c": 3},  # first two: (0 + 1) / 2 → (1 + 3) / 2, so 1.5 / 2.5
        "2": {"a": 3, "b": 3, "c": 1},  # 3 → 2: a loss from the best, −1
        "3": {"a": 2, "b": 1, "c": 2},  # 1.5 → 1.5
        "4": {"a": 2, "b": -1, "c": 1},  # b is left out: 2 → 1, −1 / 1
        "5": {"b": -1},  # nothing graded
    }
    assert instfol(base, new, grades, grades, cutoff=2) == pytest.approx({"1": 0.6, "2": -1.0, "3": 0.0, "4": -1.0})
    # a model's expected grades; of each list its own
    assert instfol(base, new, {"1": {"a": 0.5}}, {"1": {"b": 1.75}}, 1) == {"1": 0.5}
    with pytest.raises(UsageError, match="found the grade 4, expected 0 to 3"):
        instfol(base, new, {"1": {"a": 4}}, {"1": {"b": 1}})


@given(SCORES, SCORES, GRADES, st.integers(1, 10), st.randoms())
def test_bounds_and_shuffled_input(
    scores: dict[str, float], new: dict[str, float], grades: dict[str, int], cutoff: int, chooser: random.Random
) -> None:
    def shuffled(values: dict[str, Any]) -> dict[str, Any]:
        items = list(values.items())
        chooser.shuffle(items)
        return dict(items)

    def values(first: dict[str, float], second: dict[str, float], judged: dict[str, int]) -> list[dict[str, float]]:
        one, qrels = {"1_a": first, "1_b": second}, {"1_a": judged, "1_b": {"d0": 1, "d1": 0}}
        names = ["WinRate", f"WinRate@{cutoff}", "MonotonicOrder", "PairwiseAccuracy", f"RightRank@{cutoff}"]
        signed = [f"dR@{cutoff}", f"dMRR@{cutoff}"]
        found = standard(one, qrels, [*names, *signed])
        flips = flip_rate({"1_a": first}, {"1_a": second}, qrels)
        gained = instfol({"1_a": first}, {"1_a": second}, qrels, qrels, cutoff)
        assert all(0 <= value <= 1 for name in names for value in found[name].values())
        assert all(-1 <= value <= 1 for name in signed for value in found[name].values())
        assert all(0 <= value <= 1 for value in flips.values())
        assert all(value <= 1 for value in gained.values())
        return [*found.values(), flips, gained]

    assert values(scores, new, grades) == values(shuffled(scores), shuffled(new), shuffled(grades))


def test_compare_computes_them_by_name(tmp_path: Path, heed: Heed) -> None:
    write_run(tmp_path / "base.run", {"1": order("p", "h", "g")}, "t")
    write_run(tmp_path / "new.run", {"1": order("h", "p", "g")}, "t")
    write_qrels(tmp_path / "q", q1="p2 h1 g0")
    names = ["WinRate", "FlipRate", "INSTFOL@1", "dMRR@10", "PairwiseAccuracy"]
    asked = [part for name in names for part in ("--measure", name)]
    found, result = compared(heed, tmp_path, "base.run", "new.run", "--qrels", "q", "--new-qrels", "q", *asked)
    means = {name: values["mean"] for name, values in found["measures"].items()}
    # p > h and h > g: both won, then one; 1/1 − 1/3 stays, since h is wanted too
    expected = {"WinRate base": 1.0, "WinRate new": 0.5, "FlipRate": 0.5, "dMRR@10 change": 0.0}
    assert {name: means[name] for name in expected} == pytest.approx(expected)
    assert means["INSTFOL@1"] == pytest.approx((1 - 2) / (3 - 2))
    assert "warning: PairwiseAccuracy: no topic has a value" in result.stderr and "INSTFOL: no" not in result.stderr
    write_qrels(tmp_path / "binary", q1="p1 h0 g0")
    told = ("--qrels", "binary", "--new-qrels", "binary", "--measure", "INSTFOL@1")
    result = compared(heed, tmp_path, "base.run", "new.run", *told)[1]
    assert "INSTFOL: no grade is above 1, where 3 is the best: at most 33% of the gain" in result.stderr

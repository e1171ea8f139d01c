"""Selectivity and p-MRR kept, Heed's own beside p-MRR: by hand, and wherever p-MRR stands."""

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import Heed
from hypothesis import given
from hypothesis import strategies as st

from heed.errors import UsageError
from heed.experiment.results import Results
from heed.measures import p_mrr, selectivity
from heed.measures.baseline import against_baseline
from heed.measures.evaluate import Judging, Pair, evaluate
from heed.measures.per_topic import Inputs
from heed.measures.summary import Detail, lower_is_better, rows_of
from heed.measures.two_runs import compare
from heed.report.page import page
from heed.report.plots import plots
from heed.report.results import read_tree
from heed.types import Run, Topic

DOCIDS = [f"d{number:02}" for number in range(12)]
BASE = ["k1", "k2", "u1", "u2", *DOCIDS]  # k stay relevant, u are ruled out
CHANGED, KEPT = {"q": ["u1", "u2"]}, {"q": ["k1", "k2"]}


def run(docids: Sequence[str]) -> Run:
    return {"q": {docid: -float(rank) for rank, docid in enumerate(docids)}}


@pytest.mark.parametrize(
    ("base", "new", "fallen", "kept"),
    [
        (BASE, BASE, 0, 0),  # moves nothing
        # sinks both kinds: u 3, 4 → 15, 16 and k 1, 2 → 13, 14, a high p-MRR and a selectivity near 0
        (BASE, [*DOCIDS, "k1", "k2", "u1", "u2"], (1 - 3 / 15 + 1 - 4 / 16) / 2, (1 - 1 / 13 + 1 - 2 / 14) / 2),
        # reverses a good list: u 3, 4 → 14, 13 and k 1, 2 → 16, 15, what stays relevant the furthest
        (BASE, BASE[::-1], (1 - 3 / 14 + 1 - 4 / 13) / 2, (1 - 1 / 16 + 1 - 2 / 15) / 2),
        # follows: u 1, 2 → 15, 16 and k 3, 4 → 1, 2
        (
            ["u1", "u2", "k1", "k2", *DOCIDS],
            ["k1", "k2", *DOCIDS, "u1", "u2"],
            (1 - 1 / 15 + 1 - 2 / 16) / 2,
            (1 / 3 - 1 + 2 / 4 - 1) / 2,
        ),
    ],
)
def test_selectivity_by_hand(base: list[str], new: list[str], fallen: float, kept: float) -> None:
    assert p_mrr(run(base), run(new), CHANGED)["q"] == pytest.approx(fallen)
    assert selectivity(run(base), run(new), CHANGED, KEPT)["q"] == pytest.approx(fallen - kept)


RANKING = st.dictionaries(st.sampled_from(DOCIDS), st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=1)
DOCUMENTS = st.sets(st.sampled_from(DOCIDS), min_size=1)


@given(RANKING, RANKING, DOCUMENTS, DOCUMENTS)
def test_it_is_between_minus_2_and_2_and_its_sign_flips_with_the_runs(
    base: dict[str, float], new: dict[str, float], changed: set[str], kept: set[str]
) -> None:
    runs, sets = ({"q": base}, {"q": new}), ({"q": changed}, {"q": kept})
    value = selectivity(*runs, *sets)["q"]
    assert -2 < value < 2
    assert value == p_mrr(*runs, sets[0])["q"] - p_mrr(*runs, sets[1])["q"]
    assert selectivity(*runs[::-1], *sets)["q"] == pytest.approx(-value, abs=1e-12)
    assert selectivity(*runs, sets[0], sets[0]) == {"q": 0.0}  # whatever happens to both kinds alike
    assert selectivity({"q": base}, {"q": base}, *sets) == {"q": 0.0}


QRELS = {"1": {"u": 1, "k": 1}, "2": {"u": 1}, "3": {"k": 1}}
NEW_QRELS = {"1": {"u": 0, "k": 1}, "2": {"u": 0}, "3": {"k": 2}}


ONCE = {"1": dict.fromkeys("abcd", 1)}
SEEN = (
    {"1": dict(zip("abcde", (9.0, 8.0, 7.0, 6.0, 5.0), strict=True))},
    {"1": dict(zip("cdaeb", (9.0, 8.0, 7.0, 6.0, 5.0), strict=True))},
)
# a 1 → 3, b 2 → 5, c 3 → 1, d 4 → 2
A, B, C, D = 1 - 1 / 3, 1 - 2 / 5, 1 / 3 - 1, 2 / 4 - 1
W = [1 / math.log2(rank + 1) for rank in range(1, 7)]
# IRS in six documents, a kept and b ruled out: the change of weights by that of the worst, a at 6 and b at 1
OPEN_IRS = ((W[2] - W[0]) - (W[4] - W[1])) / -((W[5] - W[0]) - (W[0] - W[1]))


@pytest.mark.parametrize(
    ("grades", "more", "fallen", "kept"),
    [
        ({"a": 1, "b": 0}, {}, B, A),  # c and d have no line
        ({"a": 1, "b": 0, "c": -1, "d": -2}, {}, B, A),
        ({"a": 1, "b": 0, "c": 1, "d": 1}, {}, B, (A + C + D) / 3),
        ({"a": 1, "b": 0, "c": 0, "d": 0}, {}, (B + C + D) / 3, A),
        ({"a": 1}, {}, (B + C + D) / 3, A),  # relevant documents only: the others are not
        ({"a": 1, "b": 0, "c": -1}, {"changed": {"1": {"b", "c"}}}, (B + C) / 2, A),  # a list that is given
        ({"a": 1, "b": 0, "c": -1}, {"variant": "released"}, (B + C + D) / 3, A),
    ],
)
def test_what_is_not_judged_anew_is_neither_ruled_out_nor_kept(
    grades: dict[str, int], more: dict[str, Any], fallen: float, kept: float
) -> None:
    inputs = Inputs(*SEEN, ONCE, {"1": grades}, {"1": "1"}, corpus_size=6, **more)
    values = compare(inputs, [])
    assert [values[name]["1"] for name in ("p-MRR", "p-MRR kept", "selectivity")] == pytest.approx(
        [fallen, kept, fallen - kept]
    )
    assert inputs.not_judged == ({"1": {"c", "d"}} if (fallen, kept) == (B, A) else {})
    if inputs.not_judged:
        assert values["IRS"]["1"] == pytest.approx(OPEN_IRS)


def test_a_topic_in_which_nothing_is_judged_anew_has_no_value_of_a_pair() -> None:
    values = compare(Inputs(*SEEN, ONCE, {"1": {"e": 0}}, {"1": "1"}, corpus_size=6), [])
    assert values == {}  # IRS of nothing judged would be 0
    nothing_relevant = {"1": {"e": 0}}
    assert compare(Inputs(*SEEN, nothing_relevant, {"1": {"e": 0}}, {"1": "1"}, corpus_size=6), []) == {
        "IRS": {"1": 0.0}
    }


def test_its_n_is_its_own_so_that_means_do_not_subtract() -> None:
    base = {qid: {"u": 3.0, "k": 2.0, "x": 1.0} for qid in "123"}
    new = {qid: {"k": 3.0, "x": 2.0, "u": 1.0} for qid in "123"}
    values = compare(Inputs(base, new, QRELS, NEW_QRELS, {qid: qid for qid in "123"}), [])
    # u 1 → 3, in topics 1 and 2; k 2 → 1, in 1 and 3
    assert values["p-MRR"] == pytest.approx({"1": 2 / 3, "2": 2 / 3})
    assert values["p-MRR kept"] == pytest.approx({"1": -1 / 2, "3": -1 / 2})
    assert values["selectivity"] == pytest.approx({"1": 2 / 3 + 1 / 2})


def test_where_p_mrr_or_a_second_judgement_is_absent_there_is_no_row() -> None:
    runs = ({"1": {"u": 2.0, "k": 1.0}}, {"1": {"k": 2.0, "u": 1.0}})
    names = {"1": "1"}
    assert compare(Inputs(*runs, QRELS, QRELS, names), []).keys() & {"p-MRR", "p-MRR kept", "selectivity"} == set()
    listed = compare(Inputs(*runs, {}, {}, names, changed={"1": {"u"}}), [])
    assert listed == {"p-MRR": {"1": 0.5}}
    topics = [Topic("1", "eng", "q", {"original": "i", "changed": "j"})]
    of_both = {("s", "original"): runs[0], ("s", "changed"): runs[1]}
    without = Judging({"original": QRELS, "changed": NEW_QRELS}, ("RR",), (Pair("original", "changed", ("IRS",)),))
    measures = {row["measure"] for row in evaluate(of_both, without, topics, 2)}
    assert measures == {"RR", "IRS", "IRS in neither"}


def test_systems_are_tested_by_it_as_by_p_mrr_and_of_p_mrr_kept_the_lowest_is_best() -> None:
    names = ("p-MRR", "p-MRR kept", "selectivity")
    values = {"high": {str(n): 0.5 + n / 100 for n in range(9)}, "low": {str(n): 0.1 for n in range(9)}}
    rows = against_baseline(
        [
            Detail(system=system, condition="original>changed", measure=name, value=0.0, n=9, per_topic=of_system)
            for name in names
            for system, of_system in values.items()
        ],
        [],
        "low",
        across_pools=True,
    ).rows
    assert [row["better"] for row in rows if row["system"] == "high"] == [9, 0, 9]
    # Wilcoxon: nine differences of one sign, p = 2 / 2^9
    assert all(row["p"] == pytest.approx(2 / 2**9) for row in rows if row["system"] == "high")
    assert lower_is_better("p-MRR in one only") and not lower_is_better("selectivity")


def details(**of_systems: tuple[float, float]) -> list[Detail]:
    """Return rows of systems with their nDCG, 0.5, p-MRR and selectivity."""
    return [
        Detail(system=system, condition=condition, measure=measure, value=value, n=1, per_topic={"1": value})
        for system, (fallen, selective) in of_systems.items()
        for condition, measure, value in (
            ("original", "nDCG@20", 0.5),
            ("original>changed", "p-MRR", fallen),
            ("original>changed", "p-MRR kept", fallen - selective),
            ("original>changed", "selectivity", selective),
        )
    ]


def test_printed_tables_have_it_and_p_mrr_kept_on_request() -> None:
    results = Results("c", "eng", details(s=(0.5, 0.25)))
    head = str(results).splitlines()[1].split("  ")
    assert [name.strip() for name in head if name] == ["system", "condition", "nDCG@20", "p-MRR", "selectivity", "n"]
    assert [*results.table(also=["p-MRR kept"]).columns][3:6] == ["p-MRR", "p-MRR kept", "selectivity"]
    assert results.value("s", "original>changed", "p-MRR kept") == 0.25
    judging = Judging({"original": QRELS, "changed": NEW_QRELS}, ("RR",))
    assert judging.also(["p-MRR kept", "p-MRR in one only"]) == judging
    with pytest.raises(UsageError, match="measure p-MRR kept: stands beside p-MRR, which"):
        judging._replace(pairs=()).also(["p-MRR kept"])


def test_tables_fit_into_100_columns(heed: Heed) -> None:
    options = ("--lang", "zho", "--retriever", "bm25", "--quiet")
    result = heed("pipelines.neuclir", *options)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    head = ["nDCG@20", "Judged@20", "AP", "R@100", "p-MRR", "selectivity", "n"]  # of 144 documents
    assert [name.strip() for name in lines[1].split("  ") if name] == ["system", "condition", *head]
    assert max(map(len, lines)) <= 100
    again = heed("pipelines.neuclir", *options, "--measure", "p-MRR kept", "p-MRR in neither", "nDCG@10", "P@10")
    upper, lower = (block.splitlines() for block in again.stdout.split("\n\n"))
    heads = [re.split("  +", head) for head in (upper[1], lower[0])]
    assert heads[0][2:] == ["nDCG@20", "nDCG@10", *head[1:5], "p-MRR kept", "n"]
    assert heads[1] == ["system", "condition", "selectivity", "P@10", "p-MRR in neither", "n"]
    assert [line.split()[:2] for line in upper[2:]] == [line.split()[:2] for line in lower[1:]]
    assert max(map(len, [*upper, *lower])) <= 100
    shown = heed("pipelines.neuclir", *options, "--measure", "recall_1000").stdout.splitlines()[1]  # trec_eval's name
    assert "R@1000" in re.split("  +", shown)


def test_the_plane_is_against_selectivity_and_against_p_mrr_behind_a_fold(tmp_path: Path) -> None:
    rows = details(sinks=(0.9, 0.0), follows=(0.3, 0.6))
    summary = {"collection": "c", "subset": "eng", "rows": rows_of(rows), "warnings": []}
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    found = read_tree(tmp_path)
    drawn = {plot.name: plot for plot in plots(found)}
    assert [plot.kind for plot in drawn.values()] == ["plane", "folded"]
    for name, upwards in (("plane", [0.0, 60.0]), ("plane.p-MRR", [90.0, 30.0])):
        [dots] = [one for one in drawn[name].spec["layer"] if one["mark"].get("size") == 70]
        assert [dot["y"] for dot in dots["data"]["values"]] == pytest.approx(upwards)
    text = page(found, tmp_path)
    before, _, folded = text.partition("<summary>The same by p-MRR</summary>")
    assert 'data-plot="plane"' in before and 'data-plot="plane.p-MRR"' in folded.partition("</details>")[0]

"""Can judgements be used for another system? By hand, by Cronbach's α, and on runs that chance or systems order."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from pool_inputs import write_lists

from heed.addons.judging.pools.build import RunList
from heed.addons.judging.pools.reusability import (
    Judgements,
    absent_at_depth,
    dependability,
    leave_out,
    read_teams,
    reliabilities,
    reusable_text,
    team_of,
)
from heed.errors import HeedError
from heed.measures import no_longer_relevant
from heed.types import Run
from pipelines.pool import main


def run_of(**topics: str) -> Run:
    return {
        qid.removeprefix("t"): {docid: -float(at) for at, docid in enumerate(docids)} for qid, docids in topics.items()
    }


# relevant before: a b c; a and b fall out. s moves a 1 → 4 (1 − 1/4 = .75), b 2 → 3 (1/3) and c 3 → 1 (1/3 − 1 = −2/3);
# t leaves a and b at 1 and 2, and c
RUNS = {
    "s.original": run_of(t1="abcx"),
    "s.changed": run_of(t1="cxba"),
    "t.original": run_of(t1="abyc"),
    "t.changed": run_of(t1="abcy"),
}
ORIGINAL = {"1": {"a": 1, "b": 1, "c": 1, "x": 0, "y": 0}}
CHANGED = {"1": {"a": 0, "b": 0, "c": 1, "x": 0, "y": 0}}


def test_leaving_a_system_out_by_p_mrr_and_selectivity_by_hand() -> None:
    absent = {"s": {"1": {"a", "x"}}}
    [s, t] = leave_out(RUNS, Judgements(ORIGINAL, CHANGED, 10), {"1": "1"}, absent)
    effects = {effect.measure: effect for effect in s.effects}
    assert (s.system, s.judgements, s.relevant) == ("s", 2, 1)
    assert list(effects) == ["nDCG@20", "AP", "p-MRR", "selectivity", "IRS"]
    # p-MRR of s (3/4 + 1/3) / 2 = 13/24, without a 1/3; t stays at 0
    assert effects["p-MRR"][1:] == (1, 0, pytest.approx(13 / 24 - 1 / 3))
    # c rises 3 → 1: p-MRR kept −2/3, so selectivity falls as much
    assert effects["selectivity"].loss == pytest.approx(13 / 24 - 1 / 3)
    assert all(effect[1:] == (1, 0, 0) for effect in t.effects)


def test_runs_are_measured_by_the_judgements_of_their_condition() -> None:
    [s, _] = leave_out(RUNS, Judgements(ORIGINAL, CHANGED), {"1": "1"}, {"s": {"1": {"c"}}})
    effects = {effect.measure: effect for effect in s.effects}
    # AP of s.changed is 1 by c alone, relevant there alone, and 0 without it; of s.original 1
    assert effects["AP"].loss == 1
    assert "IRS" not in effects, "the size of the corpus is not known"


def test_what_is_not_judged_under_the_change_stays_so_when_others_are_dropped() -> None:
    """b has no line beside a grade of 0, so it is not ruled out; without a's line a positive one is left."""
    judgements = Judgements({"1": {"a": 1, "b": 1, "c": 1}}, {"1": {"a": 0, "c": 1}}).without({"1": {"a"}})
    assert no_longer_relevant(judgements.original, judgements.changed or {}) == {}


def test_a_team_is_left_out_with_all_its_systems(tmp_path: Path) -> None:
    (tmp_path / "teams").write_text("s\tX\n\nu\t X\n")
    group_of = team_of(read_teams(tmp_path / "teams", ["s.original", "u", "t"]))
    lists = {
        "1": [RunList("s.original", "1", "", ["a", "b"]), RunList("u", "1", "", ["a"]), RunList("t", "1", "", ["b"])]
    }
    # a is of two systems, both of X; what is of several groups has no name
    assert absent_at_depth({"1": {"a", "b"}}, lists) == {"": {"1": {"a", "b"}}}
    assert absent_at_depth({"1": {"a", "b"}}, lists, group_of) == {"": {"1": {"b"}}, "X": {"1": {"a"}}}
    (tmp_path / "teams").write_text("s X\nv\tX\n")
    with pytest.raises(HeedError, match=r"teams, line 1: found 's X', expected a system \(s, t\), a tab.*\n.*line 2"):
        read_teams(tmp_path / "teams", ["s.original", "t"])


def test_dependability_is_cronbachs_alpha() -> None:
    """α = k / (k − 1) · (1 − Σ variance of each topic / variance of the sums), k topics as items (Cronbach 1951)."""
    table = np.array([[0.9, 0.5, 0.7, 0.8], [0.6, 0.4, 0.2, 0.5], [0.3, 0.1, 0.4, 0.0]])
    alpha = 4 / 3 * (1 - table.var(axis=0, ddof=1).sum() / table.sum(axis=1).var(ddof=1))
    share, needed = dependability(table)
    assert share == pytest.approx(alpha)
    # Spearman and Brown: n / 4 times as many topics have k·α / (1 + (k − 1)·α), which is 0.95 for k = 19 (1 − α) / α
    assert needed == int(np.ceil(4 * 19 * (1 - alpha) / alpha))


def test_where_systems_differ_by_chance_alone_no_number_of_topics_is_named() -> None:
    assert dependability(np.array([[1.0, 0.0], [0.0, 1.0]])) == (None, None)
    assert dependability(np.array([[1.0, 0.5]])) == (None, None)


def ordered_runs(order: Mapping[str, int], topics: int) -> tuple[dict[str, Run], dict[str, dict[str, int]]]:
    """Systems that put the relevant documents a to d at their place in ``order``, the same in each topic."""
    qids = [str(number) for number in range(1, topics + 1)]
    lists = {name: ["x" * (at + 1) for at in range(place)] + list("abcd") for name, place in order.items()}
    runs = {
        name: {qid: {d: -float(at) for at, d in enumerate(docids)} for qid in qids} for name, docids in lists.items()
    }
    return runs, {qid: dict.fromkeys("abcd", 1) for qid in qids}


def test_systems_that_differ_alike_in_every_topic_are_ranked_by_any_half() -> None:
    runs, qrels = ordered_runs({"A": 0, "B": 2, "C": 5}, topics=6)
    rows = {row.measure: row for row in reliabilities(runs, Judgements(qrels))}
    assert set(rows) == {"nDCG@20", "AP"}
    assert [tuple(row.half_topics or ()) for row in rows.values()] == [(1, 1, 1)] * 2
    assert all(row[2:4] == (3, 6) and row.dependability == 1 and row.needed == 1 for row in rows.values())
    assert all(row.half_pools and row.half_pools[0] == 1 for row in rows.values())


def test_systems_that_topics_order_at_random_are_not_ranked() -> None:
    """Of three systems in all six orders, an order a topic, τ between two halves is near 0 or below."""
    orders = ["ABC", "ACB", "BAC", "BCA", "CAB", "CBA"]
    runs: dict[str, Run] = {name: {} for name in "ABC"}
    for number, order in enumerate(orders):
        for place, name in enumerate(order):
            runs[name][str(number)] = {docid: -float(at) for at, docid in enumerate([*"xyz"[:place], "a"])}
    [row, *_] = reliabilities(runs, Judgements({str(number): {"a": 1} for number in range(6)}))
    assert row.half_topics and row.half_topics[0] < 0
    assert (row.dependability, row.needed) == (None, None)


def test_the_command_leaves_out_teams_and_says_how_reliable_measures_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lists = {name: {qid: list(docids) for qid, docids in run.items()} for name, run in RUNS.items()}
    paths = list(map(str, write_lists(tmp_path, lists)))
    Path("q").write_text("".join(f"1 0 {docid} {grade}\n" for docid, grade in ORIGINAL["1"].items()))
    Path("c").write_text("".join(f"1 0 {docid} {grade}\n" for docid, grade in CHANGED["1"].items()))
    Path("teams").write_text("s\tX\nt\tX\n")
    both = ["--qrels", "q", "--changed-qrels", "c", "--teams", "teams", "--corpus-size", "10"]
    assert main([*paths, *both, "--out", "p.jsonl", "--json", "s.json"]) == 0
    data = json.loads(Path("s.json").read_text())
    assert [left_out["system"] for left_out in data["teams_left_out"]] == ["X"]
    assert data["settings"]["teams"] == "teams"
    rows = {(row["measure"], row["condition"]): row["systems"] for row in data["reliability"]}
    assert rows[("p-MRR", "")] == rows[("AP", "changed")] == 2 and ("IRS", "") in rows
    printed = capsys.readouterr().out
    assert "each team left out" in printed and "how reliably the measures rank" in printed
    originals = [path for path in paths if "original" in path]
    assert main([*originals, *both[:4], "--depth", "1", "--out", "p.jsonl"]) == 0
    said = capsys.readouterr().err
    assert "warning: --changed-qrels: no effect without runs called NAME.changed.run" in said
    assert "p.jsonl: had another pool, which is replaced" in said
    assert main([*paths, "--teams", "teams", "--out", "p.jsonl"]) == 1
    assert "--teams: only used with --qrels" in capsys.readouterr().err


def test_a_finished_pool_says_the_same_of_its_runs_in_100_columns() -> None:
    names = {"s": "bm25+a-reranker-of-a-name", "t": "t"}
    runs = {names[name[0]] + name[1:]: run for name, run in RUNS.items()}
    judged = Judgements(ORIGINAL, CHANGED, 10, teams=dict.fromkeys(names.values(), "X"))
    lines = reusable_text(runs, {"1": ["a", "b", "c", "x", "y"]}, judged).splitlines()
    # x is of s alone, y of t alone; neither is relevant
    assert [line.split()[:3] for line in lines if line.startswith(tuple(names.values()))][:2] == [
        [names["s"], "1", "0"],
        ["t", "1", "0"],
    ]
    [whole] = [line.split() for line in lines if line.startswith("X ") and line.split()[1:3] == ["5", "3"]]
    # without judgements, nDCG@20 and AP of all four runs are 0: tied, no ranks dropped, all lost
    assert whole[3:] == ["0.000", "0", "100.0%"] * 2
    [heads, _] = [" ".join(line.split()) for line in lines if "selectivity τ" in line]
    assert heads == "left out p-MRR τ drop loss selectivity τ drop loss IRS τ drop loss"
    assert max(map(len, lines)) <= 100

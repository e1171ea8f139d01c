"""What a pool consists of, the names of its runs, and what leaving a system out does: worked by hand."""

import contextlib
import io
import json
from pathlib import Path

import pytest
from pool_inputs import write_lists

from heed.addons.judging.pools.build import RunList, base_topics, ranked_lists, run_names, system_of
from heed.addons.judging.pools.reusability import Judgements, absent_at_depth, leave_out, lists_reached
from heed.addons.judging.pools.statistics import Sizes, depths, overlaps, retrieved_documents, shares, sizes
from heed.errors import HeedError
from pipelines.pool import main

LISTS = [RunList("a", "1", "", ["d1", "d2", "d3"]), RunList("b", "1", "", ["d2", "d3", "d4", "d5"])]


def test_shares_and_overlaps_by_hand() -> None:
    held = retrieved_documents({"1": ["d5", "d4", "d3", "d2", "d1"]}, {"1": LISTS}, ["a", "b", "c"])
    assert [(one.run, one.documents, one.unique) for one in shares(held)] == [("a", 3, 1), ("b", 4, 2), ("c", 0, 0)]
    # both hold d2 and d3, of 3 and of 4
    assert overlaps(held) == {
        "a": {"a": 1, "b": 2 / 3, "c": 0}, "b": {"a": 2 / 4, "b": 1, "c": 0}, "c": {"a": 0, "b": 0, "c": 0},
    }  # fmt: skip


def test_only_pooled_documents_count() -> None:
    held = retrieved_documents({"1": ["d1", "d2"], "2": ["d3"]}, {"1": LISTS}, ["a", "b"])
    assert [(one.documents, one.unique) for one in shares(held)] == [(2, 1), (1, 0)]


def test_the_conditions_of_a_system_are_one_system() -> None:
    lists = [one._replace(run=f"s.{name}") for one, name in zip(LISTS, ("original", "changed"), strict=True)]
    other = RunList("t", "1", "", ["d5"])
    held = retrieved_documents(
        {"1": ["d1", "d2", "d3", "d4", "d5"]}, {"1": [*lists, other]}, ["s.changed", "s.original", "t"]
    )
    # of s.changed's d2 d3 d4 d5 d4 alone is of no other run; no other system has d2, d3 and d4
    assert [(one.unique, one.system_unique) for one in shares(held)] == [(1, 3), (1, 3), (0, 0)]
    names = ["bm25.query", "bm25+rm3.short", "x.other", "query", ".query"]
    assert [system_of(name) for name in names] == ["bm25", "bm25+rm3", "x.other", "query", ".query"]


def test_sizes() -> None:
    assert sizes({"1": ["a"], "2": ["a", "b"], "3": ["a", "b", "c", "d"]}) == Sizes(3, 7, 1, 2, 4)


def test_names_are_as_long_as_they_must_be(tmp_path: Path) -> None:
    paths = [tmp_path / one for one in ("zho/bm25.query.run", "fas/bm25.query.run.gz", "lsa.txt", "old/fas/e5.run")]
    assert list(run_names(paths)) == ["zho/bm25.query", "fas/bm25.query", "lsa.txt", "e5"]
    assert run_names(paths) == run_names(paths[::-1])
    assert system_of("zho/bm25.query") == "zho/bm25"
    with pytest.raises(HeedError, match=r"a.run and .*a.run.gz: would have one name with another; rename one"):
        run_names([tmp_path / "a.run", tmp_path / "a.run.gz"])


@pytest.mark.parametrize(
    ("qids", "bases"),
    [
        ("12-og 12-changed 13-reversed 12", "12 12 13 12"),
        ("3 3_0 3_1", "3 3 3"),
        ("3_0 3_1 4_0", "3 3 4_0"),  # 4_0 is alone, so nothing tells that 4 is a query
        ("a_b a_b_1 c_d", "a_b a_b c_d"),
        ("2022_15", "2022_15"),
        ("x_1-og x_2-og", "x_1 x_2"),
    ],
)
def test_base_topics(qids: str, bases: str) -> None:
    assert list(base_topics(qids.split()).values()) == bases.split()


def test_lists_are_split_by_language() -> None:
    runs = {"b": {"1": {"x": 3.0, "z": 2.0, "y": 1.0}}, "a": {"1": {"y": 1.0}, "2": {"y": 1.0}}}
    languages = {"x": "rus", "y": "rus", "z": "fas"}
    assert ranked_lists(runs, {"1": "1"}, languages) == {
        "1": [
            RunList("a", "1", "rus", ["y"]),
            RunList("b", "1", "fas", ["z"]),
            RunList("b", "1", "rus", ["x", "y"]),
        ]
    }


# relevant: a, which system A alone found, and c. AP before: A (1/1 + 2/2) / 2 = 1, B (1/1) / 2 = .5, C (1/2) / 2 = .25.
# Without a: A (1/2) / 1 = .5, B (1/1) / 1 = 1, C .5: A falls from rank 1 to 2 and loses half.
# Pairs of systems: A B changes sign (−1), A C becomes a tie (0), B C stays (+1): τ-b = 0 / sqrt(3 · 2).
# nDCG@20: ideal 1 + 1/log2(3) = 1.6309; A 1.6309/1.6309, B 1/1.6309, C .6309/1.6309; then A .6309, B 1, C .6309.
SYSTEMS = {"A": ["a", "c", "m"], "B": ["c", "m", "n"], "C": ["m", "c", "p"]}
QRELS = {"1": {"a": 1, "c": 1, "m": 0, "n": 0, "p": 0}}


def test_leaving_a_system_out_by_hand() -> None:
    runs = {name: {"1": {docid: float(-at) for at, docid in enumerate(docids)}} for name, docids in SYSTEMS.items()}
    lists = {"1": [RunList(name, "1", "", docids) for name, docids in SYSTEMS.items()]}
    absent = absent_at_depth({"1": {"a", "c", "m", "n", "p"}}, lists)
    found = {one.system: one for one in leave_out(runs, Judgements(QRELS), {"1": "1"}, absent)}
    assert [(one.judgements, one.relevant) for one in found.values()] == [(1, 1), (1, 0), (1, 0)]
    ndcg, ap = found["A"].effects
    assert (ap.measure, ap.tau, ap.drop, ap.loss) == ("AP", 0, 1, pytest.approx(0.5))
    assert (ndcg.measure, ndcg.tau, ndcg.drop, ndcg.loss) == ("nDCG@20", 0, 1, pytest.approx(1 - 0.6309, abs=1e-4))
    for system in "BC":  # what they alone brought is not relevant: nothing moves
        assert [(one.tau, one.drop, one.loss) for one in found[system].effects] == [(1, 0, 0)] * 2


# Topic 1 of three lists; depth 2 gives a b c d e, and so does a budget of 5. All lists are in it to rank 2, A's to 3:
# e is at rank 2 of C and 3 of A, and brought by C alone.
DEEP = {"A": ["a", "b", "e", "f"], "B": ["b", "c", "g", "a"], "C": ["d", "e", "h", "i"]}


def test_the_depth_that_a_pool_reached_by_hand() -> None:
    def reached(pooled: str, other: str = "", judged: str = "") -> dict[str, int]:
        topics = {"1": [RunList(name, "1", "", docids) for name, docids in DEEP.items()]}
        topics["2"] = [RunList("A", "2", "", list("xyz")), RunList("B", "2", "", list("y"))]
        pool = {"1": list(pooled)} | ({"2": list(other)} if other else {})
        return depths(lists_reached(pool, {"1": set(judged)}, topics))

    assert reached("abcde") == {"1": 2}
    assert reached("abcdeg") == {"1": 3}  # g is the third of its only list: the budget took one of the next depth
    assert reached("abd") == {"1": 1}  # b is at rank 1 of B, so rank 1 alone gives it
    assert reached("abcde", "xyz") == {"1": 2, "2": 3}
    # y is at rank 1 of B, so topic 2 takes no document from below rank 1; all its lists are in the pool to rank 2
    assert reached("abcde", "xy") == {"1": 2, "2": 2}
    assert reached("ab", judged="cde") == {"1": 1}
    assert reached("abe", judged="cd") == {"1": 2}


def pool_figures(folder: Path, *options: object) -> tuple[dict, bytes, str]:
    out, figures = folder / "p.jsonl", folder / "s.json"
    paths = sorted(folder.glob("*.run"))
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        assert main([*map(str, (*paths, "--qrels", folder / "q", *options, "--out", out, "--json", figures))]) == 0
    found = json.loads(figures.read_text())
    del found["settings"]
    return found, out.read_bytes(), stream.getvalue()


@pytest.mark.parametrize(
    "options", [("--budget", 5), ("--depth", 3, "--size", 9, "--budget", 5), ("--sample", "1-2:1")]
)
def test_the_same_pool_has_the_same_statistics_however_it_was_asked_for(
    tmp_path: Path, options: tuple[object, ...]
) -> None:
    write_lists(tmp_path, {name: {"1": docids} for name, docids in DEEP.items()})
    (tmp_path / "q").write_text("1 0 a 1\n1 0 e 1\n1 0 c 0\n1 0 g 1\n")
    by_depth, other = pool_figures(tmp_path, "--depth", 2), pool_figures(tmp_path, *options)
    strata = by_depth[0].pop("strata"), other[0].pop("strata")
    assert not strata[0]
    assert other[:2] == by_depth[:2]
    found = by_depth[0]
    # A has b with B, a and no e at rank 2 alone; B has c; C has d and e
    assert [(one["documents"], one["unique"], one["depth_reached"]) for one in found["runs"]] == [
        (2, 1, 2),
        (2, 1, 2),
        (2, 2, 2),
    ]
    assert (found["depth_reached"], found["per_topic"]["depths"]) == (2, {"1": 2})
    assert "depth reached: 2, " in by_depth[2]


def test_a_pool_is_made_again_without_a_system_under_the_same_budget(tmp_path: Path) -> None:
    write_lists(tmp_path, {name: {"1": docids} for name, docids in DEEP.items()})
    (tmp_path / "q").write_text("1 0 a 1\n1 0 e 1\n1 0 c 0\n1 0 g 1\n")
    found = pool_figures(tmp_path, "--budget", 5)[0]
    rebuilt = {one["system"]: (one["judgements"], one["relevant"]) for one in found["left_out"]}
    at_depth = {one["system"]: (one["judgements"], one["relevant"]) for one in found["left_out_at_depth"]}
    # without A: b c d e to rank 2, and of g and h (1/63 each) h: a is lost. Without B: a b d e, then h: c is lost.
    # Without C: a b c to rank 2, then e and g at rank 3: d, which is unjudged, is lost, and e is not
    assert rebuilt == {"A": (1, 1), "B": (1, 0), "C": (0, 0)}
    assert at_depth == {"A": (1, 1), "B": (1, 0), "C": (1, 1)}
    # C finds e alone: AP (1/2) / 3 before; without the judgement of e it scores 0
    effects = {one["system"]: one["effects"]["AP"]["loss"] for one in found["left_out_at_depth"]}
    assert effects["C"] == 1
    assert {one["system"]: one["effects"]["AP"]["loss"] for one in found["left_out"]}["C"] == 0


def test_a_pool_cut_by_sizes_is_made_again_with_as_many_documents_of_each_topic(tmp_path: Path) -> None:
    write_lists(tmp_path, {name: {"1": docids, "2": docids[:2]} for name, docids in DEEP.items()})
    (tmp_path / "q").write_text("".join(f"{qid} 0 {docid} 1\n" for qid in "12" for docid in "abcdefghi"))
    found = pool_figures(tmp_path, "--size", "1=2", "--size", "2=5")[0]
    # topic 1: b 1/62 + 1/61 = .0325, a 1/61 + 1/64 = .03202, e 1/62 + 1/63 = .03200: b and a. Topic 2: all five.
    # Without A: d and b 1/61, a 1/64: a is lost, and in topic 2. Without B: e .03200, then d and a 1/61: a and b are
    # lost, and c in topic 2. Without C: b and a again; d and e are lost in topic 2
    assert {one["system"]: one["judgements"] for one in found["left_out"]} == {"A": 2, "B": 3, "C": 2}


def test_systems_are_left_out_with_all_their_conditions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lists = {"A.query": SYSTEMS["A"], "A.original": SYSTEMS["A"][:1], "B.query": SYSTEMS["B"], "C": SYSTEMS["C"]}
    paths = write_lists(tmp_path, {name: {"1": docids} for name, docids in lists.items()})
    (tmp_path / "q").write_text("".join(f"1 0 {docid} {grade}\n" for docid, grade in QRELS["1"].items()))
    assert main([*map(str, paths), "--qrels", "q", "--out", "p.jsonl", "--json", "s.json"]) == 0
    found = {one["system"]: one for one in json.loads((tmp_path / "s.json").read_text())["left_out"]}
    assert list(found) == ["A", "B", "C"]
    # a is held by two runs of A and by nobody else; A.original, which has no more, loses all it had
    # AP before: A.query 1, A.original 1/2, B .5, C .25; after .5, 0, 1, .5: ranks 1 and 2 become 2 and 4
    assert found["A"]["relevant"] == 1
    assert (found["A"]["effects"]["AP"]["loss"], found["A"]["effects"]["AP"]["drop"]) == (1, 2)
    assert "unique to system" in capsys.readouterr().out


def test_leaving_out_says_which_judgements_there_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = write_lists(tmp_path, {name: {"1": docids} for name, docids in SYSTEMS.items()})
    arguments = [*map(str, paths), "--qrels", "q", "--out", "p.jsonl", "--json", "s.json"]
    # of the pooled a c m n p three have no grade; x is relevant and in no list, y not pooled and not relevant
    (tmp_path / "q").write_text("1 0 a 1\n1 0 c 1\n1 0 m -1\n1 0 x 2\n1 0 y 0\n")
    assert main(arguments) == 0
    gaps = "1 relevant document is not in this pool; 3 pooled documents are not judged"
    printed = capsys.readouterr()
    assert gaps in printed.out and f"warning: --qrels: {gaps}" in printed.err
    assert any(gaps in warning for warning in json.loads((tmp_path / "s.json").read_text())["warnings"])
    (tmp_path / "q").write_text("".join(f"1 0 {docid} {grade}\n" for docid, grade in QRELS["1"].items()))
    assert main(arguments) == 0
    printed = capsys.readouterr()
    assert "not judged" not in printed.out + printed.err
    assert json.loads((tmp_path / "s.json").read_text())["warnings"] == []


def test_only_chosen_topics_are_ranked(tmp_path: Path) -> None:
    paths = write_lists(tmp_path, {name: {"1": docids, "2": docids} for name, docids in SYSTEMS.items()})
    (tmp_path / "q").write_text("1 0 a 1\n1 0 c 1\n2 0 c 1\n")
    out = ["--out", str(tmp_path / "p.jsonl"), "--json", str(tmp_path / "s.json")]
    assert main([*map(str, paths), "--topic", "1", "--qrels", str(tmp_path / "q"), *out]) == 0
    found = json.loads((tmp_path / "s.json").read_text())["left_out"][0]
    # over topic 1 alone A's AP falls from 1 to .5; over both from (1 + .5) / 2 to (.5 + .5) / 2, by a third
    assert found["effects"]["AP"]["loss"] == pytest.approx(0.5)


def test_judgements_that_cannot_score_the_runs_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = write_lists(tmp_path, {"A": {"1-og": ["a"]}, "B": {"1-changed": ["b"]}})
    (tmp_path / "q").write_text("1 0 a 1\n")
    arguments = [*map(str, paths), "--qrels", "q", "--out", "p.jsonl"]
    assert main(arguments) == 1
    assert "qrels: none of its topics (1) is pooled (1-changed, 1-og are)" in capsys.readouterr().err
    assert main([*arguments, "--by-base"]) == 1
    assert "qrels: its topics (1) are those of the pool, not those of the runs" in capsys.readouterr().err
    (tmp_path / "q").write_text("1-og 0 a 1\n")
    assert main([str(paths[0]), "--qrels", "q", "--out", "p.jsonl"]) == 0
    assert "all runs are of one system, so none is left out" in capsys.readouterr().err

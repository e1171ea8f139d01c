"""From runs by system and condition to figures; ranks and figures by hand."""

import math
from typing import Any

import pytest
from comparing import order

from heed.errors import HeedError
from heed.measures.evaluate import CHANGED, Judging, Pair, against_query, evaluate, shifts, values_as_seen
from heed.measures.summary import Detail
from heed.progress import gathering
from heed.types import SubtopicGrades, Topic

A, B = {"1": {"a": 1}}, {"1": {"b": 1}}


def values_of(details: list[Detail]) -> dict[tuple[str, str, str], tuple[float, int]]:
    found = {(one["system"], one["condition"], one["measure"]): (one["value"], one["n"]) for one in details}
    assert len(found) == len(details)
    return found


@pytest.mark.parametrize(
    ("condition", "expected"),
    [("original", A), ("query", A), ("keywords", A), ("short", A), ("changed", {}), ("reversed", {}), ("other", {})],
)
def test_only_the_query_and_ablations_take_the_judgements_of_original(condition: str, expected: object) -> None:
    assert Judging({"original": A}).of(condition) == expected
    assert Judging({"original": A, condition: B}).of(condition) == B
    assert Judging({"changed": A}).of(condition) == (A if condition == "changed" else {})


def test_judgements_by_language_give_rows_for_each_language() -> None:
    # the list z1 f1 z2; z2 and f1 are relevant: RR is 1/2 in all, 1/3 by the Chinese judgements, 1/2 by the Persian
    grades = SubtopicGrades({"zho": {"z1": 0, "z2": 1}, "fas": {"f1": 1}})
    only_zho = SubtopicGrades({"zho": {"z1": 1}})
    topics = [Topic(qid, "eng", "q", {"original": "i"}) for qid in ("1", "2")]
    run = {"1": {"z1": 3.0, "f1": 2.0, "z2": 1.0}, "2": {"z1": 1.0}}
    judging = Judging({"original": {"1": grades, "2": only_zho}}, ("RR", "StRecall@1"), ())
    found = values_of(evaluate({("s", "original"): run}, judging, topics, 3))
    assert found == {
        ("s", "original", "RR"): (0.75, 2),
        ("s", "original", "StRecall@1"): (0.5, 2),
        ("s", "original fas", "RR"): (0.5, 1),
        ("s", "original zho", "RR"): (pytest.approx((1 / 3 + 1) / 2), 2),
    }
    nuggets = {"1": SubtopicGrades({"n1": {"z1": 0}, "n2": {"f1": 1}})}
    [row] = evaluate({("s", "original"): run}, Judging({"original": nuggets}, ("RR",), ()), topics, 3)
    assert row["condition"] == "original"


def test_further_measures_are_checked_before_anything_runs() -> None:
    judging = Judging({"original": A, "changed": B})
    more = judging.also(["RR", "nDCG@20", "FlipRate"])
    assert more.measures == (*judging.measures, "RR")
    assert more.pairs == (Pair("original", "changed", ("p-MRR", "FlipRate")),)
    with pytest.raises(HeedError, match="measure StRecall@20: needs judgements by subtopic"):
        judging.also(["StRecall@20"])
    # p > h becomes h > p: one pair of one
    qrels = {"1": {"a": 1, "b": 0}}
    runs = {("s", "original"): {"1": order(*"ab")}, ("s", "changed"): {"1": order(*"ba")}}
    topics = [Topic("1", "eng", "q", {"original": "i", "changed": "j"})]
    details = evaluate(runs, Judging({"original": qrels, "changed": qrels}).also(["FlipRate"]), topics, 2)
    assert values_of(details)["s", "original>changed", "FlipRate"] == (1.0, 1)


INSTRUCTED = [Topic("1", "eng", "q", dict.fromkeys(("keywords", "original", "changed", "reversed"), "i"))]


def test_every_run_is_judged_by_the_qrels_of_its_condition() -> None:
    conditions = ("query", "keywords", "original", "changed", "reversed")
    runs = {("s", condition): {"1": order(*"ab")} for condition in conditions}
    found = values_of(evaluate(runs, Judging({"original": A, "changed": B}, ("RR",), ()), INSTRUCTED, 2))
    assert found == {
        ("s", "query", "RR"): (1.0, 1),
        ("s", "keywords", "RR"): (1.0, 1),
        ("s", "original", "RR"): (1.0, 1),
        ("s", "changed", "RR"): (0.5, 1),
    }


def test_judged_topics_that_a_run_lacks_count_0_and_those_that_are_no_topics_do_not_count() -> None:
    topics = [Topic(qid, "eng", "q", {"original": "i"}) for qid in ("1", "2")]
    qrels = {qid: {"a": 1} for qid in ("1", "2", "gone")}
    runs = {("s", "original"): {"1": order(*"ab"), "gone": order(*"a")}}
    [row] = evaluate(runs, Judging({"original": qrels}, ("RR",), ()), topics, 2)
    assert row["per_topic"] == {"1": 1.0, "2": 0.0}
    assert (row["value"], row["n"]) == (0.5, 2)


def test_a_topic_of_one_condition_is_judged_under_that_condition_alone() -> None:
    topics = [Topic("1", "eng", "q", {}), Topic("1_0", "eng", "q", {"original": "i"}, "", "1")]
    qrels = {"query": {"1": {"a": 1}, "1_0": {"a": 1}}, "original": {"1": {"a": 1}, "1_0": {"b": 1}}}
    runs = {("s", condition): {"1": order(*"ab"), "1_0": order(*"ab")} for condition in ("query", "original")}
    details = evaluate(runs, Judging(qrels, ("RR",), ()), topics, 2)
    assert {one["condition"]: one["per_topic"] for one in details} == {"query": {"1": 1.0}, "original": {"1_0": 0.5}}


# FollowTable's form: two instructions on one query; x and y are relevant to it, and only one of them with each
TABLES = [
    Topic("1", "eng", "q", {}),
    Topic("1_0", "eng", "q", {"original": "i"}, "C1", "1"),
    Topic("1_1", "eng", "q", {"original": "j"}, "S2", "1"),
    Topic("2", "eng", "r", {}),
    Topic("2_0", "eng", "r", {"original": "i"}, "C1", "2"),
]
TABLE_QRELS = {
    "query": {"1": {"x": 1, "y": 1}, "2": {"x": 1, "y": 1}},
    "original": {"1_0": {"x": 1}, "1_1": {"y": 1, "x": 0}, "2_0": {"x": 1}},
}
TABLE_RUNS = {
    ("s", "query"): {"1": order(*"xyz"), "2": order(*"yxz")},
    # y falls from 2 to 3; x from 1 to 2; y stays at 1
    ("s", "original"): {"1_0": order(*"xzy"), "1_1": order(*"yxz"), "2_0": order(*"yxz")},
}
TABLE_PAIR = Pair("query", "original", ("p-MRR", "IRS", "NFR"))


def tables(**changed: Any) -> Judging:
    return Judging(**{"qrels": TABLE_QRELS, "measures": ("RR",), "pairs": (TABLE_PAIR,), **changed})


def test_a_pair_compares_each_instruction_with_its_bare_query() -> None:
    details = evaluate(TABLE_RUNS, tables(traps={"1_0": {"y", "z"}}), TABLES, 3)
    found = {one["measure"]: one["per_topic"] for one in details if one["condition"] == "query>original"}
    assert found["p-MRR"] == pytest.approx({"1_0": 1 - 2 / 3, "1_1": 1 - 1 / 2, "2_0": 0.0})
    # w = 1, w2, 1/2. 1_0 gains 0 − (1/2 − w2) of the ideal (1 − 1/2) − (1 − w2): all of it
    # 1_1 gains (1 − w2) − (w2 − 1) of (1 − 1/2) − (w2 − 1); 2_0 is not moved at all
    w2 = 1 / math.log2(3)
    assert found["IRS"] == pytest.approx({"1_0": 1.0, "1_1": (2 - 2 * w2) / (1.5 - w2), "2_0": 0.0})
    assert found["NFR"] == {"1_0": 0.5}  # z rose from 3 to 2, y fell
    # of a larger corpus the ideal puts the unwanted table at rank 9
    [larger] = [one for one in evaluate(TABLE_RUNS, tables(), TABLES, 9) if one["measure"] == "IRS"]
    assert larger["per_topic"]["1_0"] == pytest.approx((w2 - 1 / 2) / (w2 - 1 / math.log2(10)))


def test_kinds_of_instruction_have_rows_over_their_own_topics() -> None:
    found = values_of(evaluate(TABLE_RUNS, tables(types=("C1", "C2", "S2")), TABLES, 3))
    assert found["s", "C1", "RR"] == ((1 + 1 / 2) / 2, 2)
    assert found["s", "S2", "RR"] == (1.0, 1)
    assert found["s", "C1", "p-MRR"] == (pytest.approx((1 - 2 / 3) / 2), 2)
    assert found["s", "S2", "p-MRR"] == (pytest.approx(1 / 2), 1)
    assert {condition for _, condition, _ in found} == {"query", "original", "query>original", "C1", "S2"}
    bare = values_of(evaluate(TABLE_RUNS, tables(), TABLES, 3))
    assert bare == {key: value for key, value in found.items() if key[1] not in ("C1", "S2")}


def test_a_pair_has_the_measures_that_are_requested_and_possible() -> None:
    def measures(judging: Judging) -> list[str]:
        details = evaluate(TABLE_RUNS, judging, TABLES, 3)
        return [one["measure"] for one in details if one["condition"] == "query>original"]

    of_p_mrr = ["p-MRR", "p-MRR kept", "selectivity", "p-MRR in neither", "p-MRR in one only"]
    assert measures(tables()) == [*of_p_mrr, "IRS", "IRS in neither"]  # no traps, no NFR
    assert measures(tables(pairs=(Pair("query", "original", ("IRS",)),))) == ["IRS", "IRS in neither"]
    # without a corpus's size p-MRR can be measured, WISE and SICR need a reversed run
    three = tables(pairs=(Pair("query", "original", ("p-MRR", "WISE", "SICR"), "reversed"),))
    assert measures(three) == of_p_mrr
    assert measures(tables(qrels={"query": TABLE_QRELS["query"]})) == []


def test_a_system_without_one_of_the_two_runs_has_no_pair() -> None:
    runs = {**TABLE_RUNS, ("t", "original"): TABLE_RUNS["s", "original"]}
    found = values_of(evaluate(runs, tables(), TABLES, 3))
    assert found["t", "original", "RR"] == found["s", "original", "RR"]
    assert {system for system, condition, _ in found if condition == "query>original"} == {"s"}


def test_a_topic_that_one_run_lacks_is_logged_and_n_falls(capsys: pytest.CaptureFixture[str]) -> None:
    short = {**TABLE_RUNS, ("s", "query"): {"1": order(*"xyz")}}
    found = values_of(evaluate(short, tables(), TABLES, 3))
    assert found["s", "query>original", "p-MRR"][1] == found["s", "query>original", "IRS"][1] == 2
    assert found["s", "query", "RR"] == (0.5, 2)
    assert capsys.readouterr().err == "warning: s: p-MRR is over 2 of 3 topics; not in both runs: 2_0\n"
    evaluate({**TABLE_RUNS, ("s", "query"): {"9": order(*"xyz")}}, tables(), TABLES, 3)
    assert "s: p-MRR is over 0 of 3 topics; not in both runs: 1_0, 1_1, 2_0\n" in capsys.readouterr().err
    evaluate(TABLE_RUNS, tables(), TABLES, 3)
    assert capsys.readouterr().err == ""


def test_followirs_pair_compares_topics_of_one_id() -> None:
    topics = [Topic("1", "eng", "q", {"original": "i", "changed": "j"})]
    qrels = {"original": {"1": {"a": 2, "b": 1}}, "changed": {"1": {"a": 0, "b": 1}}}
    runs = {("s", "original"): {"1": order(*"abc")}, ("s", "changed"): {"1": order(*"bca")}}
    found = values_of(evaluate(runs, Judging(qrels, ("RR",)), topics, 3))
    assert found["s", "original>changed", "p-MRR"] == (pytest.approx(1 - 1 / 3), 1)
    assert Judging(qrels).pairs == (CHANGED,)


# InfoSearch's form: one query, two instructions, each a topic with all three conditions
THREE = [Topic(qid, "eng", "q", {"original": "i", "reversed": "j"}) for qid in ("1_0", "1_1")]
THREE_QRELS = {
    "query": {"1_0": {"a": 1, "b": 1}, "1_1": {"a": 1, "b": 1}},
    "original": {"1_0": {"a": 1, "b": 0}, "1_1": {"a": 0, "b": 1}},
    "reversed": {"1_0": {"a": 0, "b": 1}, "1_1": {"a": 1, "b": 0}},
}
THREE_RUNS = {
    ("s", "query"): {"1_0": order(*"abc"), "1_1": order(*"abc")},
    ("s", "original"): {"1_0": order(*"acb"), "1_1": order(*"cab")},
    ("s", "reversed"): {"1_0": order(*"bac"), "1_1": order(*"abc")},
}


def test_robust_gives_the_worst_of_a_query_and_the_mean_rank_of_what_stays_relevant() -> None:
    pair = Pair("query", "original", ("p-MRR", "WISE", "SICR"), "reversed")
    details = evaluate(THREE_RUNS, Judging(THREE_QRELS, ("nDCG@10",), (pair,), robust=True), THREE, 3)
    found = {(one["condition"], one["measure"]): one["per_topic"] for one in details}
    assert found["original", "nDCG@10"] == pytest.approx({"1_0": 1.0, "1_1": 0.5})
    assert found["original", "Robustness@10"] == pytest.approx({"q": 0.5})
    assert found["reversed", "Robustness@10"] == pytest.approx({"q": 1.0})
    assert found["query", "Robustness@10"] == pytest.approx({"q": 1.0})
    # gold is a, then b, whatever the condition
    assert found["query", "mean gold rank"] == {"1_0": 1.0, "1_1": 2.0}
    assert found["original", "mean gold rank"] == {"1_0": 1.0, "1_1": 3.0}
    assert found["reversed", "mean gold rank"] == {"1_0": 2.0, "1_1": 2.0}
    # 1_0: 1, 1, 2 of 2 judged: 1; 1_1: 2, 3, 2: (2 − 3) / 3
    assert found["query>original", "WISE"] == pytest.approx({"1_0": 1.0, "1_1": -1 / 3})
    # 1_0: b from 2 to 3; 1_1: a from 1 to 2
    assert found["query>original", "p-MRR"] == pytest.approx({"1_0": 1 - 2 / 3, "1_1": 1 - 1 / 2})
    # all documents are in all lists
    neither = {measure: values for (_, measure), values in found.items() if measure.endswith(" in neither")}
    assert neither == {f"{measure} in neither": {"1_0": 0.0, "1_1": 0.0} for measure in ("p-MRR", "WISE", "SICR")}
    assert found["query>original", "p-MRR in one only"] == {"1_0": 0.0, "1_1": 0.0}
    # 1_0: a, relevant in both, stays at 1; 1_1: b falls from 2 to 3
    assert found["query>original", "p-MRR kept"] == pytest.approx({"1_0": 0.0, "1_1": 1 - 2 / 3})
    assert found["query>original", "selectivity"] == pytest.approx({"1_0": 1 / 3, "1_1": 1 / 2 - 1 / 3})
    assert len(found) == 3 * 3 + 2 * 3 + 3


def test_what_the_file_of_the_instructed_topic_leaves_open_is_in_no_measure_and_no_shift() -> None:
    """Two topics on one query: each file decides for its own topic, -1 as a missing line beside a 0."""
    qrels = {
        "query": {"1": {"x": 1, "y": 1, "z": 1}},
        "original": {"1_0": {"x": 1, "y": 0, "z": -1}, "1_1": {"x": 0}},
    }
    runs = {
        ("s", "query"): {"1": order(*"zyx")},
        ("s", "original"): {"1_0": order(*"xzy"), "1_1": order(*"yzx")},
        ("s", "reversed"): {"1_0": order(*"zyvx"), "1_1": order(*"zyx")},
    }
    pair = Pair("query", "original", ("p-MRR", "IRS", "WISE"), "reversed")
    with gathering([]) as warnings:
        details = evaluate(runs, Judging(qrels, ("RR",), (pair,)), TABLES[:3], 4)
    found = {one["measure"]: one["per_topic"] for one in details if one["condition"] == "query>original"}
    # 1_0: y from 2 to 3, x from 3 to 1; 1_1: x stays at 3; y and z are of neither kind
    assert found["p-MRR"] == pytest.approx({"1_0": 1 - 2 / 3, "1_1": 0.0})
    assert found["p-MRR kept"] == pytest.approx({"1_0": 1 / 3 - 1})
    # two documents judged, so that x, from 3 to 1 and then to 4, is beyond them: (1 − 2 ÷ 20) ÷ √1
    assert found["WISE"] == pytest.approx({"1_0": 0.9})
    left_open = "3 relevant documents are not judged under the new condition (topic 1_0: 1, 1_1: 2)"
    assert warnings.count(f"query>original: {left_open}: neither ruled out nor kept") == 1
    moved = shifts(runs, Judging(qrels, ("RR",), (pair,)), TABLES[:3])
    assert {(one["qid"], one["docid"], one["group"]) for one in moved} == {
        ("1_0", "x", "compliant"),
        ("1_0", "y", "violating"),
        ("1_1", "x", "violating"),
    }


def test_robustness_which_is_by_query_is_no_figure_of_a_kind_of_instruction() -> None:
    topics = [topic._replace(type="T") for topic in THREE]
    pair = Pair("query", "original", ("p-MRR",))
    details = evaluate(THREE_RUNS, Judging(THREE_QRELS, ("nDCG@10",), (pair,), robust=True, types=("T",)), topics, 3)
    counted = {one["measure"]: one["n"] for one in details if one["condition"] == "T"}
    of_p_mrr = ("p-MRR", "p-MRR in neither", "p-MRR in one only", "p-MRR kept", "selectivity")
    assert counted == dict.fromkeys(("nDCG@10", "mean gold rank", *of_p_mrr), 2)


def test_shifts_are_the_ranks_of_judged_documents_under_the_first_pair() -> None:
    later = Pair("original", "query", ("p-MRR",))
    moved = shifts({**TABLE_RUNS, ("t", "query"): {}}, tables(pairs=(TABLE_PAIR, later)), TABLES)
    assert [tuple(one.values()) for one in moved] == [
        ("s", "1_0", "x", "compliant", 1, 1),
        ("s", "1_1", "y", "compliant", 2, 1),
        ("s", "2_0", "x", "compliant", 2, 2),
        ("s", "1_0", "y", "violating", 2, 3),
        ("s", "1_1", "x", "violating", 1, 2),
        ("s", "2_0", "y", "violating", 1, 1),
    ]


def test_shifts_give_a_missing_document_the_place_behind_its_list() -> None:
    runs = {("s", "query"): {"1": order(*"xy")}, ("s", "original"): {"1_0": order(*"x")}}
    moved = [one for one in shifts(runs, tables(), TABLES) if one["group"] == "violating"]
    assert [(one["qid"], one["docid"], one["base"], one["new"]) for one in moved] == [("1_0", "y", 2, 2)]


def test_nothing_judged_gives_no_figure_and_no_shift() -> None:
    assert evaluate(TABLE_RUNS, tables(qrels={}), TABLES, 3) == []
    assert shifts(TABLE_RUNS, tables(qrels={}), TABLES) == []


def test_the_query_alone_is_scored_by_the_judgements_of_each_instruction() -> None:
    """Five instructed topics of one query, whose qids the run of the query takes; x is relevant to the query itself."""
    topics = [Topic(f"1_{at}", "eng", "q", {"original": "i", "reversed": "r"}, base="1") for at in range(5)]
    qids = [topic.qid for topic in topics]
    qrels = {
        "query": {"1": {"x": 1}},
        "original": {qid: {"y": 1} for qid in qids},
        "reversed": {qid: {"x": 1} for qid in qids[:4]},
    }
    runs = {
        ("s", "query"): {"1": order(*"yx")},
        ("s", "original"): {qid: order(*"xy") for qid in qids},
        ("s", "reversed"): {qid: order(*"xy") for qid in qids},
        ("alone", "original"): {qid: order(*"xy") for qid in qids},
    }
    judging = Judging(qrels, ("RR", "nDCG@10"), ())
    rows = against_query(runs, judging, topics, evaluate(runs, judging, topics, 2))
    second = 1 / math.log2(3)  # nDCG of one relevant document at rank 2
    assert [tuple(row.values()) for row in rows] == [
        # y from rank 1 to rank 2 in all five: of 2^5 sign flips one has so low a sum
        ("s", "original", "nDCG@10", pytest.approx(1.0), pytest.approx(second), 1 / 32, 5),
        # x from rank 2 to rank 1 in the four judged ones: no sum is higher
        ("s", "reversed", "nDCG@10", pytest.approx(second), pytest.approx(1.0), 1.0, 4),
    ]
    assert against_query(runs, Judging(qrels, ("RR",), ()), topics, []) == []


def test_documents_in_none_of_the_lists_count_as_not_moved_where_a_verdict_is_doubtful() -> None:
    """Of four ruled-out documents one is seen, from rank 1 to 2; three lie behind lists of 1 and of 3 documents."""
    topics = [Topic("1", "eng", "q", {"original": "i", "changed": "c"})]
    qrels = {"original": {"1": dict.fromkeys("abcde", 1)}, "changed": {"1": dict.fromkeys("abcd", 0) | {"e": 1}}}
    runs = {("s", "original"): {"1": order(*"a")}, ("s", "changed"): {"1": order(*"xay")}}
    judging = Judging(qrels, (), (CHANGED,))
    details = evaluate(runs, judging, topics, 9)
    # a: 1 − 1/2; b, c, d and e, which stays relevant: from rank 2 to rank 4, 1 − 2/4
    values = {each["measure"]: each["value"] for each in details}
    assert (values["p-MRR"], values["selectivity"]) == (0.5, 0.0)
    rows = values_as_seen(runs, judging, topics, details)
    assert [(each["measure"], each["per_topic"], each["unseen"], each["documents"]) for each in rows] == [
        ("p-MRR", {"1": 0.5 / 4}, 3, 4),
        ("selectivity", {"1": 0.5 / 4}, 4, 5),
    ]
    alike = {("s", "original"): {"1": order(*"axy")}, ("s", "changed"): {"1": order(*"xay")}}
    assert values_as_seen(alike, judging, topics, evaluate(alike, judging, topics, 9)) == []  # of one length


def test_what_wise_ranks_behind_all_three_lists_counts_as_not_moved() -> None:
    topics = [Topic("1", "eng", "q", {"original": "i", "reversed": "r"})]
    qrels = {name: {"1": {"a": 1, "b": 1}} for name in ("query", "original")}
    runs = {
        ("s", "query"): {"1": order(*"xa")},
        ("s", "original"): {"1": order(*"a")},
        ("s", "reversed"): {"1": order(*"xya")},
    }
    judging = Judging(qrels, (), (Pair("query", "original", ("WISE",), "reversed"),))
    details = evaluate(runs, judging, topics, 9)
    # a: from rank 2, of 2 judged, to rank 1, and 3 in reverse, is 1; b is behind the lists, at 3, 2 and 4
    assert [each["value"] for each in details if each["measure"] == "WISE"] == [
        pytest.approx((1 + (1 - 1 / 20) / math.sqrt(2)) / 2)
    ]
    [row] = values_as_seen(runs, judging, topics, details)
    assert (row["measure"], row["per_topic"], row["unseen"], row["documents"]) == ("WISE", {"1": 0.5}, 1, 2)

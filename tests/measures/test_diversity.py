"""Judgements by subtopic: kept from file to file, and the measures that need them."""

import json
import math
from pathlib import Path

import pytest
from comparing import order
from conftest import ROOT

from heed.errors import UsageError
from heed.formats.trec_files import read_qrels, write_qrels
from heed.measures import alpha_ndcg, standard, subtopic_recall
from heed.types import SubtopicGrades, subtopics_of

GOLDEN = json.loads((ROOT / "tests" / "data" / "golden" / "pyndeval.json").read_text())
# the nuggets n1, n2 and n3: a has the first two, b the first, c the third
UNKNOWN = ("AP(rel=__import__('os'))", "__import__", "Nonsense")
BAD_CUTOFFS = ("AP@", "nDCG@x", "nDCG@010", "nDCG@²", "P@-1", "P@0")
QRELS = "1 n1 a 1\n1 n2 a 1\n1 n1 b 2\n1 n3 c 1\n1 n3 d 0\n"


def test_subtopics_survive_reading_and_writing(tmp_path: Path) -> None:
    (tmp_path / "q").write_text(QRELS + "2 0 a 1\n2 Q0 b 0\n")
    qrels = read_qrels(tmp_path / "q")
    assert qrels == {"1": {"a": 1, "b": 2, "c": 1, "d": 0}, "2": {"a": 1, "b": 0}}
    assert subtopics_of(qrels["1"]) == {"n1": {"a": 1, "b": 2}, "n2": {"a": 1}, "n3": {"c": 1, "d": 0}}
    assert subtopics_of(qrels["2"]) == {"0": {"a": 1, "b": 0}}
    write_qrels(tmp_path / "again", qrels)
    again = read_qrels(tmp_path / "again")
    assert [subtopics_of(again[qid]) for qid in ("1", "2")] == [subtopics_of(qrels[qid]) for qid in ("1", "2")]


def test_a_file_with_one_value_in_column_2_has_no_subtopics(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("1 zho a 1\n2 zho b 0\n")
    qrels = read_qrels(tmp_path / "q")
    assert [type(grades) for grades in qrels.values()] == [dict, dict]
    write_qrels(tmp_path / "again", qrels)
    assert (tmp_path / "again").read_text() == "1 0 a 1\n2 0 b 0\n"


def test_a_document_has_the_highest_of_its_grades(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("1 n1 a 0\n1 n2 a 2\n1 n3 a 1\n")
    assert read_qrels(tmp_path / "q") == {"1": {"a": 2}}


def test_alpha_ndcg_and_subtopic_recall_by_hand(tmp_path: Path) -> None:
    (tmp_path / "q").write_text(QRELS)
    qrels, run = read_qrels(tmp_path / "q"), {"1": order("b", "a", "c")}
    # b gains 1 (n1); a 1/2 (n1 again) + 1 (n2); c 1. Ideal: a 2, then c 1, then b 1/2
    gain = 1 + 1.5 / math.log2(3) + 1 / 2
    ideal = 2 + 1 / math.log2(3) + 0.5 / 2
    assert alpha_ndcg(run, qrels, 10) == {"1": pytest.approx(gain / ideal)}
    assert [subtopic_recall(run, qrels, cutoff)["1"] for cutoff in (1, 2, 3)] == pytest.approx([1 / 3, 2 / 3, 1])
    values = standard(run, qrels, ["alpha_nDCG@10", "α_nDCG(alpha=0)@10", "StRecall(rel=2)@1", "AP"])
    assert values["alpha_nDCG@10"]["1"] == pytest.approx(gain / ideal)
    # without a discount for what is known b gains 1, a 2, c 1; ideal a, then the others
    assert values["α_nDCG(alpha=0)@10"]["1"] == pytest.approx((1.5 + 2 / math.log2(3)) / (2.5 + 1 / math.log2(3)))
    assert values["StRecall(rel=2)@1"] == {"1": 1.0}
    assert values["AP"] == {"1": 1.0}  # over documents, each once
    assert standard({}, qrels, ["alpha_nDCG@10"]) == {"alpha_nDCG@10": {"1": 0.0}}


@pytest.mark.golden(program="pyndeval 0.0.8", compared="alpha_nDCG and subtopic recall", systems=())
def test_they_equal_ndevals() -> None:
    for case in GOLDEN["cases"]:
        qrels, run = {"q": SubtopicGrades(case["subtopics"])}, {"q": order(*case["ranking"])}
        name = f"alpha_nDCG(alpha={case['alpha']})@{case['cutoff']}"
        assert standard(run, qrels, [name])[name]["q"] == pytest.approx(case["alpha_nDCG"], abs=1e-6), case
        assert subtopic_recall(run, qrels, case["cutoff"])["q"] == pytest.approx(case["StRecall"], abs=1e-6), case


def test_without_subtopics_they_are_refused() -> None:
    with pytest.raises(UsageError, match="alpha_nDCG@10: needs judgements by subtopic, in column 2 of the qrels"):
        standard({"1": {"a": 1.0}}, {"1": {"a": 1}}, ["alpha_nDCG@10"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AP(rel=2)", 1 / 2),  # b alone, second
        ("RR@1", 0.0),  # x is not relevant
        ("RR(rel=2)@10", 1 / 2),
        ("nDCG(dcg='exp-log2')@20", (3 / math.log2(3) + 1 / 2) / (3 + 1 / math.log2(3))),  # gains 2^2 − 1 and 2^1 − 1
        ("ERR@20", 3 / 16 / 2 + (1 - 3 / 16) * 1 / 16 / 3),  # chances 3/16 and 1/16 of being satisfied
        (
            "SetF(beta=0.5)",
            1.5 * (2 / 3) / (0.5 * (2 / 3) + 1),
        ),  # precision 2/3, recall 1, by trec_eval's (x + 1) P R / (R + x P)
        ("Accuracy", 0.0),  # the one document that is not relevant is above both
        ("IPrec@0.1", 2 / 3),
        ("NumRet", 3.0),
    ],
)
def test_every_program_of_ir_measures_is_asked(name: str, value: float) -> None:
    run = {"007-x": {"x": 3.0, "b": 2.0, "a": 1.0}}  # gdeval alone would read the id's end as a number
    assert standard(run, {"007-x": {"a": 1, "b": 2, "x": -1}}, [name])[name]["007-x"] == pytest.approx(value, abs=6e-6)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("P_IA@10", "its program is not installed: pip install"),
        ("AP(colour=1)", "unknown parameter colour"),
        *((name, "unknown") for name in UNKNOWN),
        *((name, "its cutoff is no number from 1") for name in BAD_CUTOFFS),
        ("P", "needs a cutoff"),
        ("Rprec@5", "takes no cutoff"),
        ("dR", "needs a cutoff"),
        ("MonotonicOrder@3", "takes no cutoff"),
        ("BPM@10", "needs the parameter max_rel"),
        ("RR(judged_only=True)@10", "no program of ir_measures computes it so"),
    ],
)
def test_what_cannot_be_computed_says_why(name: str, said: str) -> None:
    qrels = {"1": SubtopicGrades({"n1": {"a": 1}, "n2": {"a": 1}})}
    with pytest.raises(UsageError, match=said):
        standard({"1": {"a": 1.0}}, qrels, [name])

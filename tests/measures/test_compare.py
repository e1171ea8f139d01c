"""``python -m pipelines.compare``: all systems of a folder, and the command as a user runs it."""

import json
import re
from pathlib import Path

import pytest
from conftest import Heed, write_jsonl
from mteb_predictions import RUN, mteb_file

from heed.formats.trec_files import write_run
from heed.measures.system_comparison import compare_by, compare_systems

COMMAND = "pipelines.compare"


def test_the_best_system_and_those_like_it() -> None:
    values = {
        "best": {str(n): 0.9 for n in range(20)},
        "like": {str(n): 0.9 + (0.01 if n % 2 else -0.011) for n in range(20)},
        "worse": {str(n): 0.5 for n in range(20)},
    }
    for measure in ("p-MRR", "AP"):
        comparison = compare_by(measure, values, correct=True)
        assert comparison.best == "best" and comparison.missing == {}
        assert comparison.p_values.keys() == {"like", "worse"}
        assert comparison.p_values["like"] > 0.05 > comparison.p_values["worse"]


@pytest.mark.parametrize("measure", ["NFR", "FlipRate@20", "mean gold rank"])
def test_of_measures_of_failures_the_lowest_is_best(measure: str) -> None:
    values = {"often": {"1": 0.75, "2": 0.5}, "seldom": {"1": 0.25, "2": 0.5}}
    assert compare_by(measure, values, correct=False).best == "seldom"


def test_systems_of_a_folder_are_compared_as_data(files: Path) -> None:
    judgements = {qid: {"x": 1, "y": 1} for qid in "12"}, {qid: {"x": 0, "y": 1} for qid in "12"}
    for system, name in (("good", "new"), ("same", "base")):
        for condition, run in (("original", "base"), ("changed", name)):
            (files / f"{system}.{condition}.run").write_bytes((files / f"{run}.run").read_bytes())
    write_run(files / "few.original.run", {"1": {"x": 2.0, "y": 1.0}}, "few")
    write_run(files / "few.changed.run", {"1": {"y": 2.0, "x": 1.0}}, "few")
    compared = compare_systems(files, *judgements, measures=["AP"])
    assert compared.conditions == ("original", "changed")
    assert compared.measures.keys() == {"p-MRR", "p-MRR kept", "selectivity", "AP base", "AP new"}
    p_mrr = compared.measures["p-MRR"]
    assert p_mrr.per_topic["few"] == {"1": 0.5}
    assert p_mrr.means == {"few": 0.5, "good": pytest.approx(1 / 3), "same": 0.0}
    assert (p_mrr.best, p_mrr.missing) == ("good", {"few": 1})
    assert p_mrr.p_values == {"same": pytest.approx(1.0)}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Two topics; document x is wanted no longer. Base: x first; new: x third of topic 1, first of topic 2."""
    base = {"1": {"x": 3.0, "y": 2.0, "z": 1.0}, "2": {"x": 2.0, "y": 1.0}}
    new = {"1": {"y": 3.0, "z": 2.0, "x": 1.0}, "2": {"x": 2.0, "y": 1.0}}
    write_run(tmp_path / "base.run", base, "base")
    write_run(tmp_path / "new.run", new, "new")
    write_run(tmp_path / "rev.run", base, "rev")
    (tmp_path / "q").write_text("1 0 x 1\n1 0 y 1\n2 0 x 1\n2 0 y 1\n")
    (tmp_path / "n").write_text("1 0 x 0\n1 0 y 1\n2 0 x 0\n2 0 y 1\n")
    return tmp_path


def test_the_command_writes_the_contracts_json(files: Path, heed: Heed) -> None:
    result = heed(
        COMMAND, "base.run", "new.run", "--qrels", "q", "--new-qrels", "n", "--corpus-size", 3, "--json", "c.json"
    )
    assert result.returncode == 0, result.stderr
    found = json.loads((files / "c.json").read_text())
    assert found["per_topic"]["p-MRR"] == {"1": pytest.approx(1 - 1 / 3), "2": 0.0}
    p_mrr = found["measures"]["p-MRR"]
    assert (p_mrr["mean"], p_mrr["n"]) == (pytest.approx(1 / 3), 2)
    assert (p_mrr["up"], p_mrr["equal"], p_mrr["down"]) == (0.5, 0.5, 0.0)
    assert p_mrr["low"] <= p_mrr["mean"] <= p_mrr["high"]
    assert found["per_topic"]["IRS"]["1"] == pytest.approx(1.0)
    assert found["per_topic"]["AP new"] == {"1": 1.0, "2": 0.5}
    assert "p-MRR" in result.stdout and "33.3" in result.stdout


def test_a_published_difference_serves_instead_of_new_qrels(files: Path, heed: Heed) -> None:
    write_jsonl(files / "diff.jsonl", [{"query-id": "1", "corpus-ids": ["x"]}])
    result = heed(COMMAND, "base.run", "new.run", "--qrel-diff", "diff.jsonl", "--json", "c.json", "--per-topic")
    assert result.returncode == 0, result.stderr
    assert json.loads((files / "c.json").read_text())["per_topic"] == {"p-MRR": {"1": pytest.approx(2 / 3)}}


def test_a_third_run_gives_wise_and_sicr_and_traps_give_nfr(files: Path, heed: Heed) -> None:
    write_jsonl(files / "traps.jsonl", [{"query-id": "1", "corpus-ids": ["y", "x"]}])
    arguments = ("base.run", "new.run", "rev.run", "--qrels", "q", "--new-qrels", "n", "--traps", "traps.jsonl")
    result = heed(COMMAND, *arguments, "--json", "c.json")
    assert result.returncode == 0, result.stderr
    found = json.loads((files / "c.json").read_text())["per_topic"]
    assert found["NFR"] == {"1": 0.5}
    assert found["WISE"] == {"1": 0.0, "2": 0.0}  # reversed is where the original was
    assert found["SICR"] == {"1": 0.0, "2": 0.0}
    assert found["mean gold rank new"] == {"1": 1.0, "2": 2.0}


def test_mteb_predictions_of_both_conditions_in_one_file(files: Path, heed: Heed) -> None:
    mteb_file(files / "T_predictions.json", zho={"test": RUN})
    write_jsonl(files / "diff.jsonl", [{"query-id": "1", "corpus-ids": ["a"]}])
    result = heed(COMMAND, "T_predictions.json", "T_predictions.json", "--qrel-diff", "diff.jsonl", "--json", "c.json")
    assert result.returncode == 0, result.stderr
    assert json.loads((files / "c.json").read_text())["per_topic"] == {"p-MRR": {"1-changed": 0.5}}


def test_several_instructions_of_a_query_are_paired_and_give_robustness(files: Path, heed: Heed) -> None:
    write_run(files / "ins.run", {"1_0": {"y": 2.0, "x": 1.0}, "1_1": {"x": 2.0, "y": 1.0}}, "ins")
    (files / "i").write_text("1_0 0 y 1\n1_1 0 y 1\n")
    result = heed(COMMAND, "base.run", "ins.run", "--qrels", "q", "--new-qrels", "i", "--json", "c.json")
    assert result.returncode == 0, result.stderr
    found = json.loads((files / "c.json").read_text())
    assert found["per_topic"]["Robustness@10"] == {"1": pytest.approx(0.6309297536)}
    assert found["measures"]["p-MRR"]["n"] == 2


def test_the_lowest_rank_is_best_and_a_system_that_lacks_topics_is_not_marked(tmp_path: Path, heed: Heed) -> None:
    """Gold rank 1 is better than 3; ``few`` has but one of the two topics, at its best."""
    orders = {"good": ["g", "x", "y"], "bad": ["x", "y", "g"], "few": ["g", "x", "y"]}
    for system, docids in orders.items():
        topics = ["1"] if system == "few" else ["1", "2"]
        run = {qid: {docid: float(3 - at) for at, docid in enumerate(docids)} for qid in topics}
        for condition in ("query", "original", "reversed"):
            write_run(tmp_path / f"runs/{system}.{condition}.run", run, system)
    (tmp_path / "q").write_text("1 0 g 1\n2 0 g 1\n")
    result = heed(COMMAND, "--runs", "runs", "--qrels", "q", "--new-qrels", "q")
    assert result.returncode == 0, result.stderr
    head, *lines = result.stdout.splitlines()[1:5]
    names = re.split(r"  +", head.strip())
    rows = {
        cells[0]: dict(zip(names, cells, strict=True)) for cells in (re.split(r"  +", one.strip()) for one in lines)
    }
    rank = "mean gold rank new"
    assert [rows[system][rank].strip("_") for system in orders] == ["**1.0**", "3.0", "1.0"]
    assert [rows[system]["n"] for system in orders] == ["2", "2", "1"]
    assert not any("*" in cell for cell in rows["few"].values())
    assert f"{rank}: not marked, since topics are missing: few (1 of 2)" in result.stderr


def test_judgements_of_several_languages_are_logged_and_one_can_be_taken(tmp_path: Path, heed: Heed) -> None:
    """NIST's file of 2022 has the language in column 2."""
    for name in ("base", "new"):
        write_run(tmp_path / f"{name}.run", {"1": {"z": 2.0, "x": 1.0}}, name)
    (tmp_path / "q").write_text("1 zho z 1\n1 fas f 1\n1 rus r 1\n")
    arguments = ("base.run", "new.run", "--qrels", "q", "--new-qrels", "q", "--measure", "AP", "--json", "c.json")
    merged, alone = heed(COMMAND, *arguments), heed(COMMAND, *arguments, "--lang", "zho", "--json", "z.json")
    assert merged.returncode == alone.returncode == 0, alone.stderr
    assert "q: judgements of zho, fas, rus are taken together" in merged.stderr and "together" not in alone.stderr
    found = [json.loads((tmp_path / name).read_text())["measures"]["AP base"]["mean"] for name in ("c.json", "z.json")]
    assert found == [pytest.approx(1 / 3), 1.0]


def test_systems_of_a_folder_of_queries_and_instructions(tmp_path: Path, heed: Heed) -> None:
    folder = tmp_path / "runs"
    write_run(folder / "one.query.run", {"3": {"a": 2.0, "b": 1.0}}, "one")
    write_run(folder / "one.original.run", {"3_0": {"b": 2.0, "a": 1.0}, "3_1": {"a": 2.0, "b": 1.0}}, "one")
    (tmp_path / "q").write_text("3 0 a 1\n3 0 b 1\n")
    (tmp_path / "i").write_text("3_0 0 a 0\n3_0 0 b 1\n3_1 0 a 0\n3_1 0 b 1\n")
    sizes = ("--corpus-size", 4, "--json", "c.json")
    result = heed(COMMAND, "--runs", "runs", "--qrels", "q", "--new-qrels", "i", *sizes)
    assert result.returncode == 0, result.stderr
    assert "query → original" in result.stdout
    found = json.loads((tmp_path / "c.json").read_text())["per_topic"]
    assert found["p-MRR"]["one"] == {"3_0": 0.5, "3_1": 0.0}  # a, ruled out: from rank 1 to 2, or kept
    # w(1) = 1, w(2) = .63, w(4) = .43: gain (1 − .63) − (.63 − 1) of the ideal (1 − .63) − (.43 − 1)
    assert found["IRS"]["one"]["3_0"] == pytest.approx((2 * (1 - 0.63093)) / ((1 - 0.63093) + (1 - 0.43068)), abs=1e-4)


def test_a_topic_that_is_in_no_other_file_is_reported_with_its_line(files: Path, heed: Heed) -> None:
    lines = (files / "new.run").read_text()
    (files / "typo.run").write_text(f"{lines}99 Q0 x 1 1.0 new\n98 Q0 x 1 1.0 new\n")
    result = heed(COMMAND, "base.run", "typo.run", "--qrels", "q", "--new-qrels", "n", "--quiet")
    assert result.returncode == 1
    errors = [line for line in result.stderr.splitlines() if not line.startswith("warning: ")]
    assert [line.split(": topic")[0] for line in errors] == ["error: typo.run, line 6", "error: typo.run, line 7"]
    (files / "q").write_text((files / "q").read_text() + "99 0 x 1\n98 0 x 1\n")  # judged, so only without a partner
    result = heed(COMMAND, "base.run", "typo.run", "--qrels", "q", "--new-qrels", "n")
    assert result.returncode == 0
    assert "2 topics of the new run have no partner" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("base.run",), "1 runs given; expected BASE NEW [REVERSED]"),
        (("base.run", "absent.run"), "absent.run: no such file"),
        (("base.run", "new.run"), "nothing can be measured: give --qrels"),
        (("--runs", "."), "--runs needs --qrels and --new-qrels"),
        (("--runs", ".", "--qrels", "q", "--new-qrels", "n"), "no <system>.original.run"),
        (("base.run", "bad.run", "--qrels", "q"), "bad.run, line 2: 5 columns, expected 6"),
        (
            ("base.run", "new.run", "--qrels", "q", "--new-qrels", "n", "--corpus-size", "1"),
            "fit into a corpus of 1",
        ),
        (("base.run", "new.run", "--qrels", "q", "--measure", "nDGC@5"), "measure 'nDGC@5': unknown"),
        (("base.run", "new.run", "--qrel-diff", "q"), "q, line 1: not JSON"),
        *(
            (("base.run", "new.run", "--qrels", "q", "--measure", name), f"measure {name!r}: unknown")
            for name in ("P@0", "nDCG@0", "R@0", "AP@0", "AP@", "nDCG@010", "nDCG@²", "P@-1")  # 0 ends trec_eval
        ),
        (("base.run", "new.run", "--qrels", "q", "--measure", "P"), "measure P: needs a cutoff"),
        (("base.run", "new.run", "--qrels", "q", "--measure", "Rprec@5"), "measure Rprec@5: takes no cutoff"),
        (("base.run", "--runs", ".", "--pairs", "p", "--per-topic"), "RUN, --pairs, --per-topic: not used with --runs"),
        (("--runs", ".", "--traps", "t"), "--traps: not used with --runs"),
        (("base.run", "new.run", "--difference", "0"), "--difference: found 0, expected a number above 0"),
        (("base.run", "new.run", "--holm"), "--holm: corrects p-values of several systems; give --runs"),
    ],
)
def test_problems_are_reported_in_one_line(files: Path, heed: Heed, arguments: tuple[str, ...], said: str) -> None:
    (files / "bad.run").write_text("1 Q0 x 1 1.0 t\n1 Q0 y 2 t\n")
    result = heed(COMMAND, *arguments, "--quiet")
    assert result.returncode == 1
    [line] = result.stderr.splitlines()
    assert said in line

"""``python -m pipelines.compare``: all systems of a folder, and the command as a user runs it."""

import json
from pathlib import Path

import pytest
from comparing import compared, order, write_qrels
from conftest import Heed, write_jsonl
from drinks import Twice, Words, collection
from mteb_predictions import RUN, mteb_file

from heed import Experiment
from heed.errors import UsageError
from heed.formats.trec_files import write_run
from heed.measures.evaluate import Judging, Pair


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Two topics; document x is wanted no longer. Base: x first; new: x third of topic 1, first of topic 2."""
    write_run(tmp_path / "base.run", {"1": order("x", "y", "z"), "2": order("x", "y")}, "base")
    write_run(tmp_path / "new.run", {"1": order("y", "z", "x"), "2": order("x", "y")}, "new")
    write_qrels(tmp_path / "q", q1="x1 y1", q2="x1 y1")
    write_qrels(tmp_path / "n", q1="x0 y1", q2="x0 y1")
    return tmp_path


def test_a_folder_is_compared_as_it_is_now(tmp_path: Path, heed: Heed) -> None:
    """Words is twice the same system."""
    of = collection()
    with Experiment(of, indexes=tmp_path / "indexes", out=tmp_path / "runs") as experiment:
        experiment.evaluate([experiment.retrieve(Words()), experiment.retrieve(Twice())])
    folder = tmp_path / "runs/drinks/eng"
    gone = [*folder.glob("twice.*.run")]
    for run in gone:
        run.rename(tmp_path / run.name)
    assert {row["system"] for row in compared(heed, tmp_path, folder)[0]["rows"]} == {"words"}
    for run in gone:
        (tmp_path / run.name).rename(run)
    assert {row["system"] for row in compared(heed, tmp_path, folder)[0]["rows"]} == {"words", "twice"}
    summary = json.loads((folder / "summary.json").read_text())
    (folder / "summary.json").write_text(json.dumps({**summary, "systems": []}))  # as an earlier version wrote it
    found, _ = compared(heed, tmp_path, folder, "--baseline", "words")
    assert {row["p"] for row in found["rows"] if row["system"] == "twice" and row["measure"] == "AP"} == {1.0}
    refused = heed("pipelines.compare", folder, "--corpus-size", "3", "--quiet")
    assert "--corpus-size: not used here" in refused.stderr


@pytest.mark.golden(program="ir-measures 0.4.3", compared="means over topics that a run lacks", systems=())
@pytest.mark.parametrize(
    ("base", "new", "judged"),
    [
        ("{}", "{}", "{}"),
        ("{}-og", "{}-changed", "{}"),
        ("{}-og", "{}-changed", ""),
        ("{}", "{}_0", ""),
        ("a{}", "b{}", ""),
    ],
)
def test_judged_topics_that_a_run_lacks_count_0_as_in_ir_measures(
    tmp_path: Path, heed: Heed, base: str, new: str, judged: str
) -> None:
    """Topic 1 is in both runs, 2 in the base run, 3 in the new one, 4 in neither; judged by the runs' ids or others."""
    import ir_measures

    theirs = {}
    for side, form, topics in (("base", base, "12"), ("new", new, "13")):
        run = {form.format(qid): order("x", "y") for qid in topics}
        qrels = {form.format(qid): {"y": 1, "x": int(side == "base")} for qid in "1234"}
        theirs[side] = ir_measures.calc_aggregate([ir_measures.AP], qrels, run)[ir_measures.AP]
        write_run(tmp_path / f"{side}.run", run, side)
        ids = [judged.format(qid) or form.format(qid) for qid in "1234"]
        (tmp_path / f"{side}.qrels").write_text(
            "".join(f"{qid} 0 y 1\n{qid} 0 x {int(side == 'base')}\n" for qid in ids)
        )
    (tmp_path / "pairs.tsv").write_text("".join(f"{new}\t{base}\n".format(qid, qid) for qid in "1234"))
    paired = ("--pairs", "pairs.tsv") if base == "a{}" else ()
    judgements = ("--qrels", "base.qrels", "--new-qrels", "new.qrels", "--measure", "AP")
    found, result = compared(heed, tmp_path, "base.run", "new.run", *judgements, *paired)
    rows = {name: (row["mean"], row["n"]) for name, row in found["measures"].items()}
    assert theirs == {"base": 2 / 4, "new": 2 * (1 / 2) / 4}
    assert (rows["AP base"], rows["AP new"], rows["AP change"]) == ((theirs["base"], 4), (theirs["new"], 4), (-0.25, 4))
    assert sorted(found["per_topic"]["AP change"].values()) == [-1.0, -0.5, 0.0, 0.5]
    assert rows["p-MRR"] == (0.0, 1)  # a measure of both lists has no value where one is missing
    for side in ("base", "new"):
        assert f"2 judged topics are not in the {side} run and count 0 in its means" in result.stderr


PAIR = ("base.run", "new.run", "--qrels", "q", "--new-qrels", "n")


def test_the_command_writes_the_contracts_json(files: Path, heed: Heed) -> None:
    found, result = compared(heed, files, *PAIR, "--corpus-size", 3)
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
    found, _ = compared(heed, files, *PAIR[:2], "--qrel-diff", "diff.jsonl", "--per-topic")
    assert found["per_topic"] == {"p-MRR": {"1": pytest.approx(2 / 3)}}


def test_a_third_run_gives_wise_and_sicr_and_traps_give_nfr(files: Path, heed: Heed) -> None:
    write_jsonl(files / "traps.jsonl", [{"query-id": "1", "corpus-ids": ["y", "x"]}])
    values = compared(heed, files, *PAIR[:2], "base.run", *PAIR[2:], "--traps", "traps.jsonl")[0]["per_topic"]
    assert values["NFR"] == {"1": 0.5}
    assert values["WISE"] == {"1": 0.0, "2": 0.0}  # reversed is where the original was
    assert values["SICR"] == {"1": 0.0, "2": 0.0}
    assert values["mean gold rank new"] == {"1": 1.0, "2": 2.0}


@pytest.mark.parametrize(
    ("measure", "needs"),
    [
        ("NFR", "needs --traps FILE, documents with what is negated"),
        ("IRS", "needs --corpus-size N"),
        ("WISE", "needs runs under a reversed instruction"),
        ("SICR", "needs runs under a reversed instruction"),
    ],
)
def test_a_measure_that_is_asked_for_says_what_it_needs(files: Path, heed: Heed, measure: str, needs: str) -> None:
    result = heed("pipelines.compare", *PAIR, "--measure", measure)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == f"error: measure {measure}: {needs}, which this comparison has not\n"
    judging = Judging({"original": {"1": {"a": 1}}})
    if measure != "IRS":  # an experiment knows the number of its documents
        needs = needs.replace("--traps FILE", "traps")  # no option of the commands that run a collection
        with pytest.raises(
            UsageError, match=f"measure {measure}: {needs}, which this collection has not; heed compare"
        ):
            judging.also([measure])
    three = judging._replace(traps={"1": {"a"}}, pairs=(Pair("query", "original", (), "reversed"),))
    assert three.also([measure]).pairs[0].measures == (measure,)


def test_mteb_predictions_of_both_conditions_in_one_file(files: Path, heed: Heed) -> None:
    mteb_file(files / "T_predictions.json", zho={"test": RUN})
    write_jsonl(files / "diff.jsonl", [{"query-id": "1", "corpus-ids": ["a"]}])
    found, _ = compared(heed, files, *["T_predictions.json"] * 2, "--qrel-diff", "diff.jsonl")
    assert found["per_topic"] == {"p-MRR": {"1-changed": 0.5}}


def test_several_instructions_of_a_query_are_paired_and_give_robustness(files: Path, heed: Heed) -> None:
    write_run(files / "ins.run", {"1_0": order("y", "x"), "1_1": order("x", "y")}, "ins")
    write_qrels(files / "i", q1_0="y1", q1_1="y1")
    found, _ = compared(heed, files, "base.run", "ins.run", "--qrels", "q", "--new-qrels", "i")
    assert found["per_topic"]["Robustness@10"] == {"1": pytest.approx(0.6309297536)}
    assert found["measures"]["p-MRR"]["n"] == 2


def test_judgements_of_several_languages_are_logged_and_one_can_be_taken(tmp_path: Path, heed: Heed) -> None:
    """NIST's file of 2022 has the language in column 2."""
    for name in ("base", "new"):
        write_run(tmp_path / f"{name}.run", {"1": order("z", "x")}, name)
    (tmp_path / "q").write_text("1 zho z 1\n1 fas f 1\n1 rus r 1\n")
    arguments = ("base.run", "new.run", "--qrels", "q", "--new-qrels", "q", "--measure", "AP")
    (merged, told), (alone, untold) = (compared(heed, tmp_path, *arguments, *lang) for lang in ((), ("--lang", "zho")))
    assert "q: judgements of zho, fas, rus are taken together" in told.stderr and "together" not in untold.stderr
    assert [found["measures"]["AP base"]["mean"] for found in (merged, alone)] == [pytest.approx(1 / 3), 1.0]


def test_a_topic_that_is_in_no_other_file_is_reported_with_its_line(files: Path, heed: Heed) -> None:
    lines = (files / "new.run").read_text()
    (files / "typo.run").write_text(f"{lines}99 Q0 x 1 1.0 new\n98 Q0 x 1 1.0 new\n")
    result = heed("pipelines.compare", "base.run", "typo.run", "--qrels", "q", "--new-qrels", "n", "--quiet")
    assert result.returncode == 1
    errors = [line for line in result.stderr.splitlines() if not line.startswith("warning: ")]
    assert [line.split(": topic")[0] for line in errors] == ["error: typo.run, line 6", "error: typo.run, line 7"]
    (files / "q").write_text((files / "q").read_text() + "99 0 x 1\n98 0 x 1\n")  # judged: base lacks them
    _, result = compared(heed, files, "base.run", "typo.run", "--qrels", "q", "--new-qrels", "n")
    assert "2 judged topics are not in the base run and count 0 in its means: 98, 99" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("base.run", "--new-qrels", "n"), "1 runs given; expected BASE NEW [REVERSED]"),
        (("base.run", "absent.run"), "absent.run: no such file"),
        (("base.run", "new.run"), "nothing can be measured: give --qrels"),
        ((".",), "no summary.json"),
        (("base.run", "bad.run", "--qrels", "q"), "bad.run, line 2: 5 columns, expected 6"),
        (
            ("base.run", "new.run", "--qrels", "q", "--new-qrels", "n", "--corpus-size", "1"),
            "fit into a corpus of 1",
        ),
        (("base.run", "new.run", "--qrels", "q", "--measure", "nDGC@5"), "measure 'nDGC@5': unknown"),
        (("base.run", "new.run", "--qrel-diff", "q"), "q, line 1: not JSON"),
        (
            ("base.run", "words", "--qrels", "q"),
            "words, line 1: 1 column, expected 6 (topic Q0 docid rank score tag); the same in line 2",
        ),
        (
            ("new.run", "--qrels", "q", "--baseline", "base.run", "--test", "wilcoxn"),
            "--test: found 'wilcoxn', expected t for the paired t-test, or none for Fisher's randomization",
        ),
        (("base.run", "new.run", "--difference", "0"), "--difference: found 0, expected a number above 0"),
    ],
)
def test_problems_are_reported_in_one_line(files: Path, heed: Heed, arguments: tuple[str, ...], said: str) -> None:
    (files / "bad.run").write_text("1 Q0 x 1 1.0 t\n1 Q0 y 2 t\n")
    (files / "words").write_text("word\n" * 9)
    result = heed("pipelines.compare", *arguments, "--quiet")
    assert result.returncode == 1
    [line] = result.stderr.splitlines()
    assert said in line


def test_two_measures_behind_one_option_are_an_error_that_says_how(files: Path, heed: Heed) -> None:
    result = heed("pipelines.compare", "base.run", "--qrels", "q", "--measure", "AP", "P_5")
    assert result.returncode == 2
    assert "unrecognized arguments: P_5; --measure: write the option before each of its values" in result.stderr

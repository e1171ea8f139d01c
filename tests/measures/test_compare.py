"""``python -m pipelines.compare``: readers, pairing, significance, and the command as a user runs it."""

import gzip
import itertools
import json
import random
import re
from pathlib import Path

import numpy as np
import pytest
from conftest import Heed, write_jsonl
from hypothesis import given
from hypothesis import strategies as st

from heed.errors import HeedError
from heed.formats.pairs import pair, qrels_for, select, stem
from heed.formats.run_formats import read_any_run, read_external_runs
from heed.formats.trec_files import write_run
from heed.measures import significance
from heed.measures.significance import fisher, holm, interval, wilcoxon
from heed.measures.system_comparison import compare_by, compare_systems
from heed.types import Topic

COMMAND = "pipelines.compare"
RUN = {"1-og": {"a": 2.0, "b": 1.0}, "1-changed": {"b": 2.0, "a": 1.0}}


def mteb_file(path: Path, **subsets: dict) -> Path:
    path.write_text(json.dumps({"mteb_model_meta": {"model_name": "m", "revision": "r"}} | subsets))
    return path


def rank_llm(run: dict[str, dict[str, float]]) -> list[dict]:
    return [
        {
            "query": {"text": "q\u2028", "qid": qid},  # written raw by rank_llm; no end of a line
            "candidates": [{"docid": docid, "score": score, "doc": {}} for docid, score in scores.items()],
        }
        for qid, scores in run.items()
    ]


def test_the_same_run_is_read_from_every_form(tmp_path: Path) -> None:
    write_run(tmp_path / "a.run", RUN, "t")
    write_run(tmp_path / "a.run.gz", RUN, "t")
    (tmp_path / "llm.json").write_text(json.dumps(rank_llm(RUN)))
    write_jsonl(tmp_path / "llm.jsonl", rank_llm(RUN))
    assert "\u2028" in (tmp_path / "llm.jsonl").read_text()
    (tmp_path / "llm.jsonl.gz").write_bytes(gzip.compress((tmp_path / "llm.jsonl").read_bytes()))
    mteb_file(tmp_path / "Task_predictions.json", zho={"test": RUN})
    for path in tmp_path.iterdir():
        assert read_any_run(path) == RUN, path.name


def test_one_of_several_mteb_subsets_is_chosen(tmp_path: Path) -> None:
    path = mteb_file(tmp_path / "p.json", zho={"test": RUN}, rus={"test": {"2-og": {"c": 1.0}}})
    assert read_any_run(path, "rus") == {"2-og": {"c": 1.0}}
    with pytest.raises(HeedError, match="2 sets of predictions fit; name one of zho/test, rus/test"):
        read_any_run(path)
    with pytest.raises(HeedError, match="--subset fas: 0 sets"):
        read_any_run(path, "fas")
    topics = [Topic("1", "zho", "q", {"original": "o", "changed": "c"})]
    runs = read_external_runs([f"m={path}#zho"], topics, ["original", "changed"])
    assert runs == {("m", "original"): {"1": RUN["1-og"]}, ("m", "changed"): {"1": RUN["1-changed"]}}


@pytest.mark.parametrize("subset", ["zho", "rus"])
def test_pool_and_rerank_take_one_of_several_mteb_subsets(tmp_path: Path, heed: Heed, subset: str) -> None:
    mteb_file(tmp_path / "p_predictions.json", zho={"test": {"1": {"a": 2.0}}}, rus={"test": {"1": {"b": 1.0}}})
    write_jsonl(tmp_path / "d.jsonl", [{"id": docid, "title": "", "text": f"water {docid}"} for docid in "ab"])
    write_jsonl(tmp_path / "t.jsonl", [{"qid": "1", "lang": "eng", "query": "water"}])
    pooled = heed("pipelines.pool", "p_predictions.json", "--subset", subset, "--out", "pool.jsonl")
    given = ("p_predictions.json", "--subset", subset, "--topics", "t.jsonl", "--docs", "d.jsonl", "--out", "r.run")
    rescored = heed("pipelines.rerank", *given, "--reranker", "polarity")
    assert pooled.returncode == rescored.returncode == 0, pooled.stderr + rescored.stderr
    docid = "a" if subset == "zho" else "b"
    assert json.loads((tmp_path / "pool.jsonl").read_text())["docids"] == [docid]
    assert list(read_any_run(tmp_path / "r.run")["1"]) == [docid]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", "{", "not JSON"),
        ("a.json", "3", "holds a int; expected rank_llm results or MTEB predictions"),
        ("a.json", "[]", "holds no scores"),
        ("a.json", '[{"query": {}}]', "result 1: no 'qid'"),
        ("a.jsonl", '{"query": {"qid": 1}, "candidates": [{"docid": "a", "score": "x"}]}', "document a: score 'x'"),
        ("a.json", '{"zho": {"test": {"1": {"a": NaN}}}}', "document a: score nan"),
        ("a.json", '{"zho": {"test": {"1": [1]}}}', "topic 1 holds no docid: score object"),
        (
            "a.jsonl",
            '{"query": {"qid": "1"}, "candidates": [{"docid": "a", "score": 1}, {"docid": "a", "score": 2}]}',
            "document a is listed again",
        ),
    ],
)
def test_malformed_runs_are_errors(tmp_path: Path, name: str, content: str, said: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(HeedError, match=said):
        read_any_run(tmp_path / name)


@pytest.mark.parametrize(
    ("base", "new", "pairs"),
    [
        (["12-og", "13-og"], ["12-changed", "13-changed"], {"12-changed": "12-og", "13-changed": "13-og"}),
        (["12", "13"], ["12", "13"], {"12": "12", "13": "13"}),
        (["0", "1"], ["0_0", "0_1", "1_0"], {"0_0": "0", "0_1": "0", "1_0": "1"}),
        (["a_b"], ["a_b", "a_b_1"], {"a_b": "a_b", "a_b_1": "a_b"}),
        (["12"], ["12-reversed"], {"12-reversed": "12"}),
    ],
)
def test_pairs_are_found_by_the_ids(base: list[str], new: list[str], pairs: dict[str, str]) -> None:
    assert pair(base, new) == pairs


def test_a_file_of_both_conditions_plays_both_roles() -> None:
    assert select(RUN, "base").keys() == {"1-og"}
    assert select(RUN, "new").keys() == {"1-changed"}
    assert select({"1-og": {}}, "new").keys() == {"1-og"}  # one condition alone is taken as it is
    assert [stem(qid) for qid in ("1-og", "1-changed", "1-reversed", "og")] == ["1", "1", "1", "og"]


def test_pairs_can_be_given_and_topics_without_a_partner_are_logged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pairs.tsv").write_text("x\t1\n")
    assert pair(["1", "2"], ["x", "y"], tmp_path / "pairs.tsv") == {"x": "1"}
    logged = capsys.readouterr().err
    assert "1 topics of the new run have no partner and are left out: y" in logged
    assert "1 topics of the base run have no partner and are left out: 2" in logged
    with pytest.raises(HeedError, match="name the pairs with --pairs"):
        pair(["1"], ["x"])
    (tmp_path / "pairs.tsv").write_text("x 1\nx\t1\nx\t2\nx2\t1\ny\t9\n")
    with pytest.raises(HeedError) as caught:
        pair(["1", "2"], ["x", "y"], tmp_path / "pairs.tsv")
    assert [line.split("pairs.tsv, ")[1] for line in str(caught.value).splitlines()] == [
        "line 1: 1 columns, expected new qid, tab, base qid",
        "line 3: topic x has a partner already",
        "line 4: topic x2 is not in the new run",
        "line 5: topic 9 is not in the base run",
    ]


def test_judged_topics_outside_the_pairs_are_logged(capsys: pytest.CaptureFixture[str]) -> None:
    assert qrels_for({"1": {"a": 1}, "9": {"a": 1}}, {"1-changed": "1-og"}) == {"1-changed": {"a": 1}}
    assert "1 of 2 judged topics have no pair and are in no mean: 9" in capsys.readouterr().err


def test_fishers_test_by_counting_all_sign_flips() -> None:
    one, other = {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.2}, {"a": 0.5, "b": 0.7, "c": 0.4, "d": 0.3}
    differences = [0.4, 0.1, 0.3, -0.1]
    flipped = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in itertools.product((1, -1), repeat=4)
    ]
    expected = sum(total >= 0.7 - 1e-9 for total in flipped) / 16
    assert expected == 6 / 16  # ±.9 once, ±.7 twice
    assert fisher(one, other) == expected
    assert fisher(one, one) == 1.0


def test_fishers_test_with_many_topics_agrees_with_a_clear_case_and_is_repeatable() -> None:
    better = {str(n): 0.5 + n % 7 / 100 for n in range(40)}
    worse = {qid: value - 0.05 - int(qid) % 3 / 100 for qid, value in better.items()}
    assert fisher(better, worse) == fisher(better, worse) < 0.001
    mixed = {qid: value + (0.01 if int(qid) % 2 else -0.01) for qid, value in better.items()}
    assert fisher(better, mixed) > 0.5


def test_topics_are_drawn_in_blocks_as_at_once() -> None:
    """10,000 draws of 317 topics are more numbers than one block has."""
    assert significance.RESAMPLES * 317 > 2 * significance.BLOCK
    chooser = random.Random(0)
    first, second = ({str(qid): chooser.random() for qid in range(317)} for _ in range(2))
    values = np.array(list(first.values()))
    picks = np.random.default_rng(significance.SEED).integers(317, size=(significance.RESAMPLES, 317))
    assert interval(values.tolist()) == pytest.approx(np.percentile(values[picks].mean(axis=1), [2.5, 97.5]).tolist())
    differences = np.array([first[qid] - second[qid] for qid in sorted(first)])
    flips = np.random.default_rng(significance.SEED).integers(2, size=(significance.RESAMPLES, 317))
    further = np.abs((1 - 2 * flips) @ differences) >= abs(differences.sum()) - 1e-12
    assert fisher(first, second) == pytest.approx((1 + further.sum()) / (1 + significance.RESAMPLES))


def test_wilcoxons_test_equals_its_table() -> None:
    # n = 6, all differences of one sign: exact two-sided p = 2 / 2^6
    one, other = {str(n): float(n) for n in range(1, 7)}, {str(n): 0.0 for n in range(1, 7)}
    assert wilcoxon(one, other) == pytest.approx(2 / 64)
    assert wilcoxon(one, one) == 1.0


def test_holms_correction_by_hand() -> None:
    # sorted .01 .03 .04: ×3 = .03, ×2 = .06, ×1 = .04 raised to .06
    corrected = holm({"a": 0.03, "b": 0.01, "c": 0.04})
    assert corrected == {"a": pytest.approx(0.06), "b": pytest.approx(0.03), "c": pytest.approx(0.06)}


def test_an_interval_holds_the_mean_and_shrinks_with_topics() -> None:
    few, many = interval([0.0, 1.0] * 5), interval([0.0, 1.0] * 200)
    assert few.low < 0.5 < few.high and many.low < 0.5 < many.high
    # the normal approximation: 1.96 · .5 / √400 = .049
    assert many.high - many.low == pytest.approx(2 * 0.049, rel=0.05)
    assert interval([0.25]) == (0.25, 0.25)
    assert interval([0.1, 0.9]) == interval([0.1, 0.9])


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


def test_an_mteb_result_is_written_and_extended(files: Path, heed: Heed) -> None:
    judged = {"1-og": {"a": 1, "b": 1}, "1-changed": {"a": 0, "b": 1}}
    lines = [f"{qid} 0 {docid} {grade}\n" for qid, grades in judged.items() for docid, grade in grades.items()]
    (files / "both").write_text("".join(lines))
    mteb_file(files / "T_predictions.json", fas={"test": RUN}, zho={"test": RUN})
    common = ("T_predictions.json", "T_predictions.json", "--qrels", "both", "--new-qrels", "both", "--mteb", "r.json")
    for subset in ("fas", "zho"):
        result = heed(COMMAND, *common, "--mteb-task", "mFollowIR", "--subset", subset)
        assert result.returncode == 0, result.stderr
    scores = json.loads((files / "r.json").read_text())["scores"]["test"]
    assert [(one["hf_subset"], one["main_score"]) for one in scores] == [("fas", 0.5), ("zho", 0.5)]
    assert "--mteb needs --mteb-task" in heed(COMMAND, *common, "--subset", "fas").stderr


def test_several_instructions_of_a_query_are_paired_and_give_robustness(files: Path, heed: Heed) -> None:
    write_run(files / "ins.run", {"1_0": {"y": 2.0, "x": 1.0}, "1_1": {"x": 2.0, "y": 1.0}}, "ins")
    (files / "i").write_text("1_0 0 y 1\n1_1 0 y 1\n")
    result = heed(COMMAND, "base.run", "ins.run", "--qrels", "q", "--new-qrels", "i", "--json", "c.json")
    assert result.returncode == 0, result.stderr
    found = json.loads((files / "c.json").read_text())
    assert found["per_topic"]["Robustness@10"] == {"1": pytest.approx(0.6309297536)}
    assert found["measures"]["p-MRR"]["n"] == 2


def test_all_systems_of_a_folder_side_by_side(files: Path, heed: Heed) -> None:
    folder = files / "runs"
    for system, name in (("good", "new"), ("same", "base")):
        for condition, run in (("original", "base"), ("changed", name)):
            folder.mkdir(exist_ok=True)
            (folder / f"{system}.{condition}.run").write_bytes((files / f"{run}.run").read_bytes())
    result = heed(COMMAND, "--runs", "runs", "--qrels", "q", "--new-qrels", "n", "--holm", "--json", "c.json")
    assert result.returncode == 0, result.stderr
    [good] = [line for line in result.stdout.splitlines() if line.startswith("good")]
    assert "**33.3**" in good
    found = json.loads((files / "c.json").read_text())["measures"]["p-MRR"]
    assert (found["good"]["mean"], found["same"]["mean"]) == (pytest.approx(1 / 3), 0.0)


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
        (("--runs", ".", "--traps", "t", "--mteb", "m"), "--traps, --mteb: not used with --runs"),
        (("base.run", "new.run", "--holm"), "--holm: corrects p-values of several systems; give --runs"),
        (("base.run", "new.run", "--mteb-task", "x"), "--mteb-task: names the task of a result file"),
    ],
)
def test_problems_are_reported_in_one_line(files: Path, heed: Heed, arguments: tuple[str, ...], said: str) -> None:
    (files / "bad.run").write_text("1 Q0 x 1 1.0 t\n1 Q0 y 2 t\n")
    result = heed(COMMAND, *arguments, "--quiet")
    assert result.returncode == 1
    [line] = result.stderr.splitlines()
    assert said in line


@given(st.permutations(["1 Q0 x 1 3.0 t", "1 Q0 y 2 2.0 t", "1 Q0 z 3 1.0 t", "2 Q0 y 1 2.0 t", "2 Q0 x 2 2.0 t"]))
def test_the_order_of_lines_changes_nothing(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    from heed.measures import p_mrr

    path = tmp_path_factory.mktemp("p") / "a.run"
    path.write_text("\n".join(lines) + "\n")
    new = {"1": {"y": 1.0, "x": 0.5}, "2": {"x": 1.0, "y": 1.0}}
    assert p_mrr(read_any_run(path), new, {"1": {"x"}, "2": {"x"}}) == {"1": 0.5, "2": 0.0}

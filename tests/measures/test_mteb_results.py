"""MTEB's result files: equal to what mteb 2.26.24 itself writes, and read again by it."""

import json
import math
import random
from dataclasses import replace
from pathlib import Path

import pytest

from heed.errors import HeedError
from heed.files import write_json
from heed.formats.pairs import pair, select
from heed.formats.run_formats import read_any_run
from heed.measures.inputs import Inputs, paired
from heed.measures.mteb_results import (
    MTEB_VERSION,
    TASKS,
    Result,
    merge_results,
    mteb_result,
    read_mteb_result,
    result_path,
)
from heed.types import Qrels, Run

K_VALUES = [1, 3, 5, 10, 20, 100, 1000]
Case = tuple[Run, Qrels, dict[str, list[str]]]


def random_case(seed: int) -> Case:
    """Results and qrels under mteb's ids, and changed documents; ties, lists of all lengths, unjudged documents."""
    chooser = random.Random(seed)
    documents = [f"d{number}" for number in range(chooser.randint(5, 60))]
    results: Run = {}
    qrels: Qrels = {}
    changed: dict[str, list[str]] = {}
    for topic in map(str, range(chooser.randint(2, 12))):
        grades = {docid: chooser.choice([0, 0, 1, 2]) for docid in chooser.sample(documents, len(documents) // 2 + 1)}
        relevant = [docid for docid, grade in grades.items() if grade > 0]
        fallen = set(chooser.sample(relevant, len(relevant) // 2))
        if fallen:
            changed[topic] = sorted(fallen)
        qrels[f"{topic}-og"] = grades
        qrels[f"{topic}-changed"] = {docid: 0 if docid in fallen else grade for docid, grade in grades.items()}
    for ending in ("-og", "-changed"):
        for qid in (qid for qid in qrels if qid.endswith(ending)):
            kept = chooser.sample(documents, chooser.randint(1, len(documents)))
            results[qid] = {docid: chooser.choice([-1.0, 0.25, 0.25, 0.5, chooser.random()]) for docid in kept}
    return results, qrels, changed


def inputs(results: Run, qrels: Qrels, changed: dict[str, list[str]] | None = None) -> Inputs:
    """What ``pipelines.compare`` makes of a run and of qrels that hold both conditions."""
    base, new = select(results, "base"), select(results, "new")
    pairs = pair(base.keys(), new.keys())
    documents = {f"{qid}-changed": set(docids) for qid, docids in (changed or {}).items()}
    return replace(paired(base, new, pairs, qrels, qrels), changed=documents)


def written_by_mteb(path: Path, task: str, subset: str, case: Case) -> Result:
    """The file that mteb writes at the end of an evaluation (``AbsTaskRetrieval._evaluate_subset``)."""
    import mteb
    from mteb._evaluators.retrieval_metrics import calculate_retrieval_scores, evaluate_p_mrr_change, make_score_dict
    from mteb.results import TaskResult

    results, qrels, changed = case
    own = evaluate_p_mrr_change(qrels, results, changed, K_VALUES)
    both = calculate_retrieval_scores(results, qrels, K_VALUES)._asdict()
    named = {"_map": both.pop("map")} | {key: value for key, value in both.items() if key != "all_scores"}
    scores = make_score_dict(**named, task_scores=own)
    made = mteb.get_task(task)
    made._add_main_score(scores)
    TaskResult.from_task_results(made, {"test": {subset: scores}}, evaluation_time=2.5).to_disk(path)
    loaded: Result = json.loads(path.read_text())
    return without_nan(loaded)


def without_nan(value: Result) -> Result:
    def keep(found: object) -> object:
        if isinstance(found, list):
            return [keep(one) for one in found]
        return without_nan(found) if isinstance(found, dict) else found

    return {key: keep(found) for key, found in value.items() if not (isinstance(found, float) and math.isnan(found))}


@pytest.mark.golden(program="mteb 2.26.24", compared="result files", systems=())
@pytest.mark.parametrize(("task", "subset"), [(task, subset) for task, one in TASKS.items() for subset in one.subsets])
def test_the_file_is_the_one_that_mteb_writes(tmp_path: Path, task: str, subset: str) -> None:
    case = random_case(len(task + subset))
    ours, theirs = tmp_path / "ours.json", written_by_mteb(tmp_path / "theirs.json", task, subset, case)
    write_json(ours, mteb_result(task, subset, inputs(*case), evaluation_time=2.5))
    assert json.loads(ours.read_text()) == theirs
    assert theirs["mteb_version"] == MTEB_VERSION, "compare the rules of the mteb that is installed, then the version"


@pytest.mark.golden(program="mteb 2.26.24", compared="all figures of a result file", systems=())
def test_all_scores_equal_mtebs_on_30_random_cases() -> None:
    from mteb._evaluators.retrieval_metrics import evaluate_p_mrr_change

    seen = set()
    for seed in range(30):
        results, qrels, changed = random_case(seed)
        theirs = evaluate_p_mrr_change(qrels, results, changed, K_VALUES)
        ours = mteb_result("Core17InstructionRetrieval", None, inputs(results, qrels, changed))["scores"]["test"][0]
        assert ours["main_score"] == ours["p-MRR"] == pytest.approx(theirs["p-MRR"], abs=1e-6)
        for group in ("og", "changed"):
            expected = {key: value for key, value in theirs[group].items() if not math.isnan(value)}
            assert ours[group] == pytest.approx(expected, abs=1e-6), (seed, group)
            seen |= ours[group].keys()
    families = {"ndcg_at_", "map_at_", "recall_at_", "precision_at_", "mrr_at_", "hit_rate_at_"}
    assert {f"{family}{k}" for family in families for k in K_VALUES} | {"accuracy", "nauc_ndcg_at_10_std"} <= seen


def test_near_scores_are_distinguished_where_mteb_does() -> None:
    """trec_eval compares single-precision scores; mteb's MRR and p-MRR compare doubles."""
    results = {"1-og": {"a": 1.0 + 1e-12, "b": 1.0}, "1-changed": {"a": 1.0, "b": 1.0 + 1e-12}}
    qrels = {"1-og": {"a": 1}, "1-changed": {"a": 0, "b": 1}}
    found = mteb_result("Core17InstructionRetrieval", None, inputs(results, qrels))["scores"]["test"][0]
    assert (found["og"]["mrr_at_1"], found["og"]["ndcg_at_1"], found["p-MRR"]) == (1.0, 0.0, 0.5)


def test_the_changed_documents_follow_from_the_qrels() -> None:
    results, qrels, changed = random_case(7)
    given = mteb_result("mFollowIR", "zho", inputs(results, qrels, changed))
    assert mteb_result("mFollowIR", "zho/test", inputs(results, qrels)) == given


def test_unjudged_topics_are_left_out_and_the_number_of_pairs_is_logged(capsys: pytest.CaptureFixture[str]) -> None:
    results, qrels, changed = random_case(5)
    expected = mteb_result("mFollowIR", "rus", inputs(results, qrels, changed))
    n = len(qrels) // 2
    message = f"mFollowIR rus: {n} judged pairs, where MTEB's data have 40; not comparable with MTEB's figures"
    assert message in capsys.readouterr().err
    more = results | {"x-og": {"d1": 1.0}, "x-changed": {"d2": 1.0}}
    assert mteb_result("mFollowIR", "rus", inputs(more, qrels, changed)) == expected


def test_predictions_of_mteb_become_a_result_that_mteb_reads(tmp_path: Path) -> None:
    from mteb import ResultCache
    from mteb.results import TaskResult

    cases = {subset: random_case(number) for number, subset in enumerate(("fas", "rus", "zho"), 20)}
    predictions = {subset: {"test": results} for subset, (results, _, _) in cases.items()}
    source = tmp_path / "mFollowIR_predictions.json"
    source.write_text(json.dumps({"mteb_model_meta": {"model_name": "me/model", "revision": "1"}} | predictions))
    path = result_path(tmp_path, "me/model", "1", "mFollowIR")
    for subset, (_, qrels, changed) in cases.items():
        result = mteb_result("mFollowIR", subset, inputs(read_any_run(source, subset), qrels, changed), 1.5)
        write_json(path, merge_results(read_mteb_result(path), result) if path.exists() else result)
    loaded = TaskResult.from_disk(path)
    main = [entry["p-MRR"] for entry in loaded.scores["test"]]
    assert loaded.get_score() == pytest.approx(sum(main) / 3)
    assert loaded.get_score(languages=["rus"]) == main[1]
    assert sorted(loaded.hf_subsets) == sorted(loaded.languages) == ["fas", "rus", "zho"]
    assert (loaded.evaluation_time, loaded.kg_co2_emissions, loaded.task_type) == (4.5, None, "InstructionReranking")
    assert loaded.validate_and_filter_scores().scores == loaded.scores  # nothing is missing or unknown
    assert loaded.is_mergeable(loaded.task)
    cached = ResultCache(tmp_path).load_task_result("mFollowIR", "me/model", "1")
    assert cached == loaded
    assert "NaN" not in path.read_text()


def test_a_subset_is_replaced_as_mteb_merges(tmp_path: Path) -> None:
    from mteb.results import TaskResult

    made = {
        (subset, seed): mteb_result("mFollowIR", subset, inputs(*random_case(seed)), float(seed))
        for subset, seed in (("fas", 30), ("rus", 31), ("fas", 32))
    }
    first, second, third = made.values()
    ours = merge_results(merge_results(first, second), third)
    theirs = TaskResult.from_dict(first).merge(TaskResult.from_dict(second)).merge(TaskResult.from_dict(third))
    assert TaskResult.from_dict(ours) == theirs
    assert [entry["hf_subset"] for entry in first["scores"]["test"]] == ["fas"]  # what was given stays as it was
    other = mteb_result("mFollowIRCrossLingual", "eng-fas", inputs(*random_case(1)))
    with pytest.raises(HeedError, match="task_name mFollowIR and mFollowIRCrossLingual cannot share a file"):
        merge_results(first, other)
    with pytest.raises(HeedError, match=r"mteb_version 2\.26\.24 and 1\.0\.0"):
        merge_results(first, first | {"mteb_version": "1.0.0"})


def test_unknown_names_are_errors_with_the_known_ones() -> None:
    given = inputs(*random_case(3))
    with pytest.raises(HeedError, match="'InstructIR': unknown; .*Core17InstructionRetrieval, .*mFollowIR, "):
        mteb_result("InstructIR", None, given)
    with pytest.raises(HeedError, match="subset 'eng'; expected one of fas, rus, zho"):
        mteb_result("mFollowIR", "eng", given)
    with pytest.raises(HeedError, match="subset None; expected one of eng-fas, eng-rus, eng-zho"):
        mteb_result("mFollowIRCrossLingual", None, given)


def test_what_cannot_be_measured_is_an_error() -> None:
    results, qrels, changed = random_case(3)
    given = inputs(results, qrels, changed)
    with pytest.raises(HeedError, match="no judged topics; give --qrels and --new-qrels"):
        mteb_result("mFollowIR", "zho", replace(given, qrels={}))
    with pytest.raises(HeedError, match="no documents that changed"):
        mteb_result("mFollowIR", "zho", replace(given, changed={}, new_qrels=given.qrels))
    several = replace(given, query_of=dict.fromkeys(given.query_of, "0-og"))
    with pytest.raises(HeedError, match="several new topics belong to one base topic"):
        mteb_result("mFollowIR", "zho", several)


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"scores": {"test": [1]}}', '{"task_name": "x", "scores": {}}'])
def test_other_files_are_not_taken_for_results(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(HeedError, match=r"a\.json: not a result of MTEB"):
        read_mteb_result(tmp_path / "a.json")

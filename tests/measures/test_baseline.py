"""Systems against a baseline: which are tested and how, by SciPy and by hand; from Python, and by the command."""

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from comparing import compared, order, write_qrels
from conftest import Heed

from heed.errors import UsageError
from heed.experiment.results import Results
from heed.formats.trec_files import write_run
from heed.measures.baseline import AgainstBaseline, BaselineRow, against_baseline
from heed.measures.registry import as_measures
from heed.measures.summary import Detail, SystemEntry
from heed.types import Run

FIRST = {"first_stages": None, "pool": None}


def detail(system: str, values: Sequence[float], measure: str = "nDCG@20", condition: str = "original") -> Detail:
    per_topic = {f"{qid:03}": value for qid, value in enumerate(values)}
    mean = sum(values) / len(values)
    return Detail(system=system, condition=condition, measure=measure, value=mean, n=len(values), per_topic=per_topic)


def firsts(*names: str) -> list[SystemEntry]:
    return [SystemEntry(system=name, first_stages=None, pool=None) for name in names]


def row_of(compared: AgainstBaseline, system: str, measure: str = "nDCG@20") -> BaselineRow:
    [row] = [row for row in compared.rows if (row["system"], row["measure"]) == (system, measure)]
    return row


@pytest.mark.golden(program="scipy 1.17.1", compared="p-values of differences to a baseline", systems=())
@pytest.mark.parametrize("topics", [6, 12, 60])
def test_p_values_are_those_of_scipy(topics: int) -> None:
    from scipy.stats import permutation_test, ttest_rel, wilcoxon

    chooser = random.Random(topics)
    base, one, other = ([chooser.random() for _ in range(topics)] for _ in range(3))
    values = {"base": base, "one": one, "other": [value + 0.1 for value in other]}
    details = [detail(*each, *at) for at in (("AP",), ("p-MRR", "original>changed")) for each in values.items()]
    for test in ("", "t"):
        found = against_baseline(details, firsts(*values), "base", test=test)
        for name in ("one", "other"):
            for measure, peer in (("AP", ttest_rel if test else None), ("p-MRR", ttest_rel if test else wilcoxon)):
                row = row_of(found, name, measure)
                if peer:
                    assert row["p"] == pytest.approx(peer(values[name], base).pvalue, rel=1e-9)
                    continue
                differences = [[a - b for a, b in zip(values[name], base, strict=True)]]
                exact = permutation_test(differences, lambda x, axis: x.mean(axis), permutation_type="samples")
                # of 60 topics both draw 10,000: five standard deviations of their difference are below 0.036
                assert row["p"] == pytest.approx(exact.pvalue, abs=1e-9 if topics < 14 else 0.036)
                low, high = sorted(
                    (found_row["p"] or 0)
                    for found_row in found.rows
                    if found_row["p"] and found_row["measure"] == measure
                )
                ordered = {low: min(1, 2 * low), high: min(1, max(2 * low, high))}  # Holm's of two
                assert row["p_holm"] == pytest.approx(ordered[row["p"] or 0])


def test_a_row_by_hand() -> None:
    """Differences .2, .2, .2, 0, −.1: the sum is ±.5 or further if the three .2 have one sign, 8 of the 32 flips."""
    base = [0.5, 0.5, 0.5, 0.5, 0.5]
    found = against_baseline([detail("b", base), detail("s", [0.7, 0.7, 0.7, 0.5, 0.4])], firsts("b", "s"), "b")
    row = row_of(found, "s")
    assert row["difference"] == pytest.approx(0.1)
    assert (row["better"], row["equal"], row["worse"], row["n"]) == (3, 1, 1, 5)
    assert row["p"] == row["p_holm"] == 8 / 32
    assert row["test"] == "fisher" and "bootstrap" in str(row["interval"]) and row["same_pool"] is None
    assert row_of(found, "b") == row_of(found, "b") | dict.fromkeys(("difference", "p", "p_holm", "better", "test"))
    [sentence] = found.sentences
    assert sentence.startswith("s does not differ significantly from b under original: nDCG@20 +10.0 [")
    assert sentence.endswith("p 0.25, 3 topics better, 1 equal, 1 worse")


def test_of_a_measure_of_failures_the_lower_is_better_and_what_is_no_merit_is_not_tested() -> None:
    details = [
        detail(system, [value] * 8, measure)
        for measure in ("NFR", "mine", "Judged@20", "NumRet", "p-MRR in neither")
        for system, value in (("b", 0.5), ("s", 0.4))
    ]
    found = against_baseline(details, firsts("b", "s"), "b", directions={"mine": True})
    assert [row_of(found, "s", name)["better"] for name in ("NFR", "mine")] == [8, 8]
    for measure in ("Judged@20", "NumRet", "p-MRR in neither"):
        row = row_of(found, "s", measure)
        named = ("system", "condition", "measure", "value", "n")
        assert {key for key, value in row.items() if value is not None} == {*named}
    assert (
        "s ranks better than b under original: NFR -10.0 [-10.0, -10.0], p 0.008, 8 topics better" in found.sentences[0]
    )


def test_two_rerankers_are_tested_over_one_pool_or_on_request() -> None:
    entries: list[SystemEntry] = [
        {"system": "bm25", "first_stages": None, "pool": None},
        {"system": "lsa", "first_stages": None, "pool": None},
        {"system": "base", "first_stages": ["bm25"], "pool": "p"},
        {"system": "same", "first_stages": ["bm25"], "pool": "p"},
        {"system": "other", "first_stages": ["lsa"], "pool": "q"},
        {"system": "old"},
        {"system": "half", "first_stages": ["lsa"], "pool": None},
    ]
    details = [detail(entry["system"], [place / 10] * 9) for place, entry in enumerate(entries)]

    def same_pools(baseline: str, **settings: bool) -> dict[str, tuple[bool | None, bool]]:
        found = against_baseline(details, entries, baseline, **settings)
        return {row["system"]: (row["same_pool"], row["p"] is not None) for row in found.rows}

    tested = {"bm25": (None, True), "lsa": (None, True), "base": (None, False), "same": (True, True)}
    assert same_pools("base") == tested | {"other": (False, False), "old": (False, False), "half": (False, False)}
    assert same_pools("base", across_pools=True) == tested | {
        "other": (False, True),
        "old": (False, True),
        "half": (False, True),
    }
    assert set(same_pools("bm25").values()) == {(None, True), (None, False)}  # it is a first stage
    found = against_baseline(details, entries, "base")
    assert row_of(found, "other")["difference"] == pytest.approx(0.2)  # it stands beside them, untested
    [warning] = found.warnings
    assert warning.startswith("other, old, half: not tested against base") and "across_pools" in warning
    tested = [sentence.split()[0] for sentence in found.sentences if "Holm over 3 systems" in sentence]
    assert tested == ["bm25", "lsa", "same"]
    rescored = ["base rescored bm25", "same rescored bm25", "other rescored lsa", "half rescored lsa"]
    assert found.sentences[3:] == rescored


def test_sentences_are_of_the_measures_in_the_table() -> None:
    pair = "original>changed"
    columns = [("nDCG@20", "original"), ("R@100", "original"), ("p-MRR", pair), ("selectivity", pair)]
    columns += [("p-MRR kept", pair), ("nDCG@20", "C1")]
    values = {"b": [0.5] * 9, "s": [0.25] * 9}
    details = [detail(name, of_name, *column) for name, of_name in values.items() for column in columns]
    found = against_baseline(details, firsts("b", "s"), "b")
    under = [("nDCG@20", "worse than b under original"), ("p-MRR", f"worse than b over {pair}")]
    under.append(("selectivity", f"worse than b over {pair}"))
    for sentence, (measure, words) in zip(found.sentences, under, strict=True):
        assert f"{words}: {measure} -25.0 [-25.0, -25.0], p 0.004" in sentence
    found = against_baseline(details, firsts("b", "s"), "b", measures=["R@100"])
    [sentence] = found.sentences
    assert "s ranks worse than b under original: R@100 -25.0" in sentence
    assert [line[2] for line in found.cells()] == ["measure", "R@100", "R@100"]


def test_without_a_baseline_it_is_the_best_first_stage() -> None:
    values = {"bm25": 0.4, "lsa": 0.6, "reranker": 0.9}
    details = [detail(name, [value] * 5, condition="original") for name, value in values.items()]
    details += [detail(name, [1 - value] * 5, condition="query") for name, value in values.items()]
    entries = [*firsts("bm25", "lsa"), SystemEntry(system="reranker", first_stages=["bm25"], pool="p")]
    found = against_baseline(details, entries)
    assert (found.baseline, found.chosen) == ("lsa", True)
    assert found.sentences[0].startswith(
        "lsa is the baseline, the first stage with the best nDCG@20 under original; it"
    )
    assert "after the fact" in found.sentences[0]
    assert against_baseline(details[3:], entries).baseline == "bm25"  # under query
    assert against_baseline(details[:3], []).baseline == "reranker"  # nothing is known of their pools
    assert not against_baseline(details, entries, "bm25").chosen
    with pytest.raises(UsageError, match="found 'bm52', expected one of bm25, lsa, reranker; did you mean bm25"):
        against_baseline(details, entries, "bm52")
    with pytest.raises(UsageError, match="expected t"):
        against_baseline(details, entries, test="sign")


def test_a_sentence_says_where_interval_and_p_disagree() -> None:
    """Four topics that all rise: no sign flip of four is rarer than 2 in 16, while every resample is above 0."""
    details = [detail("b", [0.1] * 4), detail("s", [0.2, 0.3, 0.4, 0.5])]
    found = against_baseline(details, firsts("b", "s"), "b")
    assert row_of(found, "s")["p"] == 2 / 16
    assert found.sentences[0].endswith("; p and interval disagree: the interval excludes 0")
    assert found.warnings == ["so few topics can show no difference of so many systems: p is 0.12 at least"]


def test_topics_that_one_system_lacks_are_left_out_of_the_difference_and_said() -> None:
    details = [detail("b", [0.1] * 6), detail("s", [0.2] * 4), detail("s", [0.2] * 4, "AP", "query")]
    found = against_baseline(details, firsts("b", "s"), "b")
    assert row_of(found, "s")["n"] == 4
    assert found.warnings == [
        "b has no figures under query: nothing is compared there",
        "differences are over the topics that both systems have, here not all: s, nDCG@20 under original (4 of 6)",
        "so few topics can show no difference of so many systems: p is 0.12 at least",
    ]


def test_results_compare_themselves_and_show_it() -> None:
    details = (detail("bm25", [0.1] * 9), detail("mine", [0.2] * 9))
    found = Results("c", "s", details, systems=firsts("bm25", "mine")).compare("bm25")
    assert row_of(found, "mine")["p"] == pytest.approx(2 / 2**9)
    assert "mine    original   nDCG@20   20.0  +10.0 [10.0, 10.0]     0.004  9/0/0" in str(found)
    assert "<td" in found._repr_html_() and found.sentences[0] in found._repr_html_()
    assert [*found.to_pandas().columns] == [*BaselineRow.__annotations__]


KEYS = (
    "system condition measure value low high difference difference_low difference_high p p_holm n better equal worse "
    "same_pool test interval"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A results folder with a first stage, and a reranker that is better in all of eight topics."""
    details = [
        *(detail(name, [value] * 8) for name, value in (("bm25", 0.25), ("mine", 0.5))),
        *(detail(name, [value] * 8, "AP") for name, value in (("bm25", 0.25), ("mine", 0.25))),
        *(detail(name, [value] * 8, "p-MRR", "original>changed") for name, value in (("bm25", 0.0), ("mine", 0.5))),
    ]
    rows = [{key: value for key, value in each.items() if key != "per_topic"} for each in details]
    entry = {"system": "mine", "first_stages": ["bm25"], "depth": 10, "pool": "p", "documents": 80}
    summary = {"collection": "c", "subset": "s", "rows": rows, "systems": [*firsts("bm25"), entry], "warnings": []}
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/summary.json").write_text(json.dumps(summary))
    (tmp_path / "runs/per_topic.json").write_text(json.dumps({"rows": details, "shifts": []}))
    return tmp_path


def test_the_command_compares_a_folder_by_its_own_figures(folder: Path, heed: Heed) -> None:
    found, result = compared(heed, folder, "runs", "--baseline", "bm25")
    assert [*found] == ["baseline", "rows", "sentences", "warnings"] and found["baseline"] == "bm25"
    assert all([*row] == KEYS.split() for row in found["rows"])
    rows = {(row["system"], row["measure"]): row for row in found["rows"]}
    assert rows["mine", "nDCG@20"]["p"] == 2 / 2**8 and rows["mine", "p-MRR"]["test"] == "wilcoxon"
    assert rows["mine", "AP"]["p"] == 1.0 and rows["mine", "AP"]["equal"] == 8
    assert "mine    original          nDCG@20   50.0  +25.0 [25.0, 25.0]     0.008  8/0/0\n" in result.stdout
    assert "mine ranks better than bm25 under original: nDCG@20 +25.0 [25.0, 25.0], p 0.008, 8 topics" in result.stdout
    assert "mine rescored bm25 to depth 10\n" in result.stdout
    assert " AP " not in result.stdout
    chosen, alias = compared(heed, folder, "runs", "--measure", "map", "--test", "t")
    assert chosen["baseline"] == "bm25" and "after the fact" in chosen["sentences"][0]
    assert {row["test"] for row in chosen["rows"] if row["system"] == "mine"} == {"t"}
    assert "mine    original   AP " in alias.stdout


@pytest.mark.parametrize(
    ("form", "line"),
    [
        ("markdown", "| mine | original | nDCG@20 | 50.0 | +25.0 \\[25.0, 25.0\\] | 0.008 | 8/0/0 |"),
        ("latex", "mine & original & nDCG@20 & 50.0 & +25.0 [25.0, 25.0] & 0.008 & 8/0/0 \\\\"),
        ("csv", KEYS.replace(" ", ",")),
    ],
)
def test_the_table_for_a_paper(folder: Path, heed: Heed, form: str, line: str) -> None:
    assert line in heed("pipelines.compare", "runs", "--format", form, "--quiet").stdout.splitlines()


def shuffled(seed: int) -> Run:
    chooser = random.Random(seed)
    return {qid: order(*chooser.sample("abcdefgh", 8)) for qid in "12345"}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for seed, name in enumerate(("base", "one", "two")):
        write_run(tmp_path / f"{name}.run", shuffled(seed), name)
    write_qrels(tmp_path / "q", **{f"q{qid}": "a1 b1 c0" for qid in "12345"})
    return tmp_path


def test_run_files_are_compared_with_a_baseline(files: Path, heed: Heed) -> None:
    import ir_measures

    arguments = ("one.run", "two.run", "--qrels", "q", "--baseline", "base.run")
    found, result = compared(heed, files, *arguments, "--measure", "map")
    assert [(row["system"], row["condition"], row["measure"]) for row in found["rows"]] == [
        (name, "", "AP") for name in ("base.run", "one.run", "two.run")
    ]
    qrels = [ir_measures.Qrel(qid, docid, int(docid in "ab")) for qid in "12345" for docid in "abc"]
    for row, seed in zip(found["rows"], range(3), strict=True):
        theirs = ir_measures.calc_aggregate([ir_measures.AP], qrels, shuffled(seed))[ir_measures.AP]
        assert row["value"] == pytest.approx(theirs)
    assert {row["p"] is not None for row in found["rows"][1:]} == {True} and "(Holm over 2 systems)" in result.stdout


def test_one_run_is_measured_as_by_trec_eval(files: Path, heed: Heed) -> None:
    import pytrec_eval

    names = ("map", "ndcg_cut_5", "P_5", "recall_5", "recip_rank", "bpref", "num_rel_ret")
    asked = [word for name in names for word in ("--measure", name)]
    found, result = compared(heed, files, "one.run", "--qrels", "q", *asked, "--per-topic")
    judged = {qid: {"a": 1, "b": 1, "c": 0} for qid in "12345"}
    theirs = pytrec_eval.RelevanceEvaluator(judged, pytrec_eval.supported_measures).evaluate(shuffled(1))
    ours = ("AP", "nDCG@5", "P@5", "R@5", "RR", "Bpref", "NumRet(rel=1)")
    for name, measure in zip(names, ours, strict=True):
        expected = {qid: values[name] for qid, values in theirs.items()}
        assert found["per_topic"][measure] == pytest.approx(expected)
        assert found["measures"][measure]["n"] == 5
    assert result.stdout.splitlines()[1].split() == ["measure", "mean", "95%", "interval", "n"]
    write_run(files / "few.run", {"1": order("a")}, "few")
    found, result = compared(heed, files, "few.run", "--qrels", "q", "--measure", "map")
    assert (
        found["measures"]["AP"]["mean"] == pytest.approx(1 / 2 / 5)
        and "4 judged topics are not in few.run" in result.stderr
    )


def test_names_of_trec_eval_and_no_others_are_read() -> None:
    names = ["ndcg", "ndcg_cut.10", "success_10", "Rprec", "set_P", "alpha_nDCG@5", "selectivity", "ndcg_cut", "p-MRR"]
    names += ["P_5x", "ndcg_cut_1O"]  # ir_measures' own parser takes P@5 and nDCG@1
    read = [
        "nDCG",
        "nDCG@10",
        "Success@10",
        "Rprec",
        "SetP",
        "alpha_nDCG@5",
        "selectivity",
        "ndcg_cut",
        "p-MRR",
        "P_5x",
        "ndcg_cut_1O",
    ]
    assert as_measures(names) == read
    assert as_measures(["map", "AP"]) == ["AP"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("runs", "--baseline", "bm52"), "expected one of bm25, mine; did you mean bm25?"),
        (("runs", "--measure", "P_5"), "measure P@5: expected one of runs: nDCG@20, AP, p-MRR"),
        (("runs", "--traps", "t", "--per-topic"), "--traps, --per-topic: not used here"),
        (("runs", "--lang", "zho"), "--lang: not used here; the folder's own figures"),
        (("runs", "--qrels", "q"), "--qrels: not used here; the folder's own figures are compared; repeat its command"),
        (("runs", "x.run"), "runs: is a folder; give it alone"),
        (("x.run", "--baseline", "y.run"), "RUN… with --qrels"),
        (("x.run", "--baseline", "x.run", "--qrels", "x.run", "--across-pools"), "--across-pools: not used here"),
        (("x.run", "x.run", "--qrels", "q", "--test", "t"), "--test: not used here; name a --baseline"),
        (("absent", "--qrels", "q"), "absent: no such file or folder"),
        ((), "expected a results folder, or RUN… with --qrels"),
    ],
)
def test_problems_are_reported_in_one_line(folder: Path, heed: Heed, arguments: tuple[str, ...], said: str) -> None:
    (folder / "x.run").write_text("1 Q0 a 1 1.0 x\n")
    (folder / "q").write_text("1 0 a 1\n")
    result = heed("pipelines.compare", *arguments, "--quiet")
    assert result.returncode == 1
    [line] = result.stderr.splitlines()
    assert said in line

"""``python -m pipelines.pool`` as a user runs it."""

import gzip
import json
import random
from pathlib import Path

import pytest
from conftest import Heed, write_jsonl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mteb_predictions import mteb_file
from pool_inputs import RUNS, pooled, refused, write_lists

from heed.formats.trec_files import read_pool
from pipelines.pool import main


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs in the current folder."""
    monkeypatch.chdir(tmp_path)
    write_lists(tmp_path, RUNS)
    return tmp_path


def test_the_union_of_the_first_documents_best_fused_first() -> None:
    # topic 1, depth 2: y 1/62 + 1/61, x 1/61, w 1/62; topic 2: q 1/62 + 1/61, p 1/61, s 1/62
    found = pooled("a.run", "b.run", "--depth", 2, "--order", "fused")
    assert found == {"1": ["y", "x", "w"], "2": ["q", "p", "s"]}


def test_what_is_judged_so_far_guides_the_order_and_is_not_asked_again() -> None:
    Path("so-far").write_text("1 0 x 1\n1 0 y 1\n")
    # topic 1: run a gives x, y, z while they are relevant; z is next, then run b's w. Topic 2: by turns, a before b
    found = pooled("a.run", "b.run", "--order", "mtf", "--judged", "so-far")
    assert found == {"1": ["z", "w"], "2": ["p", "q", "r", "s"]}


def test_depth_is_100_by_default() -> None:
    write_lists(Path(), {"long": {"1": [f"d{number:03}" for number in range(120)]}})
    assert pooled("long.run", "--order", "fused") == {"1": [f"d{number:03}" for number in range(100)]}


def test_a_size_for_all_topics_and_one_for_a_topic() -> None:
    found = pooled("a.run", "b.run", "--size", 3, "--size", "2=1", "--order", "fused")
    # depth 3, topic 1: y 1/62 + 1/61 = .03252, x 1/61 + 1/63 = .03227, w 1/62 = .01613, z 1/63 = .01587
    assert found == {"1": ["y", "x", "w"], "2": ["q"]}


def test_topics_are_in_the_order_of_their_numbers() -> None:
    write_lists(Path(), {"many": {qid: ["x"] for qid in ("10", "9", "b", "a", "007")}})
    assert list(pooled("many.run")) == ["007", "9", "10", "a", "b"]


def test_one_topic_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(pooled("a.run", "b.run", "--topic", 2)) == ["2"]
    Path("pool.jsonl").unlink()
    assert "topic: 3 is not pooled; expected one of 1, 2" in refused(capsys, "a.run", "--topic", 3)


def test_rank_llm_results_and_gzipped_runs_are_pooled_too() -> None:
    Path("a.run.gz").write_bytes(gzip.compress(Path("a.run").read_bytes()))
    Path("a.run").unlink()
    result = {"query": {"text": "?", "qid": "1"}, "candidates": [{"docid": "new", "score": 2.0, "doc": {}}]}
    write_jsonl(Path("llm.jsonl"), [result])
    assert pooled("a.run.gz", "llm.jsonl", "--depth", 1, "--order", "fused") == {"1": ["x", "new"], "2": ["p"]}


LISTS = st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1, max_size=8)
SETTINGS = (
    ["--order", "fused", "--size", "3"],
    ["--order", "hidden", "--budget", "5"],
    ["--order", "mtf", "--judged", "judged", "--depth", "4"],
    ["--order", "hedge", "--judged", "judged"],
    ["--sample", "1-2:1.0,3-8:0.5"],
    ["--qrels", "judged"],
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    runs=st.lists(st.dictionaries(st.sampled_from(["1", "2", "3"]), LISTS, min_size=1), min_size=2, max_size=4),
    options=st.sampled_from(SETTINGS),
    chance=st.randoms(use_true_random=False),
)
def test_neither_the_order_of_runs_nor_of_lines_matters(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    runs: list[dict[str, list[str]]],
    options: list[str],
    chance: random.Random,
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("pool"))
    paths = write_lists(Path(), dict(zip("stuv", runs, strict=False)))
    first = sorted(runs[0])[0]
    Path("judged").write_text("".join(f"{first} 0 {docid} {docid in 'bdf':d}\n" for docid in "abcdef"))

    def made() -> list[object]:
        status = main([*map(str, paths), *options, "--out", "pool.jsonl", "--json", "s.json"])
        written = {path.name: path.read_bytes() for path in Path().iterdir() if path.name not in names}
        out, err = capsys.readouterr()
        return [status, written, out, err.partition("stage ")[0]]  # what follows are times

    names = {path.name for path in Path().iterdir()}
    before = made()
    for path in paths:
        lines = path.read_text().splitlines(keepends=True)
        chance.shuffle(lines)
        path.write_text("".join(lines))
    chance.shuffle(paths)
    assert made() == before


def test_another_process_writes_the_same_bytes(files: Path, heed_process: Heed) -> None:
    """Sets and dicts of strings come in another order in every process; nothing may depend on it."""
    (files / "q").write_text("1 0 x 1\n1 0 nowhere 1\n2 0 p 2\n2 0 s 1\n")
    written = []
    for seed in ("1", "2"):
        result = heed_process(
            "pipelines.pool", "b.run", "a.run", "--only-relevant", "q", "--out", "pool.jsonl", PYTHONHASHSEED=seed
        )
        assert result.returncode == 0, result.stderr
        written.append((result.stdout, (files / "pool.jsonl").read_bytes()))
    assert written[0] == written[1]
    assert {qid: set(docids) for qid, docids in read_pool(files / "pool.jsonl").items()} == {
        "1": {"x", "nowhere"},
        "2": {"p", "s"},
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no RUN given"),
        (["a.run", "--only-relevant", "q", "--size", "3"], "--only-relevant with --size: all relevant documents"),
        (["a.run", "--sample", "1-9:1", "--budget", "3"], "--sample with --budget: a cut would change"),
        (["a.run", "--sample", "1-9:1", "--depth", "3"], "--depth 3 with strata to rank 9"),
        (["--only-relevant", "q", "--order", "hedge"], "--order hedge without RUN"),
        (["--only-relevant", "q", "--qrels", "q"], "--qrels without RUN"),
        (["a.run", "--judged", "q"], "--judged with --order hidden: it guides mtf and hedge"),
        (["a.run", "--order", "fused", "--seed", "1"], "--seed with --order fused"),
        (["a.run", "--budget", "zho=3", "--language", "fas=q"], "--budget zho=…: every language with a budget needs"),
        (["a.run", "--docs", "q"], "--docs: only used with --export"),
        (["a.run", "--size", "3", "--size", "4"], "--size: given twice; keep one"),
        (["a.run", "--size", "9=4"], "size: 9 is not pooled"),
        (["a.run", "--exclude-judged", "other"], "judged: none of its topics (8) is pooled (1, 2 are)"),
        (["a.run", "--exclude-judged", "none"], "every grade is negative, so nothing is judged"),
        (["a.run", "--only-relevant", "zeros"], "zeros: no document is relevant, so there is none to judge again"),
        (["a.run", "--exclude-judged", "all"], "the pool is empty: all documents of the runs are judged already"),
        (["a.run", "--exclude-judged", "absent"], "absent: no such file"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("q").write_text("1 0 x 1\n")
    Path("other").write_text("8 0 x 1\n")
    Path("none").write_text("1 0 x -1\n")
    Path("zeros").write_text("1 0 x 0\n")
    Path("all").write_text("".join(f"{qid} 0 {one} 0\n" for qid, docids in RUNS["a"].items() for one in docids))
    assert said in refused(capsys, *arguments)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--size", "0"], "--size: found '0', expected a whole number from 1"),
        (["--budget", "=3"], "--budget: found '=3'"),
        (["--language", "zho"], "--language: found 'zho', expected LANG=PATH"),
        (["--sample", "1-10:2"], "--sample: found '1-10:2', expected a share above 0 and up to 1"),
        (["--seconds-per-document", "nan"], "--seconds-per-document: found 'nan', expected seconds above 0"),
        (["--export", "word=x"], "--export: found 'word=x', expected FORM=PATH with one of trec-pool"),
        (["--order", "best"], "--order: found 'best', expected one of hidden"),
    ],
)
def test_wrong_arguments_give_status_2(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["a.run", "--out", "pool.jsonl", *arguments])
    assert caught.value.code == 2
    assert said in capsys.readouterr().err


def test_a_pool_is_exported_with_its_texts() -> None:
    write_jsonl(Path("docs.jsonl"), [{"id": docid, "title": "", "text": f"text of {docid}"} for docid in "xyzwpqrs"])
    topics = [{"qid": qid, "query": f"query {qid}", "instructions": {"original": "tell"}} for qid in "12"]
    write_jsonl(Path("topics.jsonl"), topics)
    shown = ["--topics", "topics.jsonl", "--docs", "docs.jsonl", "--order", "fused", "--depth", "2"]
    pooled("a.run", *shown, "--export", "qrels-template=t.qrels", "--export", "jsonl=t.jsonl")
    assert Path("t.qrels").read_text() == "1 0 x -1\n1 0 y -1\n2 0 p -1\n2 0 q -1\n"
    first = json.loads(Path("t.jsonl").read_text().splitlines()[0])
    assert (first["docid"], first["instruction"], first["text"]) == ("x", "tell", "text of x")
    pooled("a.run", "--export", "trec-pool=t.pool", "--depth", "1")  # shows no text: needs neither
    assert Path("t.pool").read_text() == "1 x\n2 p\n"


def test_settings_and_figures_are_written_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    pooled("a.run", "b.run", "--depth", 2, "--json", "s.json", "--seconds-per-document", 60)
    found = json.loads(Path("s.json").read_text())
    assert (found["settings"]["depth"], found["settings"]["order"], found["settings"]["seed"]) == (2, "hidden", 0)
    # three documents of each topic, a minute each
    assert found["judging"] == {"seconds_per_document": 60, "hours": 0.1}
    assert found["per_topic"] == {
        "topics": 2, "documents": 6, "smallest": 3, "median": 3, "largest": 3, "sizes": {"1": 3, "2": 3},
        "depths": {"1": 2, "2": 2},
    }  # fmt: skip
    assert found["runs"][0] == {
        "run": "a",
        "system": "a",
        "documents": 4,
        "unique": 2,
        "system_unique": 2,
        "depth_reached": 2,
    }
    told = capsys.readouterr().out
    assert told.startswith("pool.jsonl: 6 documents of 2 topics\na topic: 3 to 3 documents, median 3\n")
    assert "expected judging: 0.1 hours at 60 s a document (as given)" in told


@pytest.mark.parametrize(("subset", "docid"), [("zho", "a"), ("rus", "b")])
def test_one_of_several_mteb_subsets_is_pooled(tmp_path: Path, subset: str, docid: str) -> None:
    mteb_file(tmp_path / "p_predictions.json", zho={"test": {"1": {"a": 2.0}}}, rus={"test": {"1": {"b": 1.0}}})
    assert pooled("p_predictions.json", "--subset", subset) == {"1": [docid]}


def test_topics_that_only_one_run_has_are_warned_of(tmp_path: Path, heed: Heed) -> None:
    write_lists(tmp_path, {"base": dict.fromkeys("123", "ab"), "few": {"1": "ba"}})
    done = heed("pipelines.pool", "base.run", "few.run", "--out", "p.jsonl", "--json", "p.json", "--quiet")
    said = "2 of 3 topics are in some runs only: 2, 3; few lacks 2"
    assert (done.stderr, json.loads(Path("p.json").read_text())["warnings"]) == (f"warning: {said}\n", [said])

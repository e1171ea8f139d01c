"""Topics whose ids differ by leading zeros or a prefix in topics, judgements and runs; few of them judged."""

import json
from pathlib import Path

import pytest
from conftest import Heed, write_jsonl

import heed as library
from heed.errors import DataError, UsageError
from heed.formats.data_sets import Columns, HubRow, listed_of, read_queries
from heed.formats.topic_ids import number, number_hint, numbered
from heed.formats.trec_files import read_pool, read_run
from pipelines import annotate

TREC, COMPARE = "pipelines.trec", "pipelines.compare"
BM25 = ("--retriever", "bm25", "--reranker", "none")
TEXTS = {"d1": "storm over the reef", "d2": "old bridge", "d3": "ferry"}
ANSWERS = {"51": "d1", "52": "d2", "53": "d3"}  # of the topics that ask for these texts


def material(folder: Path, form: str = "{:03}", instructed: bool = True) -> Path:
    """Write documents, topics whose ids are in ``form``, and judgements of plain numbers, as NIST's of these tracks."""
    write_jsonl(folder / "docs.jsonl", [{"id": docid, "text": text} for docid, text in TEXTS.items()])
    instructions = {"original": "any", "changed": "few"} if instructed else {}
    topics = [
        {"qid": form.format(int(qid)), "query": TEXTS[docid], "instructions": instructions}
        for qid, docid in ANSWERS.items()
    ]
    write_jsonl(folder / "topics.jsonl", topics)
    library.Qrels({qid: {docid: 1} for qid, docid in ANSWERS.items()}).write(folder / "qrels")
    return folder


def own_files(**more: str) -> tuple[str, ...]:
    named = {"docs": "docs.jsonl", "topics": "topics.jsonl", "qrels": "qrels"} | more
    return tuple(part for name, value in named.items() for part in (f"--{name.replace('_', '-')}", value))


@pytest.mark.parametrize(
    ("qid", "expected"),
    [
        *(("051", "51"), ("MB001", "1"), ("AR26", "26"), ("CXX-100", "100"), ("000", "0"), ("7", "7"), ("3_0", "3_0")),
        *(("051-og", "51-og"), ("q_012-changed", "12-changed"), ("hurricane", "hurricane"), ("10a", "10a")),
    ],
)
def test_the_number_of_a_topic_is_its_id_without_prefix_and_leading_zeros(qid: str, expected: str) -> None:
    assert number(qid) == number(expected) == expected
    assert number_hint([qid], [expected] if qid != expected else []) == (
        f"; 1 differ by leading zeros or a prefix ({qid} and {expected}): give topic_ids=number if they are the same"
        if qid != expected
        else ""
    )


def test_topics_with_two_prefixes_are_those_of_another_collection() -> None:
    assert number_hint(["de01", "de02"], ["dr01", "dr02"]) == (
        "; 2 differ by leading zeros or a prefix (de01 and dr01, de02 and dr02): is one file of another collection?"
    )


@pytest.mark.parametrize("form", ["{:03}", "MB{:03}", "AR{}"])
def test_ids_of_one_number_are_named_and_matched_on_request(tmp_path: Path, heed: Heed, form: str) -> None:
    material(tmp_path, form)
    said = f"3 differ by leading zeros or a prefix (51 and {form.format(51)}, 52 and {form.format(52)}, "
    apart = heed(TREC, *own_files(), *BM25)
    assert apart.returncode == 1 and said in apart.stderr and "give --topic-ids number" in apart.stderr
    done = heed(TREC, *own_files(), *BM25, "--topic-ids", "number")
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "runs/docs/eng/summary.json").read_text())["rows"]
    values = {row["condition"]: (row["value"], row["n"]) for row in rows if row["measure"] == "nDCG@20"}
    assert values["query"] == values["original"] == (1.0, 3)  # each text is found by itself
    runs = {path.name: path.read_bytes() for path in (tmp_path / "runs/docs/eng").glob("*.run")}
    files = [tmp_path / name for name in ("docs.jsonl", "topics.jsonl", "qrels")]
    experiment = library.Experiment(
        library.load_files(*files, topic_ids="number"), indexes=tmp_path / "i", out=tmp_path / "python"
    )
    experiment.retrieve("bm25")
    assert {path.name: path.read_bytes() for path in experiment.folder.glob("*.run")} == runs
    with pytest.raises(UsageError, match="topic_ids: found 'digits', expected number"):
        library.load_files(*files, topic_ids="digits")


def test_instructions_and_lists_of_a_data_set_are_matched_by_number(tmp_path: Path) -> None:
    """They are in rows of their own, by the ids as they are written."""
    write_jsonl(tmp_path / "queries.jsonl", [{"_id": "MB001", "text": "storm"}])
    write_jsonl(tmp_path / "instruction.jsonl", [{"query-id": "MB001", "instruction": "any"}])
    with numbered("number"):
        [topic] = read_queries(tmp_path, "eng")
        listed = listed_of([HubRow(tmp_path, 1, {"_id": "MB001", "gold": ["d1"]})], Columns(), "gold")
    assert (topic.qid, topic.instructions, listed) == ("1", {"original": "any"}, {"1": {"d1": 1}})


def test_some_ids_that_differ_are_a_warning(tmp_path: Path, heed: Heed) -> None:
    material(tmp_path)
    library.Qrels({"051": {"d1": 1}, "52": {"d2": 1}, "99": {"d3": 1}}).write(tmp_path / "qrels")
    done = heed(TREC, *own_files(), *BM25)
    [warning] = [line for line in done.stderr.splitlines() if line.startswith("warning: qrels (original)")]
    assert "2 of 3 topics are not among the topics; 1 differ by leading zeros or a prefix (52 and 052)" in warning
    assert "found" not in warning and warning.endswith(": 52, 99")


def test_two_topics_of_one_number_are_refused(tmp_path: Path, heed: Heed) -> None:
    material(tmp_path)
    write_jsonl(tmp_path / "topics.jsonl", [{"qid": qid, "query": "storm"} for qid in ("051", "MB51", "2")])
    done = heed(TREC, *own_files(), *BM25, "--topic-ids", "number")
    assert done.stderr.splitlines()[-1] == (
        "error: topics.jsonl: topics 051 and MB51 have one number, which is to be their id; rename one"
    )


def runs_of(folder: Path) -> tuple[str, str]:
    """Write two runs of the topics 051 … and 0051 …, in which the relevant document is first."""
    for name, zeros in (("base", 3), ("new", 4)):
        lists = {qid.zfill(zeros): {docid: float(docid == best) for docid in TEXTS} for qid, best in ANSWERS.items()}
        library.Run(lists).write(folder / f"{name}.run")
    return "base.run", "new.run"


def test_compare_names_ids_of_one_number_and_matches_them(tmp_path: Path, heed: Heed) -> None:
    base, new = runs_of(material(tmp_path))
    judged = ("--qrels", "qrels", "--new-qrels", "qrels")
    apart = heed(COMPARE, base, new, *judged)
    assert apart.returncode == 1 and "(0051 and 051, 0052 and 052, 0053 and 053): give --topic-ids" in apart.stderr
    (tmp_path / "again.run").write_bytes((tmp_path / base).read_bytes())
    apart = heed(COMPARE, base, "again.run", *judged)
    assert "3 judged topics are not in the new run and count 0 in its means: 51, 52, 53; 3 differ" in apart.stderr
    done = heed(COMPARE, base, new, *judged, "--topic-ids", "number", "--json", "c.json")
    assert done.returncode == 0, done.stderr
    measures = json.loads((tmp_path / "c.json").read_text())["measures"]
    assert [(measures[name]["mean"], measures[name]["n"]) for name in ("AP base", "AP new")] == [(1.0, 3)] * 2
    (tmp_path / "pairs").write_text("0051\tMB051\n")
    done = heed(COMPARE, base, new, *judged, "--topic-ids", "number", "--pairs", "pairs")
    assert "1 pairs" in done.stdout, done.stderr
    (tmp_path / "other.run").write_bytes((tmp_path / base).read_bytes())
    of_systems = ("--qrels", "qrels", "--baseline", base, "--topic-ids", "number", "--json", "c.json")
    done = heed(COMPARE, base, "other.run", *of_systems)
    assert {row["n"] for row in json.loads((tmp_path / "c.json").read_text())["rows"]} == {3}, done.stderr


def test_pool_rerank_annotate_and_check_name_ids_of_one_number(
    tmp_path: Path, heed: Heed, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, new = runs_of(material(tmp_path))
    pooled = ("--depth", "2", "--exclude-judged", "qrels", "--order", "fused", "--out", "pool.jsonl")
    apart = heed("pipelines.pool", base, *pooled)
    assert apart.returncode == 1 and "3 differ by leading zeros or a prefix (51 and 051" in apart.stderr
    done = heed("pipelines.pool", base, new, *pooled, "--topic-ids", "number")
    assert done.returncode == 0, done.stderr
    # of equal scores the greater docid is second: what is not judged of the first two
    assert read_pool(tmp_path / "pool.jsonl") == {"51": ["d3"], "52": ["d3"], "53": ["d2"]}
    reranked = ("--topics", "topics.jsonl", "--docs", "docs.jsonl", "--reranker", "polarity", "--out", "out.run")
    apart = heed("pipelines.rerank", new, *reranked)
    assert apart.returncode == 1 and "3 differ by leading zeros or a prefix (0051 and 051" in apart.stderr
    assert heed("pipelines.rerank", new, *reranked, "--topic-ids", "number").returncode == 0
    assert read_run(tmp_path / "out.run").keys() == ANSWERS.keys()
    monkeypatch.chdir(tmp_path)
    annotated = annotate.parser().parse_args(["pool.jsonl", *reranked[:4], "--topic-ids", "number"])
    with pytest.raises(DataError, match=r"topics: topic 51 of the pool is not there; .*; 1 differ by leading zeros"):
        annotate.open_given(annotated)
    with numbered(annotated.topic_ids):
        task, store = annotate.open_given(annotated)
    store.close()
    assert task.topics.keys() == ANSWERS.keys()
    checked = heed("pipelines.check", new, "--topics", "topics.jsonl")
    assert "found topic '0051', which is none of the 3 given topics; 051 has the same number" in checked.stderr


def test_a_run_made_elsewhere_meets_its_topics_by_number(tmp_path: Path, heed: Heed) -> None:
    material(tmp_path, "MB{:03}")
    base, _ = runs_of(tmp_path)
    line = (TREC, *own_files(), "--retriever", "none", "--run", f"mine.query={base}")
    apart = heed(*line, "--condition", "query")
    assert apart.returncode == 1 and "3 differ by leading zeros or a prefix (051 and MB051" in apart.stderr
    done = heed(*line, "--condition", "query", "--topic-ids", "number")
    assert done.returncode == 0, done.stderr
    assert read_run(tmp_path / "runs/docs/eng/mine.query.run").keys() == ANSWERS.keys()
    assert library.Run.read(tmp_path / base, topic_ids="number").keys() == ANSWERS.keys()
    (tmp_path / "judged").write_text("MB051 0 d1 1\n")
    assert library.Qrels.read(tmp_path / "judged", topic_ids="number") == {"51": {"d1": 1}}


@pytest.mark.parametrize("condition", ["changed", "reversed"])
def test_judgements_of_a_condition_without_its_instructions_are_an_error(
    tmp_path: Path, heed: Heed, condition: str
) -> None:
    material(tmp_path, "{}", instructed=False)
    done = heed(TREC, *own_files(**{f"{condition}_qrels": "qrels"}), *BM25)
    assert done.returncode == 1 and not (tmp_path / "runs").exists()
    assert done.stderr.splitlines()[-1] == (
        f"error: --{condition}-qrels: qrels: no topic has an instruction for {condition}; expected topics as JSON "
        f'lines with "instructions": {{"original": "…", "{condition}": "…"}}'
    )
    files = [tmp_path / name for name in ("docs.jsonl", "topics.jsonl", "qrels")]
    with pytest.raises(DataError, match=f"no topic has an instruction for {condition}"):
        library.load_files(*files, **{f"{condition}_qrels": tmp_path / "qrels"})
    material(tmp_path, "{}")
    assert library.load_files(*files, changed_qrels=tmp_path / "qrels").judging.qrels.keys() == {"original", "changed"}


@pytest.mark.parametrize(("judged", "warned"), [(1, True), (2, False), (3, False)])
def test_few_judged_topics_are_a_warning(tmp_path: Path, heed: Heed, judged: int, warned: bool) -> None:
    material(tmp_path, "{}")  # of three topics; fewer than half are few
    library.Qrels({qid: {docid: 1} for qid, docid in [*ANSWERS.items()][:judged]}).write(tmp_path / "qrels")
    assert heed(TREC, *own_files(), *BM25).returncode == 0
    warnings = json.loads((tmp_path / "runs/docs/eng/summary.json").read_text())["warnings"]
    said = [
        f"qrels: 1 of 3 topics are judged under {name}; means are over these alone" for name in ("query", "original")
    ]
    assert warnings == (said if warned else [])

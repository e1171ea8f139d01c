import json
from pathlib import Path

import pytest
from conftest import ROOT, Heed, write_jsonl

from heed.errors import HeedError
from heed.formats.run_formats import read_external_runs
from heed.formats.trec_files import write_run
from heed.types import Topic

TOPICS = [Topic("12", "eng", "q", {"original": "a", "changed": "b"})]
CONDITIONS = ["query", "original", "changed"]


def test_runs_are_brought_by_condition_by_pattern_and_by_endings(tmp_path: Path) -> None:
    write_run(tmp_path / "a.run", {"12": {"d": 1.0}, "99": {"d": 1.0}}, "a")
    write_run(tmp_path / "a.query.run", {"12": {"e": 1.0}}, "a")
    write_run(tmp_path / "mteb.run", {"12-og": {"f": 1.0}, "12-changed": {"g": 1.0}}, "a")
    found = read_external_runs(
        [f"x.original={tmp_path}/a.run", f"y={tmp_path}/a.{{condition}}.run", f"z={tmp_path}/mteb.run"],
        TOPICS,
        CONDITIONS,
    )
    runs = {name: {condition: each.run for condition, each in of.items()} for name, of in found.items()}
    assert runs == {
        "x": {"original": {"12": {"d": 1.0}}},
        "y": {"query": {"12": {"e": 1.0}}},
        "z": {"original": {"12": {"f": 1.0}}, "changed": {"12": {"g": 1.0}}},
    }


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("x", "run: x: expected NAME.CONDITION=FILE"),
        ("=a.run", "expected NAME.CONDITION=FILE"),
        ("x={}/a.run", "which condition is it a run of"),
        ("x.query={}/b.run", "none of its topics"),
        ("x={}/{{condition}}.none", "no such file for any of query, original, changed"),
        ("x.query={}/none.run", "none.run: no such file"),
    ],
)
def test_what_cannot_be_brought_is_told(tmp_path: Path, given: str, told: str) -> None:
    write_run(tmp_path / "a.run", {"12": {"d": 1.0}}, "a")
    write_run(tmp_path / "b.run", {"13": {"d": 1.0}}, "a")
    with pytest.raises(HeedError, match=told):
        read_external_runs([given.format(tmp_path)], TOPICS, CONDITIONS)


def test_a_system_is_brought_once_for_a_condition(tmp_path: Path) -> None:
    write_run(tmp_path / "a.run", {"12": {"d": 1.0}}, "a")
    with pytest.raises(HeedError, match="x has a run of original already"):
        read_external_runs([f"x.original={tmp_path}/a.run"] * 2, TOPICS, CONDITIONS)


def test_what_makes_a_brought_run_doubtful_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text("12 Q0 d 1 0.1 t\n12 Q0 e 2 0.2 t\n")
    topics = [*TOPICS, Topic("13", "eng", "q", {"original": "a"})]
    external = read_external_runs([f"x.original={tmp_path}/a.run"], topics, CONDITIONS)["x"]["original"]
    assert [one.replace(str(tmp_path), "") for one in external.facts["warnings"]] == [
        "/a.run: ranks contradict scores in 1 of 1 topics (12): the scores decide, highest first, as in trec_eval; "
        "distances must be negated",
        "run x.original=/a.run: lacks 1 of 2 topics of original: 13",
    ]


def test_a_brought_run_is_measured_beside_the_others(tmp_path: Path, heed: Heed) -> None:
    qrels = (ROOT / "qrels/neuclir-sample/changed.qrels").read_text().splitlines()
    perfect: dict[str, dict[str, float]] = {}
    for line in qrels:
        qid, _, docid, grade = line.split()
        perfect.setdefault(qid, {})[docid] = float(grade)
    for condition in ("original", "changed"):
        write_run(tmp_path / f"elsewhere.{condition}.run", perfect, "elsewhere")
    options = ("--retriever", "bm25", "--reranker", "none", "--run", "perfect=elsewhere.{condition}.run")
    result = heed("pipelines.trec", *options)
    assert result.returncode == 0, result.stderr
    folder = tmp_path / "runs/neuclir-sample/eng"
    rows = json.loads((folder / "summary.json").read_text())["rows"]
    found = {(row["system"], row["condition"], row["measure"]): row["value"] for row in rows}
    assert found["perfect", "changed", "nDCG@20"] == pytest.approx(1.0)
    assert found["perfect", "original>changed", "p-MRR"] == 0.0
    assert (folder / "perfect.changed.run").exists()
    summary = (folder / "summary.json").read_bytes()
    same = "the same run twice, or a system that reads no instruction"
    assert [one for one in json.loads(summary)["warnings"] if "perfect" in one] == [
        f"perfect, original>changed: both runs hold the same lists and scores: {same}"
    ]
    assert heed("pipelines.trec", *options).returncode == 0
    assert (folder / "summary.json").read_bytes() == summary  # the same warnings, though runs were used again


SMALL = ("pipelines.trec", "--docs", "docs.jsonl", "--topics", "t.jsonl", "--qrels", "q", "--changed-qrels", "q")
ALONE = ("--retriever", "none", "--reranker", "none")


def small(folder: Path) -> Path:
    """Write a collection of two topics under two instructions; return its folder of results."""
    write_jsonl(folder / "docs.jsonl", [{"id": "d1", "text": "storm"}, {"id": "d2", "text": "reef"}])
    given = {"query": "storm", "instructions": {"original": "at sea", "changed": "on land"}}
    write_jsonl(folder / "t.jsonl", [{"qid": qid, "lang": "eng", **given} for qid in "12"])
    (folder / "q").write_text("1 0 d1 1\n2 0 d1 1\n")
    return folder / "runs/docs/eng"


def test_what_makes_a_brought_run_doubtful_stays_while_the_run_does(tmp_path: Path, heed: Heed) -> None:
    folder = small(tmp_path)
    (tmp_path / "half.txt").write_text("1 Q0 d1 1 2 t\n1 Q0 d2 2 1 t\n")
    (tmp_path / "flat.txt").write_text("".join(f"{qid} Q0 {docid} 1 1 t\n" for qid in "12" for docid in ("d1", "d2")))
    (tmp_path / "up.txt").write_text("1 Q0 d1 1 1 t\n1 Q0 d2 2 2 t\n2 Q0 d1 1 2 t\n2 Q0 gone 2 1 t\n")
    brought = ("--run", "half.original=half.txt", "flat.original=flat.txt", "up.original=up.txt")
    first = heed(*SMALL, *ALONE, *brought)
    assert first.returncode == 0, first.stderr
    doubts = [
        "flat.txt: one score for all documents in 2 of 2 topics (1, 2): their order is lost",
        "run half.original=half.txt: lacks 1 of 2 topics of original: 2",
        "up.txt: ranks contradict scores in 1 of 2 topics (1): ",
        "up.original.run: 1 document is not in the collection, of 3: gone",
    ]
    for doubt in doubts:
        assert first.stderr.count(doubt) == 1
    for again in (heed(*SMALL, "--retriever", "bm25", "--reranker", "none"), heed("pipelines.compare", str(folder))):
        assert again.returncode == 0, again.stderr
        assert [doubt for doubt in doubts if again.stderr.count(doubt) != 1] == []
    warnings = json.loads((folder / "summary.json").read_text())["warnings"]
    assert [sum(doubt in warning for warning in warnings) for doubt in doubts] == [1] * 4
    (tmp_path / "half.txt").write_text("1 Q0 d1 1 2 t\n2 Q0 d2 1 1 t\n")
    assert "lacks" not in heed(*SMALL, *ALONE, "--run", "half.original=half.txt").stderr


def test_copied_runs_without_notes_are_named_by_compare_too(tmp_path: Path, heed: Heed) -> None:
    folder = small(tmp_path)
    assert heed(*SMALL, "--retriever", "bm25", "--reranker", "none").returncode == 0
    (folder / "copy.original.run").write_bytes((folder / "bm25.original.run").read_bytes())
    result = heed("pipelines.compare", folder)
    assert result.returncode == 0
    said = "not measured, no note in .made/NAME.run.json says what it was made of: copy.original.run; copy the notes"
    assert result.stderr.count(said) == 1


def test_a_run_over_other_documents_is_refused(tmp_path: Path, heed: Heed) -> None:
    small(tmp_path)
    (tmp_path / "other.txt").write_text("1 Q0 n1 1 2 t\n2 Q0 n2 2 1 t\n")
    result = heed(*SMALL, "--retriever", "bm25", "--reranker", "none", "--run", "x.original=other.txt")
    assert result.returncode == 1 and not list(tmp_path.rglob("bm25.*.run"))
    said = "x.original.run: none of its 2 documents is in the collection (n1, n2); is it a run over other documents?"
    assert said in result.stderr


@pytest.mark.parametrize(("original", "changed"), [("a.txt", "b.txt"), ("mm.changed.txt", "mm.original.txt.gz")])
def test_exchanged_runs_are_known_by_their_tags_or_names(
    tmp_path: Path, heed: Heed, original: str, changed: str
) -> None:
    folder, tags = small(tmp_path), ("x-changed", "x-original") if original == "a.txt" else ("acme", "acme")
    for name, tag in zip((original, changed), tags, strict=True):
        write_run(tmp_path / name, {"1": {"d1": 1.0}, "2": {"d1": 1.0}}, tag)
    runs = (f"x.original={original}", f"x.changed={changed}")
    for options in ((*ALONE, "--run", *runs), ("--retriever", "bm25", "--reranker", "none")):
        assert heed(*SMALL, *options).returncode == 0
        warnings = json.loads((folder / "summary.json").read_text())["warnings"]
        by = "tags" if original == "a.txt" else "tags or names"
        said = f"by their {by}, …changed and …original, the base run and the new one look exchanged"
        assert f"x.original.run and x.changed.run: {said}" in warnings


def test_runs_of_ones_own_are_measured_alone_and_checked_before_anything_runs(tmp_path: Path, heed: Heed) -> None:
    write_jsonl(tmp_path / "docs.jsonl", [{"id": "d1", "text": "storm"}, {"id": "d2", "text": "reef"}])
    write_jsonl(tmp_path / "t.jsonl", [{"qid": "1", "query": "storm"}])
    (tmp_path / "q").write_text("1 0 d1 1\n")
    write_run(tmp_path / "a.run", {"1": {"d2": 2.0, "d1": 1.0}}, "a")
    given = ("pipelines.trec", "--docs", "docs.jsonl", "--topics", "t.jsonl", "--qrels", "q", "--quiet")
    for options, error in (
        (("--run", "x.query=no.run"), "no.run: no such file"),
        (("--run", "a/b.query=a.run"), "system 'a/b': expected letters, digits and . + @ : _ -, for its run files"),
        (
            ("--run", "bm25.query=a.run"),
            "system bm25: named twice (bm25, bm25=FILE); name one, as in bm25-2=FILE",
        ),
        (("--retriever", "none"), "--retriever none: nothing is left to run; name a retriever, or runs of your own"),
        (("--retriever", "none", "--reranker", "polarity", "--run", "x.query=a.run"), "rerankers have no pool"),
    ):
        result = heed(*given, *options)
        assert result.returncode == 1 and error in result.stderr
        assert list(tmp_path.rglob("*.query.run")) == list(tmp_path.rglob("bm25")) == []
    alone = heed(*given, "--retriever", "none", "--run", "x.query=a.run")
    assert alone.returncode == 0, alone.stderr
    # the only relevant document is second, and alone judged: nDCG 1/log2(3), one of two judged, AP 1/2
    assert alone.stdout.splitlines()[-1].split() == ["x", "query", "63.1", "50.0", "50.0", "100.0", "1"]

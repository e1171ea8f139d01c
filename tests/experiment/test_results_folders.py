"""A results folder holds what belongs together: one collection of a name, and no runs of another one's."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Heed, write_jsonl
from drinks import TEXTS, Twice, Words, collection

from heed import Collection, DataError, Document, Documents, Experiment, Judging, load_files
from heed.measures.system_comparison import find_runs


def evaluate(folder: Path, of: Collection, *systems: Words, conditions: Sequence[str] = ()) -> None:
    experiment = Experiment(of, indexes=folder / "indexes", out=folder / "runs", conditions=conditions)
    experiment.evaluate([experiment.retrieve(system) for system in systems])


def runs(folder: Path) -> list[str]:
    below = folder / "runs" / "drinks" / "eng"
    return sorted(path.relative_to(below).as_posix().removesuffix(".run") for path in below.rglob("*.run"))


WORDS = ["words.changed", "words.original", "words.query"]
TWICE = ["twice.changed", "twice.original", "twice.query"]


def test_runs_of_the_same_collection_stay_for_the_next_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluate(tmp_path, collection(), Words())
    evaluate(tmp_path, collection(), Twice())
    evaluate(tmp_path, collection(judging=Judging({})), Words(), conditions=["query"])
    assert runs(tmp_path) == [*TWICE, *WORDS] and "moved" not in capsys.readouterr().err


def test_runs_of_other_documents_topics_and_settings_are_moved_where_nothing_compares_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluate(tmp_path, collection(), Words(), Twice())
    evaluate(tmp_path, collection(), Words(2.0), conditions=["query"])
    first = ["earlier/1/words.changed", "earlier/1/words.original"]
    assert runs(tmp_path) == [*first, *TWICE, "words.query"]
    folder = tmp_path / "runs" / "drinks" / "eng"
    moved = "2 runs of other documents, topics or settings are moved there: words.changed.run, words.original.run"
    assert f"warning: {folder}/earlier/1: {moved}\n" in capsys.readouterr().err
    # what was moved changes no result, and a second time there is nothing to move: the bytes must be the same
    assert json.loads((folder / "summary.json").read_text())["warnings"] == []
    fewer = collection(source=Documents([Document("a", "", "tea"), Document("b", "", ""), Document("c", "", "")]))
    evaluate(tmp_path, fewer, Words(2.0), conditions=["query"])
    second = [f"earlier/2/{name}" for name in TWICE]
    assert runs(tmp_path) == [*first, *second, "words.query"]
    with pytest.raises(DataError, match="no <system>.original.run"):
        find_runs(folder)
    asked_otherwise = fewer.topics[0]._replace(instructions={"original": "sugar"})
    evaluate(tmp_path, fewer, Words(2.0))
    evaluate(tmp_path, replace(fewer, topics=[asked_otherwise]), Words(2.0), conditions=["query"])
    third = ["earlier/3/words.changed", "earlier/3/words.original"]
    assert runs(tmp_path) == [*first, *second, *third, "words.query"]


def test_runs_whose_making_is_not_known_are_moved(tmp_path: Path) -> None:
    evaluate(tmp_path, collection(), Words(config=None), Twice())
    folder = tmp_path / "runs" / "drinks" / "eng"
    (folder / "mine.original.run").write_text("1 Q0 a 1 1.0 mine\n")
    (folder / "notes.run").write_text("not a condition's\n")
    (folder / "twice.original.run").write_text("1 Q0 a 1 1.0 changed\n")
    evaluate(tmp_path, collection(), Words(config=None), conditions=["query"])
    moved = ["mine.original", "twice.original", "words.changed", "words.original"]
    assert runs(tmp_path) == [*(f"earlier/1/{name}" for name in moved), "notes", *TWICE[::2], "words.query"]


def test_two_collections_of_one_name_are_refused_and_edited_documents_are_not(tmp_path: Path, heed: Heed) -> None:
    for name in ("one", "two"):
        write_jsonl(tmp_path / name / "docs.jsonl", [{"id": docid, "text": name} for docid in TEXTS])
    write_jsonl(tmp_path / "t.jsonl", [{"qid": "1", "query": "one"}])
    common = ("--topics", "t.jsonl", "--retriever", "bm25", "--reranker", "none", "--quiet")
    assert heed("pipelines.trec", "--docs", "one/docs.jsonl", *common).returncode == 0
    run = (tmp_path / "runs/docs/eng/bm25.query.run").read_bytes()
    refused = heed("pipelines.trec", "--docs", "two/docs.jsonl", *common)
    assert refused.stderr.splitlines() == [
        "error: runs/docs/eng: is of another collection of this name, whose documents are one/docs.jsonl; asked for "
        "are those of two/docs.jsonl; give this collection another name (--name) or other folders (--out and "
        "--indexes), or remove this one"
    ]
    assert refused.returncode == 1 and (tmp_path / "runs/docs/eng/bm25.query.run").read_bytes() == run
    reranked = ("--reranker", "polarity", "--docs", "two/docs.jsonl", "--topics", "t.jsonl", "--out", "new.run")
    again = heed("pipelines.rerank", "runs/docs/eng/bm25.query.run", *reranked, "--quiet")
    assert again.stderr.startswith("error: indexes/docs/eng: is of another collection of this name")
    assert heed("pipelines.rerank", "runs/docs/eng/bm25.query.run", *reranked, "--name", "two").returncode == 0
    assert heed("pipelines.trec", "--docs", "two/docs.jsonl", "--name", "two", *common).returncode == 0
    write_jsonl(tmp_path / "one" / "docs.jsonl", [{"id": docid, "text": "one more"} for docid in "abcd"])
    assert heed("pipelines.trec", "--docs", "one/docs.jsonl", *common).returncode == 0


def test_the_same_documents_in_another_place_are_the_same_collection(tmp_path: Path) -> None:
    records = [{"id": docid, "text": text} for docid, text in TEXTS.items()]
    paths = [write_jsonl(tmp_path / name / "docs.jsonl", records) for name in ("one", "two", "three")]
    topics = write_jsonl(tmp_path / "t.jsonl", [{"qid": "1", "query": "tea"}])
    for path in paths[:2]:
        evaluate(tmp_path, load_files(path, topics), Words())
    link = tmp_path / "docs.jsonl"
    newer = write_jsonl(tmp_path / "newer.jsonl", [*records, {"id": "d", "text": ""}])
    for path in (paths[0], newer):  # a link that leads elsewhere by now
        link.unlink(missing_ok=True)
        link.symlink_to(path)
        evaluate(tmp_path, load_files(link, topics, name="linked"), Words())
    more = write_jsonl(tmp_path / "one" / "more.jsonl", [{"id": "d", "text": "cocoa"}])
    evaluate(tmp_path, load_files([paths[0], more], topics), Words())  # it has grown
    evaluate(tmp_path, load_files(tmp_path / "one", topics, name="docs"), Words())  # by its folder
    with pytest.raises(DataError, match="is of another collection of this name"):
        evaluate(tmp_path, load_files(paths[2], topics), Words())
    (tmp_path / "indexes/docs/eng/.made/source.json").write_text("{")  # a note that cannot be read refuses nothing
    (tmp_path / "runs/docs/eng/.made/source.json").unlink()
    evaluate(tmp_path, load_files(paths[2], topics), Words())

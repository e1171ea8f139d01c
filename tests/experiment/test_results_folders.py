"""A results folder holds what belongs together: one collection of a name, and no runs of another one's."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import Heed, write_jsonl
from drinks import TEXTS, Words

from heed import Collection, DataError, Experiment, load_files


def evaluate(folder: Path, of: Collection, *systems: Words, conditions: Sequence[str] = ()) -> None:
    experiment = Experiment(of, indexes=folder / "indexes", out=folder / "runs", conditions=conditions)
    experiment.evaluate([experiment.retrieve(system) for system in systems])


def test_two_collections_of_one_name_are_refused_and_edited_documents_are_not(tmp_path: Path, heed: Heed) -> None:
    for name in ("one", "two"):
        write_jsonl(tmp_path / name / "docs.jsonl", [{"id": docid, "text": name} for docid in TEXTS])
    write_jsonl(tmp_path / "t.jsonl", [{"qid": "1", "query": "one"}])
    common = ("--topics", "t.jsonl", "--retriever", "bm25", "--reranker", "none", "--quiet")
    assert heed("pipelines.trec", "--docs", "one/docs.jsonl", *common).returncode == 0
    run = (tmp_path / "runs/docs/eng/bm25.query.run").read_bytes()
    refused = heed("pipelines.trec", "--docs", "two/docs.jsonl", *common)
    assert refused.stderr.splitlines() == [
        "error: indexes/docs/eng: is of another collection of this name, whose documents are one/docs.jsonl; asked for "
        "are those of two/docs.jsonl; give this collection another name (--name NAME), or another folder, --indexes "
        "DIR, or remove this one"
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
    evaluate(tmp_path, load_files(paths[2], topics), Words())


def test_an_edit_of_ones_code_is_compared_with_the_code_before(tmp_path: Path, heed: Heed) -> None:
    """Its runs are brought in as the line says, and are known to be of the same pool."""
    write_jsonl(tmp_path / "docs.jsonl", [{"id": docid, "text": text} for docid, text in TEXTS.items()])
    write_jsonl(tmp_path / "t.jsonl", [{"qid": "1", "query": "tea", "instructions": {"original": "with milk"}}])
    (tmp_path / "q").write_text("1 0 a 1\n")
    code = "class Half:\n    name, config = 'half', {}\n    def score(self, query, documents):\n        return "
    common = ("--docs", "docs.jsonl", "--topics", "t.jsonl", "--qrels", "q", "--retriever", "bm25", "--quiet")
    for score in ("[len(each.text) for each in documents]", "[-len(each.text) for each in documents]"):
        (tmp_path / "mine.py").write_text(f"{code}{score}\n")
        done = heed("pipelines.trec", *common, "--reranker", "mine:Half")
        assert done.returncode == 0, done.stderr
    brought = "old=runs/docs/eng/earlier/1/half.{condition}.run"
    assert (
        "half: module's code has changed; its earlier runs are in runs/docs/eng/earlier/1; to keep both in one report, "
        f"bring the earlier one in: --run '{brought}'"
    ) in done.stderr
    assert heed("pipelines.trec", *common, "--reranker", "mine:Half", "--run", brought).returncode == 0
    compared = heed("pipelines.compare", "runs/docs/eng", "--baseline", "old", "--json", "c.json")
    rows = [row for row in json.loads((tmp_path / "c.json").read_text())["rows"] if row["system"] == "half"]
    assert rows and all(row["same_pool"] for row in rows) and "not tested" not in compared.stdout + compared.stderr

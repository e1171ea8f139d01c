"""Runs of other tools: TREC, rank_llm, MTEB, and what is wrong with them."""

import gzip
import json
import re
from pathlib import Path

import lz4.frame
import pandas as pd
import pytest
import pytrec_eval
from conftest import Heed, write_jsonl
from mteb_predictions import RUN, mteb_file

from heed.errors import HeedError
from heed.formats.run_formats import read_any_run, read_external_runs
from heed.formats.trec_files import write_run
from heed.types import Topic


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
    with (tmp_path / "a.run").open() as lines:
        (tmp_path / "pytrec_eval.json").write_text(json.dumps(pytrec_eval.parse_run(lines)))
    rows = [(qid, docid, score) for qid, scores in RUN.items() for docid, score in scores.items()]
    pd.DataFrame(rows, columns=["qid", "docno", "score"]).to_parquet(tmp_path / "pyterrier.parquet")
    pd.DataFrame(rows, columns=["query_id", "doc_id", "score"]).to_parquet(tmp_path / "ir_measures.parquet")
    (tmp_path / "a.run.lz4").write_bytes(lz4.frame.compress((tmp_path / "a.run").read_bytes()))
    for path in tmp_path.iterdir():
        assert read_any_run(path) == RUN, path.name


def test_bad_rows_of_a_table_are_told(tmp_path: Path) -> None:
    for name, rows, said in (
        ("score", {"qid": ["1"], "docno": ["a"], "score": ["high"]}, "topic 1: document a: score 'high', expected a"),
        ("twice", {"qid": ["1", "1"], "docno": ["a", "a"], "score": [2.0, 1.0]}, "topic 1: document a is listed again"),
        ("column", {"qid": ["1"], "docno": ["a"], "rank": [1]}, "row 1: no field score (found qid, docno, rank)"),
        ("none", {"qid": [], "docno": [], "score": []}, "holds no row; expected columns of topic, document and score"),
    ):
        pd.DataFrame(rows).to_parquet(path := tmp_path / f"{name}.parquet")
        with pytest.raises(HeedError, match=re.escape(said)):
            read_any_run(path)


def test_one_of_several_mteb_subsets_is_chosen(tmp_path: Path) -> None:
    path = mteb_file(tmp_path / "p.json", zho={"test": RUN}, rus={"test": {"2-og": {"c": 1.0}}})
    assert read_any_run(path, "rus") == {"2-og": {"c": 1.0}}
    with pytest.raises(HeedError, match="2 sets of predictions fit; subset=NAME chooses one of zho/test, rus/test"):
        read_any_run(path)
    with pytest.raises(HeedError, match="subset fas: 0 sets"):
        read_any_run(path, "fas")
    topics = [Topic("1", "zho", "q", {"original": "o", "changed": "c"})]
    external = read_external_runs([f"m={path}#zho"], topics, ["original", "changed"])["m"]
    assert {name: each.run for name, each in external.items()} == {
        "original": {"1": RUN["1-og"]},
        "changed": {"1": RUN["1-changed"]},
    }


@pytest.mark.parametrize("subset", ["zho", "rus"])
def test_one_of_several_mteb_subsets_is_reranked(tmp_path: Path, heed: Heed, subset: str) -> None:
    mteb_file(tmp_path / "p_predictions.json", zho={"test": {"1": {"a": 2.0}}}, rus={"test": {"1": {"b": 1.0}}})
    write_jsonl(tmp_path / "d.jsonl", [{"id": docid, "title": "", "text": f"water {docid}"} for docid in "ab"])
    write_jsonl(tmp_path / "t.jsonl", [{"qid": "1", "lang": "eng", "query": "water"}])
    given = ("p_predictions.json", "--subset", subset, "--topics", "t.jsonl", "--docs", "d.jsonl", "--out", "r.run")
    rescored = heed("pipelines.rerank", *given, "--reranker", "polarity")
    assert rescored.returncode == 0, rescored.stderr
    assert list(read_any_run(tmp_path / "r.run")["1"]) == ["a" if subset == "zho" else "b"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", "{", "not JSON"),
        ("a.json", "3", "holds a int; expected rank_llm results or MTEB predictions"),
        ("a.json", "[]", "holds no scores"),
        ("a.json", '{"1": {"a": 2.0, "b": "x"}}', "topic 1: document b: score 'x', expected a finite number"),
        ("a.json", '[{"query": {}}]', "result 1: no 'qid'"),
        ("a.jsonl", '{"qid": "1", "query": "cars"}\n{"qid": "2"}', "^[^\n]*a.jsonl: topics; expected a run$"),
        ("a.jsonl", '{"qid": "1", "docids": ["a"]}', "a.jsonl: a pool, which has no scores; expected a run"),
        (
            "a.json",
            '[{"query": {"qid": 1}, "candidates": []}, {"query": {"qid": "1"}, "candidates": []}]',
            "1 comes twice",
        ),
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

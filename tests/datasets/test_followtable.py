"""FollowTable in its two published layouts, files by hand: deu05232/FollowTable's README and data."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import write_jsonl
from followtable_copies import ENTRIES, HEADER, ONLY, QUERIES, beir, raw

from heed.datasets.followtable import JOIN, constraint, is_followtable, read_followtable
from heed.errors import HeedError
from heed.tables.documents import Tables
from heed.types import Topic, under

TOPICS = [
    Topic("0", "eng", "running shoes", {}),
    Topic("0_0", "eng", "running shoes", {"original": "Only build."}, "S1", "0"),
    Topic("0_1", "eng", "running shoes", {"original": "No prices."}, "C2", "0"),
    Topic("2", "eng", "moon phases", {}),
    Topic("2_0", "eng", "moon phases", {"original": "By month."}, "S3", "2"),
]
QRELS = {
    "query": {"0": {"9111": 1, "12": 1, "7": 1}, "2": {"7": 1, "8": 1}},
    "original": {"0_0": {"12": 1}, "0_1": {"9111": 1, "12": 1}, "2_0": {"8": 1}},
}


@pytest.mark.parametrize(("layout", "tables"), [(beir, "corpus.jsonl"), (raw, "tables")])
def test_both_layouts_have_the_same_topics_and_judgements(
    tmp_path: Path, layout: Callable[[Path], Path], tables: str
) -> None:
    assert is_followtable(layout(tmp_path))
    read = read_followtable(tmp_path)
    assert sorted(read.topics) == sorted(TOPICS)
    assert read.qrels == QRELS
    assert read.tables == [tmp_path / tables]


def test_tables_of_the_raw_release_have_the_judgements_ids(tmp_path: Path) -> None:
    read = read_followtable(raw(tmp_path))
    docids = [line.document.docid for line in Tables(read.tables, "raw").lines() if line.document]
    judged = {docid for qrels in read.qrels.values() for grades in qrels.values() for docid in grades}
    assert sorted(docids) == sorted(judged) == ["12", "7", "8", "9111"]


def test_a_folder_of_neither_form_is_not_followtable(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "corpus.jsonl", [{"_id": "7", "text": "x"}])
    write_jsonl(tmp_path / "queries.jsonl", QUERIES)
    assert not is_followtable(tmp_path)


def test_the_corpus_may_be_gzipped(tmp_path: Path) -> None:
    corpus = beir(tmp_path) / "corpus.jsonl"
    (tmp_path / "corpus.jsonl.gz").write_bytes(gzip.compress(corpus.read_bytes()))
    corpus.unlink()
    assert read_followtable(tmp_path).tables == [tmp_path / "corpus.jsonl.gz"]


def test_what_is_asked_under_a_condition_is_the_published_text(tmp_path: Path) -> None:
    topics = read_followtable(beir(tmp_path)).topics
    assert {topic.qid: topic.under("original", JOIN).text for topic in under(topics, "original")} == {
        query["_id"]: query["text"] for query in QUERIES
    }
    assert {topic.qid: topic.under("query", JOIN).text for topic in under(topics, "query")} == {
        "0": "running shoes",
        "2": "moon phases",
    }


def test_metadata_tell_what_a_separator_inside_the_query_would_hide(tmp_path: Path) -> None:
    about = {"origin_query": "running shoes", "instruction": "Only build.", "instruction_type": "1.1"}
    queries = [{"_id": "0_0", "text": "Only build. [SEP] running [SEP] shoes", "metadata": about}]
    *_, topic = read_followtable(beir(tmp_path, queries)).topics
    assert topic == Topic("0_0", "eng", "running shoes", {"original": "Only build."}, "C1", "0")


def test_types_are_named_as_in_the_paper() -> None:
    types = {"1.1": "C1", "1.2": "C2", "2.1": "S1", "2.2": "S2", "2.3.1": "S3", "3.1": "", "": "", None: ""}
    assert {raw_type: constraint(raw_type) for raw_type in types} == types


def without(record: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key != name}


def with_metadata(**fields: Any) -> dict[str, Any]:
    return {**QUERIES[0], "metadata": {**QUERIES[0]["metadata"], **fields}}


@pytest.mark.parametrize(
    ("name", "records", "told"),
    [
        ("queries", [QUERIES[0], without(QUERIES[1], "_id")], "line 2: no field _id (found text, metadata)"),
        ("queries", [without(QUERIES[0], "metadata")], "line 1: no field metadata (found _id, text)"),
        ("queries", [{**QUERIES[0], "metadata": "str"}], "line 1: metadata is 'str', expected an object"),
        ("queries", [with_metadata(instruction=["a"])], "line 1: instruction is ['a'], expected a text"),
        ("queries", [with_metadata(origin_query=" ")], "line 1: origin_query is ' ', expected a text"),
        ("queries", ["0_0"], "line 1: found str, expected a JSON object"),
        ("only_queries", [ONLY[0], {"_id": "1", "text": "  "}], "line 2: text is '  ', expected a text"),
        ("only_queries", [{"_id": "1 1", "text": "x"}], "line 1: _id is '1 1', expected a word"),
    ],
)
def test_malformed_queries_are_errors_with_file_and_line(
    tmp_path: Path, name: str, records: list[dict[str, Any]], told: str
) -> None:
    path = write_jsonl(beir(tmp_path) / f"{name}.jsonl", records)
    with pytest.raises(HeedError) as caught:
        read_followtable(tmp_path)
    assert f"{path}, {told}" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("only_queries.jsonl", b'{"_id": "0", "text": "a"}\n{"_id"\n', "line 2: not JSON"),
        ("queries.jsonl", b"\xff", "line 1: not UTF-8"),
        ("qrels/test.tsv", HEADER.encode() + b"0_0\t12\n", "line 2: 2 columns, expected 3 (query-id corpus-id score)"),
        ("qrels/test.tsv", HEADER.encode() + b"0_0\t12\t0.5\n", "line 2: grade '0.5', expected a whole number"),
        ("qrels/for_only_query_test.tsv", HEADER.encode(), "holds no judgements"),
    ],
)
def test_files_of_the_beir_form_that_cannot_be_read_are_named(
    tmp_path: Path, name: str, content: bytes, told: str
) -> None:
    (beir(tmp_path) / name).write_bytes(content)
    with pytest.raises(HeedError) as caught:
        read_followtable(tmp_path)
    assert str(caught.value).startswith(str(tmp_path / name)) and told in str(caught.value)


@pytest.mark.parametrize("name", ["corpus", "queries", "test.tsv", "for_only_query_test.tsv"])
def test_missing_files_of_the_beir_form_are_named(tmp_path: Path, name: str) -> None:
    [path] = beir(tmp_path).rglob(f"{name}*")
    path.unlink()
    with pytest.raises(HeedError, match=name):
        read_followtable(tmp_path)


def changed(**fields: Any) -> list[dict[str, Any]]:
    return [*ENTRIES[:2], {**ENTRIES[2], **fields}]


@pytest.mark.parametrize(("raw_type", "name"), [(2.2, "S2"), (None, "")])
def test_types_of_the_raw_release_may_be_numbers_or_missing(tmp_path: Path, raw_type: object, name: str) -> None:
    entries = changed(outs=[{**ENTRIES[2]["outs"][0], "instruction_type": raw_type}])
    [topic] = [topic for topic in read_followtable(raw(tmp_path, entries)).topics if topic.qid == "2_0"]
    assert topic.type == name


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        (changed(query=" "), "at `$[2].query`"),
        (changed(query_positive=["7.txt", 8]), "expected `str`, got `int` - at `$[2].query_positive[1]`"),
        (
            changed(outs=[{**ENTRIES[2]["outs"][0], "instruction_positive": ["7 8.txt"]}]),
            "at `$[2].outs[0].instruction_positive[0]`",
        ),
        (changed(query_positive=["7.txt\n"]), "at `$[2].query_positive[0]`"),
        (changed(outs=5), "expected `array`, got `int` - at `$[2].outs`"),
        ([without(ENTRIES[0], "query")], "missing required field `query` - at `$[0]`"),
        ({"query": "x"}, "expected `array`, got `object`"),
    ],
)
def test_malformed_entries_are_errors_with_file_and_number(tmp_path: Path, entries: object, told: str) -> None:
    with pytest.raises(HeedError) as caught:
        read_followtable(raw(tmp_path, entries))
    assert str(tmp_path / "query_instruction.json") in str(caught.value) and told in str(caught.value)


@pytest.mark.parametrize("content", [b"[{", b"\xff{", b"[" * 100_000])
def test_a_raw_release_that_is_not_json_is_an_error(tmp_path: Path, content: bytes) -> None:
    (raw(tmp_path) / "query_instruction.json").write_bytes(content)
    with pytest.raises(HeedError, match=r"query_instruction\.json.*: not (JSON .* expected a list of queries|UTF-8)"):
        read_followtable(tmp_path)


@pytest.mark.parametrize(
    ("subset", "queries", "instructions", "tables", "lines", "distinct"),
    [("WTR", 60, 267, 9_546, 5_667, 5_663), ("IndusTR", 216, 928, 13_258, 14_271, 14_269)],
)
def test_the_real_subsets_have_the_published_counts(
    shared: Path,
    capsys: pytest.CaptureFixture[str],
    subset: str,
    queries: int,
    instructions: int,
    tables: int,
    lines: int,
    distinct: int,
) -> None:
    # counts of the repository's README; distinct lines by sort -u qrels/test.tsv
    read = read_followtable(shared / "followtable" / subset)
    bases = {topic.qid: topic.base for topic in read.topics if topic.instructions}
    assert (len(read.topics) - len(bases), len(bases)) == (queries, instructions)
    assert {topic.type for topic in read.topics if topic.instructions} == {"C1", "C2", "S1", "S2", "S3"}
    with gzip.open(read.tables[0]) as corpus:
        assert sum(1 for _ in corpus) == tables
    positives, wanted = read.qrels["query"], read.qrels["original"]
    assert (positives.keys(), wanted.keys()) == (set(bases.values()), bases.keys())
    for qid, base in bases.items():
        assert wanted[qid].keys() < positives[base].keys()  # T+ is a part of the query's positives, T− the rest
        assert wanted[qid]
    assert sum(map(len, wanted.values())) == distinct
    assert f"test.tsv: {lines - distinct} judgements are repeated with the same grade" in capsys.readouterr().err


def test_a_subset_without_instructions_or_with_a_topic_twice_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HeedError, match="no query with an instruction in it"):
        read_followtable(raw(tmp_path / "none", [{**entry, "outs": []} for entry in ENTRIES]))
    write_jsonl(beir(tmp_path / "twice") / "queries.jsonl", [*QUERIES, QUERIES[0]])
    with pytest.raises(HeedError, match="topic 0_0 comes twice"):
        read_followtable(tmp_path / "twice")
    write_jsonl(beir(tmp_path / "other") / "queries.jsonl", [with_metadata(origin_query="another query")])
    with pytest.raises(HeedError, match="topic 0_0 has no query of its own, with the same text"):
        read_followtable(tmp_path / "other")

"""FollowIR in the forms of its repositories, rows by hand: facts in the data cards of jhu-clsp and mteb."""

from pathlib import Path
from typing import Any

import pytest
from hub_copies import Files, published

from heed.datasets.fetchable import holdings, snapshot
from heed.datasets.followir import docno
from heed.errors import HeedError
from heed.formats.data_sets import PairedTopics, config_files, grades_of, read_pairs, rows
from heed.types import Topic

CORPUS = [{"_id": "FBIS3-1_0", "title": "", "text": "one"}, {"_id": "FBIS3-2_13", "title": "T", "text": "two"}]

# jhu-clsp/robust04-instructions-mteb: grades are doubles; the default config lies in data/
NEWER: Files = {
    "corpus/corpus-00000-of-00001": CORPUS,
    "queries/queries-00000-of-00001": [{"_id": "305-og", "text": "Q"}, {"_id": "305-changed", "text": "Q"}],
    "instruction/instruction-00000-of-00001": [
        {"query-id": "305-og", "instruction": "all of it"},
        {"query-id": "305-changed", "instruction": "only this"},
    ],
    "data/default-00000-of-00001": [
        {"query-id": "305-og", "corpus-id": "FBIS3-1_0", "score": 2.0},
        {"query-id": "305-og", "corpus-id": "FBIS3-2_13", "score": 1.0},
        {"query-id": "305-changed", "corpus-id": "FBIS3-1_0", "score": 0.0},
        {"query-id": "305-changed", "corpus-id": "FBIS3-2_13", "score": 1.0},
    ],
    "top_ranked/top_ranked-00000-of-00001": [
        {"query-id": "305-og", "corpus-ids": ["FBIS3-2_13", "FBIS3-1_0"]},
        {"query-id": "305-changed", "corpus-ids": ["FBIS3-2_13", "FT-9_0"]},
    ],
}

# mteb/Robust04InstructionRetrieval: split test, ids in id, the instruction beside the query
MIRROR: Files = {
    "corpus/test-00000-of-00001": [{"id": row["_id"], **row} for row in CORPUS],
    "queries/test-00000-of-00001": [
        {"id": "305-og", "text": "Q", "instruction": "all of it"},
        {"id": "305-changed", "text": "Q", "instruction": "only this"},
    ],
    "qrels/test-00000-of-00001": [{**row, "score": int(row["score"])} for row in NEWER["data/default-00000-of-00001"]],
    "top_ranked/test-00000-of-00001": NEWER["top_ranked/top_ranked-00000-of-00001"],
}

# jhu-clsp/robust04-instructions: one query a topic, one candidate a row
OLDER: Files = {
    "corpus": CORPUS,
    "queries": [
        {
            "_id": "305",
            "text": "Q",
            "instruction_og": "all of it",
            "instruction_changed": "only this",
            "keywords": "it all",
            "short_query": "it",
        }
    ],
    "qrels_og/test": [
        {"query-id": "305", "corpus-id": "FBIS3-1_0", "score": 2.0},
        {"query-id": "305", "corpus-id": "FBIS3-2_13", "score": 1.0},
    ],
    "qrels_changed/test": [
        {"query-id": "305", "corpus-id": "FBIS3-1_0", "score": 0.0},
        {"query-id": "305", "corpus-id": "FBIS3-2_13", "score": 1.0},
    ],
    "top_ranked": [{"qid": "305", "pid": "FBIS3-2_13"}, {"qid": "305", "pid": "FBIS3-1_0"}],
}


def read_followir(folder: Path) -> PairedTopics:
    return read_pairs(folder, str, "eng")


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
@pytest.mark.parametrize("files", [NEWER, MIRROR, OLDER], ids=["newer", "mirror", "older"])
def test_every_published_form_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], files: Files, form: str
) -> None:
    read = read_followir(published(tmp_path, form, files))
    shorter = {"keywords": "it all", "short": "it"} if files is OLDER else {}
    assert read.topics == [Topic("305", "eng", "Q", {**shorter, "original": "all of it", "changed": "only this"})]
    assert read.qrels == {
        "original": {"305": {"FBIS3-1_0": 2, "FBIS3-2_13": 1}},
        "changed": {"305": {"FBIS3-1_0": 0, "FBIS3-2_13": 1}},
    }
    assert read.candidates == {"305": ["FBIS3-2_13", "FBIS3-1_0", *([] if files is OLDER else ["FT-9_0"])]}
    assert [path.name.split(".")[0].split("-")[0] for path in read.corpus] in (["corpus"], ["test"])
    assert capsys.readouterr().err == ""


def test_qrels_published_twice_are_read_once(tmp_path: Path) -> None:
    published(tmp_path, "jsonl", OLDER)
    published(tmp_path, "tsv", {name: OLDER[name] for name in ("qrels_og/test", "qrels_changed/test")})
    assert [path.name for path in config_files(tmp_path, "qrels_og")] == ["test.jsonl"]


def test_qrels_as_tsv_and_split_folders_are_read(tmp_path: Path) -> None:
    published(tmp_path, "tsv", {"qrels/test": OLDER["qrels_og/test"], "default/test/0000": OLDER["qrels_changed/test"]})
    assert grades_of(rows(tmp_path, "none", "qrels")) == {"305": {"FBIS3-1_0": 2, "FBIS3-2_13": 1}}
    assert grades_of(rows(tmp_path, "default", "qrels")) == {"305": {"FBIS3-1_0": 0, "FBIS3-2_13": 1}}
    (tmp_path / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n305\tFBIS3-1_0\n")
    with pytest.raises(HeedError, match=r"qrels/test.tsv, line 2: 2 columns, expected 3 as in the first line"):
        grades_of(rows(tmp_path, "qrels"))


def test_blank_instructions_are_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = [{"query-id": "305-og", "instruction": " "}, {"query-id": "305-changed", "instruction": "only this"}]
    read = read_followir(published(tmp_path, "jsonl", NEWER | {"instruction/instruction-00000-of-00001": told}))
    assert read.topics[0].instructions == {"changed": "only this"}
    assert capsys.readouterr().err == f"warning: {tmp_path}: 1 of 1 topics have no original instruction: 305\n"


def test_without_top_ranked_there_are_no_candidates(tmp_path: Path) -> None:
    files = {name: records for name, records in OLDER.items() if name != "top_ranked"}
    assert read_followir(published(tmp_path, "jsonl", files)).candidates == {}


@pytest.mark.parametrize(
    ("config", "records", "told"),
    [
        ("queries", [{"_id": "305"}], "queries.jsonl, line 1: no field instruction_og (found _id)"),
        ("queries", OLDER["queries"] * 2, "queries.jsonl, line 2: topic 305 comes twice; keep one"),
        ("queries", [OLDER["queries"][0] | {"text": None}], "line 1: text is None, expected a text"),
        ("queries", [OLDER["queries"][0] | {"_id": "3 5"}], "line 1: _id is '3 5', expected a word"),
        ("top_ranked", [{"qid": "305", "pid": True}], "top_ranked.jsonl, line 1: pid is True, expected a word"),
        (
            "qrels_og/test",
            [{"query-id": "305", "corpus-id": "x"}],
            "line 1: no field score or grade (found query-id, corpus-id)",
        ),
        ("qrels_og/test", [{"query-id": "305", "corpus-id": "x", "score": 0.5}], "score is 0.5, expected a whole numb"),
        (
            "qrels_changed/test",
            [{"query-id": "305", "corpus-id": "x", "score": score} for score in (1, 0)],
            "line 2: document x of topic 305 has grade 0, and 1 further up; keep one",
        ),
        ("corpus", None, "no corpus; expected Parquet or JSONL files of that name"),
    ],
)
def test_bad_rows_name_file_line_and_field(
    tmp_path: Path, config: str, records: list[dict[str, Any]] | None, told: str
) -> None:
    files = {name: kept for name, kept in OLDER.items() if name != config}
    published(tmp_path, "jsonl", files if records is None else files | {config: records})
    with pytest.raises(HeedError) as caught:
        read_followir(tmp_path)
    assert told in str(caught.value)


def test_all_bad_rows_are_told_also_of_parquet(tmp_path: Path) -> None:
    published(tmp_path, "parquet", NEWER | {"data/default-00000-of-00001": [{"query-id": "305-og"}] * 2})
    with pytest.raises(HeedError) as caught:
        read_followir(tmp_path)
    assert [line.split(", ")[1] for line in str(caught.value).splitlines()] == [
        "row 1: no field corpus-id or corpus_id (found query-id)",
        "row 2: no field corpus-id or corpus_id (found query-id)",
    ]


@pytest.mark.parametrize(
    ("instructions", "line"), [({"305-changed": "only this"}, 1), ({"305-og": "all of it", "305_changed": "x"}, 2)]
)
@pytest.mark.parametrize("column", [False, True])
def test_a_query_without_its_instruction_is_an_error(
    tmp_path: Path, instructions: dict[str, str], line: int, column: bool
) -> None:
    config, queries = "instruction/instruction-00000-of-00001", NEWER["queries/queries-00000-of-00001"]
    files = NEWER | {config: [{"query-id": qid, "instruction": text} for qid, text in instructions.items()]}
    if column:
        del files[config]
        beside = [
            row | ({"instruction": instructions[row["_id"]]} if row["_id"] in instructions else {}) for row in queries
        ]
        files["queries/queries-00000-of-00001"] = beside
    qid = queries[line - 1]["_id"]
    with pytest.raises(HeedError, match=f"line {line}: query {qid} has no row in instruction and no column"):
        read_followir(published(tmp_path, "jsonl", files))


def test_a_column_has_the_instructions_that_the_config_lacks(tmp_path: Path) -> None:
    queries = [row | {"instruction": f"column {row['_id']}"} for row in NEWER["queries/queries-00000-of-00001"]]
    listed = [{"query-id": "305-og", "instruction": "all of it"}, {"query-id": "305-changed", "instruction": None}]
    files = {"queries/queries-00000-of-00001": queries, "instruction/instruction-00000-of-00001": listed}
    read = read_followir(published(tmp_path, "jsonl", NEWER | files))
    assert read.topics[0].instructions == {"original": "all of it", "changed": "column 305-changed"}


def test_queries_of_the_newer_form_come_once_and_name_their_condition(tmp_path: Path) -> None:
    twice = {"queries/queries-00000-of-00001": [{"_id": "305-og", "text": "Q"}] * 2}
    with pytest.raises(HeedError, match="line 2: topic 305-og comes twice; keep one"):
        read_followir(published(tmp_path / "twice", "jsonl", NEWER | twice))
    bare = {"data/default-00000-of-00001": [{"query-id": "305", "corpus-id": "FBIS3-1_0", "score": 1}]}
    with pytest.raises(HeedError, match="query id '305' ends neither -og nor -changed"):
        read_followir(published(tmp_path / "bare", "jsonl", NEWER | bare))


def test_a_passage_belongs_to_a_document() -> None:
    documents = {
        "FBIS3-40368_3": "FBIS3-40368",
        "FR940104-1-00036_150": "FR940104-1-00036",
        "LA010189-0001": "LA010189-0001",
        "a_b": "a_b",
        "a_1_2": "a_1",
        "_3": "_3",
    }
    assert {docid: docno(docid) for docid in documents} == documents


def test_the_benchmarks_are_those_of_the_paper() -> None:
    found = holdings("followir", [])
    assert {one.subset: one.entry.measures[0] for one in found} == {
        "robust04": "AP",
        "news21": "nDCG@5",
        "core17": "AP",
    }
    tasks = ("Robust04InstructionRetrieval", "News21InstructionRetrieval", "Core17InstructionRetrieval")
    repositories = [one.repositories()[0] for one in found]
    assert [one.name for one in repositories] == [f"mteb/{task}" for task in tasks]
    older = [one.repositories()[0] for one in holdings("followir-older", [])]
    assert {len(one.revision) for one in repositories + older} == {40}  # the hub takes no shortened hashes


def test_the_hub_out_of_reach_says_what_to_do() -> None:
    [older] = holdings("followir-older/core17", [])[0].repositories()
    with pytest.raises(HeedError, match=f"hf download --repo-type dataset {older.name} --revision {older.revision}"):
        snapshot(older)

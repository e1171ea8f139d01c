"""Folders in BEIR's and MTEB's layouts as collections: what is a document, which topics, which judgements, name."""

from pathlib import Path

import pytest
from conftest import Heed, write_jsonl
from hub_copies import published

import heed as library
from heed.errors import HeedError, UsageError
from heed.formats.data_set_folders import collection_name
from heed.formats.data_sets import qrels_files
from heed.formats.documents import Files
from heed.types import Topic

CORPUS = [{"_id": "d1", "title": "", "text": "storm over the reef"}, {"_id": "d2", "title": "T", "text": "old bridge"}]
QUERIES = [{"_id": "1", "text": "storm reef", "metadata": {}}, {"_id": "2", "text": "bridge"}]
GRADES = {"1": {"d1": 2}, "2": {"d2": 1}}


def beir(folder: Path, **splits: str) -> Path:
    """``splits`` are the judged topics of each split, test's 1 by default."""
    write_jsonl(folder / "corpus.jsonl", CORPUS)
    write_jsonl(folder / "queries.jsonl", QUERIES)
    (folder / "qrels").mkdir()
    for split, qid in (splits or {"train": "2", "test": "1"}).items():
        [(docid, grade)] = GRADES[qid].items()
        (folder / "qrels" / f"{split}.tsv").write_text(f"query-id\tcorpus-id\tscore\n{qid}\t{docid}\t{grade}\n")
    return folder


def mteb(folder: Path, qrels: str) -> Path:
    """As the hub holds MTEB's data sets: Parquet parts of each config, judgements in ``qrels`` or ``data``."""
    instructions = [{"query-id": "1", "instruction": "in the sea"}, {"query-id": "2", "instruction": None}]
    files = {
        "corpus/corpus-00000-of-00001": CORPUS,
        "queries/queries-00000-of-00001": [{"_id": row["_id"], "text": row["text"]} for row in QUERIES],
        "instruction/instruction-00000-of-00001": instructions,
        f"{qrels}/train-00000-of-00001": [{"query-id": "2", "corpus-id": "d2", "score": 2.0}],
        f"{qrels}/test-00000-of-00001": [{"query-id": "1", "corpus-id": "d1", "score": 2.0}],
    }
    return published(folder, "parquet", files)


def test_of_a_beir_folder_the_corpus_alone_is_searched_for_its_judged_queries(tmp_path: Path, heed: Heed) -> None:
    beir(tmp_path / "sea")
    result = heed("pipelines.trec", "--docs", "sea/", "--retriever", "bm25", "--reranker", "none")
    assert result.returncode == 0, result.stderr
    # with queries.jsonl among the documents, query 1 itself would be the best hit
    assert (tmp_path / "runs/sea/eng/bm25.query.run").read_text().split()[:4] == ["1", "Q0", "d1", "1"]
    for line in ("judgements of qrels/test.tsv", "documents of its corpus alone, 1 of 2 topics, those that are judged"):
        assert f"{line}\n" in result.stderr
    again = heed("pipelines.trec", "--docs", "sea/", "--retriever", "bm25")  # polarity opens the index of bm25 too
    assert [line for line in again.stderr.splitlines() if line.startswith("indexes/sea/eng/bm25:")] == [
        "indexes/sea/eng/bm25: used again, inputs and settings are the same"
    ]
    anew = heed("pipelines.trec", "--docs", "sea/", "--retriever", "bm25", "--indexes", "new", "--out", "newer")
    assert [line for line in anew.stderr.splitlines() if "eng/bm25:" in line] == ["new/sea/eng/bm25: building"]
    line = next(line for line in result.stdout.splitlines() if line.startswith("bm25"))
    assert line.split() == ["bm25", "query", *["100.0"] * 4, "1"]


@pytest.mark.parametrize("qrels", ["qrels", "data"])
def test_an_mteb_folder_brings_its_instructions(tmp_path: Path, qrels: str) -> None:
    collection = library.load_files(mteb(tmp_path / "sea", qrels))
    assert collection.name == "sea" and collection.judging.qrels == {"original": {"1": {"d1": 2}}}
    assert collection.topics == [Topic("1", "eng", "storm reef", {"original": "in the sea"})]
    assert [line.document.docid for line in collection.source.lines() if line.document] == ["d1", "d2"]


def test_a_folder_in_followirs_form_has_both_instructions_and_infosearchs_is_refused(tmp_path: Path) -> None:
    folder = beir(tmp_path / "sea")
    ids = ("1-og", "1-changed")
    write_jsonl(folder / "queries.jsonl", [{"_id": qid, "text": "storm"} for qid in ids])
    write_jsonl(folder / "instruction.jsonl", [{"query-id": qid, "instruction": f"on {qid}"} for qid in ids])
    (folder / "qrels" / "train.tsv").unlink()
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n1-og\td1\t1\n1-changed\td1\t0\n")
    write_jsonl(folder / "top_ranked.jsonl", [{"query-id": qid, "corpus-ids": ["d1"]} for qid in ids])
    collection = library.load_files(folder)
    assert collection.topics == [Topic("1", "eng", "storm", {"original": "on 1-og", "changed": "on 1-changed"})]
    assert collection.judging.qrels == {"original": {"1": {"d1": 1}}, "changed": {"1": {"d1": 0}}}
    assert collection.candidates == {"1": ["d1"]} and not collection.reranked
    for config in ("qrels_og", "qrels_reversed"):
        write_jsonl(folder / f"{config}.jsonl", [])
    with pytest.raises(UsageError, match="InfoSearch's by heed infosearch, data="):
        library.load_files(folder)


def test_topics_and_judgements_that_are_named_replace_those_of_the_folder(tmp_path: Path) -> None:
    folder = beir(tmp_path / "sea")
    other = library.load_files(folder, qrels=folder / "qrels" / "train.tsv")
    assert [topic.qid for topic in other.topics] == ["2"] and other.judging.qrels == {"original": {"2": {"d2": 1}}}
    own = write_jsonl(tmp_path / "t.jsonl", [{"qid": "1", "query": "waves"}])
    assert library.load_files(folder, own).judging.qrels == {"original": {"1": {"d1": 2}}}
    assert library.load_files(folder, own).topics == [Topic("1", "eng", "waves", {})]
    own = write_jsonl(tmp_path / "t.jsonl", [{"qid": "x", "query": "waves"}])
    assert library.load_files(folder, own).judging.qrels == {}  # of none of these topics
    one_split = mteb(tmp_path / "hub", "qrels") / "qrels" / "train-00000-of-00001.parquet"
    assert library.load_files(tmp_path / "hub", qrels=one_split).judging.qrels == {"original": {"2": {"d2": 2}}}


def test_several_splits_without_test_are_asked_for_and_a_single_one_is_taken(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"judgements of dev and train, none of test; give one as qrels=PATH: .*dev.tsv, .*train"
    ):
        library.load_files(beir(tmp_path / "two", train="1", dev="2"))
    assert library.load_files(beir(tmp_path / "one", dev="2")).judging.qrels == {"original": {"2": {"d2": 1}}}


def test_judgements_in_csv_are_read_and_what_is_not_read_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = beir(tmp_path / "sea", test="1")
    (folder / "qrels" / "test.csv").write_text("query-id,corpus-id,score\n2,d2,1\n")
    assert library.load_files(folder).judging.qrels == {"original": {"1": {"d1": 2}}}
    assert "found and not read: qrels/test.csv; give judgements as qrels=PATH\n" in capsys.readouterr().err
    (folder / "qrels" / "test.tsv").unlink()
    assert library.load_files(folder).judging.qrels == {"original": {"2": {"d2": 1}}}
    assert "not read" not in capsys.readouterr().err
    (folder / "qrels" / "test.csv").rename(folder / "qrels" / "test.xlsx")
    assert library.load_files(folder).judging.qrels == {}
    assert "warning: " in (said := capsys.readouterr().err) and "found and not read: qrels/test.xlsx" in said


def test_judgements_are_found_by_split_in_every_layout(tmp_path: Path) -> None:
    for path in (
        "a/qrels/test/0000.parquet",
        "b/qrels/test-00000-of-00002.parquet",
        "c/qrels.jsonl",
        "d/data/test.tsv",
    ):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).touch()
    found = [list(qrels_files(tmp_path / name)) for name in "abcde"]
    assert found == [["test"], ["test"], ["qrels"], ["test"], []]


def test_a_folder_of_documents_is_no_data_set(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "corpus.jsonl", CORPUS[:1])
    write_jsonl(tmp_path / "more.jsonl", CORPUS[1:])
    assert [path.name for path in Files([tmp_path]).paths] == ["corpus.jsonl", "more.jsonl"]
    (tmp_path / "corpus.jsonl.gz").touch()
    write_jsonl(tmp_path / "queries.jsonl", QUERIES)
    assert [path.name for path in Files([tmp_path]).paths] == ["corpus.jsonl"]


def test_a_collection_is_called_as_its_file_and_a_data_set_as_its_folder(tmp_path: Path, heed: Heed) -> None:
    folder = beir(tmp_path / "sea")
    write_jsonl(tmp_path / "plain" / "corpus.jsonl", CORPUS)
    names = [collection_name(path) for path in (folder, folder / "corpus.jsonl", tmp_path / "plain" / "corpus.jsonl")]
    assert names == ["sea", "sea", "corpus"]
    common = ("--docs", "sea", "--name", "coast", "--retriever", "bm25", "--reranker", "none", "--quiet")
    for command in ("trec", "tables", "neuclir"):
        lang = ("--lang", "zho") if command == "neuclir" else ()
        result = heed(f"pipelines.{command}", *common, *lang)
        assert result.returncode == 0, result.stderr
    assert {path.parent.relative_to(tmp_path).as_posix() for path in tmp_path.glob("runs/**/*.run")} == {
        "runs/coast/eng",
        "runs/coast/zho",
    }


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("trec", ("--name", "x")),
        ("tables", ("--name", "x")),
        ("neuclir", ("--lang", "zho", "--name", "x")),
        ("infosearch", ("--name", "x")),
        ("trec", ("--docs", "sea", "--name", "../x")),
        ("trec", ("--docs", "sea", "--fields", "both")),
        ("neuclir", ("--lang", "zho", "--docs", "sea", "--year", "2022")),
        ("neuclir", ("--lang", "zho", "--docs", "sea", "--translation", "human")),
    ],
)
def test_what_a_data_set_has_no_use_for_is_refused(
    tmp_path: Path, heed: Heed, command: str, options: tuple[str, ...]
) -> None:
    beir(tmp_path / "sea")
    result = heed(f"pipelines.{command}", *options, "--quiet")
    assert result.returncode == 1 and result.stderr.startswith("error: ") and not (tmp_path / "runs").exists()


def test_a_subset_of_followtable_is_no_plain_data_set(tmp_path: Path, heed: Heed) -> None:
    write_jsonl(beir(tmp_path / "wtr") / "only_queries.jsonl", QUERIES)
    result = heed("pipelines.tables", "--docs", "wtr")
    assert result.stderr.splitlines()[-1] == "error: wtr: a subset of FollowTable; give it as --data wtr"


def test_columns_are_refused_in_one_line(tmp_path: Path, heed: Heed) -> None:
    (tmp_path / "docs.csv").write_text("1,one\n2,two\n")
    with pytest.raises(HeedError, match="docs.csv: documents in CSV are not read; expected JSON lines"):
        library.load_files(tmp_path / "docs.csv", write_jsonl(tmp_path / "t.jsonl", [{"qid": "1", "query": "one"}]))

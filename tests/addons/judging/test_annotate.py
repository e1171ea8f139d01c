"""``python -m pipelines.annotate``: what it reads, what it refuses, how a database is opened again."""

import gzip
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from annotating import SAMPLE, Judging, annotation_files, sample_pool
from conftest import ROOT, Heed, write_jsonl
from mfollowir_copy import hub_copy

from heed.addons.judging.annotate.grades import export
from heed.addons.judging.annotate.opening import path_beside, read_pooled
from heed.addons.judging.annotate.store import Change, Store
from heed.addons.judging.annotate.task import Task, parse_scale
from heed.datasets.own_files import documents_of
from heed.errors import HeedError
from heed.formats.trec_files import read_qrels
from pipelines.annotate import main, open_given, parser

COMMAND = "pipelines.annotate"
QRELS = ROOT / "qrels" / SAMPLE / "original.qrels"


def given(folder: Path, **topic: object) -> tuple[str, ...]:
    """A small pool with its topics and documents; the arguments that name them."""
    topics = [{"qid": "q1", "lang": "eng", "query": "ferries", **topic}]
    annotation_files(folder, topics, [{"id": docid, "text": f"text {docid}"} for docid in "abc"], "ab")
    return ("pool.jsonl", "--topics", "topics.jsonl", "--docs", "docs.jsonl", "--no-browser")


@contextmanager
def opened(*arguments: object) -> Iterator[tuple[Task, Store]]:
    """The task and the database that the arguments name, which is created unless it is there."""
    task, store = open_given(parser().parse_args([*map(str, arguments)]))
    with closing(store):
        yield task, store


def prepared(*arguments: object) -> Task:
    """The task of the database that the arguments name, which is created unless it is there."""
    with opened(*arguments) as (task, _):
        return task


def test_the_sample_is_found_by_the_pools_topics_in_the_language_of_its_folder(tmp_path: Path) -> None:
    for lang in ("zho", "fas"):
        pooled = sample_pool(tmp_path / lang / "pool.jsonl")
        task = prepared(tmp_path / lang / "pool.jsonl")
        assert (task.lang, [*task.topics], task.pool) == (lang, [*pooled], pooled)
    sample_pool(tmp_path / "pool.jsonl")
    assert prepared(tmp_path / "pool.jsonl").lang == "eng"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("other.jsonl",), "the pool's topics (x9) are not those of an embedded sample in eng; name their file with"),
        (("pool.jsonl", "--topics", "topics.jsonl"), "--topics without --docs: name the documents"),
        (("pool.jsonl", "--docs", "docs.jsonl"), "--docs without --topics: name the topics"),
        (
            ("other.jsonl", "--topics", "topics.jsonl", "--docs", "docs.jsonl"),
            "topics: topic x9 of the pool is not there; give the topics that were pooled",
        ),
        (
            ("lost.jsonl", "--topics", "topics.jsonl", "--docs", "docs.jsonl"),
            "1 document of the pool: not in docs.jsonl: gone; give --docs PATH, the documents that were pooled",
        ),
        (("pool.jsonl", "--topics", "topics.jsonl", "--docs", "absent.jsonl"), "absent.jsonl: no such file"),
        (
            ("pool.jsonl", "--topics", "topics.jsonl", "--docs", "docs.jsonl", "--only-relevant"),
            "needs the judgements that say what is relevant; give --qrels QRELS",
        ),
        (
            ("pool.jsonl", "--topics", "topics.jsonl", "--docs", "docs.jsonl", "--qrels", "other.qrels"),
            "qrels: no judgement of a topic of the pool (q1)",
        ),
        (("pool.jsonl", "--grades", "0,1,12"), "grades: found '0,1,12', expected two or more different digits"),
        (("pool.jsonl", "--grades", "1,2"), "grades: found '1,2', and 0 is missing"),
        (("pool.jsonl", "--grades", "0=off,1=off"), "grades: found '0=off,1=off', a label twice"),
        (("pool.jsonl", "--lang", "xx"), "found 'xx', expected one of eng, zho, fas, rus,"),
        (("pool.jsonl", "--export", "out"), "pool.db: no judgements yet; judge first"),
        (("pool.jsonl", "--resolve", "majority"), "--resolve: not used here; it says what --export writes"),
        (("pool.jsonl", "--unjudged", "0"), "--unjudged: not used here; it says what --export writes"),
        (("pool.jsonl", "--assign", "a.tsv"), "a.tsv, line 2: topic q9 is not in the pool, expected a topic of the"),
        (("pool.jsonl", "--assign", "a.tsv"), "a.tsv, line 3: assessor Adjudicated: this name is reserved"),
        (
            ("pool.jsonl", "--assign", "a.tsv"),
            f"a.tsv, line 4: assessor is '{'x' * 41}', expected a name of at most 40",
        ),
        (
            ("pool.jsonl", "--grades", "0=relevant,1"),
            "label twice (0 relevant, 1 relevant); name each differently",
        ),
        (("absent.jsonl",), "absent.jsonl: no such file"),
        (("pool.jsonl", "--as", "Ann=Ann", "--export", "out"), "--as without --add: it names the assessors of a"),
        (("hub/absent", "--topics", "no/such-id", "--docs", "docs.jsonl"), "hub/absent: no such file"),
        (
            ("pool.jsonl", "--topics", "topics.jsonl", "--docs", "docs.jsonl", "--assessor", "Adjudicated"),
            "this name is reserved for decisions where assessors differ",
        ),
    ],
)
def test_problems_are_told_with_status_1(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    given(tmp_path)
    monkeypatch.chdir(tmp_path)
    write_jsonl(tmp_path / "other.jsonl", [{"qid": "x9", "docids": ["a"]}])
    write_jsonl(tmp_path / "lost.jsonl", [{"qid": "q1", "docids": ["a", "gone"]}])
    (tmp_path / "other.qrels").write_text("x9 0 a 1\n")
    (tmp_path / "a.tsv").write_text(f"q1\tAnn\nq9\tBob\nq1\tAdjudicated\nq1\t{'x' * 41}\n")
    if {"--grades", "--lang", "--assign"} & {*arguments}:
        arguments = (*arguments, "--topics", "topics.jsonl", "--docs", "docs.jsonl")
    assert main([*arguments, "--no-browser", "--quiet"]) == 1
    output = capsys.readouterr()
    assert output.err.startswith("error: ") and message in output.err
    assert output.out == ""


def test_a_database_is_opened_with_its_own_pool_topics_and_judgements_only(tmp_path: Path, heed: Heed) -> None:
    arguments = given(tmp_path)
    (tmp_path / "q").write_text("q1 0 a 1\n")
    (tmp_path / "q2").write_text("q1 0 a 0\n")
    prepared(tmp_path / "pool.jsonl", "--topics", tmp_path / "topics.jsonl", "--docs", tmp_path / "docs.jsonl")
    write_jsonl(tmp_path / "pool2.jsonl", [{"qid": "q1", "docids": ["b", "a"]}, {"qid": "x9", "docids": ["c"]}])
    write_jsonl(tmp_path / "topics2.jsonl", [{"qid": "q1", "lang": "eng", "query": "boats"}])
    database = ("--database", "pool.db", "--no-browser")
    other_pool = heed(COMMAND, "pool2.jsonl", *database, "--docs", "docs.jsonl")
    assert other_pool.returncode == 1
    assert other_pool.stderr.startswith("error: pool.db: topics x9 are not in the database, which has q1; give what it")
    other = ("--topics", "topics2.jsonl", "--grades", "0,1", "--lang", "rus")
    errors = heed(COMMAND, "pool.jsonl", *database, *other).stderr.splitlines()
    assert [line.split(":")[-1].split(";")[0] for line in errors] == [" documents in rus, not eng"]
    with opened(tmp_path / "pool.jsonl", "--grades", "0,1") as (task, store):
        assert task.grades() == [0, 1], "nothing is judged yet"
        Judging(store).grade("Ann", "q1", "a", 1)
    usual = "0=not relevant, 1=marginally relevant, 2=relevant, 3=highly relevant"
    refused = heed(COMMAND, "pool.jsonl", *database, "--grades", "0,1,2,3").stderr
    instead = "; give what it was made with or name another database"
    assert f"grades {usual}; those of the database are 0=not relevant, 1=relevant{instead}" in refused
    boats = heed(COMMAND, "pool.jsonl", *database, "--topics", "topics2.jsonl").stderr
    assert boats.startswith("error: pool.db: topic q1 has query 'boats', not 'ferries'; give what it was made with,")
    prepared(*[tmp_path / "pool.jsonl", "--qrels", tmp_path / "q"])  # none so far: these are kept
    again = heed(COMMAND, *arguments[:1], *database, "--qrels", "q2")
    assert "pool.db: other given judgements of topics q1; give what it was made with" in again.stderr


def test_judgements_that_lack_a_topic_of_the_database_are_others(tmp_path: Path) -> None:
    topics = [{"qid": qid, "lang": "eng", "query": "ferries"} for qid in ("q1", "q2")]
    files = annotation_files(tmp_path, topics, [{"id": "a", "text": "one"}])
    (tmp_path / "both").write_text("q1 0 a 1\nq2 0 a 1\n")
    (tmp_path / "less").write_text("q1 0 a 1\n")
    task = prepared(*files, "--qrels", tmp_path / "both")
    assert prepared(files[0], "--qrels", tmp_path / "both") == task
    with pytest.raises(HeedError, match=r"pool\.db: other given judgements of topics q2; give what it was made with"):
        prepared(files[0], "--qrels", tmp_path / "less")


def test_a_deeper_pool_is_judged_in_the_same_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given(tmp_path, instructions={"original": "Only sinkings."})
    write_jsonl(tmp_path / "deeper.jsonl", [{"qid": "q1", "docids": ["d", "b", "c"]}])
    write_jsonl(tmp_path / "more.jsonl", [{"id": "d", "text": "four"}, {"id": "c", "text": "three"}])
    monkeypatch.chdir(tmp_path)
    edit = Change("narrative", "q1", value="Only sinkings of ferries.")
    with opened("pool.jsonl", "--topics", "topics.jsonl", "--docs", "docs.jsonl") as (task, store):
        store.record("request-1", "Ann", "request-1", [Change("grade", "q1", "original", "b", 2), edit])
        export(task, store, tmp_path / "judged")
    deeper = ("deeper.jsonl", "--database", "pool.db")
    with pytest.raises(HeedError, match="q1.* are not those of an embedded sample .* their documents with --docs"):
        prepared(*deeper)
    topics = ("--topics", tmp_path / "judged" / "topics.jsonl")  # with the edited narrative
    for pool in (*deeper, *topics, "--docs", "more.jsonl"), ("pool.jsonl",), deeper:  # nothing goes away
        with opened(*pool) as (task, store):
            assert task.pool == {"q1": ["a", "b", "d", "c"]}
            assert [(judgement.docid, judgement.grade) for judgement in store.judgements()] == [("b", 2)]
            document = store.document("d")
            assert document and document.text == "four"


def test_a_second_start_needs_the_pool_alone_and_exports_while_it_is_judged(tmp_path: Path, heed: Heed) -> None:
    given(tmp_path, instructions={"original": "Only sinkings."})
    sources = [tmp_path / "topics.jsonl", tmp_path / "docs.jsonl"]
    with opened(tmp_path / "pool.jsonl", "--topics", sources[0], "--docs", sources[1]) as (task, store):
        store.record("request-1", "Ann", "request-1", [Change("grade", "q1", "original", "a", 2)])
        for path in sources:
            path.unlink()
        assert prepared(tmp_path / "pool.jsonl") == task
        exported = heed(COMMAND, "pool.jsonl", "--export", "out")
    assert "out/original.qrels: 1 judgement, 1 topic" in exported.stdout
    assert (tmp_path / "out" / "original.qrels").read_text() == "q1 0 a 2\n"


def test_only_relevant_documents_are_shown_and_gaps_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = tmp_path / "pool.jsonl"
    pooled = sample_pool(pool)
    qrels = read_qrels(QRELS)
    lines = [f"{qid} 0 {docid} {value}\n" for qid in ("01", "02") for docid, value in qrels[qid].items()]
    (tmp_path / "q").write_text("".join([*lines, "01 0 n144 1\n", "02 0 n144 0\n"]))
    task = prepared(pool, "--only-relevant", "--qrels", tmp_path / "q")
    assert task.to_judge("01") == [docid for docid in pooled["01"] if qrels["01"][docid] > 0]
    assert task.to_judge("03") == []
    assert task.conditions() == ("changed",)
    log = capsys.readouterr().err
    assert "no judgement for 1 of the pool's 3 topics: 03" in log
    assert "1 of 3 topics have no relevant document in the pool: 03" in log
    assert "topic 01: 1 relevant documents are not in the pool: n144" in log
    assert "topic 02" not in log


def test_topics_of_every_form_are_read(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "docs.jsonl", [{"id": "a", "text": "文"}])
    write_jsonl(tmp_path / "pool.jsonl", [{"qid": "7", "docids": ["a"]}])
    native = {"lang": "zho", "source": "human translation", "topic_title": "渡轮", "topic_narrative": "叙述"}
    english = {"lang": "eng", "source": "original", "topic_title": "ferry", "topic_narrative": "Told."}
    write_jsonl(tmp_path / "neuclir.jsonl", [{"topic_id": "7", "topics": [native, english]}])
    (tmp_path / "trec.txt").write_text("<top>\n<num> Number: 7\n<title> ferry\n<narr> Narrative:\nTold.\n</top>\n")
    (tmp_path / "beir").mkdir()
    write_jsonl(tmp_path / "beir" / "corpus.jsonl", [{"_id": "a", "text": "文"}])
    write_jsonl(tmp_path / "beir" / "queries.jsonl", [{"_id": "7", "text": "ferry"}])
    cases = {
        ("neuclir.jsonl", "--lang", "zho"): ("zho", "渡轮", "叙述"),
        ("neuclir.jsonl", "--lang", "zho", "--query-lang", "eng"): ("eng", "ferry", "Told."),
        ("trec.txt",): ("eng", "ferry", "Told."),
        ("beir",): ("eng", "ferry", ""),
    }
    for number, ((name, *more), expected) in enumerate(cases.items()):
        arguments = [tmp_path / "pool.jsonl", "--topics", tmp_path / name, "--docs", tmp_path / "docs.jsonl", *more]
        task = prepared(*arguments, "--database", tmp_path / f"{number}.db")
        assert (task.topics["7"].lang, task.topics["7"].query, task.original("7")) == expected


def test_documents_come_from_files_of_every_kind(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "t1.csv").write_text("A,B\n1,2\n")
    (tmp_path / "tables" / "t2.md").write_text("# Caption\n\n| A | B |\n|---|---|\n| 1 | 2 |\n")
    (tmp_path / "docs.jsonl.gz").write_bytes(gzip.compress(b'{"docid": "z", "contents": "text", "title": "T"}\n'))
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(
        pyarrow.table({"_id": ["p"], "title": [""], "text": ["parquet"]}), tmp_path / "c.parquet"
    )
    documents = {
        document.docid: document
        for names, docids in ((["tables"], ["t1", "t2"]), (["docs.jsonl.gz", "c.parquet"], ["z", "p"]))
        for document in read_pooled(documents_of([str(tmp_path / name) for name in names], "eng"), docids)
    }
    assert {docid: document.tabular for docid, document in documents.items()} == {
        "t1": True,
        "t2": True,
        "z": False,
        "p": False,
    }
    assert (documents["z"].title, documents["z"].text, documents["p"].text) == ("T", "text", "parquet")


def test_documents_of_ir_datasets_are_found_where_it_keeps_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    with pytest.raises(HeedError, match=r"zho/docs.jsonl.gz: no documents of neuclir/1/zh; heed fetch"):
        list(read_pooled(documents_of(["neuclir/1/zh"], "eng"), ["a"]))
    (tmp_path / "neuclir/1/zho").mkdir(parents=True)
    record = {"id": "a", "title": "T", "text": "文", "time": "2021-02-03T00:00:00", "url": "u", "cc_file": "c"}
    (tmp_path / "neuclir/1/zho/docs.jsonl.gz").write_bytes(gzip.compress(json.dumps(record).encode()))
    [shown] = read_pooled(documents_of(["neuclir/1/zh"], "eng"), ["a"])
    assert shown == ("a", "T", "2021-02-03", "文", False)
    with pytest.raises(HeedError, match="not an id that ir_datasets knows"):
        list(read_pooled(documents_of(["no/such-id"], "eng"), ["a"]))


def test_mfollowir_brings_its_documents(tmp_path: Path) -> None:
    folder = hub_copy(tmp_path / "hub", "parquet")
    write_jsonl(tmp_path / "pool.jsonl", [{"qid": "12", "docids": ["u1", "u0"]}])
    with opened(tmp_path / "pool.jsonl", "--lang", "zho", "--topics", folder) as (task, store):
        assert (task.original("12"), task.first_changed("12")) == ("要文本", "要文本，不要标题")
        assert store.document("u1") == ("u1", "标题", "", "文本 内容 1", False)


def test_lines_that_cannot_be_read_are_told_where_a_document_is_missing(tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text('{"id": "a", "text": "one"}\n{"id": "b"}\nnot JSON\n')
    docs = [str(tmp_path / "docs.jsonl")]
    assert [document.docid for document in read_pooled(documents_of(docs, "eng"), ["a"])] == ["a"], (
        "what is not pooled need not be read"
    )
    with pytest.raises(HeedError) as caught:
        list(read_pooled(documents_of(docs, "eng"), ["a", "b"]))
    problems = str(caught.value).splitlines()
    assert problems[0].startswith("1 document of the pool: not in")
    assert "line 2: found id, expected a text in text" in problems[1]
    assert "line 3: not JSON" in problems[2]


def test_records_and_trecs_documents_go_before_text_files(tmp_path: Path) -> None:
    (tmp_path / "trec.txt").write_text("<DOC>\n<DOCNO> FB-1 </DOCNO>\n<TEXT>\none\n</TEXT>\n</DOC>\n")
    (tmp_path / "a.txt").write_text("a note on document a")
    assert [document.text for document in read_pooled(documents_of([str(tmp_path)], "eng"), ["FB-1"])] == ["one"]
    write_jsonl(tmp_path / "docs.jsonl", [{"id": "a", "text": "two"}])
    assert [document.text for document in read_pooled(documents_of([str(tmp_path)], "eng"), ["a"])] == ["two"]


@pytest.mark.parametrize(
    ("record", "date"),
    [
        ({"time": "2021-03-04T05:06:07+00:00"}, "2021-03-04"),
        ({"time": None, "date": "2021-03-04"}, "2021-03-04"),
        ({"date": "  1 May 2020 "}, "1 May 2020"),
        ({"date": 20200501}, ""),
        ({"time": ""}, ""),
        ({}, ""),
    ],
)
def test_dates_are_found_in_every_schema(tmp_path: Path, record: dict, date: str) -> None:
    write_jsonl(tmp_path / "docs.jsonl", [{"id": "a", "text": "t", **record}])
    [shown] = read_pooled(documents_of([str(tmp_path / "docs.jsonl")], "eng"), ["a"])
    assert shown.date == date


def test_grades_have_their_usual_names_unless_told() -> None:
    assert [grade.label for grade in parse_scale("0,1,3")] == ["not relevant", "somewhat relevant", "fully relevant"]
    assert parse_scale("1=on topic, 0 = off topic") == ((0, "off topic"), (1, "on topic"))
    assert [grade.label for grade in parse_scale("0,5")] == ["not relevant", "grade 5"]


def test_the_database_lies_beside_the_pool() -> None:
    assert path_beside(Path("runs/zho/pool.jsonl")) == Path("runs/zho/pool.db")
    assert path_beside(Path("pool.jsonl.gz")) == Path("pool.db")
    assert path_beside(Path("pool")) == Path("pool.db")

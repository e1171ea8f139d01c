import io
import json
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ir_datasets
import pytest
from conftest import Heed, write_jsonl
from hub_copies import packed

from heed.data import FIELDS
from heed.datasets import irds
from heed.errors import HeedError
from heed.types import Topic


def entry(lang: str, source: str, text: str, narrative: str | None = None) -> dict:
    told = {"lang": lang, "source": source, "topic_title": text, "topic_description": f"{text} d"}
    return told | ({"topic_narrative": narrative} if narrative else {})


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What ir_datasets keeps on a machine where NeuCLIR and HC4 were fetched, in small."""
    home = tmp_path / "irds"
    monkeypatch.setenv("IR_DATASETS_HOME", str(home))
    documents = [
        {"id": f"u{n}", "cc_file": "w", "time": None, "title": "新闻", "text": f"气候 {n}", "url": "h"}
        for n in range(5)
    ]
    write_jsonl(home / "hc4/zho/hc4_docs.jsonl", documents)
    packed(home / "neuclir/1/zho/docs.jsonl.gz", documents)
    for year, qids in (("2022", (1, 2)), ("2023", (200, 201))):
        human = "气候" if year == "2022" else "气候变化"
        topics = [
            {
                "topic_id": str(qid),
                "languages_with_qrels": ["zho"],
                "topics": [
                    entry("eng", "original", "climate", "Must name a cause."),
                    entry("zho", "human translation", human, "必须说明原因。" if year == "2022" else None),
                    entry("zho", "mt-1", "天气", "机器"),
                ],
            }
            for qid in qids
        ]
        write_jsonl(home / f"neuclir/trec-{year}/topics.jsonl", topics)
    (home / "neuclir/trec-2022/qrels").write_text("1 zho u1 3\n1 rus x1 3\n2 rus x1 1\n")
    with tarfile.open(home / "neuclir/trec-2023/qrels.tar.gz", "w:gz") as archive:
        for name, lines in (("qrels.final.gains.zho", b"200 0 u2 1\n201 0 u3 3\n"), ("qrels.final", b"200 zho u2 2\n")):
            member = tarfile.TarInfo(name)
            member.size = len(lines)
            archive.addfile(member, io.BytesIO(lines))
    return home


def test_2022_topics_are_those_judged_in_the_language(home: Path) -> None:
    topics, qrels = irds.judged("neuclir", ["2022"], "zho", "zho", translation="human")
    assert [topic.qid for topic in topics] == ["1"]
    assert topics[0].instructions == {"original": "必须说明原因。"}
    assert qrels == {"1": {"u1": 3}}


def test_2023_has_queries_and_takes_the_gains_file(home: Path) -> None:
    topics, qrels = irds.judged("neuclir", ["2023"], "zho", "zho")
    assert [(topic.qid, topic.query) for topic in topics] == [("200", "气候变化"), ("201", "气候变化")]
    assert topics[0].instructions == {"original": "机器"}  # no human narrative in 2023
    assert qrels == {"200": {"u2": 1}, "201": {"u3": 3}}


def test_ids_are_recognised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hc4/fa").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    parsed = {
        "neuclir/1/zh/trec-2022": ("neuclir", "zho", "2022"),
        "neuclir/1/fa": ("neuclir", "fas", ""),
        "hc4/ru/dev": ("hc4", "rus", "dev"),
    }
    parsed |= dict.fromkeys(
        ["neuclir/2/zh", "hc4/zho/dev", "docs/zh/x", "hc4/../../etc", "hc4/fa"]
    )  # the last is a folder here
    assert {text: irds.parse_id(text) for text in parsed} == parsed


@pytest.mark.parametrize(
    ("arguments", "subset", "count"),
    [
        ((), "neuclir1/zho", 1),
        (("--year", "2022", "--year", "2023"), "neuclir1/zho", 3),
        (("--query-lang", "eng", "--year", "2023"), "neuclir1/eng-zho", 2),
        (("--docs", "neuclir/1/zh", "--topics", "neuclir/1/zh/trec-2023"), "neuclir1/zho", 2),
    ],
)
def test_auto_takes_the_real_collection_where_it_is(
    home: Path, heed: Heed, tmp_path: Path, arguments: tuple[str, ...], subset: str, count: int
) -> None:
    result = heed("pipelines.neuclir", "--lang", "zho", "--retriever", "bm25", *arguments, IR_DATASETS_HOME=str(home))
    assert result.returncode == 0, result.stderr
    rows = json.loads((tmp_path / "runs" / subset / "summary.json").read_text())["rows"]
    assert {row["n"] for row in rows if row["condition"] == "query"} == {count}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("--docs", "neuclir/1/fa", "--topics", "neuclir/1/zh/trec-2023"),
            "neuclir/1/fa: is in fas, found --lang zho; give --lang fas",
        ),
        (
            ("--topics", "neuclir/1/fa/trec-2023"),
            "neuclir/1/fa/trec-2023: is in fas, found --lang zho; give --lang fas",
        ),
        (("--docs", "neuclir/1/zh", "--docs-lang", "eng"), "neuclir/1/zh: these documents are in zho"),
        (("--topics", "neuclir/1/zh/trec-2023", "--year", "2022"), ": not used here; it chooses NeuCLIR's own"),
        (("--collection", "sample", "--year", "2022"), ": not used here; it chooses"),
        (("--collection", "sample", "--translation", "human"), "translation: not used here"),
    ],
)
def test_what_would_be_ignored_or_mislabelled_is_refused(
    home: Path, heed: Heed, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    result = heed("pipelines.neuclir", "--lang", "zho", "--retriever", "bm25", *arguments, IR_DATASETS_HOME=str(home))
    assert result.returncode == 1 and said in result.stderr
    assert not (tmp_path / "indexes").exists()


def test_files_that_cannot_be_fetched_say_what_to_do(heed: Heed, tmp_path: Path) -> None:
    docs = write_jsonl(tmp_path / "d.jsonl", [{"id": "a", "text": "x"}])
    result = heed("pipelines.neuclir", "--lang", "zho", "--docs", docs, "--topics", "hc4/zh/dev", "--quiet")
    assert result.returncode == 1
    assert "cannot be fetched" in result.stderr and "on a machine with a network" in result.stderr


def record(kind: Any) -> Any:
    """A query or document of ``kind``, whose texts are the names of its fields, and its lists empty."""
    made = {str: str, bytes: str.encode, int: len}
    return kind(*(made.get(kind.__annotations__[name], lambda _: ())(name) for name in kind._fields))


def of_class(monkeypatch: pytest.MonkeyPatch, dataset_id: str, fields: str) -> Topic | str:
    """The topic that is read from a record of an id's class, in place of its file; or the error."""
    dataset = irds.load_dataset(dataset_id)
    kind = dataset.queries_cls()
    monkeypatch.setattr(irds, "_counted", lambda *_: iter([record(kind)]))
    code = dataset.queries_lang() or (dataset.docs_lang() if dataset.has_docs() else "en") or "en"
    try:
        [topic] = irds.read_queries(dataset_id, irds.CODES.get(code, "eng"), fields)
    except HeedError as error:
        return str(error)
    return topic


def test_topics_of_every_id_are_read_or_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [name for name in ir_datasets.registry if irds.load_dataset(name).has_queries()]
    assert len(ids) > 500
    read = {(name, fields): of_class(monkeypatch, name, fields) for name in ids for fields in FIELDS}
    for (name, fields), topic in read.items():
        known = irds.load_dataset(name).queries_cls()._fields
        if isinstance(topic, str):
            listed = ", ".join(known[1:])
            said = (
                f"its topics have {listed}, no",
                "topics in '",
                "its topics come in several languages; use heed neuclir",
            )
            assert topic.startswith(tuple(f"{name}: {text}" for text in said))
        elif fields != "title":
            assert topic.query.split()[-1].startswith("desc") and topic.query.split()[-1] in known
            assert (fields == "both") == (len(topic.query.split()) == 2)
        narratives = [field for field in known if field.startswith(("narrative", "guidelines"))]
        if narratives and not isinstance(topic, str):
            assert topic.instructions["original"] in narratives
    refused = {name for (name, fields), topic in read.items() if fields == "title" and isinstance(topic, str)}
    assert {name for name in refused if "no title" in read[name, "title"]} == {
        "wapo/v2/trec-news-2018",
        "wapo/v2/trec-news-2019",
        "wapo/v3/trec-news-2020",
    }


@pytest.mark.parametrize(
    ("dataset_id", "query", "narrative"),
    [
        ("argsme/2020-04-01/touche-2020-task-1", "title description", "narrative"),
        ("beir/webis-touche2020", "text description", "narrative"),
        ("clueweb09/en/trec-web-2009", "query description", ""),
        ("c4/en-noclean-tr/trec-misinfo-2021", "text description", "narrative"),
        ("trec-mandarin/trec5", "title_zh description_zh", "narrative_zh"),
        ("trec-spanish/trec3", "title_es description_es", "narrative_es"),
        ("nfcorpus/dev/video", "title desc", ""),
    ],
)
def test_fields_are_those_of_the_class_in_the_documents_language(
    monkeypatch: pytest.MonkeyPatch, dataset_id: str, query: str, narrative: str
) -> None:
    topic = of_class(monkeypatch, dataset_id, "both")
    assert isinstance(topic, Topic)
    assert (topic.query, topic.instructions.get("original", "")) == (query, narrative)


def test_guidelines_are_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    assert of_class(monkeypatch, "codec", "title") == Topic("query_id", "eng", "query", {"original": "guidelines"})


def test_documents_of_every_id_have_a_text_or_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = {
        dataset.docs_cls(): name for name in ir_datasets.registry if (dataset := irds.load_dataset(name)).has_docs()
    }
    refused = {}
    for kind, name in kinds.items():
        documents = SimpleNamespace(docs_iter=lambda kind=kind: iter([record(kind)]))
        try:
            source = irds.IrDataset(name)
        except HeedError as error:
            refused[kind.__name__] = str(error)
            continue
        with monkeypatch.context() as patch:
            patch.setattr(irds, "load_dataset", lambda _, documents=documents: documents)
            [line] = source.lines()
        assert line.document and line.document.text.strip(), kind
    assert len(kinds) > 50
    [(kind, said)] = refused.items()
    assert kind == "ToucheImageDoc" and "its documents have doc_id, png, webp, url, phash, pages, no text" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("--dataset", "codec", "--fields", "both"),
            "codec: its topics have query, domain, guidelines, no title and description",
        ),
        (("--dataset", "wapo/v2/trec-news-2018"), "wapo/v2/trec-news-2018: its topics have doc_id, url, no title"),
        (("--docs", "d.jsonl", "--topics", "beir/absent"), "beir/absent: no such file, and not an id that ir_datasets"),
        (("--docs", "d.jsonl", "--topics", "wikiclir/de", "--lang", "deu"), "topics in 'en' for documents in 'de'"),
    ],
)
def test_the_command_names_what_an_id_lacks_before_anything_is_fetched(
    heed: Heed, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    write_jsonl(tmp_path / "d.jsonl", [{"id": "a", "text": "Der Hafen liegt an der Mündung des Flusses."}])
    result = heed("pipelines.trec", *arguments, IR_DATASETS_HOME=str(tmp_path / "irds"))
    assert (result.returncode, result.stdout) == (1, "")
    assert said in result.stderr.splitlines()[-1]


@pytest.mark.parametrize("command", ["trec", "tables"])
def test_topics_of_an_id_are_those_of_documents_of_ones_own(heed_process: Heed, tmp_path: Path, command: str) -> None:
    # the file of cord19/trec-covid, as NIST has it, where ir_datasets keeps it
    topics = '<topics><topic number="7"><query>ferry</query><question>Why?</question><narrative>Causes.</narrative>'
    (tmp_path / "irds/cord19/trec-covid").mkdir(parents=True)
    (tmp_path / "irds/cord19/trec-covid/queries.xml").write_text(f"{topics}</topic></topics>")
    write_jsonl(
        tmp_path / "d.jsonl", [{"id": "a", "text": "| port |\n| --- |\n| ferry |"}, {"id": "b", "text": "rain"}]
    )
    arguments = ("--docs", "d.jsonl", "--topics", "cord19/trec-covid", "--retriever", "bm25", "--reranker", "none")
    result = heed_process(f"pipelines.{command}", *arguments, IR_DATASETS_HOME=str(tmp_path / "irds"))
    assert result.returncode == 0, result.stderr
    [run] = (tmp_path / "runs").rglob("bm25.original.run")
    assert run.read_text().split()[:3] == ["7", "Q0", "a"]

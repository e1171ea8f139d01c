import io
import json
import tarfile
from pathlib import Path

import pytest
from conftest import Heed, write_jsonl
from hub_copies import packed

from heed.datasets import irds
from heed.formats.neuclir_topics import TopicTexts


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
    topics, qrels = irds.judged("neuclir", ["2022"], TopicTexts("zho", "zho", "human", "title"))
    assert [topic.qid for topic in topics] == ["1"]
    assert topics[0].instructions == {"original": "必须说明原因。"}
    assert qrels == {"1": {"u1": 3}}


def test_2023_has_queries_and_takes_the_gains_file(home: Path) -> None:
    topics, qrels = irds.judged("neuclir", ["2023"], TopicTexts("zho", "zho", "any", "title"))
    assert [(topic.qid, topic.query) for topic in topics] == [("200", "气候变化"), ("201", "气候变化")]
    assert topics[0].instructions == {"original": "机器"}  # no human narrative in 2023
    assert qrels == {"200": {"u2": 1}, "201": {"u3": 3}}


def test_ids_are_recognised() -> None:
    parsed = {
        "neuclir/1/zh/trec-2022": ("neuclir", "zho", "2022"),
        "neuclir/1/fa": ("neuclir", "fas", ""),
        "hc4/ru/dev": ("hc4", "rus", "dev"),
    }
    parsed |= dict.fromkeys(["neuclir/2/zh", "hc4/zho/dev", "docs/zh/x", "hc4/../../etc"])
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
        (("--docs", "neuclir/1/fa", "--topics", "neuclir/1/zh/trec-2023"), "neuclir/1/fa: is in fas, --lang is zho"),
        (("--topics", "neuclir/1/fa/trec-2023"), "neuclir/1/fa/trec-2023: is in fas, --lang is zho"),
        (("--docs", "neuclir/1/zh", "--docs-lang", "eng"), "neuclir/1/zh: these documents are in zho"),
        (("--topics", "neuclir/1/zh/trec-2023", "--year", "2022"), "--year: not used here; it chooses NeuCLIR's own"),
        (("--collection", "sample", "--year", "2022"), "--year: not used here"),
        (("--collection", "sample", "--translation", "human"), "--translation: not used here"),
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

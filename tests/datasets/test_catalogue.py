"""Entries of the catalogue: each read, run and measured from a few files in its real layout; damaged ones told."""

import json
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Heed, write_jsonl
from hub_copies import packed, parquet, published

import heed as library
from hardening.hub import Hub, online
from heed.datasets.catalogue import Catalogue
from heed.datasets.collection import Collection
from heed.errors import DataError, UsageError
from heed.measures.evaluate import evaluate

TREC = "pipelines.trec"
BM25 = ("--retriever", "bm25", "--reranker", "none", "--quiet")


def mteb(folder: Path, queries: list[tuple[str, str, str]], documents: list[str], grades: list[list[Any]]) -> Path:
    """A data set of MTEB's: Parquet parts of each config; ``queries`` are id, text and instruction, if any."""
    rows = {
        "corpus": [{"_id": docid, "title": "", "text": docid} for docid in documents],
        "queries": [{"_id": qid, "text": text} for qid, text, _ in queries],
        "instruction": [{"query-id": qid, "instruction": text} for qid, _, text in queries if text],
        "data": [dict(zip(("query-id", "corpus-id", "score"), row, strict=True)) for row in grades],
    }
    return published(folder, "parquet", {f"{name}/test-00000-of-00001": of for name, of in rows.items() if of})


def instructir(folder: Path) -> None:
    queries = [("1_0", "storm", "I am a sailor"), ("1_1", "storm", "I am a farmer"), ("2_0", "reef", "I dive")]
    grades = [["1_0", "sailor-storm", 1], ["1_1", "farmer-storm", 1], ["2_0", "reef", 1]]
    mteb(folder, queries, ["sailor-storm", "farmer-storm", "reef"], grades)


def nevir(folder: Path) -> None:
    queries = [("k_q1", "which storm came", ""), ("k_q2", "which storm never came", "")]
    mteb(folder, queries, ["k_doc1", "k_doc2", "other"], [["k_q1", "k_doc1", 1], ["k_q2", "k_doc2", 1]])
    lists = [{"query-id": qid, "corpus-ids": ["k_doc1", "k_doc2"]} for qid in ("k_q1", "k_q2")]
    parquet(folder / "top_ranked/top_ranked-00000-of-00001.parquet", lists)


def bright(folder: Path) -> None:
    for domain in ("biology", "pony"):
        documents = [{"id": f"{domain}/{number}.txt", "content": f"insects and light {number}"} for number in range(3)]
        parquet(folder / f"documents/{domain}-00000-of-00001.parquet", documents)
        parquet(folder / f"long_documents/{domain}-00000-of-00001.parquet", documents)
        gold = {"gold_ids": [f"{domain}/0.txt"], "gold_ids_long": [f"{domain}/1.txt"]}
        rows = [{"id": "0", "query": "insects", **gold, "excluded_ids": ["N/A"], "reasoning": ""}]
        rows.append({"id": "1", "query": "light", **gold, "excluded_ids": [f"{domain}/2.txt"], "reasoning": ""})
        parquet(folder / f"examples/{domain}-00000-of-00001.parquet", rows)


def ifir(folder: Path) -> None:
    queries = [("q0_l1", "loan", "I am a student")]
    mteb(folder, queries, ["loan", "bank"], [["q0_l1", "loan", 1]])


def news(folder: Path) -> None:
    for lang, text in (("zho", "风暴"), ("fas", "طوفان"), ("rus", "шторм")):
        documents = [{"id": f"{lang}-1", "cc_file": "c", "time": None, "title": text, "text": text, "url": ""}]
        packed(folder / f"neuclir1/data/{lang}-00000-of-00001.jsonl.gz", documents)
        translated = [{**documents[0], "title": "storm", "text": "a storm"}]
        packed(folder / f"neuclir1/data/{lang}.mt.eng-00000-of-00001.jsonl.gz", translated)


def neuclirbench(folder: Path) -> None:
    news(folder)
    (folder / "bench/data").mkdir(parents=True)
    for lang, text in (("eng", "storm"), ("zho", "风暴"), ("fas", "طوفان"), ("rus", "шторм")):
        (folder / f"bench/data/news.{lang}.tsv").write_text(f"200\t{text}\n201\tnever judged\n")
    for lang in ("zho", "fas", "rus"):
        (folder / f"bench/data/qrels.{lang}.gains.txt").write_text(f"200 0 {lang}-1 3\n")
    (folder / "bench/data/qrels.mlir.gains.txt").write_text("200 0 zho-1 3\n200 0 rus-1 1\n")


def abstracts(folder: Path) -> None:
    row = {"doc_id": "csl-1", "title": "风暴", "abstract": "关于风暴", "keywords": [], "category": "工学"}
    packed(folder / "csl/data/csl.jsonl.gz", [row])
    packed(folder / "csl/data/csl.gt.063023.jsonl.gz", [{**row, "title": "Storms", "abstract": "On a storm"}])


def neuclirtech(folder: Path) -> None:
    abstracts(folder)
    (folder / "tech/data").mkdir(parents=True)
    (folder / "tech/data/eng.tsv").write_text("1\tstorm\n")
    (folder / "tech/data/zho.tsv").write_text("1\t风暴\n")
    (folder / "tech/data/qrels.gains.txt").write_text("1 0 csl-1 3\n")


def topic_2024(qid: str) -> dict[str, Any]:
    texts = [("eng", "original", "storm"), ("zho", "human translation", "风暴")]
    fields = ("topic_title", "topic_description", "topic_narrative")
    return {
        "topic_id": qid,
        "topics": [{"lang": lang, "source": source, **dict.fromkeys(fields, text)} for lang, source, text in texts],
    }


def neuclir2024(folder: Path) -> None:
    news(folder)
    write_jsonl(folder / "neuclir24.topics.0614.jsonl", [topic_2024("300")])
    (folder / "2024-qrels.mlir").write_text("300 zho zho-1 3\n300 rus rus-1 1\n")


def neuclir2024_tech(folder: Path) -> None:
    abstracts(folder)
    write_jsonl(folder / "technical_topics.0703.jsonl", [topic_2024("9")])
    (folder / "2024.technical_qrels.txt").write_text("9 0 csl-1 1\n")


def request(qid: str, limit: int) -> dict[str, Any]:
    texts = {"title": "Storm", "background": "I am a sailor.", "problem_statement": "Which storms came?"}
    return {"topic_id": qid, "collection_id": "ragtime1", "limit": limit, **texts}


def ragtime2025(folder: Path) -> None:
    for lang in ("eng-docs", "arb-trans", "rus-trans", "zho-trans", "zho-docs", "rus-docs", "arb-docs"):
        write_jsonl(folder / f"{lang}.jsonl", [{"id": lang, "text": "a storm came", "title": lang}])
    write_jsonl(folder / "ragtime25_main_eng.jsonl", [request("1", 2000), request("2", 10000)])
    lines = "1 0 eng-docs 3\n1 0 zho-trans 1\n1 0 zho-docs 1\n1 0 rus-docs 1\n1 0 arb-docs 1\n"
    (folder / "2025.mlir.qrels").write_text(lines)


def mair(folder: Path) -> None:
    labels = [{"id": "d1", "score": 2}]
    row = {"qid": "0", "instruction": "Find the proof.", "query": "storm", "labels": labels}
    write_jsonl(folder / "MAIR-Queries/TAD/queries.jsonl", [row])
    write_jsonl(folder / "MAIR-Docs/TAD/docs.jsonl", [{"id": "d1", "doc": "a storm"}, {"id": "d2", "doc": "a reef"}])


LAYOUTS: dict[str, Callable[[Path], None]] = {
    "instructir": instructir,
    "nevir": nevir,
    "bright/pony": bright,
    "bright-long/pony": bright,
    "ifir/fiqa": ifir,
    **{f"neuclirbench/{lang}": neuclirbench for lang in ("zho", "fas", "rus", "eng-zho", "eng")},
    **{f"neuclirtech/{lang}": neuclirtech for lang in ("zho", "eng-zho", "eng")},
    **{f"neuclir2024/{lang}": neuclir2024 for lang in ("zho", "eng-zho", "eng-rus", "eng")},
    "neuclir2024-tech/eng": neuclir2024_tech,
    **{f"ragtime2025/{lang}": ragtime2025 for lang in ("eng", "eng-ara", "eng-zho", "eng-rus")},
    "mair/TAD": mair,
}


def read(name: str, tmp_path: Path) -> Collection:
    LAYOUTS[name](tmp_path / "copy")
    return library.load(name, data=tmp_path / "copy")


def values(collection: Collection, runs: dict[str, dict[str, dict[str, float]]]) -> dict[tuple[str, str], float]:
    """The figures of one system by condition and measure; ``runs`` are by condition."""
    given = {("mine", condition): run for condition, run in runs.items()}
    details = evaluate(given, collection.judging, collection.topics, 3)
    return {(one["condition"], one["measure"]): round(one["value"], 4) for one in details}


OLDER = "followir-older"  # the same topics in the hub's older layout: tests/datasets/test_followir.py
ELSEWHERE = {"ragtime2026", "trec-covid", "touche", OLDER}  # the first three in tests of their own below


def test_every_entry_without_a_command_of_its_own_has_small_files_here() -> None:
    groups = {name for name, entry in Catalogue().entries.items() if not entry.use}
    assert groups == {name.partition("/")[0] for name in LAYOUTS} | ELSEWHERE


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_entry_is_read_and_measured(name: str, tmp_path: Path) -> None:
    collection = read(name, tmp_path)
    group, _, subset = name.partition("/")
    assert (collection.name, collection.subset) == (group, subset or "eng")
    docids = [line.document.docid for line in collection.source.lines() if line.document]
    qids = {qid for qrels in collection.judging.qrels.values() for qid in qrels}
    assert docids and {topic.qid for topic in collection.topics} >= qids != set()
    run = {qid: {docid: 1 / rank for rank, docid in enumerate(docids, 1)} for qid in qids}
    measures = {measure for _, measure in values(collection, dict.fromkeys(("query", "original"), run))}
    assert measures >= set(Catalogue().find(name)[0].entry.measures)


def test_of_instructir_the_worst_instruction_of_a_query_counts(tmp_path: Path) -> None:
    collection = read("instructir", tmp_path)
    assert collection.topics[0].under("original", collection.join).text == "I am a sailor [SEP] storm"
    run = {qid: {"sailor-storm": 3.0, "farmer-storm": 2.0, "reef": 1.0} for qid in ("1_0", "1_1", "2_0")}
    # nDCG@10 by hand: 1_0 first 1; 1_1 second 1/log2(3) = 0.6309; 2_0 third 1/log2(4) = 0.5
    got = values(collection, {"original": run})
    assert got["original", "nDCG@10"] == round((1 + 0.6309 + 0.5) / 3, 4)
    assert got["original", "Robustness@10"] == round((0.6309 + 0.5) / 2, 4)


def test_nevirs_two_documents_are_reranked(tmp_path: Path) -> None:
    collection = read("nevir", tmp_path)
    assert collection.reranked and collection.candidates == {qid: ["k_doc1", "k_doc2"] for qid in ("k_q1", "k_q2")}
    run = {qid: {"k_doc1": 2.0, "k_doc2": 1.0} for qid in ("k_q1", "k_q2")}
    got = values(collection, {"query": run})
    # the first is right for one query only, so the pair is not
    assert (got["query", "P@1"], got["query", "PairwiseAccuracy"]) == (0.5, 0.0)
    run["k_q2"] = {"k_doc1": 1.0, "k_doc2": 2.0}
    assert values(collection, {"query": run})["query", "PairwiseAccuracy"] == 1.0


def test_what_bright_excludes_is_taken_out_before_measuring(tmp_path: Path) -> None:
    collection = read("bright/pony", tmp_path)
    assert collection.judging.qrels == {"original": {"0": {"pony/0.txt": 1}, "1": {"pony/0.txt": 1}}}
    assert collection.judging.excluded == {"1": {"pony/2.txt"}}
    run = {qid: {"pony/2.txt": 2.0, "pony/0.txt": 1.0} for qid in ("0", "1")}
    # topic 0 has its document second, 1/log2(3) = 0.6309; of topic 1 the first is taken out: 1
    assert values(collection, {"query": run})["query", "nDCG@10"] == round((0.6309 + 1) / 2, 4)
    long = library.load("bright-long/pony", data=tmp_path / "copy")
    assert long.judging.qrels["original"]["0"] == {"pony/1.txt": 1}


def test_of_ifir_instfol_is_computed_from_given_grades(tmp_path: Path, heed: Heed) -> None:
    """By hand, of the first document of each list.

    bm25 finds "loan" for the query loan, graded 1, and "student-bank", two of whose words the instruction has, with it,
    graded 2: (2 − 1) / (3 − 1).
    """
    queries = [("q0_l1", "loan", "I am a student bank")]
    mteb(tmp_path / "copy", queries, ["loan", "student-bank"], [["q0_l1", "loan", 1]])
    (tmp_path / "grades").write_text("q0_l1 0 loan 1\nq0_l1 0 student-bank 2\n")
    plain = ("--dataset", "ifir/fiqa", "--data", "copy", *BM25)
    result = heed(TREC, *plain)
    assert result.returncode == 0 and "INSTFOL" not in result.stdout, "the set's own qrels are no such grades"
    result = heed(TREC, *plain, "--measure", "INSTFOL@1", "--qrels", "grades")
    assert result.returncode == 0, result.stderr
    summary = json.loads((tmp_path / "runs/ifir/fiqa/summary.json").read_text())
    figures = {(row["condition"], row["measure"]): row["value"] for row in summary["rows"]}
    assert figures["query>original", "INSTFOL@1"] == (2 - 1) / (3 - 1)


def test_of_the_tracks_each_language_has_its_topics_documents_and_judgements(tmp_path: Path) -> None:
    bench = read("neuclirbench/eng-zho", tmp_path / "bench")
    assert [(topic.qid, topic.query, topic.lang) for topic in bench.topics] == [("200", "storm", "eng")]
    assert (bench.language.code, bench.index, bench.judging.qrels) == (
        "zho",
        "eng-zho",
        {"original": {"200": {"zho-1": 3}}},
    )
    news_2024 = read("neuclir2024/zho", tmp_path / "news")
    assert news_2024.topics[0].instructions == {"original": "风暴"}
    assert news_2024.judging.qrels == {"original": {"300": {"zho-1": 3}}}  # those of Russian documents are left out
    everything = library.load("neuclir2024/eng", data=tmp_path / "news/copy")
    assert sorted(line.document.docid for line in everything.source.lines() if line.document) == [
        "fas-1",
        "rus-1",
        "zho-1",
    ]


def test_a_ragtime_request_is_title_and_then_background_with_problem(tmp_path: Path) -> None:
    [topic] = read("ragtime2025/eng", tmp_path).topics  # the longer report of the same request is not judged
    assert (topic.qid, topic.query) == ("1", "Storm")
    assert topic.instructions == {"original": "I am a sailor.\n\nWhich storms came?"}


def test_mairs_grades_come_with_its_queries(tmp_path: Path) -> None:
    collection = read("mair/TAD", tmp_path)
    assert collection.judging.qrels == {"original": {"0": {"d1": 2}}}
    assert collection.topics[0].under("original", collection.join).text == "Find the proof. storm"


def test_of_a_track_without_public_topics_ones_own_are_read_in_its_form(tmp_path: Path, heed: Heed) -> None:
    for lang in ("eng-docs", "rus-trans", "spa-trans", "zho-trans"):
        packed(tmp_path / f"copy/{lang}.jsonl.gz", [{"id": lang, "text": "a storm came", "title": lang}])
    missing = heed(TREC, "--dataset", "ragtime2026/eng", "--data", "copy", *BM25)
    assert missing.returncode == 1 and "its topics go to participants" in missing.stderr
    write_jsonl(tmp_path / "topics.jsonl", [request("1", 2000)])
    (tmp_path / "own.qrels").write_text("1 0 spa-trans 1\n")
    own = ("--topics", "topics.jsonl", "--qrels", "own.qrels")
    result = heed(TREC, "--dataset", "ragtime2026/eng", "--data", "copy", *own, *BM25)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "runs/ragtime2026/eng/bm25.original.run").stat().st_size
    packed(tmp_path / "copy/zho-trans.jsonl.gz", [{"id": "zho-trans", "title": "without a text"}])
    damaged = heed(TREC, "--dataset", "ragtime2026/eng", "--data", "copy", *own, *BM25)
    assert (
        damaged.returncode == 1
        and "copy/zho-trans.jsonl.gz, line 1: found id, title, expected a text in text, " in damaged.stderr
    )


def test_narratives_of_trec_covid_and_touche_come_through_ir_datasets(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    covid = tmp_path / "irds/cord19"
    (covid / "2020-07-16").mkdir(parents=True)
    columns = "cord_uid,title,doi,abstract,publish_time"
    (covid / "2020-07-16/metadata.csv").write_text(f"{columns}\na1,Origin,x,bats,2020\nb2,Masks,y,cloth,2020\n")
    (covid / "trec-covid").mkdir()
    texts = "<query>bats</query><question>which bats</question><narrative>Only bats.</narrative>"
    (covid / "trec-covid/queries.xml").write_text(f'<topics><topic number="1">{texts}</topic></topics>')
    (covid / "trec-covid/qrels").write_text("1 0 a1 2\n")
    zipped = tmp_path / "irds/beir/webis-touche2020/v2/source.zip"
    zipped.parent.mkdir(parents=True)
    document = {"_id": "d1", "title": "Taxes", "text": "taxes help", "metadata": {"stance": "PRO", "url": "u"}}
    query = {"_id": "1", "text": "taxes?", "metadata": {"description": "d", "narrative": "Only taxes."}}
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("webis-touche2020/corpus.jsonl", json.dumps(document) + "\n")
        archive.writestr("webis-touche2020/queries.jsonl", json.dumps(query) + "\n")
        archive.writestr("webis-touche2020/qrels/test.tsv", "query-id\tcorpus-id\tscore\n1\td1\t2\n")
    lines = [["--dataset", name, *BM25] for name in ("trec-covid", "touche")]
    code = f"""
from pathlib import Path
from pipelines.trec import main
for line in {lines}:
    assert main(line) == 0
for path in ("cord19/trec-covid/qrels", "beir/webis-touche2020/v2/test.qrels"):
    path = Path("irds", path)
    path.write_text(path.read_text() + "1 x\\n")
for line in {lines}:
    assert main(line) == 1
"""
    # ir_datasets reads where its files are once, when it is loaded
    variables = environment | {"IR_DATASETS_HOME": str(tmp_path / "irds")}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=tmp_path, env=variables, timeout=120, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for path, number, columns in (("cord19/trec-covid/qrels", 2, 4), ("beir/webis-touche2020/v2/test.qrels", 2, 3)):
        told = f"irds/{path}, judgement {number}: ir_datasets cannot read it (expected {columns} columns, got 2)"
        assert told in done.stderr
    for name in ("trec-covid", "touche"):
        rows = json.loads((tmp_path / f"runs/{name}/eng/summary.json").read_text())["rows"]
        figures = {(row["condition"], row["measure"]): row["value"] for row in rows}
        assert figures["original", "nDCG@10"] == figures["query", "nDCG@10"] == 1.0


def test_nists_files_are_kept_and_without_a_network_one_is_told_where_to_put_them(
    tmp_path: Path, heed_process: Heed
) -> None:
    news(tmp_path / "docs")
    line = ("--dataset", "neuclir2024/eng-zho", "--docs", "docs/neuclir1/data/zho-00000-of-00001.jsonl.gz", *BM25)
    result = heed_process(TREC, *line, HTTPS_PROXY="http://127.0.0.1:9")
    assert result.returncode == 1
    told = next(line for line in result.stderr.splitlines() if " to /" in line)
    url, path = told.removeprefix("error: ").split(" (")[0].split(" to ")
    assert url == "https://trec.nist.gov/data/neuclir/neuclir24.topics.0614.jsonl"
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    neuclir2024(Path(path).parent)
    result = heed_process(TREC, *line, HTTPS_PROXY="http://127.0.0.1:9")
    assert result.returncode == 0, result.stderr


def test_of_the_hub_a_subset_brings_its_own_files_alone(tmp_path: Path, heed: Heed) -> None:
    hub = Hub()
    threading.Thread(target=hub.serve_forever, args=(0.05,), daemon=True).start()
    bright(tmp_path / "source")
    files = [path for path in (tmp_path / "source").rglob("*") if path.is_file()]
    hub.data["xlangai/BRIGHT"] = {path.relative_to(tmp_path / "source").as_posix(): path.read_bytes() for path in files}
    variables = online(hub.url, tmp_path / "hf")
    fetched = heed("pipelines.fetch", "bright/pony", "--quiet", **variables)
    assert fetched.returncode == 0, fetched.stderr
    assert sorted(hub.got()) == [f"{config}/pony-00000-of-00001.parquet" for config in ("documents", "examples")]
    words = fetched.stdout.split()
    assert words[:3] == ["python", "-m", TREC]
    used = heed(TREC, *words[3:], *BM25, HF_HOME=str(tmp_path / "hf"))
    hub.shutdown()
    hub.server_close()
    assert used.returncode == 0, used.stderr
    assert (tmp_path / "runs/bright/pony/summary.json").exists()


def spoil_bright(folder: Path) -> str:
    rows = [{"id": "0", "query": "", "gold_ids": ["a"], "excluded_ids": ["N/A"]}]
    path = parquet(folder / "examples/pony-00000-of-00001.parquet", rows)
    return f"{path}, row 1: query is '', expected a text"


def spoil_mair(folder: Path) -> str:
    path = folder / "MAIR-Queries/TAD/queries.jsonl"
    path.write_text(path.read_text().replace('"score": 2', '"score": "high"'))
    return f"{path}, line 1: score is 'high', expected a whole number"


def spoil_ragtime(folder: Path) -> str:
    path = write_jsonl(folder / "ragtime25_main_eng.jsonl", [{"topic_id": "1", "title": "Storm", "background": "x"}])
    return f"{path}, line 1: no field problem_statement"


def spoil_qrels(name: str) -> Callable[[Path], str]:
    def spoil(folder: Path) -> str:
        (folder / name).write_text("200 0 zho-1 3\n200 zho-1 1\n")
        return f"{folder / name}, line 2: 3 columns, expected 4"

    return spoil


def spoil_topics(folder: Path) -> str:
    path = folder / "neuclir24.topics.0614.jsonl"
    path.write_text(path.read_text() + "{half\n")
    return f"{path}, line 2: not JSON"


def spoil_mteb(folder: Path) -> str:
    path = parquet(folder / "data/test-00000-of-00001.parquet", [{"query-id": "1_0", "corpus-id": "x y", "score": 1}])
    return f"{path}, row 1: corpus-id is 'x y', expected a word"


def lose_documents(folder: Path) -> str:
    (folder / "long_documents/pony-00000-of-00001.parquet").unlink()
    return f"{folder}: no long_documents, split pony; expected Parquet or JSONL files"


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("bright/pony", spoil_bright),
        ("mair/TAD", spoil_mair),
        ("ragtime2025/eng", spoil_ragtime),
        ("neuclirbench/zho", spoil_qrels("bench/data/qrels.zho.gains.txt")),
        ("neuclirtech/zho", spoil_qrels("tech/data/qrels.gains.txt")),
        ("neuclir2024-tech/eng", spoil_qrels("2024.technical_qrels.txt")),
        ("neuclir2024/eng-zho", spoil_topics),
        ("instructir", spoil_mteb),
        ("nevir", spoil_mteb),
        ("ifir/fiqa", spoil_mteb),
        ("bright-long/pony", lose_documents),
    ],
)
def test_damaged_files_are_told_with_their_line(name: str, spoil: Callable[[Path], str], tmp_path: Path) -> None:
    read(name, tmp_path)
    expected = spoil(tmp_path / "copy")
    with pytest.raises(DataError) as caught:
        library.load(name, data=tmp_path / "copy")
    assert expected in str(caught.value)


def test_a_dry_run_of_every_entry_needs_no_network(heed: Heed, tmp_path: Path) -> None:
    for name, entry in Catalogue().entries.items():
        langs = ["--lang", entry.languages[0]] if entry.languages else []
        result = heed("pipelines.fetch", name, *langs, "--dry-run", "--quiet", IR_DATASETS_HOME=str(tmp_path / "irds"))
        assert result.returncode == 0, result.stderr
        assert f"  licence: {entry.licence}" in result.stdout
        assert any(text in result.stdout for text in ("out of reach", "to fetch", "not here", "comes with Heed")), name
    told = heed("pipelines.fetch", "bright/pony", "--dry-run", "--quiet").stdout
    assert "7,894 documents" in told and "documents/pony[-./]*, examples/pony[-./]*" in told


def test_a_group_is_all_its_subsets_and_their_average(tmp_path: Path, heed: Heed) -> None:
    own = {"holds": "two domains", "licence": "none", "subsets": {"biology": {}, "pony": {}}}
    shipped = json.loads((Path(library.__file__).parent / "datasets/catalogue.json").read_text())["bright"]
    (tmp_path / "mine.json").write_text(json.dumps({"two": {**shipped, **own}}))
    bright(tmp_path / "copy")
    result = heed(TREC, "--dataset", "two", "--catalogue", "mine.json", "--data", "copy", *BM25)
    assert result.returncode == 0, result.stderr
    assert "two: average of biology, pony" in result.stdout
    with pytest.raises(UsageError, match="two: several collections; expected one of two/biology, two/pony"):
        library.load("two", catalogue=tmp_path / "mine.json", data=tmp_path / "copy")


def test_a_data_set_of_the_hub_needs_no_entry(tmp_path: Path, heed: Heed) -> None:
    nevir(tmp_path / "copy")
    result = heed(TREC, "--dataset", "hub:orionweller/NevIR-mteb", "--data", "copy", *BM25)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "runs/NevIR-mteb/eng/summary.json").exists()


def test_an_entry_without_an_address_is_read_from_a_copy_alone(tmp_path: Path, heed: Heed) -> None:
    mair(tmp_path / "copy")
    entry = {"holds": "mine", "corpus": {"files": ["docs"]}, "topics": {"files": ["queries"]}}
    columns = {"qid": "qid", "query": "query", "relevant": "labels"}
    (tmp_path / "mine.json").write_text(json.dumps({"own": {**entry, "columns": columns}}))
    for name, repository in (("docs", "MAIR-Docs"), ("queries", "MAIR-Queries")):
        (tmp_path / f"copy/{repository}/TAD/{name}.jsonl").rename(tmp_path / f"copy/{name}.jsonl")
    mine = tmp_path / "mine.json"
    assert library.load("own", catalogue=mine, data=tmp_path / "copy").judging.qrels == {"original": {"0": {"d1": 2}}}
    with pytest.raises(DataError, match="own: no address of its files is known; give a local copy"):
        library.load("own", catalogue=mine)
    with pytest.raises(UsageError, match="own: its topics have one text, no description"):
        library.load("own", catalogue=mine, data=tmp_path / "copy", fields="description")
    assert "licence: not known" in heed("pipelines.fetch", "own", "--catalogue", mine, "--dry-run").stdout


def test_a_folder_in_no_known_layout_is_told(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "copy/train.jsonl", [{"text": "x"}])
    with pytest.raises(DataError, match="copy: neither MTEB's nor BEIR's layout .* say in an entry of a catalogue"):
        library.load("hub:a/b", data=tmp_path / "copy")


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"hub": "a/b"}, "Object missing required field `holds`"),
        ({"holds": "x", "hubb": "a/b"}, "unknown field `hubb`"),
        ({"holds": "x", "hub": "../../etc"}, "hub '../../etc', expected OWNER/NAME"),
        ({"holds": "x", "hub": "a/b", "topics": {"files": ["../secret"]}}, "file '../secret', expected a name inside"),
        ({"holds": "x", "hub": "a/b", "revision": "../../x"}, "revision '../../x', expected a commit or main"),
        ({"holds": "x", "hub": "a/b", "corpus": {"files": []}}, "a part without files; expected at least one"),
        ({"holds": "x", "topics": {"url": "file:///etc/", "files": ["p"]}}, "url 'file:///etc/', expected https://"),
        ({"holds": "x", "qrels": {"best": {"files": ["q"]}}}, "qrels of 'best', expected query, "),
    ],
)
def test_what_no_entry_may_say_is_an_error(entry: dict[str, Any], said: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"mine": entry}))
    with pytest.raises(DataError) as caught:
        library.load("mine", catalogue=path, data=tmp_path)
    assert said in str(caught.value)


def test_what_has_a_command_of_its_own_runs_by_its_name_too(tmp_path: Path, heed: Heed) -> None:
    result = heed(TREC, "--dataset", "neuclir-sample", "--lang", "zho", *BM25)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "runs/neuclir-sample/zho/summary.json").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--dataset", "bright/bio"), "bright has subsets such as biology"),
        (("--dataset", "brigt"), "brigt: no collection of this name; did you mean bright"),
        (
            ("--dataset", "mfollowir-crosslingual"),
            "--lang: found '', expected zho, fas or rus",
        ),
        (("--dataset", "news21"), "wapo/v4: has no topics; give --topics PATH"),
        (("--dataset", "ifir", "--data", "."), "no folder fiqa/; ifir is several data sets, with one each"),
        (("--dataset", "hub:a/b@../x"), "revision '../x', expected a commit or main"),
        (("--dataset", "vaswani", "--data", "x"), "data: not used by vaswani; it takes lang, fields"),
        (("--dataset", "trec-covid", "--data", "x"), "comes from ir_datasets, which keeps its files itself"),
        (
            ("--dataset", "instructir", "--lang", "zho", "--data", "x"),
            "lang: not used by instructir; it takes fields, data",
        ),
        (
            ("--dataset", "infosearch-sample/audience", "--lang", "zho", "--topics", "t"),
            "--topics, --lang: not used by infosearch-sample/audience; it takes data",
        ),
        (
            ("--dataset", "infosearch/audience", "--docs", "d", "--topics", "t"),
            "infosearch/audience: not used with docs, which names other documents; expected infosearch",
        ),
        (("--dataset", "infosearch", "--docs", "d", "--data", "x"), "data: not used with docs"),
        (("--catalogue", "x"), "--catalogue: not used here"),
    ],
)
def test_wrong_words_are_errors(arguments: tuple[str, ...], said: str, heed: Heed) -> None:
    result = heed(TREC, *arguments)
    assert result.returncode == 1
    assert said in result.stderr


def test_false_and_zero_of_a_subset_replace_what_its_group_says(tmp_path: Path) -> None:
    subsets = {"a": {"reranked": False, "queries": 0}, "b": {}}
    entry = {"holds": "x", "hub": "o/n", "reranked": True, "queries": 7, "subsets": subsets}
    (tmp_path / "mine.json").write_text(json.dumps({"mine": entry}))
    members = Catalogue(tmp_path / "mine.json").find("mine")
    assert [(member.entry.reranked, member.entry.queries) for member in members] == [(False, 0), (True, 0)]

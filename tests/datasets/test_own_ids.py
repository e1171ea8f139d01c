"""A query that is a document is left out of its own list; equal ids of different texts are kept."""

import json
import math
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from conftest import Heed, write_jsonl

import heed as library
from heed.datasets.own_files import IGNORED, ignores_own_ids
from heed.experiment.run_files import own_documents
from heed.formats.document_store import open_store
from heed.formats.documents import Documents
from heed.formats.trec_files import read_pool, read_run
from heed.types import Document, Topic

TREC = "pipelines.trec"
# as ArguAna has it: a query is an argument of the corpus, and its counterargument, which shares some words, answers it
PAIRS = {"ferry-pro": "ferry-con", "reef-pro": "reef-con", "bridge-pro": "bridge-con"}
TEXTS = {
    "ferry-pro": "Ferries join the islands.\n\nThey carry mail and people.",
    "ferry-con": "Ferries are loud, and people of the islands fly.",
    "reef-pro": "A reef feeds the village, so close it to ships.",
    "reef-con": "Ships feed the village more than any reef.",
    "bridge-pro": "An old bridge is worth its paint.",
    "bridge-con": "Paint on an old bridge is lost in a year.",
}


def arguments(folder: Path, **texts: str) -> Path:
    """In BEIR's layout; ``texts`` of queries are by default those of the documents, spaced in another way."""
    corpus = [{"_id": docid, "title": docid[:3], "text": text} for docid, text in TEXTS.items()]
    write_jsonl(folder / "corpus.jsonl", corpus)
    queries = {qid: " ".join(TEXTS[qid].split()) for qid in PAIRS} | texts
    write_jsonl(folder / "queries.jsonl", [{"_id": qid, "text": text} for qid, text in queries.items()])
    (folder / "qrels").mkdir()
    lines = "".join(f"{qid}\t{docid}\t1\n" for qid, docid in PAIRS.items())
    (folder / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{lines}")
    return folder


def ndcg(folder: Path, system: str = "bm25") -> float:
    rows = json.loads((folder / "summary.json").read_text())["rows"]
    [value] = [row["value"] for row in rows if (row["system"], row["measure"]) == (system, "nDCG@20")]
    return value


def as_beir_evaluates(run: dict[str, dict[str, float]]) -> float:
    """Return the mean nDCG of a run with one relevant document a topic, by ``EvaluateRetrieval.evaluate``'s rule.

    With its default, ``ignore_identical_ids``, it removes each query's own id from the results.
    """
    gains = []
    for qid, scores in run.items():
        ranking = sorted((docid for docid in scores if docid != qid), key=lambda docid: -scores[docid])
        gains.append(1 / math.log2(ranking.index(PAIRS[qid]) + 2))
    return sum(gains) / len(PAIRS)


def test_a_query_that_is_a_document_is_left_out_of_its_own_list(tmp_path: Path, heed: Heed) -> None:
    arguments(tmp_path / "args")
    line = (TREC, "--docs", "args", "--depth", "4", "--retriever", "bm25", "--retriever", "lsa")
    folder = tmp_path / "runs/args/eng"
    kept = heed(*line, "--keep-own-id")
    assert kept.returncode == 0, kept.stderr
    whole = read_run(folder / "bm25.query.run")
    # each query's own document has rank 1, the relevant one rank 2: 1 / log2(3)
    assert ndcg(folder) == pytest.approx(1 / math.log2(3)) == pytest.approx(0.631, abs=1e-4)
    done = heed(*line)
    assert "3 queries left out of their lists, id and text are a document's (--keep-own-id keeps" in done.stderr
    assert "bm25: own ids left out is new" in done.stderr
    assert ndcg(folder) == as_beir_evaluates(whole) == 1
    pool = read_pool(folder / "pool.jsonl")
    runs = {name: read_run(folder / f"{name}.query.run") for name in ("bm25", "lsa", "polarity")}
    for lists in (pool, *runs.values()):
        assert all(qid not in docids for qid, docids in lists.items()), lists
    assert {len(docids) for name in ("lsa", "polarity") for docids in runs[name].values()} == {4}, "to the depth"
    assert "own ids left out: 3" in (folder / "manifest.yml").read_text()
    written = {path.name: path.read_bytes() for path in folder.glob("*.run")}
    assert heed(*line).stderr.count(".run: used again") == len(written)
    assert "own ids left out is gone" in heed(*line, "--keep-own-id").stderr
    assert ndcg(folder) == pytest.approx(1 / math.log2(3))
    for own, expected in ((False, written), (True, {path.name: path.read_bytes() for path in folder.glob("*.run")})):
        experiment = library.Experiment(
            library.load_files(tmp_path / "args"),
            indexes=tmp_path / "i",
            out=tmp_path / str(own),
            depth=4,
            keep_own_id=own,
        )
        first = [experiment.retrieve(name) for name in ("bm25", "lsa")]
        experiment.rerank("polarity", first)
        assert {path.name: path.read_bytes() for path in experiment.folder.glob("*.run")} == expected, own


def test_runs_made_elsewhere_published_candidates_and_a_single_run_have_the_same_rule(
    tmp_path: Path, heed: Heed
) -> None:
    folder = arguments(tmp_path / "args")
    write_jsonl(folder / "top_ranked.jsonl", [{"query-id": qid, "corpus-ids": [*TEXTS]} for qid in PAIRS])
    lists = {qid: {docid: 2.0 if docid == qid else float(docid == PAIRS[qid]) for docid in TEXTS} for qid in PAIRS}
    library.Run(lists).write(tmp_path / "mine.run")
    done = heed(TREC, "--docs", "args", "--retriever", "none", "--run", "mine.query=mine.run", "--pool", "published")
    assert done.returncode == 0, done.stderr
    results = tmp_path / "runs/args/eng"
    assert ndcg(results, "mine") == 1 and ndcg(results, "polarity") == 1
    library.Qrels({qid: {PAIRS[qid]: 1} for qid in PAIRS}).write(tmp_path / "q")
    common = ("mine.run", "--topics", "args/queries.jsonl", "--docs", "args", "--reranker", "polarity", "--depth", "5")
    for more, own in ((), False), (("--keep-own-id",), True):
        assert heed("pipelines.rerank", *common, "--out", "new.run", *more).returncode == 0
        again = read_run(tmp_path / "new.run")
        assert all(len(docids) == 5 and (qid in docids) is own for qid, docids in again.items()), more


def test_equal_ids_of_other_texts_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    documents = [
        Document("1", "Storm", "a storm"),
        Document("2", "", "Old Bridge"),
        Document("3", "Reef", "life there"),
    ]
    store = open_store(tmp_path, Documents(documents))
    capsys.readouterr()
    queries = {
        "1": "a storm over",
        "2": "old  bridge",
        "3": "REEF",
        "4": "a storm",
        "5": "Storm a storm",
    }
    topics = [Topic(qid, "eng", text, {}) for qid, text in queries.items()]
    assert own_documents(topics, store, by_id=False) == {"2", "3"}
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("2 queries left out of their lists") and told[0].endswith(": 2, 3")
    assert told[1:] == ["1 queries have the id of a document with another text; it is kept"]
    assert own_documents(topics, store, by_id=True) == {"1", "2", "3"}
    assert "lists, by their ids, as in MTEB (keep_own_id=True keeps them): 1, 2, 3" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "left_out"), [("mteb/fiqa", True), ("mteb/scifact", False)])
def test_a_data_set_of_the_hub_follows_its_task_in_mteb(tmp_path: Path, name: str, left_out: bool) -> None:
    folder = arguments(tmp_path / "copy", **{"ferry-pro": "ferries people islands"})
    experiment = library.Experiment(
        library.load(f"hub:{name}", data=folder), indexes=tmp_path / "i", out=tmp_path / "runs"
    )
    run = experiment.retrieve("bm25")["query"]
    assert ("ferry-pro" in run["ferry-pro"]) is not left_out
    assert "reef-pro" not in run["reef-pro"], "the text is the same"


def test_an_id_of_beir_follows_its_task_in_mteb(tmp_path: Path, heed_process: Heed) -> None:
    folder = arguments(tmp_path / "fiqa", **{"ferry-pro": "ferries people islands"})
    zipped = tmp_path / "irds/beir/fiqa/source.zip"
    zipped.parent.mkdir(parents=True)
    with zipfile.ZipFile(zipped, "w") as archive:
        for path in folder.rglob("*.*"):
            archive.write(path, path.relative_to(tmp_path))
    line = ("--dataset", "beir/fiqa/test", "--retriever", "bm25", "--reranker", "none")
    done = heed_process(TREC, *line, IR_DATASETS_HOME=str(tmp_path / "irds"))
    assert done.returncode == 0, done.stderr
    assert "by their ids, as in MTEB" in done.stderr
    assert "ferry-pro" not in read_run(tmp_path / "runs/beir-fiqa-test/eng/bm25.query.run")["ferry-pro"]


def tasks_of(task: Any) -> list[Any]:
    return [task, *(deeper for each in task.__subclasses__() for deeper in tasks_of(each))]


@pytest.mark.golden(program="mteb 2.26.24", compared="data sets whose tasks ignore identical ids", systems=())
def test_the_data_sets_are_those_that_mteb_names() -> None:
    import_module("mteb.tasks")
    tasks = set(tasks_of(import_module("mteb.abstasks.retrieval").AbsTaskRetrieval))
    known = [task for task in tasks if getattr(task, "metadata", None)]
    of_text = [task for task in known if set(task.metadata.modalities) == {"text"}]
    ignoring = {task.metadata.dataset["path"] for task in of_text if task.ignore_identical_ids}
    names = [line.split() for line in IGNORED.read_text().splitlines()]
    assert {f"{owner}/{name}" for owner, *data_sets in names for name in data_sets} == ignoring
    others = {task.metadata.dataset["path"] for task in known if not task.ignore_identical_ids}
    assert not ignoring & others, "one rule for all tasks of a data set"
    asked = (
        "beir/arguana",
        "beir/quora/test",
        "beir/fiqa/train",
        "if-ir/fiqa",
        "beir/scifact/test",
        "beir/climate-fever",
    )
    assert [*map(ignores_own_ids, asked)] == [True] * 4 + [False] * 2

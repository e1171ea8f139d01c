"""``best-cpu``: learned weights over what ``polarity`` reads, and the contrast of the best and worst documents."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, Heed, write_jsonl

from benchmarks.train_best_cpu import DEVELOPMENT, HAND_SET, learn, read
from heed.io.document_store import open_store
from heed.io.documents import Files
from heed.languages import language
from heed.reranking.best_cpu import DATA, BestCpu, contrast, learned_weights
from heed.reranking.demotion import demoted
from heed.reranking.explain import explain
from heed.reranking.polarity import Polarity
from heed.retrieval.bm25 import Bm25, Lucene
from heed.retrieval.bm25_index import Bm25Settings
from heed.retrieval.corpus import Corpus
from heed.tables.documents import Tables
from heed.types import Query, Topic

DEVELOPED = ROOT / "tests" / "data" / "development"
WORDS = ["engine", "price", "tree", "road", "wheel", "speed", "paint"]


@pytest.fixture
def best_cpu(tmp_path: Path) -> BestCpu:
    chooser = random.Random(5)
    records = [{"id": f"d{number}", "text": f"car {' '.join(chooser.choices(WORDS, k=6))}"} for number in range(90)]
    return BestCpu(bm25(tmp_path, Files([write_jsonl(tmp_path / "docs.jsonl", records)])))


@pytest.fixture
def best_cpu_of_tables(tmp_path: Path) -> BestCpu:
    cells = [("engine", "price"), ("engine", "speed"), ("wheel", "price"), ("tree", "road")]
    for number, (header, cell) in enumerate(cells):
        (tmp_path / f"{number}.csv").write_text(f"car,{header}\nold,{cell}\n", encoding="utf-8")
    tables = Tables([tmp_path / f"{number}.csv" for number in range(len(cells))], "raw")
    return BestCpu(bm25(tmp_path, tables), {**learned_weights(), "like": 0.5, "asked header": 0.5})


def bm25(folder: Path, source: Files | Tables) -> Bm25:
    store = open_store(folder / "store", source)
    return Bm25("bm25", Corpus(folder, store, language("eng")), Bm25Settings(), Lucene())


def scores(system: Polarity, query: Query, docids: list[str]) -> dict[str, float]:
    return dict(zip(docids, system.score(query, system._bm25.corpus.documents.get(docids)), strict=True))


TOPIC = Topic("1", "eng", "car road", {"original": "Engines and wheels; leave out prices.", "changed": "Prices."})
DOCIDS = [f"d{number}" for number in range(90)]


def test_a_contrast_has_the_terms_that_are_heavier_on_each_side() -> None:
    best = [{"car": 0.5, "engine": 0.5}, {"car": 0.5, "wheel": 0.25, "engine": 0.25}]
    worst = [{"car": 0.75, "price": 0.5}, {"car": 0.25, "wheel": 0.5, "paint": 0.25}]
    # car 1 − 1, engine 0.75, wheel 0.25 − 0.5, price −0.5, paint −0.25
    for_them, against = contrast(best, worst, 2)
    assert for_them == {"engine": 0.75}
    assert against == {"paint": 0.25, "price": 0.5}  # of paint and wheel, equally heavy, the first
    assert list(against) == ["paint", "price"]  # Lucene sums in this order


def test_documents_in_any_order_get_the_same_scores(best_cpu: BestCpu) -> None:
    docids, query, chooser = list(DOCIDS), TOPIC.under("original"), random.Random(1)
    first = scores(best_cpu, query, docids)
    for _ in range(3):
        chooser.shuffle(docids)
        assert scores(best_cpu, query, docids) == first


def test_an_instruction_changes_the_order_and_a_query_alone_has_polaritys(best_cpu: BestCpu) -> None:
    original, changed = (scores(best_cpu, TOPIC.under(name), DOCIDS) for name in ("original", "changed"))
    orders = [sorted(found, key=found.__getitem__) for found in (original, changed)]
    assert orders[0] != orders[1]
    alone = TOPIC.under("query")
    assert scores(best_cpu, alone, DOCIDS) == scores(Polarity(best_cpu._bm25), alone, DOCIDS)


def test_documents_off_the_topic_are_not_compared(tmp_path: Path) -> None:
    texts = [f"car {one} {other}" for one in WORDS for other in WORDS] + [
        f"zebra number{number}" for number in range(60)
    ]
    records = [{"id": f"d{number}", "text": text} for number, text in enumerate(texts)]
    system = BestCpu(bm25(tmp_path, Files([write_jsonl(tmp_path / "docs.jsonl", records)])))
    parts = system.parts(TOPIC.under("original"), list(system._bm25.corpus.documents))
    [worst] = [{term for _, term in part.terms} for part in parts if part.name == "worst"]
    assert "price" in worst and "zebra" not in worst


@pytest.mark.parametrize("kind", ["best_cpu", "best_cpu_of_tables"])
def test_explained_contributions_add_up_to_the_score(kind: str, request: pytest.FixtureRequest) -> None:
    system: BestCpu = request.getfixturevalue(kind)
    query, documents = TOPIC.under("original"), list(system._bm25.corpus.documents)
    parts = set()
    for document, score in zip(documents, system.score(query, documents), strict=True):
        found = explain(system, query, documents, document.docid)
        wanted = sum(one.value for one in found.contributions if one.value > 0)
        unwanted = -sum(one.value for one in found.contributions if one.value < 0)
        expected = demoted(np.array([wanted]), np.array([unwanted]), system._settings.floor)[0]
        assert found.score == score == pytest.approx(expected)
        parts |= {(one.part, one.term, one.clauses) for one in found.contributions if one.clauses}
    assert ("asked", "wheel", ("Engines and wheels;",)) in parts and ("excluded", "price", ("prices.",)) in parts
    assert (("asked header", "wheel", ("Engines and wheels;",)) in parts) == (kind == "best_cpu_of_tables")


def test_few_or_no_documents_have_scores(best_cpu: BestCpu) -> None:
    assert scores(best_cpu, TOPIC.under("original"), []) == {}
    assert len(scores(best_cpu, TOPIC.under("original"), DOCIDS[:2])) == 2


def test_the_training_command_learns_the_weights_on_record_again(tmp_path: Path) -> None:
    record = json.loads(DATA.read_text(encoding="utf-8"))
    assert learned_weights() == record["weights"] and record["weights"].keys() == HAND_SET.keys()
    news = [DEVELOPED / "news" / lang for lang in ("eng", "zho", "fas", "rus")]
    assert learn(read([*news, DEVELOPED / "tables"], tmp_path)) == record[f"on_{DEVELOPMENT}_alone"]


def test_a_command_takes_it_by_name(heed: Heed, tmp_path: Path) -> None:
    folder = DEVELOPED / "news" / "eng"
    result = heed(
        "pipelines.trec",
        *("--docs", folder / "docs.jsonl", "--topics", folder / "topics.jsonl"),
        *("--qrels", folder / "original.qrels", "--changed-qrels", folder / "changed.qrels"),
        *("--retriever", "bm25", "--reranker", "best-cpu", "--out", tmp_path / "runs"),
    )
    assert result.returncode == 0, result.stderr
    assert len(list((tmp_path / "runs").rglob("best-cpu.changed.run"))) == 1

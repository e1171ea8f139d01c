import json
from pathlib import Path

import numpy as np
import pytest
import tiny_late_models as tiny
from conftest import Heed, write_jsonl
from model_inputs import CPU
from tiny_late_models import DOCUMENT, MOST, TOPIC, entry

from heed.addons.architectures.late_interaction import LateEncoder, LateReranker, LateRetriever
from heed.formats.document_store import Corpus, DocumentStore, open_store
from heed.formats.documents import Files
from heed.languages import language
from heed.models.registry.entries import Model
from heed.ranking import ranked
from heed.retrieval.dense import vectors


def many(tmp_path: Path) -> DocumentStore:
    chooser = np.random.default_rng(0)
    texts = [" ".join(chooser.choice(tiny.LETTERS, size=size)) for size in chooser.integers(1, 40, size=50)]
    texts[7] = texts[31] = texts[40]  # ties
    records = [{"id": f"d{at:02}", "text": text} for at, text in enumerate(texts)]
    return open_store(tmp_path / "many", Files([write_jsonl(tmp_path / "many.jsonl", records)]))


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "SHARD", 8)


def retriever_of(
    model: Model, store: DocumentStore, folder: Path, encoder: type[LateEncoder] = LateEncoder
) -> LateRetriever:
    return LateRetriever(encoder(model, CPU), Corpus(folder, store, language("eng")))


def test_the_retriever_finds_what_reranking_everything_puts_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, store = tiny.xlmr(tmp_path), many(tmp_path)
    retriever = retriever_of(entry(made.folder), store, tmp_path / "shelf")
    topics = [TOPIC, TOPIC._replace(qid="2", query="x 大 中"), TOPIC._replace(qid="3", query="z")]
    reranker, docids = LateReranker(entry(made.folder), CPU), list(store.docids())
    for condition in ("query", "changed"):
        run = retriever.search([topic.under(condition) for topic in topics], 12)
        for topic in topics:
            everything = dict(zip(docids, reranker.score(topic.under(condition), store.get(docids)), strict=True))
            assert list(run[topic.qid].values()) == sorted(run[topic.qid].values(), reverse=True)
            assert list(run[topic.qid]) == ranked(run[topic.qid])  # score, then docid, descending
            assert list(run[topic.qid].values()) == pytest.approx(sorted(everything.values())[:-13:-1], abs=1e-5)
            assert run[topic.qid] == pytest.approx({docid: everything[docid] for docid in run[topic.qid]}, abs=1e-5)
    assert len(list((tmp_path / "shelf" / "tiny-xlmr" / "vectors").glob("shard-*.npy"))) == 7
    everything = retriever.search([TOPIC.under("query")], 1000)["1"]
    assert sorted(everything) == docids
    again = retriever_of(entry(made.folder), store, tmp_path / "shelf")
    assert again.search([TOPIC.under("query")], 1000)["1"] == everything
    assert "used again, inputs and settings are the same" in capsys.readouterr().err
    assert retriever.search([], 10) == {}


def test_the_whole_path_by_name(heed: Heed, tmp_path: Path) -> None:
    bert, xlmr = tiny.bert(tmp_path), tiny.xlmr(tmp_path)
    lengths = {"family": "late-interaction", "query_length": MOST, "document_length": DOCUMENT}
    entries = {name: {"source": str(one.folder), **lengths} for name, one in (("b", bert), ("x", xlmr))}
    (tmp_path / "models.json").write_text(json.dumps(entries))
    found = heed(
        "pipelines.neuclir", "--lang", "zho", "--collection", "sample", "--models", "models.json", "--depth", "20",
        "--condition", "query", "--condition", "changed", "--retriever", "x", "--reranker", "b", "--maxp", "60/20",
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    runs = {path.name: path.read_text() for path in (tmp_path / "runs").rglob("*.run")}
    assert sorted(runs) == [f"{name}.{under}.run" for name in ("b+maxp", "x") for under in ("changed", "query")]
    for system in ("b+maxp", "x"):
        asked, changed = (runs[f"{system}.{condition}.run"] for condition in ("query", "changed"))
        assert asked.count("\n") == changed.count("\n") == 12 * 20
        assert [line.split()[4] for line in asked.splitlines()] != [line.split()[4] for line in changed.splitlines()]

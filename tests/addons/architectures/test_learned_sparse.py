"""Learned sparse retrieval is that of sentence-transformers' ``SparseEncoder``, over postings of Heed's own."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tiny_sparse_models as tiny
import torch
from conftest import Heed, write_jsonl
from model_inputs import CPU

import heed as library
from heed.addons.architectures.learned_sparse import SparseReranker, SparseRetriever, SparseTextEncoder
from heed.errors import HeedError, ModelError, UsageError
from heed.files import digest
from heed.formats.document_store import Corpus, DocumentStore, open_store
from heed.formats.documents import Files
from heed.languages import language
from heed.models.registry.entries import Model, Registry
from heed.ranking import ranked
from heed.retrieval.dense import vectors
from heed.types import Matrix, Query

QUERIES = [
    Query("1", query="ab storm", instruction="no cd"),
    Query("2", query="ab storm"),
    Query("3", query="大中 x " * 40),  # too long
    Query("4", query="z"),
]
KINDS: dict[str, Callable[[Path], Path]] = {
    "masked": lambda folder: tiny.masked(folder / "masked"),
    "splade": tiny.splade,
    "inference-free": tiny.inference_free,
    "two networks": tiny.two_networks,
    "of vectors": tiny.of_vectors,
}
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "SHARD", 8)


def many(folder: Path) -> DocumentStore:
    chooser = np.random.default_rng(0)
    texts = [" ".join(chooser.choice(list("abcdstorm大中x"), size=size)) for size in chooser.integers(1, 90, size=50)]
    texts[7] = texts[31] = texts[40]  # ties
    records = [{"id": f"d{number:02}", "title": "t" if number % 2 else "", "text": text}
               for number, text in enumerate(texts)]  # fmt: skip
    return open_store(folder / "many", Files([write_jsonl(folder / "many.jsonl", records)]))


def retriever_of(model: Model, store: DocumentStore, folder: Path) -> SparseRetriever:
    return SparseRetriever(SparseTextEncoder(model, CPU), Corpus(folder, store, language("eng")))


def similarities(source: Path, store: DocumentStore) -> "np.ndarray[tuple[int, int], np.dtype[np.float32]]":
    """The library's own, in one batch each."""
    from sentence_transformers import SparseEncoder

    encoder = SparseEncoder(str(source), device="cpu")
    texts = [f"{document.title} {document.text}".strip() for document in store]
    queries = [f"{query.query} {query.instruction}".strip() for query in QUERIES]
    scores = encoder.similarity(encoder.encode_query(queries), encoder.encode_document(texts))
    return (scores.to_dense() if scores.is_sparse else scores).numpy()


@pytest.mark.golden(
    program="sentence-transformers 6.2.0",
    compared="scores and lists of a search, scores of a reranker",
    systems=("learned-sparse",),
)
@pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled")  # of the library's cosine
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")  # of its similarity
@every_kind
def test_scores_and_lists_are_those_of_sentence_transformers(tmp_path: Path, kind: str) -> None:
    source, store = KINDS[kind](tmp_path), many(tmp_path)
    model = Model(str(source), "learned-sparse")
    retriever, docids = retriever_of(model, store, tmp_path / "shelf"), list(store.docids())
    lists, best = retriever.search(QUERIES, 100), retriever.search(QUERIES, 9)
    expected = similarities(source, store)
    reranker = SparseReranker(model, CPU)
    for query, scores in zip(QUERIES, expected, strict=True):
        theirs = dict(zip(docids, scores.tolist(), strict=True))
        assert dict(zip(docids, reranker.score(query, list(store)), strict=True)) == pytest.approx(theirs, rel=1e-5)
        whole = lists[query.qid]
        assert whole == pytest.approx({docid: score for docid, score in theirs.items() if score > 0}, rel=1e-5)
        assert list(whole) == ranked(whole)  # score, then docid, descending
        values = np.array([theirs[docid] for docid in whole])
        assert (values[:-1] - values[1:] > -1e-5 * values[1:]).all()  # the library's order, but for nearly equal ones
        assert best[query.qid] == dict(list(whole.items())[:9])
    assert any(len(set(map(float, row))) > 20 for row in expected)
    assert retriever.search([], 10) == {}


@every_kind
def test_encoding_goes_on_after_a_kill_and_leaves_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    source, store = KINDS[kind](tmp_path), many(tmp_path)
    model = Model(str(source), "learned-sparse")
    read, counts = SparseTextEncoder.encode_documents, []

    def encode(self: SparseTextEncoder, documents: "list[library.Document]") -> Matrix:
        counts.append(len(documents))
        if len(counts) == 3:
            raise KeyboardInterrupt
        return read(self, documents)

    with monkeypatch.context() as patch:
        patch.setattr(SparseTextEncoder, "encode_documents", encode)
        with pytest.raises(KeyboardInterrupt):
            retriever_of(model, store, tmp_path / "killed").load()
        counts += [0]
        retriever_of(model, store, tmp_path / "killed").load()
        assert sum(counts[4:]) == 50 - 2 * 8
    retriever_of(model, store, tmp_path / "whole").load()
    killed, whole = (
        {path.relative_to(tmp_path / name): digest(path) for path in (tmp_path / name).rglob("*") if path.is_file()}
        for name in ("killed", "whole")
    )
    assert killed == whole and len([path for path in whole if path.parent.name == "postings"]) == 6
    counts.clear()
    with monkeypatch.context() as patch:
        patch.setattr(SparseTextEncoder, "encode_documents", encode)
        again = retriever_of(model, store, tmp_path / "whole").search(QUERIES, 5)
    assert not counts and again == retriever_of(model, store, tmp_path / "killed").search(QUERIES, 5)


def test_documents_without_any_weight_are_in_no_list(tmp_path: Path) -> None:
    """A table of weights has none for words that it does not know, and none for an empty text."""
    from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny.masked(tmp_path / "mlm"))
    weights = torch.ones(len(tokenizer))
    weights[tokenizer.unk_token_id] = 0
    source = tiny.saved(tmp_path / "table", [SparseStaticEmbedding(tokenizer, weights)])
    records = [{"id": docid, "text": text} for docid, text in (("a", "ǂ"), ("b", "xy"), ("c", ""), ("d", "x"))]
    store = open_store(tmp_path / "few", Files([write_jsonl(tmp_path / "few.jsonl", records)]))
    retriever = retriever_of(Model(str(source), "learned-sparse"), store, tmp_path / "shelf")
    queries = [Query("1", query="x y"), Query("2", query="ǂ")]
    assert retriever.search(queries, 9) == {"1": {"b": 2.0, "d": 1.0}, "2": {}}
    none = [{"id": "a", "text": "ǂ"}]
    store = open_store(tmp_path / "none", Files([write_jsonl(tmp_path / "none.jsonl", none)]))
    assert retriever_of(Model(str(source), "learned-sparse"), store, tmp_path / "e").search(queries, 9)["1"] == {}


def test_lengths_of_an_entry_hold_for_every_route(tmp_path: Path) -> None:
    source = tiny.inference_free(tmp_path)
    short = SparseReranker(Model(str(source), "learned-sparse", max_length=4), CPU)
    whole = SparseReranker(Model(str(source), "learned-sparse"), CPU)
    cut, longer = library.Document("1", "", "ab"), library.Document("2", "", "abcd")
    assert short.score(Query("1", query="abcdef"), [longer]) == pytest.approx(
        whole.score(Query("1", query="abcd"), [cut]), rel=1e-6
    )


def test_the_whole_path_by_name(heed: Heed, tmp_path: Path) -> None:
    splade, free = tiny.splade(tmp_path), tiny.inference_free(tmp_path)
    told = heed(
        "pipelines.neuclir", "--lang", "zho", "--collection", "sample", "--depth", "20", "--condition", "query",
        "--condition", "changed", "--retriever", str(free), "--reranker", str(splade), "--workers", "2",
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    assert "family learned-sparse, guessed from config_sentence_transformers.json" in told.stderr
    assert "runs in this process, not by workers: it keeps the vectors of documents" in told.stderr
    runs = {path.name: path.read_text() for path in (tmp_path / "runs").rglob("*.run")}
    assert sorted(runs) == [
        f"{name}.{one}.run" for name in ("inference-free", "splade") for one in ("changed", "query")
    ]
    for system in ("inference-free", "splade"):
        asked, changed = (runs[f"{system}.{condition}.run"] for condition in ("query", "changed"))
        assert asked.count("\n") == changed.count("\n") == 12 * 20 and asked != changed


@every_kind
def test_the_page_of_a_model_says_how_it_is_pooled_and_compared(tmp_path: Path, heed: Heed, kind: str) -> None:
    entry = {"source": str(KINDS[kind](tmp_path)), "family": "learned-sparse"}
    (tmp_path / "mine.json").write_text(json.dumps({"mine": entry}))
    told = heed("pipelines.models", "mine", "--models", "mine.json", "--json", "f.json")
    assert told.returncode == 0, told.stderr
    facts = json.loads((tmp_path / "f.json").read_text())
    assert facts["problem"] is None and facts["class"] == "sentence_transformers.SparseEncoder"
    pooled = {"inference-free": "max of log1p_relu", "two networks": "sum of relu, max of relu", "of vectors": None}
    assert facts["pooling"] == pooled.get(kind, "max of relu")
    assert facts["similarity"] == ("cosine" if kind == "two networks" else "dot")
    assert facts["prompts"] == ({"query": "ask: ", "document": "tell: "} if kind == "splade" else {})
    assert facts["max_length"] == 64


def test_what_scores_no_words_is_refused(tmp_path: Path, tiny_encoder: Path) -> None:
    for source, message in (
        (tiny_encoder, "no model of learned sparse retrieval; expected what SparseEncoder.save left, or a masked"),
        (tiny.two_networks(tmp_path), ""),
    ):
        model = Model(str(source), "learned-sparse")
        weights = source / "query_0_Transformer" / "model.safetensors"
        if not message:
            from safetensors.numpy import load_file, save_file

            kept = {name: weight for name, weight in load_file(weights).items() if ".layer.1." not in name}
            save_file(kept, weights, metadata={"format": "pt"})
            message = "query_0_Transformer: missing weights: 16, such as bert.encoder.layer.1"
        with pytest.raises(ModelError, match=message):
            SparseReranker(model, CPU).load()
    splade = str(tiny.splade(tmp_path))
    with pytest.raises(
        UsageError, match=r"of family learned-sparse \(guessed from .*\), no bi-encoder; give reranker="
    ):
        library.encoder(splade, device="cpu")
    with pytest.raises(ModelError, match="pooling cls is of a bi-encoder; leave it or the family out"):
        SparseReranker(Model(splade, "learned-sparse", pooling="cls"), CPU).load()
    with pytest.raises(HeedError, match=re.escape("similarity_fn_name is 'manhattan'")):
        config = Path(splade) / "config_sentence_transformers.json"
        config.write_text(json.dumps({**json.loads(config.read_text()), "similarity_fn_name": "manhattan"}))
        SparseReranker(Model(splade, "learned-sparse"), CPU)


def test_code_of_a_repository_stays_refused() -> None:
    name = "opensearch-project/opensearch-neural-sparse-encoding-doc-v3-gte"
    with pytest.raises(ModelError, match="runs code of its own repository; read it at revision a8abaa9"):
        SparseReranker(Registry().find(name), CPU)

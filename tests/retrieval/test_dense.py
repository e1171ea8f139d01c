import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import ROOT, write_jsonl
from hypothesis import given, settings
from hypothesis import strategies as st

from heed.errors import HeedError
from heed.files import digest, write_json
from heed.formats.document_store import DocumentStore, open_store
from heed.formats.documents import Files
from heed.models.encoders.bi_encoder import SentenceEncoder
from heed.models.local.runtime import Runtime
from heed.models.registry.entries import Model
from heed.retrieval.dense import vectors as vectors_module
from heed.retrieval.dense.exact_scan import MAX_ON_GPU, OnGpus, Scan, on_gpus
from heed.retrieval.dense.search import KINDS, DenseIndex, open_index
from heed.retrieval.dense.vectors import Vectors, embed
from heed.retrieval.lsa.lsa import build_lsa
from heed.retrieval.lsa.ngrams import ngram_counts
from heed.reuse import NOTE
from heed.types import Document, Query

Matrix = np.ndarray
CPU = Runtime("cpu")

SAMPLE = ROOT / "documents" / "neuclir-sample"


class Lengths:
    """An encoder whose vectors are known: letter counts, not normalised. Counts its own work."""

    name = "lengths"

    def __init__(self, version: int = 1, fail_after: int = 10**9) -> None:
        self.config = {"lengths": version}
        self.encoded: list[str] = []
        self._fail_after = fail_after

    def encode_documents(self, documents: Sequence[Document]) -> Matrix:
        if len(self.encoded) >= self._fail_after:
            raise KeyboardInterrupt
        self.encoded += [one.docid for one in documents]
        return self._matrix([one.text for one in documents])

    def encode_queries(self, queries: Sequence[Query]) -> Matrix:
        return self._matrix([query.text for query in queries])

    def _matrix(self, texts: list[str]) -> Matrix:
        return np.array([[text.count(letter) for letter in "abcdefgh"] for text in texts], dtype=np.float32)


def asked(query: str, instruction: str = "") -> Query:
    return Query("q", f"{query} {instruction}", query, instruction)


@pytest.fixture
def store(tmp_path: Path) -> DocumentStore:
    chooser = np.random.default_rng(0)
    texts = ["".join(chooser.choice(list("abcdefgh"), size=40)) for _ in range(500)]
    records = [{"id": f"d{number:03}", "text": text} for number, text in enumerate(texts)]
    return open_store(tmp_path / "store", Files([write_jsonl(tmp_path / "docs.jsonl", records)]))


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (vectors_module, __import__("heed.retrieval.dense.search", fromlist=["dense"])):
        monkeypatch.setattr(module, "SHARD", 64)


def index(tmp_path: Path, store: DocumentStore, kind: str) -> DenseIndex:
    encoder = Lengths()
    made = embed(tmp_path / "vectors", store, encoder)
    return open_index(tmp_path / kind, made, encoder.config, kind, "cpu")


def test_exact_search_is_a_full_sort_by_inner_product(tmp_path: Path, store: DocumentStore, small_shards: None) -> None:
    queries = Lengths().encode_queries([asked("aab", "h"), asked("cdefg")])
    found = index(tmp_path, store, "exact").search(["q", "r"], queries, 20)
    for row, qid in enumerate(["q", "r"]):
        products = {one.docid: float(Lengths().encode_documents([one])[0] @ queries[row]) for one in store}
        best = sorted(products.items(), key=lambda pair: (pair[1], pair[0]), reverse=True)[:20]
        assert [score for _, score in best] == list(found[qid].values())
        clear = [docid for docid, score in best if score > best[-1][1]]  # above the tie at the cut
        assert list(found[qid])[: len(clear)] == clear


@pytest.mark.parametrize("kind", ["hnsw", "ivfpq"])
def test_approximate_indexes_find_nearly_the_same_with_exact_scores(
    tmp_path: Path, store: DocumentStore, small_shards: None, kind: str
) -> None:
    queries = Lengths().encode_queries([asked("aab", "h")])
    exact = index(tmp_path, store, "exact").search(["q"], queries, 500)["q"]
    found = index(tmp_path, store, kind).search(["q"], queries, 50)["q"]
    assert len(found) == 50
    assert all(found[docid] == exact[docid] for docid in found)
    assert len(found.keys() & set(list(exact)[:100])) >= 40
    again = index(tmp_path, store, kind).search(["q"], queries, 50)["q"]
    anew = index(tmp_path / "anew", store, kind).search(["q"], queries, 50)["q"]
    assert found == again == anew


def test_asking_for_more_than_there_is_gives_every_document_once(tmp_path: Path, store: DocumentStore) -> None:
    for kind in KINDS:
        found = index(tmp_path, store, kind).search(["q"], Lengths().encode_queries([asked("abc")]), 10_000)["q"]
        assert len(found) <= 500
        assert kind == "ivfpq" or len(found) == 500


def test_a_killed_encoding_goes_on_where_it_stopped(tmp_path: Path, store: DocumentStore, small_shards: None) -> None:
    with pytest.raises(KeyboardInterrupt):
        embed(tmp_path / "killed", store, Lengths(fail_after=200))
    second = Lengths()
    resumed = embed(tmp_path / "killed", store, second)
    assert 0 < len(second.encoded) < 500
    whole = embed(tmp_path / "whole", store, Lengths())
    assert resumed.docids == whole.docids
    for ours, theirs in zip(resumed.parts(), whole.parts(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("harm", ["cut", "byte", "shape"])
def test_a_damaged_shard_of_a_killed_encoding_is_made_again(
    tmp_path: Path, store: DocumentStore, small_shards: None, harm: str
) -> None:
    with pytest.raises(KeyboardInterrupt):
        embed(tmp_path / "killed", store, Lengths(fail_after=200))
    shard = tmp_path / "killed/shard-00001.npy"
    content = shard.read_bytes()
    if harm == "shape":
        np.save(shard, np.zeros((64, 9), dtype=np.float32))
    else:
        shard.write_bytes(content[:-1] + (b"" if harm == "cut" else bytes([content[-1] ^ 1])))
    second = Lengths()
    resumed = embed(tmp_path / "killed", store, second)
    assert len(second.encoded) == 500 - 4 * 64 + 64  # the damaged shard beside those not made yet
    assert shard.read_bytes() == content
    whole = embed(tmp_path / "whole", store, Lengths())
    assert [one.read_bytes() for one in resumed.shards] == [one.read_bytes() for one in whole.shards]
    assert {one.name for one in (tmp_path / "killed").iterdir()} == {one.name for one in (tmp_path / "whole").iterdir()}


def test_a_flipped_byte_in_finished_vectors_is_found(tmp_path: Path, store: DocumentStore, small_shards: None) -> None:
    before = embed(tmp_path / "v", store, Lengths()).shards[2].read_bytes()
    shard = tmp_path / "v/shard-00002.npy"
    shard.write_bytes(before[:200] + bytes([before[200] ^ 1]) + before[201:])
    embed(tmp_path / "v", store, Lengths())
    assert shard.read_bytes() == before


def test_shards_of_another_encoder_are_not_taken_over(tmp_path: Path, store: DocumentStore, small_shards: None) -> None:
    with pytest.raises(KeyboardInterrupt):
        embed(tmp_path / "v", store, Lengths(version=1, fail_after=200))
    other = Lengths(version=2)
    embed(tmp_path / "v", store, other)
    assert len(other.encoded) == 500


def test_another_query_template_embeds_nothing_again_another_document_template_does(
    tmp_path: Path, store: DocumentStore, tiny_encoder: Path
) -> None:
    entry = Model(str(tiny_encoder), query="{query} {instruction}", document="{title} {text}")
    embed(tmp_path / "v", store, SentenceEncoder(entry, CPU))
    before = (tmp_path / "v/shard-00000.npy").stat().st_mtime_ns
    other = SentenceEncoder(entry._replace(query="query: {query}", bare="{query}", task="t", query_length=9), CPU)
    embed(tmp_path / "v", store, other)
    assert (tmp_path / "v/shard-00000.npy").stat().st_mtime_ns == before
    embed(tmp_path / "v", store, SentenceEncoder(entry._replace(document="passage: {title} {text}"), CPU))
    assert (tmp_path / "v/shard-00000.npy").stat().st_mtime_ns != before


@pytest.mark.parametrize("wanted", [40, MAX_ON_GPU, MAX_ON_GPU + 1])
def test_the_index_of_a_gpu_gives_the_candidates_of_the_scan(tmp_path: Path, wanted: int) -> None:
    """With FAISS's flat index of the CPU in the place of the same on a GPU."""
    import faiss

    matrix = np.random.default_rng(0).standard_normal((3000, 8), dtype=np.float32)
    np.save(tmp_path / "shard-00000.npy", matrix)
    (tmp_path / "docids.txt").write_text("".join(f"d{at}\n" for at in range(len(matrix))))
    scan, flat = Scan(Vectors(tmp_path)), faiss.IndexFlatIP(8)
    flat.add(matrix)
    found = OnGpus(flat, scan).candidates(matrix[:3], wanted)
    for one, other in zip(found, scan.candidates(matrix[:3], wanted), strict=True):
        assert sorted(one) == sorted(other) and len(one) == wanted


@pytest.mark.skipif(torch.cuda.is_available(), reason="has a GPU")
def test_without_a_gpu_the_shards_are_scanned(tmp_path: Path, store: DocumentStore) -> None:
    made = embed(tmp_path / "v", store, Lengths())
    assert on_gpus(made, Scan(made)) is None


def test_vectors_are_computed_once(tmp_path: Path, store: DocumentStore) -> None:
    first, second = Lengths(), Lengths()
    embed(tmp_path / "v", store, first)
    embed(tmp_path / "v", store, second)
    assert (len(first.encoded), len(second.encoded)) == (500, 0)


@pytest.mark.parametrize("lang", ["zho", "fas", "rus", "eng"])
def test_lsa_finds_a_document_by_its_own_words_in_every_language(tmp_path: Path, lang: str) -> None:
    store = open_store(tmp_path / "store", Files([SAMPLE / f"{lang}.jsonl"]))
    lsa = build_lsa(tmp_path / "model", store)
    documents = list(store)
    own = lsa.encode_queries([asked(one.title, one.text) for one in documents])
    made = embed(tmp_path / "v", store, lsa)
    found = open_index(tmp_path / "i", made, lsa.config, "exact", "cpu").search(made.docids, own, 1)
    assert sum(next(iter(found[docid])) == docid for docid in made.docids) >= 0.95 * len(documents)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text(st.sampled_from("abAß éİ大中国人\t\n\u2003😀𝒳،؟گ"), max_size=60), min_size=1, max_size=6))
def test_hashed_ngrams_are_those_of_scikit_learn(texts: list[str]) -> None:
    from sklearn.feature_extraction.text import HashingVectorizer

    theirs = HashingVectorizer(
        analyzer="char_wb", ngram_range=(2, 4), n_features=2**16, alternate_sign=False, norm=None
    ).transform(texts)
    ours = ngram_counts(texts, range(2, 5), 2**16)
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


def test_ngrams_counted_part_by_part_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["apple pear", "", "pear plum", "stone river"]
    whole = ngram_counts(texts, range(2, 5), 2**16)
    monkeypatch.setattr("heed.retrieval.lsa.ngrams.AT_ONCE", 12)
    assert (ngram_counts(texts, range(2, 5), 2**16) != whole).nnz == 0


@pytest.mark.parametrize("dense", [0, 2048])
def test_lsa_equals_a_plain_singular_value_decomposition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dense: int
) -> None:
    """Scores of the truncated SVD against numpy's full one on the same weighted matrix, all dimensions kept."""
    from sklearn.preprocessing import normalize

    from heed.retrieval.lsa.lsa import _counts

    monkeypatch.setattr("heed.retrieval.lsa.lsa.DENSE", dense)
    texts = ["apple pear", "pear plum", "stone river", "river water stone", "apple plum fig"]
    records = [{"id": str(number), "text": text} for number, text in enumerate(texts)]
    store = open_store(tmp_path / "store", Files([write_jsonl(tmp_path / "docs.jsonl", records)]))
    ours = build_lsa(tmp_path / "model", store).encode_documents(list(store))
    counts = _counts(texts)
    containing = np.bincount(counts.indices, minlength=counts.shape[1])
    weighted = normalize(counts.multiply(np.log((1 + 5) / (1 + containing)) + 1).tocsr()).toarray()
    _, _, components = np.linalg.svd(weighted, full_matrices=False)
    theirs = normalize(weighted @ components[:4].T)
    np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-5)


@pytest.mark.parametrize("count", [1, 2])
def test_lsa_of_a_very_small_collection_works(tmp_path: Path, count: int) -> None:
    records = [{"id": str(number), "text": f"word{number} and more"} for number in range(count)]
    store = open_store(tmp_path / "store", Files([write_jsonl(tmp_path / "docs.jsonl", records)]))
    assert np.isfinite(build_lsa(tmp_path / "model", store).encode_documents(list(store))).all()


@pytest.mark.parametrize("dense", [0, 2048])
def test_lsa_of_equal_documents_is_finite_and_keeps_them_equal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dense: int
) -> None:
    monkeypatch.setattr("heed.retrieval.lsa.lsa.DENSE", dense)
    records = [{"id": str(number), "text": "the same text"} for number in range(30)] + [{"id": "x", "text": "zinc"}]
    store = open_store(tmp_path / "store", Files([write_jsonl(tmp_path / "docs.jsonl", records)]))
    vectors = build_lsa(tmp_path / "model", store).encode_documents(list(store))
    np.testing.assert_allclose(vectors[:30] @ vectors[:30].T, 1, atol=1e-5)
    assert abs(vectors[0] @ vectors[30]) < 1e-5


def test_lsa_without_any_text_is_an_error(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store", Files([write_jsonl(tmp_path / "docs.jsonl", [{"id": "a", "text": " "}])]))
    with pytest.raises(HeedError, match="no document has any text"):
        build_lsa(tmp_path / "model", store)


def test_the_instruction_reaches_lsa(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store", Files([SAMPLE / "rus.jsonl"]))
    queries = [asked("аэропорт"), asked("аэропорт", "только пилоты")]
    plain, instructed = build_lsa(tmp_path / "model", store).encode_queries(queries)
    assert not np.allclose(plain, instructed)


@pytest.mark.parametrize("kind", ["exact", "hnsw"])
def test_vectors_that_an_earlier_version_did_not_divide_by_their_length_are_used_again(
    tmp_path: Path, kind: str, tiny_encoder: Path
) -> None:
    """Version 0.2.0 compared a model whose files name no similarity by inner product; the library does by cosine."""
    letters = ["a b", "b c d", "c", "d d d d d d", "a c b d"]
    records = [{"id": f"d{at}", "text": text} for at, text in enumerate(letters)]
    store = open_store(tmp_path / "store", Files([write_jsonl(tmp_path / "docs.jsonl", records)]))
    encoder = SentenceEncoder(Model(str(tiny_encoder)), CPU)
    vectors = embed(tmp_path / "vectors", store, encoder)
    queries = encoder.encode_queries([Query("1", "a b c", "a b c")])
    fresh = open_index(tmp_path / "fresh", vectors, {}, kind, "cpu").search(["1"], queries, 5)
    [shard] = vectors.shards
    np.save(shard, np.load(shard) * np.arange(2, 7, dtype=np.float32)[:, None])
    note = json.loads((tmp_path / "vectors" / NOTE).read_text())
    note["files"][shard.name] = digest(shard)
    write_json(tmp_path / "vectors" / NOTE, note)
    again = embed(tmp_path / "vectors", store, encoder)
    assert again.scaled and not vectors.scaled
    found = open_index(tmp_path / "again", again, {}, kind, "cpu").search(["1"], queries, 5)
    assert list(found["1"]) == list(fresh["1"]) and found["1"] == pytest.approx(fresh["1"], abs=1e-6)
    np.testing.assert_allclose(np.linalg.norm(again.of(again.docids), axis=1), 1, atol=1e-6)

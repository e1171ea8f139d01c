"""Latent semantic analysis: its counts beside scikit-learn's, its vectors beside a plain decomposition."""

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, write_jsonl
from hypothesis import given, settings
from hypothesis import strategies as st

from heed.compute import Compute
from heed.errors import HeedError
from heed.formats.document_store import open_store
from heed.formats.documents import Files
from heed.retrieval.lsa import build_lsa, ngram_counts
from heed.types import Query

Matrix = np.ndarray
CPU = Compute("cpu")

SAMPLE = ROOT / "documents" / "neuclir-sample"


def asked(query: str, instruction: str = "") -> Query:
    return Query("q", f"{query} {instruction}", query, instruction)


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
    monkeypatch.setattr("heed.retrieval.lsa.AT_ONCE", 12)
    assert (ngram_counts(texts, range(2, 5), 2**16) != whole).nnz == 0


def test_lsa_equals_a_plain_singular_value_decomposition(tmp_path: Path) -> None:
    """Scores of the truncated SVD against numpy's full one on the same weighted matrix, all dimensions kept."""
    from sklearn.preprocessing import normalize

    texts = ["apple pear", "pear plum", "stone river", "river water stone", "apple plum fig"]
    records = [{"id": str(number), "text": text} for number, text in enumerate(texts)]
    store = open_store(tmp_path / "store", Files([write_jsonl(tmp_path / "docs.jsonl", records)]))
    ours = build_lsa(tmp_path / "model", store).encode_documents(list(store))
    counts = ngram_counts(texts, range(2, 5), 2**16)
    counts.data = 1 + np.log(counts.data)
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


@pytest.mark.parametrize("count", [30, 1000], ids=["decomposed exactly", "by a Krylov space"])
def test_lsa_of_equal_documents_is_finite_and_keeps_them_equal(tmp_path: Path, count: int) -> None:
    records = [{"id": str(number), "text": "the same text"} for number in range(count)] + [{"id": "x", "text": "zinc"}]
    store = open_store(tmp_path / "store", Files([write_jsonl(tmp_path / "docs.jsonl", records)]))
    vectors = build_lsa(tmp_path / "model", store).encode_documents(list(store))
    np.testing.assert_allclose(vectors[:count] @ vectors[:count].T, 1, atol=1e-5)
    assert abs(vectors[0] @ vectors[count]) < 1e-5
    np.testing.assert_allclose(vectors[count] @ vectors[count], 1, atol=1e-5)


def test_the_space_of_many_documents_has_nearly_what_the_best_one_has_of_them(tmp_path: Path) -> None:
    """Of 800 real texts in four languages; the best is the largest singular values' squares (Eckart, Young 1936)."""
    from sklearn.preprocessing import normalize

    lines = [line for path in sorted(SAMPLE.glob("*.jsonl")) for line in path.read_text().splitlines()]
    whole = [json.loads(line)["text"] for line in lines]
    texts = [*whole, *(text[: len(text) // 2] for text in whole)][:800]
    records = [{"id": str(number), "text": text} for number, text in enumerate(texts)]
    build_lsa(tmp_path / "m", open_store(tmp_path / "s", Files([write_jsonl(tmp_path / "docs.jsonl", records)])))
    with np.load(tmp_path / "m" / "model.npz") as model:
        components = model["components"].astype(float)
    counts = ngram_counts([text[:4000] for text in texts], range(2, 5), 2**16)
    counts.data = 1 + np.log(counts.data)
    containing = np.bincount(counts.indices, minlength=counts.shape[1])
    weighted = normalize(counts.multiply(np.log(801 / (1 + containing)) + 1).tocsr())
    best = np.linalg.eigvalsh((weighted @ weighted.T).toarray())[-256:].sum()
    assert 0.995 < np.square(weighted @ components.T).sum() / best < 1 + 1e-5
    np.testing.assert_allclose(components @ components.T, np.eye(256), atol=1e-3)


def test_lsa_without_any_text_is_an_error(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store", Files([write_jsonl(tmp_path / "docs.jsonl", [{"id": "a", "text": " "}])]))
    with pytest.raises(HeedError, match="no document has any text"):
        build_lsa(tmp_path / "model", store)


def test_the_instruction_reaches_lsa(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store", Files([SAMPLE / "rus.jsonl"]))
    queries = [asked("аэропорт"), asked("аэропорт", "только пилоты")]
    plain, instructed = build_lsa(tmp_path / "model", store).encode_queries(queries)
    assert not np.allclose(plain, instructed)

from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import ROOT, write_jsonl
from letter_encoder import LetterCounts

from heed.compute import Compute
from heed.formats.document_store import DocumentStore, open_store
from heed.formats.documents import Files
from heed.models.encoders import SentenceEncoder
from heed.models.registry.entries import Model
from heed.retrieval.dense import vectors as vectors_module
from heed.retrieval.dense.search import KINDS, MAX_ON_GPU, DenseIndex, OnGpus, Scan, on_gpus, open_index
from heed.retrieval.dense.vectors import Vectors, embed
from heed.types import Query

Matrix = np.ndarray
CPU = Compute("cpu")

SAMPLE = ROOT / "documents" / "neuclir-sample"


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
    encoder = LetterCounts()
    made = embed(tmp_path / "vectors", store, encoder)
    return open_index(tmp_path / kind, made, encoder.config, kind, "cpu")


def test_exact_search_is_a_full_sort_by_inner_product(tmp_path: Path, store: DocumentStore, small_shards: None) -> None:
    queries = LetterCounts().encode_queries([asked("aab", "h"), asked("cdefg")])
    found = index(tmp_path, store, "exact").search(["q", "r"], queries, 20)
    for row, qid in enumerate(["q", "r"]):
        products = {one.docid: float(LetterCounts().encode_documents([one])[0] @ queries[row]) for one in store}
        best = sorted(products.items(), key=lambda pair: (pair[1], pair[0]), reverse=True)[:20]
        assert [score for _, score in best] == list(found[qid].values())
        clear = [docid for docid, score in best if score > best[-1][1]]  # above the tie at the cut
        assert list(found[qid])[: len(clear)] == clear


@pytest.mark.parametrize("kind", ["hnsw", "ivfpq"])
def test_approximate_indexes_find_nearly_the_same_with_exact_scores(
    tmp_path: Path, store: DocumentStore, small_shards: None, kind: str
) -> None:
    queries = LetterCounts().encode_queries([asked("aab", "h")])
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
        found = index(tmp_path, store, kind).search(["q"], LetterCounts().encode_queries([asked("abc")]), 10_000)["q"]
        assert len(found) <= 500
        assert kind == "ivfpq" or len(found) == 500


def test_a_killed_encoding_goes_on_where_it_stopped(tmp_path: Path, store: DocumentStore, small_shards: None) -> None:
    with pytest.raises(KeyboardInterrupt):
        embed(tmp_path / "killed", store, LetterCounts(fail_after=200))
    second = LetterCounts()
    resumed = embed(tmp_path / "killed", store, second)
    assert 0 < len(second.encoded) < 500
    whole = embed(tmp_path / "whole", store, LetterCounts())
    assert resumed.docids == whole.docids
    for ours, theirs in zip(resumed.parts(), whole.parts(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("harm", ["cut", "byte", "shape"])
def test_a_damaged_shard_of_a_killed_encoding_is_made_again(
    tmp_path: Path, store: DocumentStore, small_shards: None, harm: str
) -> None:
    with pytest.raises(KeyboardInterrupt):
        embed(tmp_path / "killed", store, LetterCounts(fail_after=200))
    shard = tmp_path / "killed/shard-00001.npy"
    content = shard.read_bytes()
    if harm == "shape":
        np.save(shard, np.zeros((64, 9), dtype=np.float32))
    else:
        shard.write_bytes(content[:-1] + (b"" if harm == "cut" else bytes([content[-1] ^ 1])))
    second = LetterCounts()
    resumed = embed(tmp_path / "killed", store, second)
    assert len(second.encoded) == 500 - 4 * 64 + 64  # the damaged shard beside those not made yet
    assert shard.read_bytes() == content
    whole = embed(tmp_path / "whole", store, LetterCounts())
    assert [one.read_bytes() for one in resumed.shards] == [one.read_bytes() for one in whole.shards]
    assert {one.name for one in (tmp_path / "killed").iterdir()} == {one.name for one in (tmp_path / "whole").iterdir()}


def test_a_flipped_byte_in_finished_vectors_is_found(tmp_path: Path, store: DocumentStore, small_shards: None) -> None:
    before = embed(tmp_path / "v", store, LetterCounts()).shards[2].read_bytes()
    shard = tmp_path / "v/shard-00002.npy"
    shard.write_bytes(before[:200] + bytes([before[200] ^ 1]) + before[201:])
    embed(tmp_path / "v", store, LetterCounts())
    assert shard.read_bytes() == before


def test_shards_of_another_encoder_are_not_taken_over(tmp_path: Path, store: DocumentStore, small_shards: None) -> None:
    with pytest.raises(KeyboardInterrupt):
        embed(tmp_path / "v", store, LetterCounts(version=1, fail_after=200))
    other = LetterCounts(version=2)
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
    made = embed(tmp_path / "v", store, LetterCounts())
    assert on_gpus(made, Scan(made)) is None

import json
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
from heed.retrieval.dense.search import KINDS, MAX_ON_GPU, DenseIndex, on_gpus, open_index, scan, search_gpus
from heed.retrieval.dense.vectors import Vectors, embed, folder_of
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


def test_ivfpq_built_by_more_threads_is_the_same_file(tmp_path: Path, store: DocumentStore, small_shards: None) -> None:
    import faiss

    before, built = faiss.omp_get_max_threads(), set()
    for threads in (1, 2, 5):
        faiss.omp_set_num_threads(threads)
        index(tmp_path / str(threads), store, "ivfpq")
        built.add((tmp_path / str(threads) / "ivfpq" / "faiss").read_bytes())
    faiss.omp_set_num_threads(before)
    assert len(built) == 1


@pytest.mark.parametrize(("dimensions", "codes"), [(384, 96), (768, 64), (300, 75), (1024, 64), (26, 26)])
def test_ivfpq_cuts_vectors_into_parts_that_faiss_encodes_fast(tmp_path: Path, dimensions: int, codes: int) -> None:
    import faiss

    # 384 = 96 x 4, since 64 x 6 is slow; 768 = 64 x 12; 300 = 75 x 4, since 64 divides it not; 1024 = 64 x 16
    matrix = np.random.default_rng(0).standard_normal((200, dimensions), dtype=np.float32)
    np.save(tmp_path / "shard-00000.npy", matrix)
    (tmp_path / "docids.txt").write_text("".join(f"d{at:03}\n" for at in range(len(matrix))))
    open_index(tmp_path / "ivfpq", Vectors(tmp_path), {}, "ivfpq", "cpu")
    built = faiss.read_index(str(tmp_path / "ivfpq" / "faiss"))
    assert codes == built.pq.M
    made = json.loads((tmp_path / "ivfpq" / "made.json").read_text())
    assert made["recipe"]["settings"] == {"bytes": codes, "bits": 8, "iterations": 5}


@pytest.mark.parametrize("goal", [0.95, 1.1])
def test_ivfpq_searches_more_lists_until_its_recall_is_enough(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, goal: float
) -> None:
    import faiss

    monkeypatch.setattr("heed.retrieval.dense.search.RECALL", goal)
    matrix = np.random.default_rng(0).standard_normal((4096, 16), dtype=np.float32)
    np.save(tmp_path / "shard-00000.npy", matrix)
    (tmp_path / "docids.txt").write_text("".join(f"d{at:04}\n" for at in range(len(matrix))))
    vectors, qids = Vectors(tmp_path), [str(row) for row in range(50)]
    with caplog.at_level("INFO"):
        found = open_index(tmp_path / "ivfpq", vectors, {}, "ivfpq", "cpu").search(qids, matrix[:50], 100)
    exact = faiss.IndexFlatIP(16)
    exact.add(matrix)
    wanted = exact.search(matrix[:50], 100)[1]
    sampled = range(0, 50, 3)  # every third: at most 20
    hits = sum(len({f"d{number:04}" for number in wanted[row]} & found[str(row)].keys()) for row in sampled)
    told = caplog.messages[-1]
    assert told.startswith(f"IVF-PQ finds {hits / 1700:.3f} of the 100 best documents") and "(17 queries)" in told
    assert hits / 1700 >= 0.95
    probed = int(told.partition("searches ")[2].split()[0])
    assert 32 < probed < 105 if goal < 1 else "105 of 105 lists; expected 1.1" in told  # 4096 // 39


def test_vectors_of_half_precision_stay_so_on_disk_and_are_searched_as_in_float32(tmp_path: Path) -> None:
    half = np.random.default_rng(0).standard_normal((300, 8)).astype(np.float16)
    found = []
    for name, matrix in {"half": half, "single": half.astype(np.float32)}.items():
        (tmp_path / name).mkdir()
        vectors_module.write_matrix(tmp_path / name / "shard-00000.npy", matrix)
        (tmp_path / name / "docids.txt").write_text("".join(f"d{at:03}\n" for at in range(len(matrix))))
        made = Vectors(tmp_path / name)
        for kind in KINDS:
            opened = open_index(tmp_path / f"{name}-{kind}", made, {}, kind, "cpu")
            found.append(opened.search(["q"], half[:1].astype(np.float32), 20))
    assert found[:3] == found[3:]
    sizes = [(tmp_path / name / "shard-00000.npy").stat().st_size - 128 for name in ("half", "single")]
    assert sizes == [300 * 8 * 2, 300 * 8 * 4]


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


@pytest.mark.parametrize("harm", ["", "step", "note"])
def test_a_killed_encoding_goes_on_within_a_shard(
    tmp_path: Path, store: DocumentStore, small_shards: None, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    monkeypatch.setattr(vectors_module, "STEP", 20)
    with pytest.raises(KeyboardInterrupt):
        embed(tmp_path / "killed", store, LetterCounts(fail_after=80))
    part = tmp_path / ".killed.part"
    # a shard of 64, and a step of the next
    assert {path.name for path in part.glob("*.npy")} == {"shard-00000.npy", "step-00001-0000.npy"}
    if harm == "step":
        (part / "step-00001-0000.npy").write_bytes(b"")
    if harm == "note":  # killed between the note of a shard and the removal of its steps
        (part / "step-00000-0040.npy").write_bytes(b"")
    second = LetterCounts()
    resumed = embed(tmp_path / "killed", store, second)
    assert len(second.encoded) == 500 - 64 - (0 if harm == "step" else 20)
    whole = embed(tmp_path / "whole", store, LetterCounts())
    assert [one.read_bytes() for one in resumed.shards] == [one.read_bytes() for one in whole.shards]
    assert {one.name for one in (tmp_path / "killed").iterdir()} == {one.name for one in (tmp_path / "whole").iterdir()}


def test_vectors_that_were_begun_under_another_name_go_on_there(
    tmp_path: Path, store: DocumentStore, small_shards: None
) -> None:
    with pytest.raises(KeyboardInterrupt):
        embed(tmp_path / "one/vectors", store, LetterCounts(fail_after=200))
    assert folder_of(tmp_path, LetterCounts(), "other") == tmp_path / "one"


@pytest.mark.parametrize("harm", ["cut", "byte", "shape"])
def test_a_damaged_shard_of_a_killed_encoding_is_made_again(
    tmp_path: Path, store: DocumentStore, small_shards: None, harm: str
) -> None:
    with pytest.raises(KeyboardInterrupt):
        embed(tmp_path / "killed", store, LetterCounts(fail_after=200))
    shard = tmp_path / ".killed.part/shard-00001.npy"
    content = shard.read_bytes()
    if harm == "shape":
        np.save(shard, np.zeros((64, 9), dtype=np.float32))
    else:
        shard.write_bytes(content[:-1] + (b"" if harm == "cut" else bytes([content[-1] ^ 1])))
    second = LetterCounts()
    resumed = embed(tmp_path / "killed", store, second)
    assert len(second.encoded) == 500 - 4 * 64 + 64  # the damaged shard beside those not made yet
    assert (tmp_path / "killed/shard-00001.npy").read_bytes() == content
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
    vectors, flat = Vectors(tmp_path), faiss.IndexFlatIP(8)
    flat.add(matrix)
    found = search_gpus(flat, vectors, matrix[:3], wanted)
    for one, other in zip(found, scan(vectors, matrix[:3], wanted), strict=True):
        assert sorted(one) == sorted(other) and len(one) == wanted


@pytest.mark.skipif(torch.cuda.is_available(), reason="has a GPU")
def test_without_a_gpu_the_shards_are_scanned(tmp_path: Path, store: DocumentStore) -> None:
    made = embed(tmp_path / "v", store, LetterCounts())
    assert on_gpus(made) is None

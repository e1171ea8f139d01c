"""Reading without padding, tokenising once and scanning shards give what the slow ways give."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import tiny_tokenizer, write_jsonl
from hypothesis import given, settings
from hypothesis import strategies as st
from model_inputs import CPU

from heed.io.document_store import open_store
from heed.io.documents import Files
from heed.models import cross_encoder, unpadded
from heed.models.cross_encoder import CrossEncoderReranker, PairTokens
from heed.models.encoders import SentenceEncoder
from heed.models.padded import taken
from heed.models.products import Product
from heed.models.registry import Model
from heed.retrieval import vectors
from heed.retrieval.scan import Scan
from heed.retrieval.vectors import Vectors
from heed.types import Document, Topic

SIZES = {
    "vocab_size": 200, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 64,
    "hidden_dim": 64,
    "max_position_embeddings": 80, "type_vocab_size": 2, "pad_token_id": 0, "initializer_range": 0.2,
}  # fmt: skip
TEXTS = ["a", "with numbers 12", "b c d", "no more " * 6, "x y z", "大 中 国 " * 30, "yes", "b c e"]
TOPIC = Topic("1", "eng", "a river", {"original": "only b", "changed": "only c d e"})


def network(kind: str) -> Any:
    import transformers

    torch.manual_seed(0)
    config = getattr(transformers, f"{kind.removesuffix('Model')}Config")(**SIZES)
    return getattr(transformers, kind)(config).eval()


def without_padding(network: Any, first: bool) -> unpadded.Unpadded:
    return unpadded.UnpaddedBert(
        network.config,
        unpadded.inner_weights(network.config.model_type, network.state_dict()),
        first,
        Product,
    )


@pytest.mark.parametrize(
    "kind", ["BertModel", "RobertaModel", "XLMRobertaModel", "CamembertModel", "MPNetModel", "DistilBertModel"]
)
@pytest.mark.parametrize("plain", [False, True])
def test_states_equal_those_of_each_text_alone(kind: str, plain: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if plain:  # as on a machine without oneDNN
        monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    lengths = [7, 7, 3, 1, 3]
    ids = [torch.randint(5, 200, (length,)) for length in lengths]
    types = [torch.arange(length) % 2 for length in lengths]
    slow = network(kind)
    with torch.inference_mode():
        pairs = zip(ids, types, strict=True)
        expected = [slow(**taken(slow, {"input_ids": one[None], "token_type_ids": two[None]})) for one, two in pairs]
    batch = {
        "input_ids": torch.nn.utils.rnn.pad_sequence(ids, batch_first=True, padding_value=0),
        "token_type_ids": torch.nn.utils.rnn.pad_sequence(types, batch_first=True),
        "attention_mask": torch.nn.utils.rnn.pad_sequence([torch.ones_like(one) for one in ids], batch_first=True),
    }
    for first in (False, True):
        quick = without_padding(network(kind), first)
        with torch.inference_mode():
            found = quick(**batch)
        for row, (length, one) in enumerate(zip(lengths, expected, strict=True)):
            states = one.last_hidden_state[0, : 1 if first else length]
            torch.testing.assert_close(found.last_hidden_state[row, : len(states)], states, rtol=1e-5, atol=2e-6)
            assert not found.last_hidden_state[row, length:].any()


@given(st.lists(st.integers(1, 60), min_size=1, max_size=40), st.integers(1, 4))
@settings(deadline=None, max_examples=25)
def test_batches_side_by_side_give_every_place_once(lengths: list[int], threads: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        stand_in = without_padding(network("BertModel"), False)
        read = unpadded.in_batches(lengths, lambda batch: [lengths[at] for at in batch], stand_in, torch.device("cpu"))
        found = [(at, length) for batch, rows in read for at, length in zip(batch, rows, strict=True)]
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert sorted(found) == list(enumerate(lengths))


@pytest.mark.golden(program="sentence-transformers 6.2.0", compared="vectors", systems=("bi-encoder",))
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_vectors_equal_sentence_transformers_own(
    tiny_encoder: Path, pooling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sentence_transformers import SentenceTransformer

    from heed.models.sentence_models import modules

    monkeypatch.setattr(unpadded, "TOKENS_CPU", 40)  # many batches
    entry = Model(str(tiny_encoder), document="{text}", pooling=pooling, max_length=64)
    ours = SentenceEncoder(entry, CPU)
    found = ours.encode_documents([Document(str(at), "", text) for at, text in enumerate(TEXTS)])
    assert isinstance(ours._encoder.network, unpadded.Unpadded)
    theirs = SentenceTransformer(modules=modules(entry, str(tiny_encoder)), device="cpu")
    theirs.max_seq_length = 64
    expected = theirs.encode(TEXTS, show_progress_bar=False)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.golden(program="sentence-transformers 6.2.0", compared="scores of pairs", systems=("cross-encoder",))
def test_scores_are_as_near_the_exact_ones_as_predicts_and_documents_are_tokenised_once(
    tiny_cross_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exact is float64: weights as wide as these put two float32 paths up to 5e-6 apart, either as far from it."""
    from sentence_transformers import CrossEncoder
    from transformers import AutoModelForSequenceClassification

    records = [{"id": f"d{at}", "text": text} for at, text in enumerate(TEXTS)]
    store = open_store(tmp_path / "store", Files([write_jsonl(tmp_path / "docs.jsonl", records)]))
    monkeypatch.setattr(unpadded, "TOKENS_CPU", 100)
    reranker = CrossEncoderReranker(Model(str(tiny_cross_encoder)), CPU)
    theirs = CrossEncoder(str(tiny_cross_encoder), device="cpu", max_length=64)
    exact = AutoModelForSequenceClassification.from_pretrained(tiny_cross_encoder).double().eval()
    cut: Any = {"truncation": "only_second", "max_length": 64}
    docids = [f"d{at}" for at in (5, 2, 0, 1, 7, 3, 4, 6)]
    for condition in ("query", "original", "changed", "original"):
        query = f"a river {TOPIC.instructions.get(condition, '')}".strip()
        pairs = [(query, TEXTS[int(docid[1:])].strip()) for docid in docids]
        with torch.no_grad():
            read = [exact(**theirs.tokenizer(*pair, **cut, return_tensors="pt")).logits[0, 0] for pair in pairs]
        expected = np.array(list(map(float, read)))
        predicted = theirs.predict(
            pairs, activation_fn=torch.nn.Identity(), show_progress_bar=False,
            processing_kwargs={"text": {"padding": True, "truncation": "only_second"}},
        )  # fmt: skip
        ours = np.array(reranker.score(TOPIC.under(condition), store.get(docids)))
        assert np.argsort(ours).tolist() == np.argsort(predicted).tolist() == np.argsort(expected).tolist()
        largest = np.abs(expected).max()
        assert np.abs(ours - expected).max() <= 2 * np.abs(predicted - expected).max() + 1e-6 * largest
        assert reranker._tokens is not None and len(reranker._tokens._documents) == len(docids)


@pytest.mark.parametrize("side", ["left", "right"])
def test_pairs_of_parts_are_the_tokenizers_own(side: str) -> None:
    tokenizer: Any = tiny_tokenizer()
    tokenizer.truncation_side = side
    pairs = PairTokens(tokenizer, 20)
    for query in ("a river", "b"):
        found = pairs.pairs(query, [str(at) for at in range(len(TEXTS))], TEXTS)
        whole = tokenizer(
            [query] * len(TEXTS), TEXTS, truncation="only_second", max_length=20, return_token_type_ids=True
        )
        assert found == {name: whole[name] for name in ("input_ids", "token_type_ids", "attention_mask")}


def test_a_pair_that_is_not_its_parts_is_told() -> None:
    tokenizer: Any = tiny_tokenizer()

    class Joining:
        """A tokenizer whose pairs end otherwise than their documents alone."""

        truncation_side = "right"

        def __call__(self, *texts: Any, **settings: Any) -> Any:
            made = tokenizer(*texts, **settings)
            if len(texts) == 2 and texts[1] != "a":
                made["input_ids"][-2] += 1
            return made

    assert PairTokens(Joining(), 20).pairs("a", ["1"], ["b c"]) is None


def test_few_documents_tokens_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_encoder, "KEPT", 10)
    pairs = PairTokens(tiny_tokenizer(), 64)
    for docid in "abcd":
        pairs.pairs("q", [docid], ["x y z w"])
    assert [docid for docid, _ in pairs._documents] == ["c", "d"]


@given(st.integers(1, 60), st.integers(1, 30), st.integers(0, 3))
@settings(deadline=None, max_examples=40)
def test_a_scan_finds_what_a_full_sort_finds(
    tmp_path_factory: pytest.TempPathFactory, count: int, wanted: int, values: int
) -> None:
    folder = tmp_path_factory.mktemp("vectors")
    chooser = np.random.default_rng(count * 100 + wanted)
    matrix = chooser.integers(0, values + 1, (count, 4)).astype(np.float32)  # few values, so many are equal
    for number, begin in enumerate(range(0, count, 8)):
        np.save(folder / f"shard-{number:05}.npy", matrix[begin : begin + 8])
    (folder / "docids.txt").write_text("\n".join(map(str, range(count))))
    queries = chooser.integers(-1, 2, (3, 4)).astype(np.float32)
    found = Scan(Vectors(folder)).candidates(queries, min(wanted, count))
    for query, numbers in zip(queries, found, strict=True):
        scores = matrix @ query
        last = np.sort(scores)[-min(wanted, count)]
        assert sorted(numbers.tolist()) == np.flatnonzero(scores >= last).tolist()


def test_a_scan_takes_no_more_memory_for_more_shards(tmp_path: Path) -> None:
    import tracemalloc

    peaks = []
    for shards in (4, 16):
        folder = tmp_path / str(shards)
        folder.mkdir()
        for number in range(shards):
            rows = np.random.default_rng(number).standard_normal((vectors.SHARD, 64), dtype=np.float32)
            np.save(folder / f"shard-{number:05}.npy", rows)
        (folder / "docids.txt").write_text("\n".join(map(str, range(shards * vectors.SHARD))))
        scan = Scan(Vectors(folder))
        tracemalloc.start()
        scan.candidates(np.ones((8, 64), dtype=np.float32), 100)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0] < 1.2 * 4 * vectors.SHARD * 64 * 4  # far below the vectors themselves

"""``NAME@int8``: products of eight-bit integers, near those of float32, and of each text alone."""

from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import tiny_config, tiny_tokenizer, write_jsonl
from model_inputs import CPU

from heed.errors import HeedError
from heed.io.document_store import open_store
from heed.io.documents import Files
from heed.models.cross_encoder import CrossEncoderReranker
from heed.models.encoders import SentenceEncoder
from heed.models.language_models import precision
from heed.models.products import Int8Product
from heed.models.registry import Model, Registry
from heed.types import Document, Topic

pytestmark = pytest.mark.skipif(not torch.cpu._is_vnni_supported(), reason="this processor has no VNNI instructions")


@pytest.mark.parametrize("activation", ["none", "gelu"])
def test_a_product_is_that_of_whole_numbers(activation: str) -> None:
    torch.manual_seed(0)
    layers = [torch.nn.Linear(24, 16), torch.nn.Linear(24, 8)]
    rows = torch.randn(50, 24) * torch.logspace(-3, 3, 50)[:, None]
    rows[7] = 0
    with torch.inference_mode():
        found = Int8Product(layers, activation)(rows).numpy()
    weight = np.concatenate([layer.weight.detach().numpy() for layer in layers]).astype(np.float64)
    bias = np.concatenate([layer.bias.detach().numpy() for layer in layers])
    steps = np.abs(weight).max(axis=1) / 127
    scales = np.maximum(np.abs(rows.numpy()).max(axis=1), 1e-38) / 127
    whole = np.rint(rows.numpy() / scales[:, None]) @ np.rint(weight / steps[:, None]).T
    expected = torch.from_numpy(whole * scales[:, None] * steps + bias)
    if activation == "gelu":
        expected = torch.nn.functional.gelu(expected)
    # a value that lies between two whole numbers may go to either, in float32 or float64
    off = np.abs(found - expected.numpy()) / np.maximum(1, np.abs(expected.numpy()))
    assert np.quantile(off, 0.99) < 1e-5
    assert off.max() < 0.02


def test_a_vector_is_near_the_full_one_and_its_text_s_own(tiny_encoder: Path) -> None:
    documents = [Document(str(at), "", text) for at, text in enumerate(["a", "b c d " * 9, "x y", "no more " * 5])]
    full, rounded = (
        SentenceEncoder(Registry().find(name), CPU) for name in (str(tiny_encoder), f"{tiny_encoder}@int8")
    )
    assert rounded.name == f"{full.name}@int8"
    assert rounded.config["dtype"] == "int8"
    vectors = rounded.encode_documents(documents)
    alone = np.concatenate([rounded.encode_documents([one]) for one in documents])
    assert np.abs(vectors - alone).max() < 1e-6
    expected = full.encode_documents(documents)
    cosines = (vectors * expected).sum(axis=1) / np.linalg.norm(vectors, axis=1) / np.linalg.norm(expected, axis=1)
    assert cosines.min() > 0.99
    assert np.abs(vectors - expected).max() > 1e-6  # it is not the full one


def test_a_cross_encoder_scores_near_the_full_one(tmp_path: Path, tiny_cross_encoder: Path) -> None:
    records = [{"id": f"d{at}", "text": text} for at, text in enumerate(["a b", "c d e", "x y z " * 5, "no more"])]
    store = open_store(tmp_path / "store", Files([write_jsonl(tmp_path / "docs.jsonl", records)]))
    topic, docids = Topic("1", "eng", "a river", {"original": "only b"}), list(store.docids())
    full, rounded = (
        CrossEncoderReranker(Registry().find(name), CPU).score(topic.under("original"), store.get(docids))
        for name in (str(tiny_cross_encoder), f"{tiny_cross_encoder}@int8")
    )
    assert list(full) != list(rounded)
    assert np.abs(np.subtract(full, rounded)).max() < 0.1 * max(1.0, float(np.ptp(full)))


def test_what_cannot_be_rounded_is_told(tmp_path: Path) -> None:
    with pytest.raises(HeedError, match=r"x@int8: of family causal, neither bi-encoder nor cross-encoder"):
        precision(Model("x", family="causal", dtype="int8"), "cpu")
    from transformers import BertModel

    config = tiny_config()
    config.hidden_act = "relu"  # type: ignore[attr-defined]
    BertModel(config).save_pretrained(tmp_path / "relu")
    tiny_tokenizer().save_pretrained(tmp_path / "relu")  # type: ignore[attr-defined]
    with pytest.raises(HeedError, match=r"relu@int8: its network is no BERT, RoBERTa, MPNet, DistilBERT or DeBERTa"):
        SentenceEncoder(Registry().find(f"{tmp_path / 'relu'}@int8"), CPU).encode_documents([Document("1", "", "a")])

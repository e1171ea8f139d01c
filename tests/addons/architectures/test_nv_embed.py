import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from model_inputs import CPU, queries
from tiny_published_models import nv_embed

from heed.models.encoders import SentenceEncoder
from heed.models.registry.entries import Model, Registry
from heed.models.sentence_models import SentenceModel, load_sentence_model
from heed.types import Document

GOLDEN = json.loads((Path(__file__).parents[2] / "data" / "golden" / "nv_embed.json").read_text(encoding="utf-8"))
NAME = "nvidia/NV-Embed-v2"
RIVER = "Only documents that name a river."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return nv_embed(tmp_path_factory.mktemp("models") / "tiny-nv-embed")


def entry(folder: Path, preset: str = "author", **changed: Any) -> Model:
    """The shipped entry, its weights in ``folder``."""
    return Registry().find(f"{NAME}@{preset}")._replace(source=str(folder), **changed)


@pytest.fixture(scope="module")
def encoder(folder: Path) -> SentenceEncoder:
    return SentenceEncoder(entry(folder), CPU)


def unit(rows: Any) -> np.ndarray:
    return np.array(rows) / np.linalg.norm(rows, axis=1, keepdims=True)


PROGRAM = "nvidia/NV-Embed-v2's modeling_nvembed.py, transformers 4.42.4"


@pytest.mark.golden(program=PROGRAM, compared="vectors", systems=(NAME,))
def test_vectors_are_those_of_its_own_program(encoder: SentenceEncoder) -> None:
    vectors = {name: unit(rows) for name, rows in GOLDEN["vectors"].items()}
    asked = encoder.encode_queries(queries([(text, RIVER) for text in GOLDEN["texts"]]))
    np.testing.assert_allclose(asked, vectors["queries"], atol=2e-5)
    otherwise = encoder.encode_queries(queries([(text, RIVER.replace("a", "no", 1)) for text in GOLDEN["texts"]]))
    assert np.abs(otherwise - asked).max() > 1e-2
    no_river = RIVER.replace("a river", "no river")
    otherwise = encoder.encode_queries(queries([(text, no_river) for text in GOLDEN["texts"]]))
    np.testing.assert_allclose(otherwise, vectors["asked otherwise"], atol=2e-5)
    documents = [Document(str(at), "", text) for at, text in enumerate(GOLDEN["texts"])]
    np.testing.assert_allclose(encoder.encode_documents(documents), vectors["documents"], atol=2e-5)


@pytest.mark.golden(program=PROGRAM, compared="tokens", systems=(NAME,))
def test_tokens_are_those_of_its_own_program(folder: Path) -> None:
    texts = [f"Instruct: {RIVER}\nQuery: {text}" for text in GOLDEN["texts"]]
    assert (
        SentenceModel(entry(folder), load_sentence_model(entry(folder), CPU), CPU).tokenizer(texts)["input_ids"]
        == GOLDEN["ids"]
    )


@pytest.mark.golden(program=PROGRAM, compared="vectors: mean of all tokens", systems=(NAME,))
def test_infosearch_pools_what_latent_attention_returns_for_every_token(folder: Path) -> None:
    plain = entry(folder, "infosearch", query="{query}")
    ours = SentenceEncoder(plain, CPU).encode_queries(queries([(GOLDEN["texts"][0], "")]))
    np.testing.assert_allclose(ours, unit([GOLDEN["mean of states"]]), atol=2e-5)


def test_every_token_sees_all_later_ones(folder: Path) -> None:
    from heed.addons.architectures.nv_embed import NvEmbedModel

    network = NvEmbedModel.from_pretrained(folder).eval()
    ids = torch.arange(300, 320)[None]  # more tokens than the configuration's sliding window of 8
    changed = ids.clone()
    changed[0, -1] = 390
    with torch.no_grad():
        first, second = (network(one, torch.ones_like(one)).last_hidden_state[0, 0] for one in (ids, changed))
    assert (first - second).abs().max() > 1e-3


def test_a_cut_document_keeps_its_end_and_padding_changes_nothing(folder: Path) -> None:
    encoder = SentenceEncoder(entry(folder, max_length=12), CPU)
    long, short = "solar power " * 20, "a"
    together = encoder.encode_documents([Document("0", "", long), Document("1", "", short)])
    alone = np.concatenate([encoder.encode_documents([Document("0", "", text)]) for text in (long, short)])
    np.testing.assert_allclose(together, alone, atol=1e-6)
    whole = SentenceModel(entry(folder, max_length=12), load_sentence_model(entry(folder), CPU), CPU).whole
    features = whole.preprocess([long], task="document")
    assert features["input_ids"].shape == (1, 12) and features["input_ids"][0, -1] == 2

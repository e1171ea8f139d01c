"""TART-full: a cross-encoder of a class that no library has, against its authors' program."""

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT
from model_inputs import CPU
from safetensors.numpy import save_file
from tiny_published_models import enc_t5, enc_t5_weights

from heed.errors import HeedError
from heed.models.registry.entries import Model, Registry
from heed.models.rerankers.cross_encoder import CrossEncoderReranker, load_cross_encoder
from heed.types import Document, Query

TART = "facebook/tart-full-flan-t5-xl"


@pytest.mark.golden(
    program="facebookresearch/tart's modeling_enc_t5.py, transformers 4.42.4", compared="scores", systems=(TART,)
)
def test_scores_of_tart_full_are_those_of_its_own_program(tmp_path: Path) -> None:
    """A logit of two labels' difference is the log-odds of its softmax; the last document is cut."""
    golden = json.loads((ROOT / "tests" / "data" / "golden" / "tart_full.json").read_text(encoding="utf-8"))
    model = Registry().find(TART)._replace(source=str(enc_t5(tmp_path / "tiny-tart")), max_length=60)
    texts = [Document(f"d{at}", "", text) for at, text in enumerate(golden["documents"])]
    reranker, tokenizer = CrossEncoderReranker(model, CPU), load_cross_encoder(model, CPU).tokenizer
    for number, instruction in enumerate(golden["instructions"]):
        scores = reranker.score(Query("1", "", golden["query"], instruction), texts)
        assert 1 / (1 + np.exp(-np.array(scores))) == pytest.approx(golden["chances"][number], abs=2e-5)
        pairs = [f"{instruction} [SEP] {golden['query']}"] * len(texts), golden["documents"]
        assert tokenizer(*pairs, truncation="only_second", max_length=60)["input_ids"] == golden["ids"][number]


def test_a_vocabulary_without_room_for_its_first_token_is_refused(tmp_path: Path) -> None:
    folder = enc_t5(tmp_path / "small")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    rows = config["vocab_size"] - 28  # pieces and extra ids alone
    (folder / "config.json").write_text(json.dumps({**config, "vocab_size": rows}), encoding="utf-8")
    save_file(enc_t5_weights(rows), folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(HeedError, match=f"<s> is token {rows}, but the network has {rows}"):
        CrossEncoderReranker(Model(str(folder), label=1), CPU).load()

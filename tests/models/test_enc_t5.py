import json
from pathlib import Path

import numpy as np
import pytest
from model_inputs import CPU
from safetensors.numpy import save_file
from tiny_published_models import enc_t5, enc_t5_weights

from heed.errors import HeedError
from heed.models.registry.entries import Model, Registry
from heed.models.rerankers.cross_encoder import CrossEncoderReranker, load_cross_encoder
from heed.types import Document, Query

GOLDEN = json.loads((Path(__file__).parents[1] / "data" / "golden" / "tart_full.json").read_text(encoding="utf-8"))
NAME = "facebook/tart-full-flan-t5-xl"
DOCUMENTS = [Document(f"d{at}", "", text) for at, text in enumerate(GOLDEN["documents"])]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return enc_t5(tmp_path_factory.mktemp("models") / "tiny-tart")


@pytest.fixture(scope="module")
def reranker(folder: Path) -> CrossEncoderReranker:
    """The shipped entry at the length of the recorded values, its weights in ``folder``."""
    return CrossEncoderReranker(Registry().find(NAME)._replace(source=str(folder), max_length=60), CPU)


def asked(instruction: str) -> Query:
    return Query("1", "", GOLDEN["query"], instruction)


@pytest.mark.golden(
    program="facebookresearch/tart's modeling_enc_t5.py, transformers 4.42.4", compared="scores", systems=(NAME,)
)
@pytest.mark.parametrize("number", [0, 1])
def test_scores_are_those_of_its_own_program(folder: Path, reranker: CrossEncoderReranker, number: int) -> None:
    """A logit of two labels' difference is the log-odds of its softmax; the last document is cut."""
    scores = reranker.score(asked(GOLDEN["instructions"][number]), DOCUMENTS)
    assert 1 / (1 + np.exp(-np.array(scores))) == pytest.approx(GOLDEN["chances"][number], abs=2e-5)
    tokenizer = load_cross_encoder(Registry().find(NAME)._replace(source=str(folder)), CPU).tokenizer
    query = f"{GOLDEN['instructions'][number]} [SEP] {GOLDEN['query']}"
    texts = [query] * len(DOCUMENTS), GOLDEN["documents"]
    assert tokenizer(*texts, truncation="only_second", max_length=60)["input_ids"] == GOLDEN["ids"][number]


def test_a_vocabulary_without_room_for_its_first_token_is_refused(tmp_path: Path) -> None:
    folder = enc_t5(tmp_path / "small")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    rows = config["vocab_size"] - 28  # pieces and extra ids alone
    (folder / "config.json").write_text(json.dumps({**config, "vocab_size": rows}), encoding="utf-8")
    save_file(enc_t5_weights(rows), folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(HeedError, match=f"<s> is token {rows}, but the network has {rows}"):
        CrossEncoderReranker(Model(str(folder), label=1), CPU).load()

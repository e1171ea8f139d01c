import json
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import Heed, write_jsonl
from model_inputs import CPU
from safetensors.numpy import load_file, save_file
from tiny_published_models import enc_t5, enc_t5_weights

from heed.errors import HeedError
from heed.models.files.guessing import with_family
from heed.models.registry.entries import DATA as REGISTRY
from heed.models.registry.entries import Model, Registry
from heed.models.rerankers.cross_encoder import CrossEncoderReranker
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
def test_scores_are_those_of_its_own_program(reranker: CrossEncoderReranker, number: int) -> None:
    """A logit of two labels' difference is the log-odds of its softmax; the last document is cut."""
    scores = reranker.score(asked(GOLDEN["instructions"][number]), DOCUMENTS)
    assert 1 / (1 + np.exp(-np.array(scores))) == pytest.approx(GOLDEN["chances"][number], abs=2e-5)
    query = f"{GOLDEN['instructions'][number]} [SEP] {GOLDEN['query']}"
    pairs = reranker._tokens([(query, document) for document in GOLDEN["documents"]], "only_second")
    assert pairs["input_ids"] == GOLDEN["ids"][number]


def test_two_instructions_give_two_scores_whatever_the_batch(reranker: CrossEncoderReranker) -> None:
    first, second = (reranker.score(asked(instruction), DOCUMENTS) for instruction in GOLDEN["instructions"])
    assert all(abs(one - other) > 1e-2 for one, other in zip(first, second, strict=True))
    alone = [reranker.score(asked(GOLDEN["instructions"][0]), [document])[0] for document in DOCUMENTS]
    assert alone == pytest.approx(first, abs=1e-5)


def test_the_head_by_hand(folder: Path, reranker: CrossEncoderReranker) -> None:
    """``W h + b`` of the state of ``<s>``, which transformers' encoder gives for the recorded ids; label 1 less 0."""
    from transformers import T5EncoderModel

    weights = enc_t5_weights(load_file(folder / "model.safetensors")["shared.weight"].shape[0])
    encoder = T5EncoderModel.from_pretrained(folder).eval()
    for document, ids in zip(DOCUMENTS, GOLDEN["ids"][0], strict=True):
        with torch.no_grad():
            state = encoder(input_ids=torch.tensor([ids])).last_hidden_state[0, 0].numpy()
        logits = weights["classifier.weight"] @ state + weights["classifier.bias"]
        [score] = reranker.score(asked(GOLDEN["instructions"][0]), [document])
        assert score == pytest.approx(float(logits[1] - logits[0]), abs=1e-5)


def test_the_instruction_is_never_cut(folder: Path) -> None:
    model = Registry().find(NAME)._replace(source=str(folder), max_length=16)
    with pytest.raises(HeedError, match="query and instruction take .* of the model's 16 tokens"):
        CrossEncoderReranker(model, CPU).score(asked("which rivers cross the desert " * 4), DOCUMENTS[:1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("lost", r"weights classifier\.bias are missing, expected all of EncT5ForSequenceClassification"),
        ("other", r"weights decoder\.final_layer_norm\.weight have no place in EncT5ForSequenceClassification"),
        ("shape", r"weights classifier\.bias \(\(3,\), not \(2,\)\) have another shape than in EncT5"),
    ],
)
def test_weights_that_do_not_fit_are_named(tmp_path: Path, change: str, message: str) -> None:
    folder = enc_t5(tmp_path / "broken")
    weights = load_file(folder / "model.safetensors")
    bias = weights.pop("classifier.bias")
    added = {
        "lost": {},
        "other": {"classifier.bias": bias, "decoder.final_layer_norm.weight": bias},
        "shape": {"classifier.bias": np.zeros(3, dtype=np.float32)},
    }
    save_file({**weights, **added[change]}, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(HeedError, match=message):
        CrossEncoderReranker(Model(str(folder), label=1), CPU).load()


def test_a_vocabulary_without_room_for_its_first_token_is_refused(tmp_path: Path) -> None:
    folder = enc_t5(tmp_path / "small")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    rows = config["vocab_size"] - 28  # pieces and extra ids alone
    (folder / "config.json").write_text(json.dumps({**config, "vocab_size": rows}), encoding="utf-8")
    save_file(enc_t5_weights(rows), folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(HeedError, match=f"<s> is token {rows}, but the network has {rows}"):
        CrossEncoderReranker(Model(str(folder), label=1), CPU).load()


def test_pickled_weights_rerank_by_the_real_command(heed: Heed, tmp_path: Path) -> None:
    """As on the hub: ``pytorch_model.bin`` with the vocabulary's vectors twice, under two names."""
    folder = enc_t5(tmp_path / "tiny-tart")
    weights = {name: torch.tensor(one) for name, one in load_file(folder / "model.safetensors").items()}
    weights["encoder.embed_tokens.weight"] = weights["shared.weight"]
    torch.save(weights, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    assert with_family(Model(str(folder)), "bi-encoder").family == "cross-encoder"
    write_jsonl(tmp_path / "docs.jsonl", [{"id": one.docid, "text": one.text} for one in DOCUMENTS])
    told = dict(zip(("original", "changed"), GOLDEN["instructions"], strict=True))
    topic = {"qid": "1", "lang": "eng", "query": "which rivers power cats plants", "instructions": told}
    write_jsonl(tmp_path / "topics.jsonl", [topic])
    (tmp_path / "qrels").write_text("1 0 d1 1\n")
    shipped = json.loads(REGISTRY.read_text(encoding="utf-8"))[NAME]
    (tmp_path / "models.json").write_text(json.dumps({"tart": {**shipped, "source": str(folder)}}))
    data = ["--docs", "docs.jsonl", "--topics", "topics.jsonl", "--qrels", "qrels", "--models", "models.json"]
    result = heed("pipelines.trec", *data, "--retriever", "bm25", "--reranker", "tart@followir", "--device", "cpu")
    assert result.returncode == 0, result.stderr
    runs = [tmp_path / f"runs/docs/eng/tiny-tart@followir.{one}.run" for one in told]
    found = [[line.split()[4] for line in run.read_text().splitlines()] for run in runs]
    assert len(found[0]) >= 2 and found[0] != found[1]

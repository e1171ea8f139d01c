import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import Heed, write_jsonl
from model_inputs import CPU, queries
from safetensors.numpy import load_file, save_file
from tiny_published_models import LATENT, WIDTH, nv_embed, nv_embed_weights

from heed.errors import HeedError
from heed.models.encoders.bi_encoder import SentenceEncoder
from heed.models.registry.entries import DATA as REGISTRY
from heed.models.registry.entries import Model, Registry
from heed.types import Document

GOLDEN = json.loads((Path(__file__).parents[1] / "data" / "golden" / "nv_embed.json").read_text(encoding="utf-8"))
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
def test_tokens_are_those_of_its_own_program(encoder: SentenceEncoder) -> None:
    texts = [f"Instruct: {RIVER}\nQuery: {text}" for text in GOLDEN["texts"]]
    encoder.load()
    assert encoder._encoder.tokenizer(texts)["input_ids"] == GOLDEN["ids"]


@pytest.mark.golden(program=PROGRAM, compared="vectors of all tokens' mean", systems=(NAME,))
def test_infosearch_pools_what_latent_attention_returns_for_every_token(folder: Path) -> None:
    plain = entry(folder, "infosearch", query="{query}")
    ours = SentenceEncoder(plain, CPU).encode_queries(queries([(GOLDEN["texts"][0], "")]))
    np.testing.assert_allclose(ours, unit([GOLDEN["mean of states"]]), atol=2e-5)


def test_latent_attention_by_hand(folder: Path) -> None:
    """Equation 1 of the paper and GEGLU in numpy, one token at a time."""
    from heed.models.local.nv_embed import NvEmbedModel

    weights = {name.removeprefix("latent_attention_model."): one for name, one in nv_embed_weights().items()}
    first, second = "cross_attend_blocks.0", "cross_attend_blocks.1"

    def norm(row: np.ndarray, name: str) -> np.ndarray:
        rest = row - row.mean(axis=-1, keepdims=True)
        scaled = rest / np.sqrt((rest**2).mean(axis=-1, keepdims=True) + 1e-5)
        return np.asarray(scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"])

    def by_hand(state: np.ndarray) -> np.ndarray:
        heads, width = LATENT["num_cross_heads"], LATENT["cross_dim_head"]
        query = weights[f"{first}.fn.to_q.weight"] @ norm(state, f"{first}.norm")
        both = norm(weights["latents"], f"{first}.norm_context") @ weights[f"{first}.fn.to_kv.weight"].T
        answers = []
        for head in range(heads):
            part = slice(head * width, (head + 1) * width)
            keys, values = both[:, part], both[:, heads * width :][:, part]
            chances = np.exp(keys @ query[part] / np.sqrt(width))
            answers.append(chances @ values / chances.sum())
        state = weights[f"{first}.fn.to_out.weight"] @ np.concatenate(answers) + state
        inner = weights[f"{second}.fn.net.0.weight"] @ norm(state, f"{second}.norm")
        inner += weights[f"{second}.fn.net.0.bias"]
        values, gates = np.split(inner, 2)
        gelu = gates / 2 * (1 + torch.erf(torch.tensor(gates) / np.sqrt(2)).numpy())
        down = weights[f"{second}.fn.net.2.weight"] @ (values * gelu) + weights[f"{second}.fn.net.2.bias"]
        return np.asarray(down + state)

    network = NvEmbedModel.from_pretrained(folder)
    states = np.random.default_rng(0).normal(size=(2, 3, WIDTH)).astype(np.float32)
    with torch.no_grad():
        ours = network.latent_attention_model(torch.tensor(states)).numpy()
    expected = np.array([[by_hand(state) for state in text] for text in states])
    np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-4)


def test_every_token_sees_all_later_ones(folder: Path) -> None:
    from heed.models.local.nv_embed import NvEmbedModel

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
    features = encoder._encoder.whole.preprocess([long], task="document")
    assert features["input_ids"].shape == (1, 12) and features["input_ids"][0, -1] == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            "lost",
            r"missing weights: 1, such as latent_attention_model\.latents; expected all that NvEmbedModel has",
        ),
        ("other", r"unexpected weights: 1, such as latent_attention_model\.gate; which NvEmbedModel has not"),
        ("shape", "cannot be loaded as a model .*ignore_mismatched_sizes"),
    ],
)
def test_weights_that_do_not_fit_are_named(tmp_path: Path, change: str, message: str) -> None:
    folder = nv_embed(tmp_path / "broken")
    weights = load_file(folder / "model.safetensors")
    latents = weights.pop("latent_attention_model.latents")
    added = {
        "lost": {},
        "other": {"latent_attention_model.latents": latents, "latent_attention_model.gate": latents},
        "shape": {"latent_attention_model.latents": latents[:, :8].copy()},
    }
    save_file({**weights, **added[change]}, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(HeedError, match=message):
        SentenceEncoder(entry(folder), CPU).load()


def test_it_retrieves_reranks_and_decomposes_by_the_real_command(heed: Heed, folder: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "docs.jsonl", [{"id": f"d{at}", "text": text} for at, text in enumerate(GOLDEN["texts"])])
    told = {"original": RIVER, "changed": "Leave out the desert."}
    write_jsonl(tmp_path / "topics.jsonl", [{"qid": "1", "lang": "eng", "query": "solar", "instructions": told}])
    (tmp_path / "qrels").write_text("1 0 d0 1\n1 0 d2 1\n")
    data = ["--docs", "docs.jsonl", "--topics", "topics.jsonl", "--qrels", "qrels", "--device", "cpu"]
    shipped = json.loads(REGISTRY.read_text(encoding="utf-8"))[NAME]
    (tmp_path / "models.json").write_text(json.dumps({"nv": {**shipped, "source": str(folder)}}))
    systems = ["--retriever", "nv", "--reranker", "decompose:nv", "--models", "models.json"]
    result = heed("pipelines.trec", *data, *systems)
    assert result.returncode == 0, result.stderr
    for name in ("tiny-nv-embed", "decompose:tiny-nv-embed"):
        runs = [tmp_path / f"runs/docs/eng/{name}.{condition}.run" for condition in ("original", "changed")]
        found = [[line.split()[4] for line in run.read_text().splitlines()] for run in runs]
        assert len(found[0]) == 4 and found[0] != found[1]
    systems = ["--retriever", "bm25", "--reranker", "nv@infosearch", "--models", "models.json"]
    result = heed("pipelines.trec", *data, *systems)
    assert result.returncode == 0, result.stderr
    assert "tiny-nv-embed@infosearch" in result.stdout

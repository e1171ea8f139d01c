"""Real weights give the libraries' values: `make real-test` makes their folders; without them all is skipped."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, Heed

import heed
from heed import Document

GOLDEN = json.loads((ROOT / "tests/data/golden/real_weights.json").read_text(encoding="utf-8"))
# as Heed is given them: query and instruction, title and text
QUERIES = [("solar power in the desert", "Plants in Africa are relevant."), ("太阳能", "只要非洲的电站")]
QUERIES += [("солнечная энергия в пустыне", "")]
DOCUMENTS = [
    Document("1", "Ouarzazate", "The plant in Morocco supplies a million homes."),
    Document("2", "Ferry sank", "A passenger ferry sank in a storm."),
    Document("3", "", "摩洛哥的太阳能电站为一百万户家庭供电。"),
]
MINILM, E5 = "all-MiniLM-L6-v2", "multilingual-e5-small-4bit"
SMOLLM2, SPLADE, STATIC = "SmolLM2-135M-Instruct-4bit", "splade-tiny", "wordllama-256"


def weights(name: str) -> Path:
    """The folder of a model; the test is skipped where it is absent."""
    if not (ROOT / "models" / name).is_dir():
        pytest.skip(f"models/{name} is not here; make real-test makes it")
    return ROOT / "models" / name


def compute(dtype: str = "float32") -> heed.Compute:
    return heed.Compute(device="cpu", dtype=dtype)


def vectors(name: str, dtype: str = "float32") -> tuple[Any, Any, Any]:
    encoder = heed.encoder(str(weights(name)), compute=compute(dtype))
    queries = [encoder.encode_queries([query], instruction)[0] for query, instruction in QUERIES]
    return encoder, np.array(queries), encoder.encode_documents(DOCUMENTS)


def test_the_texts_are_those_that_the_values_are_of() -> None:
    assert [" ".join(filter(None, each)) for each in QUERIES] == GOLDEN["queries"]
    assert [f"{each.title} {each.text}".strip() for each in DOCUMENTS] == GOLDEN["documents"]


@pytest.mark.golden(
    program="sentence-transformers 6.2.0", compared="similarities of real weights", systems=("bi-encoder",)
)
@pytest.mark.parametrize("name", [MINILM, E5])
def test_similarities_of_real_weights(name: str) -> None:
    encoder, queries, documents = vectors(name)
    assert encoder.similarity(queries, documents) == pytest.approx(np.array(GOLDEN["scores"][name]), abs=1e-5)


@pytest.mark.golden(
    program="wordllama 0.4.0.post1", compared="similarities of real static embeddings", systems=("bi-encoder",)
)
def test_similarities_of_static_embeddings() -> None:
    encoder, queries, documents = vectors(STATIC)
    assert encoder.similarity(queries, documents) == pytest.approx(np.array(GOLDEN["scores"][STATIC]), abs=1e-5)


@pytest.mark.golden(program="sentence-transformers 6.2.0", compared="scores of real learned sparse weights", systems=())
def test_scores_of_learned_sparse_weights() -> None:
    reranker = heed.reranker(str(weights(SPLADE)), compute=compute())
    scores = [reranker.score(query, DOCUMENTS, instruction=instruction) for query, instruction in QUERIES]
    assert np.array(scores) == pytest.approx(np.array(GOLDEN["scores"][SPLADE]), rel=1e-5, abs=1e-5)


@pytest.mark.golden(
    program="sentence-transformers 6.2.0",
    compared="vectors of real weights, in bfloat16 too",
    systems=("bi-encoder",),
)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", [MINILM, E5])
def test_vectors_of_real_weights(name: str, dtype: str) -> None:
    import torch
    from sentence_transformers import SentenceTransformer

    library = SentenceTransformer(str(weights(name)), device="cpu", model_kwargs={"dtype": dtype})
    _, queries, documents = vectors(name, dtype)
    one_by_one = torch.cat([library.encode_query([query], convert_to_tensor=True) for query in GOLDEN["queries"]])
    at_once = library.encode_document(GOLDEN["documents"], convert_to_tensor=True)
    for ours, theirs in ((queries, one_by_one), (documents, at_once)):  # cosine: of length 1 in float32
        assert ours == pytest.approx(torch.nn.functional.normalize(theirs.float()).numpy(), abs=1e-5)


@pytest.mark.golden(program="transformers 5.23.0", compared="log-odds of a real language model", systems=("causal",))
def test_log_odds_of_a_real_language_model(tmp_path: Path) -> None:
    prompt = GOLDEN["prompt"].format("{query}", "{document}")
    entry = {"source": str(weights(SMOLLM2)), "family": "causal", "prompt": prompt, "tokens": GOLDEN["tokens"]}
    (tmp_path / "models.json").write_text(json.dumps({"smol": entry}))
    registry = heed.Registry(files=[tmp_path / "models.json"])
    reranker = heed.reranker("smol", compute=compute(), registry=registry)
    scores = reranker.score(QUERIES[0][0], DOCUMENTS, instruction=QUERIES[0][1])
    assert scores == pytest.approx(GOLDEN["scores"][SMOLLM2], abs=1e-5)


def test_heed_models_shows_the_prompts_of_e5(heed: Heed) -> None:
    """E5's card asks for both prefixes; the folder brings them as sentence-transformers' prompts."""
    shown = heed("pipelines.models", str(weights(E5))).stdout
    assert "document  passage: Ouarzazate The plant in Morocco supplies a million homes." in shown
    assert "original  query: solar power in the desert Plants in Africa are relevant." in shown
    assert (
        "longest input     512 tokens" in shown
        and "longest input  256 tokens" in heed("pipelines.models", str(weights(MINILM))).stdout
    )

"""Scores on tiny weights, of whole and of cut texts, equal those of MTEB's own loaders of 2024, which are recorded."""

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import golden_models
import numpy as np
import pytest
from conftest import ROOT
from golden_texts import ASKED, DOCUMENTS
from model_inputs import CPU, queries

from heed.models.encoders import PeftEncoder, SentenceEncoder
from heed.models.registry.entries import Model, Registry
from heed.models.rerankers.cross_encoder import CrossEncoderReranker
from heed.models.rerankers.yes_no import YesNoReranker
from heed.models.text import document_text, prompt_text, query_text
from heed.types import Document

GOLDEN: dict[str, Any] = json.loads((ROOT / "tests" / "data" / "golden" / "mteb_1.json").read_text())["systems"]
SYSTEMS = (
    "intfloat/multilingual-e5-small",
    "intfloat/multilingual-e5-base",
    "intfloat/multilingual-e5-large",
    "BAAI/bge-base-en-v1.5",
    "BAAI/bge-large-en-v1.5",
    "nomic-ai/nomic-embed-text-v1.5@mfollowir",
    "facebook/mcontriever-msmarco@mfollowir",
    "castorini/mdpr-tied-pft-msmarco-ft-all@mfollowir",
    "intfloat/e5-mistral-7b-instruct@mfollowir",
    "Salesforce/SFR-Embedding-2_R@mfollowir",
    "GritLM/GritLM-7B@mfollowir",
    "samaya-ai/RepLLaMA-reproduced@mfollowir",
    "castorini/monot5-base-msmarco-10k@followir",
    "castorini/monot5-3b-msmarco-10k@followir",
    "google/flan-t5-base@followir",
    "google/flan-t5-large@followir",
    "unicamp-dl/mt5-13b-mmarco-100k@mfollowir",
    "meta-llama/Llama-2-7b-chat-hf@followir",
    "mistralai/Mistral-7B-Instruct-v0.2@followir",
    "mistralai/Mistral-7B-Instruct-v0.2@mfollowir",
    "jhu-clsp/FollowIR-7B@followir",
    "jhu-clsp/FollowIR-7B@mfollowir",
    "BAAI/bge-reranker-v2-m3@mfollowir",
    "jinaai/jina-reranker-v2-base-multilingual",
)
PROMPTED = (
    "castorini/monot5-base-msmarco-10k",
    "castorini/monot5-3b-msmarco-10k",
    "google/flan-t5-base",
    "google/flan-t5-large",
    "unicamp-dl/mt5-13b-mmarco-100k",
    "meta-llama/Llama-2-7b-chat-hf",
    "mistralai/Mistral-7B-Instruct-v0.2",
    "jhu-clsp/FollowIR-7B",
)
ENCODERS = {"bi-encoder": SentenceEncoder, "peft": PeftEncoder}
MOST = {"bert": 512, "seq2seq": 512}  # tokens that these tiny models read
RERANKERS = {"cross-encoder": CrossEncoderReranker, "causal": YesNoReranker, "seq2seq": YesNoReranker}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The folder of a kind of tiny model, made when it is first asked for."""
    root = tmp_path_factory.mktemp("golden")
    return cache(lambda kind: getattr(golden_models, kind)(root / kind))


def on(name: str, folder: Path) -> Model:
    """The entry ``name`` with the tiny model in place of its weights."""
    base = str(folder.with_name("llama")) if folder.name == "adapter" else None
    model = Registry().find(name)
    longest = min(model.max_length or 512, MOST.get(folder.name, 10**6))
    model = model._replace(source=str(folder), base=base, max_length=longest, revision=None, base_revision=None)
    return model._replace(pickled=False, gated=False, remote_code=False, dtype=None)


def scores(model: Model) -> list[list[float]]:
    """The scores of the recorded questions and documents: cosine, or the chance of yes."""
    documents = [Document(docid, title, text) for docid, (title, text) in DOCUMENTS.items()]
    asked = queries(ASKED)
    if model.family in ENCODERS:
        encoder = ENCODERS[model.family](model, CPU)
        found = encoder.encode_queries(asked) @ encoder.encode_documents(documents).T
        return [list(map(float, row)) for row in found]
    reranker = RERANKERS[model.family](model, CPU)
    return [[1 / (1 + math.exp(-score)) for score in reranker.score(query, documents)] for query in asked]


@pytest.mark.golden(
    program="mteb 1.21.0",
    compared="scores, of truncated texts too",
    systems=SYSTEMS,
)
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated")  # peft asks for it when it adapts
@pytest.mark.parametrize("name", SYSTEMS)
def test_scores_are_those_of_mtebs_loader(tiny: Any, name: str) -> None:
    recorded = GOLDEN[name.partition("@")[0]]
    np.testing.assert_allclose(scores(on(name, tiny(recorded["kind"]))), recorded["scores"], atol=2e-5)


@pytest.mark.golden(program="mteb 1.21.0", compared="prompts that fit without truncation", systems=PROMPTED)
@pytest.mark.parametrize("name", PROMPTED)
def test_prompts_are_those_of_mtebs_loader(name: str) -> None:
    model = Registry().find(name)
    made = [
        prompt_text(model.prompt or "", query_text(model, *asked), document_text(model, *DOCUMENTS[docid]))
        for asked in ASKED
        for docid in ("d0", "d1")
    ]
    assert made == GOLDEN[name]["texts"]

"""Prompts saved in a model's folder: the texts that Heed shows are those that the libraries read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_inputs import CPU

from heed.files import write_json
from heed.models.files import with_family
from heed.models.listing import EXAMPLE, EXAMPLE_DOCUMENT, EXAMPLE_QUERY, as_data, scoring_facts
from heed.models.registry.entries import Registry
from heed.types import Query


def saved_with_prompts(encoder: Path, folder: Path, prompts: dict[str, str | None], late: bool) -> Path:
    from sentence_transformers import MultiVectorEncoder, SentenceTransformer
    from sentence_transformers.base.modules import Normalize, Transformer
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

    ends = [MultiVectorMask(), Normalize(module_input_name="token_embeddings")]
    whole = (
        MultiVectorEncoder(modules=[Transformer(str(encoder)), *ends], device="cpu")
        if late
        else SentenceTransformer(str(encoder), device="cpu")
    )
    whole.save(str(folder))
    path = folder / "config_sentence_transformers.json"
    write_json(path, {**json.loads(path.read_text()), "prompts": prompts})
    return folder


every_prompt = pytest.mark.parametrize(
    "prompts",
    [
        {"query": "query: ", "document": "text: "},
        {"query": "query: ", "passage": "passage: "},
        {"query": "query: ", "document": "", "passage": "passage: "},  # as sentence-transformers 6 saves the second
        {"query": None, "document": None, "corpus": "corpus: "},
        {"query": "", "document": "text: ", "passage": "passage: "},
        {"web": "a question: ", "passage": "passage: "},
        {},
    ],
    ids=str,
)
every_entry = pytest.mark.parametrize(
    "entry", [{}, {"query": "ask {query} {instruction}", "document": "tell {title} {text}"}]
)


def assert_shown_is_read(
    folder: Path,
    base: Path,
    prompts: dict[str, str | None],
    entry: dict[str, str],
    encoder: Callable[..., Any],
    vectors_of: Callable[[Any], Any],
    late: bool = False,
) -> None:
    """Compare the vectors of the shown texts, read by the library without a prompt, with Heed's and its own."""
    from sentence_transformers import MultiVectorEncoder, SentenceTransformer

    saved = saved_with_prompts(base, folder / "own", prompts, late)
    write_json(folder / "m.json", {"mine": {"source": str(saved), **entry}})
    model = with_family(Registry([folder / "m.json"]).find("mine"), "")
    sees = as_data("mine", model, scoring_facts(model, CPU, here=True)["prompts"])["sees"]
    theirs = (MultiVectorEncoder if late else SentenceTransformer)(str(saved), device="cpu")
    ours = encoder(model, CPU)
    query = Query("1", query=EXAMPLE_QUERY, instruction=EXAMPLE["original"])
    bare = {"query": query.text, "document": f"{EXAMPLE_DOCUMENT.title} {EXAMPLE_DOCUMENT.text}"}
    for task, shown, found in (
        ("query", sees["original"], ours.encode_queries([query])),
        ("document", sees["document"], ours.encode_documents([EXAMPLE_DOCUMENT])),
    ):
        read = vectors_of(found)
        encode = getattr(theirs, f"encode_{task}")
        given = [encode([shown], prompt=""), *([] if entry else [encode([bare[task]])])]
        for expected in (np.asarray(vectors[0]) for vectors in given):
            unit = expected / np.linalg.norm(expected, axis=-1, keepdims=True)
            np.testing.assert_allclose(read, unit, atol=1e-5)

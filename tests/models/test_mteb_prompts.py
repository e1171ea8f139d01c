"""Texts of queries and documents begin as in the prompts of the installed MTEB, read from its own models."""

from typing import Any

import pytest

from heed.models.registry.entries import Registry
from heed.models.text import document_text, query_text

PREFIXED = (
    "intfloat/e5-base-v2",
    "intfloat/e5-large-v2",
    "intfloat/multilingual-e5-small",
    "intfloat/multilingual-e5-base",
    "intfloat/multilingual-e5-large",
    "BAAI/bge-base-en",
    "BAAI/bge-large-en",
    "BAAI/bge-base-en-v1.5",
    "BAAI/bge-large-en-v1.5",
    "nomic-ai/nomic-embed-text-v1",
    "nomic-ai/nomic-embed-text-v1.5",
    "castorini/repllama-v1-7b-lora-passage@mteb",
    "samaya-ai/RepLLaMA-reproduced",
    "samaya-ai/promptriever-llama2-7b-v1@mteb",
    "samaya-ai/promptriever-llama3.1-8b-v1@mteb",
    "samaya-ai/promptriever-llama3.1-8b-instruct-v1@mteb",
    "samaya-ai/promptriever-mistral-v0.1-7b-v1@mteb",
)
INSTRUCTED = (
    "intfloat/e5-mistral-7b-instruct@mteb",
    "Salesforce/SFR-Embedding-2_R@mteb",
    "Alibaba-NLP/gte-Qwen2-7B-instruct@mteb",
    "Alibaba-NLP/gte-Qwen2-1.5B-instruct@mteb",
    "GritLM/GritLM-7B@mteb",
    "ReasonIR/ReasonIR-8B@mteb",
    "Qwen/Qwen3-Embedding-0.6B@mteb",
    "Qwen/Qwen3-Embedding-4B@mteb",
    "Qwen/Qwen3-Embedding-8B@mteb",
)


def loader(name: str) -> dict[str, Any]:
    """The arguments with which MTEB loads the model."""
    import mteb

    settings: dict[str, Any] = mteb.get_model_meta(name.partition("@")[0]).loader_kwargs
    return settings


def texts(name: str) -> tuple[str, str]:
    """Heed's text of a query with an instruction, and that of a document."""
    model = Registry().find(name)
    return query_text(model, "a query", "only this"), document_text(model, "Title", "a text")


@pytest.mark.golden(program="mteb 2.26.24", compared="texts of queries and documents", systems=PREFIXED)
@pytest.mark.parametrize("name", PREFIXED)
def test_prompts_are_mtebs(name: str) -> None:
    from mteb.models.model_implementations import promptriever_models

    settings = loader(name)  # that of Promptriever hides its arguments
    prompts = settings["model_prompts"] if settings else promptriever_models.model_prompts
    assert texts(name) == (f"{prompts['query']}a query only this", f"{prompts.get('document', '')}Title a text")


@pytest.mark.golden(
    program="mteb 2.26.24",
    compared="texts of queries and documents, and whether the instruction is pooled",
    systems=INSTRUCTED,
)
@pytest.mark.parametrize("name", INSTRUCTED)
def test_instructions_are_mtebs(name: str) -> None:
    import mteb
    from mteb.models.model_implementations import qwen3_models
    from mteb.types import PromptType

    settings = loader(name)
    generic = mteb.get_task("Core17InstructionRetrieval").abstask_prompt
    template = settings.get("instruction_template", qwen3_models.instruction_template)
    query, document = (
        template.format(instruction=generic) if isinstance(template, str) else template(generic, kind)
        for kind in (PromptType.query, PromptType.document)
    )
    if not settings.get("apply_instruction_to_passages", True):
        document = ""
    assert texts(name) == (f"{query}a query only this", f"{document}Title a text")
    assert Registry().find(name).pool_prefix == settings.get("include_prompt", True)

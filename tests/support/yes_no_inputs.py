"""Documents, a topic and entries for tests of rerankers that answer one word."""

from pathlib import Path
from typing import Any

import tiny_language_models as tiny
import torch

from heed.models.language_models import limit_of, load_config, load_tokenizer
from heed.models.registry.entries import Model
from heed.models.text import Prompts
from heed.types import Document, Topic

TEXTS = ["a short one", "a much longer text, with 12 numbers and 大 中 国 in it, " * 2, "x", "y" * 40, "short two"]
LONG = "a long 龙 document of 12 words " * 60
TOPIC = Topic("1", "zho", "中 国 a query?", {"original": "only a", "changed": "only b, not a"})
DOCIDS = [f"d{at}" for at in range(len(TEXTS))]


def documents(docids: list[str]) -> list[Document]:
    """Those of TEXTS, and two long ones."""
    texts = {f"d{number}": ("T", text) for number, text in enumerate(TEXTS)}
    texts |= {"long": ("T", LONG), "longer": ("", LONG * 3)}
    return [Document(docid, *texts[docid]) for docid in docids]


def entry(folders: dict[str, Path], kind: str, **settings: Any) -> Model:
    source = str(folders[kind])
    if kind == "T5":
        return Model(source, "seq2seq", prompt=tiny.T5, tokens=("▁false", "▁true"))._replace(**settings)
    if kind.startswith("Qwen"):
        return Model(source, "causal", prompt=tiny.QWEN, tokens=("no", "yes"))._replace(**settings)
    return Model(source, "causal", prompt=tiny.LLAMA, tokens=("false", "true"))._replace(**settings)


def prompts(model: Model, docids: list[str], query: str) -> list[str]:
    return [
        (model.prompt or "").replace("{query}", query).replace("{document}", f"{one.title} {one.text}".strip())
        for one in documents(docids)
    ]


def prompt_ids(model: Model, query: str, read: list[Document]) -> list[list[int]]:
    """The ids of each document's prompt, at the length that the reranker reads."""
    tokenizer = load_tokenizer(model)
    return Prompts(model, tokenizer, limit_of(model, tokenizer, load_config(model))).ids("", query, read)


def adapter_of(base: Path, folder: Path) -> Any:
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    settings = LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    adapted = get_peft_model(AutoModelForCausalLM.from_pretrained(base), settings)
    torch.manual_seed(3)
    for name, weight in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.5)  # LoRA begins with zeros here, which would change nothing
    adapted.save_pretrained(folder)
    return adapted.eval()

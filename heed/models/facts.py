"""The settings that decide a model's scores, read by the code that runs it, without the numbers of its weights."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from heed.addons.architectures.late_models import load_late_model
from heed.compute import Compute
from heed.errors import HeedError
from heed.models.encoders.bi_encoder import as_trained
from heed.models.files.model_files import loading
from heed.models.local.language_models import check_entry, entry_ids, limit_of, load_config, load_tokenizer, precision
from heed.models.local.sentence_models import SentenceModel, load_sentence_model, similarity_of
from heed.models.registry.entries import Model
from heed.models.registry.families import BI_ENCODER, CROSS_ENCODER, FAMILIES, LATE, SENTENCE_TRANSFORMERS, TRANSFORMERS
from heed.models.rerankers.cross_encoder import load_cross_encoder
from heed.models.text.templates import DOCUMENT, QUERY, prompt_of

LIBRARIES = (SENTENCE_TRANSFORMERS, TRANSFORMERS)
FIELDS = ("class", "prompts", "template", "pair", "pooling", "similarity", "max_length", "truncation_side", "dtype")
PARTS = {0: "{query}", 1: "{document}"}


def scoring_facts(model: Model, compute: Compute, here: bool) -> dict[str, Any]:
    """Return the settings that decide a model's scores, by the names of ``FIELDS``, ``inference`` and ``problem``.

    What only the model's files say is None where they are not ``here``, or where they cannot be read: ``problem`` then
    says why. Nothing is downloaded.
    """
    facts: dict[str, Any] = {**dict.fromkeys(FIELDS), "inference": None, "problem": None}
    family = FAMILIES.get(model.family)
    if model.status != "runs" or family is None or family.library not in LIBRARIES:
        return facts
    facts |= {"class": family.class_name, "template": _template(model), "pooling": model.pooling}
    facts |= {"similarity": model.similarity, "max_length": model.max_length}
    facts["inference"] = compute.inference if family.library == TRANSFORMERS else None
    if find_spec("torch") is None:
        return facts
    facts["dtype"] = precision(model, compute)
    if not here or model.family not in READERS:
        return facts
    try:
        with loading(model.source):
            return facts | READERS[model.family](model, replace(compute, device="meta"))
    except HeedError as error:
        return facts | {"problem": str(error)}


def _template(model: Model) -> dict[str, str]:
    """Return the texts into which query, instruction and document are put."""
    template = {"query": model.query or QUERY, "document": model.document or DOCUMENT}
    return {**template, **({"prompt": model.prompt} if model.prompt else {})}


def _of_encoder(model: Model, compute: Compute) -> dict[str, Any]:
    from sentence_transformers.sentence_transformer.modules import Pooling

    encoder = SentenceModel(model, load_sentence_model(model, compute))
    modes = [module.pooling_mode for module in encoder.whole if isinstance(module, Pooling)]
    pooling = ", ".join(mode if isinstance(mode, str) else "+".join(mode) for mode in modes)
    read = {"pooling": pooling or model.pooling, "similarity": similarity_of(model)}
    return {**_of_sentence_model(model, encoder.whole), **read}


def _of_late(model: Model, compute: Compute) -> dict[str, Any]:
    encoder = SentenceModel(model, load_late_model(model, compute)[0])
    return {**_of_sentence_model(model, encoder.whole), "similarity": encoder.whole.similarity_fn_name}


def _of_cross_encoder(model: Model, compute: Compute) -> dict[str, Any]:
    encoder = load_cross_encoder(model, compute)
    chat = "message" in encoder[0].modality_config
    pair = "its chat template" if chat else joined_pair(encoder.tokenizer)
    prompt = encoder.prompts.get(encoder.default_prompt_name)
    return {**_of_sentence_model(model, encoder), "prompts": {"pair": prompt} if prompt else {}, "pair": pair}


def _of_sentence_model(model: Model, encoder: Any) -> dict[str, Any]:
    longest = encoder.max_seq_length
    return {
        "prompts": {task: text for task in ("query", "document") if (text := prompt_of(model, encoder.prompts, task))},
        "max_length": int(longest) if longest and longest < 1e9 else None,
        "truncation_side": getattr(encoder.tokenizer, "truncation_side", None),
    }


def _of_language_model(model: Model, _: Compute) -> dict[str, Any]:
    tokenizer = load_tokenizer(model)
    if model.family in ("causal", "seq2seq", "reasoning"):
        check_entry(model)
        entry_ids(model, tokenizer)  # whether its answers are in the vocabulary
    return {"max_length": limit_of(model, tokenizer, load_config(model)), "prompts": {}}


def _of_adapter(model: Model, compute: Compute) -> dict[str, Any]:
    trained = as_trained(model)
    return {**_of_language_model(model, compute), "pooling": trained.pooling, "similarity": similarity_of(trained)}


def joined_pair(tokenizer: Any) -> str:
    """Return a pair with the special tokens that ``tokenizer`` puts around query and document, by name."""
    encoded = tokenizer("a", "b")
    tokens = tokenizer.convert_ids_to_tokens(encoded["input_ids"])
    parts = [PARTS.get(part, token) for part, token in zip(encoded.sequence_ids(), tokens, strict=True)]
    return " ".join(text for position, text in enumerate(parts) if text != (parts[position - 1] if position else ""))


READERS: Mapping[str, Callable[[Model, Compute], dict[str, Any]]] = {
    BI_ENCODER: _of_encoder,
    LATE: _of_late,
    CROSS_ENCODER: _of_cross_encoder,
    "peft": _of_adapter,
    **dict.fromkeys(("causal", "seq2seq", "reasoning", "listwise", "block"), _of_language_model),
}

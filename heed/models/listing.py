"""The models of a registry as a list: what each is, needs and reads, what is missing here, what decides its scores."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from heed.addon_table import brought, brought_if_here
from heed.compute import Compute
from heed.errors import HeedError, UsageError, did_you_mean
from heed.extras import NOT_INSTALLED, installed_version
from heed.models.encoders import as_trained
from heed.models.files import FETCHED, guess, in_cache, loading
from heed.models.language_models import check_entry, entry_ids, limit_of, load_config, load_tokenizer
from heed.models.local import precision
from heed.models.pickles import has_weights
from heed.models.registry.entries import Model, Registry, refuse_gguf
from heed.models.registry.families import (
    API_RERANK,
    BI_ENCODER,
    BLOCK,
    CROSS_ENCODER,
    FAMILIES,
    LATE,
    LEXICAL,
    SENTENCE_TRANSFORMERS,
    SPARSE,
    TRANSFORMERS,
)
from heed.models.rerankers.block import block_text
from heed.models.rerankers.cross_encoder import load_cross_encoder, reads_messages
from heed.models.rerankers.listwise import WORDS, messages, passage, pieces
from heed.models.sentence_models import SentenceModel, load_sentence_model, similarity_of
from heed.models.text import DOCUMENT, QUERY, document_text, prompt_of, prompt_text, query_text
from heed.types import Document

UNKNOWN = "-"
# an example; no mark ends the query, so that Promptriever's is seen
EXAMPLE_QUERY = "solar power in the desert"
EXAMPLE = {
    "query": "",
    "original": "Plants in Africa are relevant.",
    "changed": "Plants in Africa are relevant, but not those in Egypt.",
    "reversed": "Plants in Africa are not relevant.",
}
EXAMPLE_DOCUMENT = Document("1", "Ouarzazate", "The plant in Morocco supplies a million homes.")

LIBRARIES = (SENTENCE_TRANSFORMERS, TRANSFORMERS)
FIELDS = ("class", "prompts", "template", "pooling", "similarity", "max_length", "truncation_side", "dtype")


def find_entry(registry: Registry, name: str) -> Model:
    """Return the entry or local folder ``name``, with its ``@preset``.

    Raises :class:`UsageError` with the nearest names for what is neither.
    """
    source = name.partition("@")[0]
    refuse_gguf(source, [source])
    entries = registry.entries
    if source in entries or Path(source).is_dir():
        return _as_found(registry.find(name))
    spelt = {alias.lower(): key for key in entries for alias in (key, key.rpartition("/")[2])}
    hint = did_you_mean(source.lower(), spelt, 3, cutoff=0.5) or "without a name, all are listed"
    raise UsageError(f"{source}: no entry of the registry and no folder; {hint}")


def _as_found(model: Model) -> Model:
    """Return ``model`` with the family and the licence that its files name, where its entry has none."""
    folder = Path(model.source)
    if not folder.is_dir():
        return model
    model = model._replace(licence=model.licence or _licence(folder / "README.md"))
    if model.family:
        return model
    family, source = guess(model)
    return model._replace(family=family, guessed_from=source)


def _licence(readme: Path) -> str | None:
    """Return the licence at the head of a model's README; None where it names none."""
    from huggingface_hub.repocard import metadata_load
    from yaml import YAMLError

    with suppress(OSError, ValueError, YAMLError):
        head = metadata_load(readme) or {}
        named = head.get("license_name") if head.get("license") == "other" else head.get("license")
        return visible(str(named)) if named else None
    return None


def status_of(status: str, lacking: Sequence[str]) -> str:
    """Return the text of a model's status: that of its entry, or what it lacks here."""
    return f"lacks {'; '.join(lacking)}" if lacking else status


def list_models(registry: Registry) -> dict[str, Model]:
    """Return all entries, and as ``NAME@PRESET`` those of their presets that are another family."""
    models = {}
    for key, entry in registry.entries.items():
        model = models[key] = _as_found(entry)
        variants = {preset: model.preset(preset) for preset in model.presets}
        models |= {f"{key}@{preset}": other for preset, other in variants.items() if other.family != model.family}
    return models


def missing(model: Model) -> list[str]:
    """Return the weights, packages and variables that ``model`` needs and this machine lacks; no network is used."""
    if model.status == "named" or model.family == LEXICAL:
        return []
    if model.status == "api" or model.family == API_RERANK:
        address = brought_if_here("service's address")
        return address(model) if address else ["the add-on heed.addons.apis"]
    lacking = [f"pip install {package}" for package in model.needs if installed_version(package) == NOT_INSTALLED]
    needed = FAMILIES[model.family].needs if model.family else ()
    lacking += [f"{field} in its entry" for field in needed if getattr(model, field) is None]
    if not _has_weights(model.source, model.revision):
        lacking.append("weights")
    if model.base and not _has_weights(model.base, model.base_revision):
        lacking.append(f"weights of {model.base}")
    return lacking


def _has_weights(source: str, revision: str | None) -> bool:
    from huggingface_hub.errors import HFValidationError

    folder = Path(source)
    if folder.is_dir():
        return has_weights(folder)
    with suppress(HFValidationError):
        return in_cache(source, revision, FETCHED) is not None
    return False


def as_data(name: str, model: Model, prompts: Mapping[str, str] = {}) -> dict[str, Any]:
    """Return the entry as JSON data, with the texts that it reads and what is missing here."""
    fields = {field: value for field, value in model._asdict().items() if field not in ("trusted", "entry")}
    plain = {**fields, "family": model.family or UNKNOWN, "names": dict(model.names), "presets": list(model.presets)}
    return {"name": name, **plain, "missing": missing(model), "sees": dict(inputs(model, prompts))}


def inputs(model: Model, prompts: Mapping[str, str] = {}) -> Iterator[tuple[str, str]]:
    """Yield the texts that ``model`` reads of an example, by label; none for a system whose texts are unknown.

    ``prompts`` of the model's files precede a ``query``, a ``document`` and each ``pair``.
    """
    if model.status == "named" and model.query is None:
        return
    document = prompts.get("document", "") + document_text(model, EXAMPLE_DOCUMENT.title, EXAMPLE_DOCUMENT.text)
    field_of = brought_if_here("service's instruction") if model.family == API_RERANK else None
    field = field_of(model) if field_of else ""
    if field or reads_chat(model):
        label = f"{field} (a field of its own)" if field else "instruction"
        yield from (("document", document), ("query", EXAMPLE_QUERY))
        yield from ((f"{name}, {label}", text) for name, text in EXAMPLE.items() if text)
        return
    if model.family == BLOCK:
        for condition, instruction in EXAMPLE.items():
            yield condition, block_text(model, EXAMPLE_QUERY, instruction, [document, document])
        return
    listwise = model.family and FAMILIES[model.family].prompt
    if model.prompt is None and not listwise:
        yield "document", document
    for condition, instruction in EXAMPLE.items():
        query = query_text(model, EXAMPLE_QUERY, instruction)
        if listwise:
            yield from _conversation(model, condition, query)
        else:
            whole = prompts.get("pair", "") + prompts.get("query", "") + query
            yield condition, whole if model.prompt is None else prompt_text(model.prompt, query, document)


def reads_chat(model: Model) -> bool:
    """Whether ``model`` is a folder whose chat template takes query and document; an instruction is optional."""
    return model.family == CROSS_ENCODER and model.query is None and reads_messages(Path(model.source))


def _conversation(model: Model, condition: str, query: str) -> Iterator[tuple[str, str]]:
    """Yield the conversation about two passages, which are the same here."""
    text = passage(model, EXAMPLE_DOCUMENT, WORDS)
    turns = messages(pieces(model, FAMILIES[model.family].prompt), query, [text, text])
    for number, message in enumerate(turns, 1):
        yield f"{condition}, {number} {message['role']}", message["content"]


def visible(text: str) -> str:
    """Return ``text`` on one line: newlines as ``↵``, spaces easily missed as ``␣``, other controls escaped."""
    spaced = re.sub(r"^ +| {2,}| +(?=\n)|(?<=\n) +| +$", lambda match: "␣" * len(match[0]), text)
    return "".join("↵" if char == "\n" else char if char.isprintable() else repr(char)[1:-1] for char in spaced)


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

    encoder = SentenceModel(model, load_sentence_model(model, compute), compute)
    modes = [module.pooling_mode for module in encoder.whole if isinstance(module, Pooling)]
    pooling = ", ".join(mode if isinstance(mode, str) else "+".join(mode) for mode in modes)
    read = {"pooling": pooling or model.pooling, "similarity": similarity_of(model)}
    return {**_of_sentence_model(model, encoder.whole), **read}


def _of_late(model: Model, compute: Compute) -> dict[str, Any]:
    encoder = SentenceModel(model, brought("late-interaction model")(model, compute)[0], compute)
    return {**_of_sentence_model(model, encoder.whole), "similarity": encoder.whole.similarity_fn_name}


def _of_sparse(model: Model, compute: Compute) -> dict[str, Any]:
    from sentence_transformers.sparse_encoder.modules import SpladePooling

    encoder = SentenceModel(model, brought("learned-sparse model")(model, compute), compute)
    pools = [module for module in encoder.whole.modules() if isinstance(module, SpladePooling)]
    pooling = ", ".join(f"{pool.pooling_strategy} of {pool.activation_function}" for pool in pools)
    read = {"pooling": pooling or None, "similarity": similarity_of(model, "dot")}
    return {**_of_sentence_model(model, encoder.whole), **read}


def _of_cross_encoder(model: Model, compute: Compute) -> dict[str, Any]:
    encoder = load_cross_encoder(model, compute)
    prompt = encoder.prompts.get(encoder.default_prompt_name)
    return {**_of_sentence_model(model, encoder), "prompts": {"pair": prompt} if prompt else {}}


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


READERS: Mapping[str, Callable[[Model, Compute], dict[str, Any]]] = {
    BI_ENCODER: _of_encoder,
    LATE: _of_late,
    SPARSE: _of_sparse,
    CROSS_ENCODER: _of_cross_encoder,
    "peft": _of_adapter,
    **dict.fromkeys(("causal", "seq2seq", "reasoning", "listwise", "block"), _of_language_model),
}

"""The models of a registry as a list: what each is and needs, what is missing on this machine, and what it reads."""

import difflib
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from heed.addons.apis.endpoints import PROVIDERS, environment
from heed.addons.apis.rerank_forms import SERVER, SERVICES, instruction_field
from heed.errors import UsageError
from heed.extras import NOT_INSTALLED, installed_version
from heed.models.files.conversion import has_weights
from heed.models.files.guessing import guess
from heed.models.files.model_files import FETCHED, in_cache
from heed.models.registry.entries import Model, Registry, refuse_gguf
from heed.models.registry.families import API_RERANK, BLOCK, CROSS_ENCODER, FAMILIES, LEXICAL
from heed.models.rerankers.block import block_text
from heed.models.rerankers.chat_pairs import reads_messages
from heed.models.rerankers.listwise_prompt import WORDS, messages, passage, pieces
from heed.models.text.templates import document_text, prompt_text, query_text
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
    matches = difflib.get_close_matches(source.lower(), spelt, n=6, cutoff=0.5)
    near = list(dict.fromkeys(spelt[match] for match in matches))[:3]
    hint = f"did you mean {' or '.join(near)}?" if near else "without a name, all are listed"
    raise UsageError(f"{source}: no entry of the registry and no folder; {hint}")


def _as_found(model: Model) -> Model:
    """Return ``model`` with the family that its files show, where its entry names none and its folder is here."""
    if model.family or not Path(model.source).is_dir():
        return model
    family, source = guess(model)
    return model._replace(family=family, guessed_from=source)


def list_models(registry: Registry) -> dict[str, Model]:
    """Return all entries, and as ``NAME@PRESET`` those of their presets that are another family."""
    models = {}
    for key, entry in registry.entries.items():
        model = models[key] = _as_found(entry)
        variants = {preset: model.preset(preset) for preset in model.presets}
        models |= {f"{key}@{preset}": other for preset, other in variants.items() if other.family != model.family}
    return models


def family_of(model: Model) -> str:
    """Return the family, ``-`` where it is unknown."""
    return model.family or UNKNOWN


def missing(model: Model) -> list[str]:
    """Return the weights, packages and variables that ``model`` needs and this machine lacks; no network is used."""
    if model.status == "named" or model.family == LEXICAL:
        return []
    if model.status == "api" or model.family == API_RERANK:
        return _missing_address(model)
    lacking = [f"pip install {package}" for package in model.needs if installed_version(package) == NOT_INSTALLED]
    needed = FAMILIES[model.family].needs if model.family else ()
    lacking += [f"{field} in its entry" for field in needed if getattr(model, field) is None]
    if not _has_weights(model.source, model.revision):
        lacking.append("weights")
    if model.base and not _has_weights(model.base, model.base_revision):
        lacking.append(f"weights of {model.base}")
    return lacking


def _missing_address(model: Model) -> list[str]:
    reranks, owner = model.family == API_RERANK, model.source.partition("/")[0]
    provider = SERVICES.get(owner, SERVER) if reranks else PROVIDERS.get(owner)
    if provider is None or environment(provider.key) or environment(provider.base):
        return []
    return [provider.key if provider.url else provider.base]


def _has_weights(source: str, revision: str | None) -> bool:
    from huggingface_hub.errors import HFValidationError

    folder = Path(source)
    if folder.is_dir():
        return has_weights(folder)
    with suppress(HFValidationError):
        return in_cache(source, revision, FETCHED) is not None
    return False


def as_data(name: str, model: Model, prompts: Mapping[str, str] = {}) -> dict[str, Any]:
    """Return the entry as JSON data, with the texts that it reads and what is missing here.

    ``prompts`` are those of :func:`heed.models.facts.scoring_facts`.
    """
    fields = {field: value for field, value in model._asdict().items() if field not in ("trusted", "entry")}
    plain = {**fields, "family": family_of(model), "names": dict(model.names), "presets": list(model.presets)}
    return {"name": name, **plain, "missing": missing(model), "sees": dict(inputs(model, prompts))}


def inputs(model: Model, prompts: Mapping[str, str] = {}) -> Iterator[tuple[str, str]]:
    """Yield the texts that ``model`` reads of an example, by label; none for a system whose texts are unknown.

    ``prompts`` of the model's files precede a ``query``, a ``document`` and each ``pair``.
    """
    if model.status == "named" and model.query is None:
        return
    document = prompts.get("document", "") + document_text(model, EXAMPLE_DOCUMENT.title, EXAMPLE_DOCUMENT.text)
    field = instruction_field(model) if model.family == API_RERANK else ""
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
    """Whether ``model`` is a folder whose chat template takes query, document and, if it can, the instruction."""
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

"""Language models with their tokenizers: safetensors only, adapters merged into their base."""

import json
import re
import warnings
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from heed.addon_table import brought
from heed.compute import Compute
from heed.errors import ModelError
from heed.models.files import ADAPTER, fingerprint, loading, local_copy, read_object, runs_remote_code
from heed.models.local import LocalModel, precision
from heed.models.registry.entries import Model
from heed.models.registry.families import FAMILIES
from heed.models.weights import check_weights, warn_of_batches
from heed.progress import warn
from heed.reuse import recipe_version
from heed.types import Config

SKELETON = {"prompt": "Query: {query}\nDocument: {document}\nRelevant:\n", "tokens": ["false", "true"]}
MOST = 2048  # tokens of a prompt: FollowIR's and MTEB's limit for these rerankers


def base_of(model: Model) -> Model | None:
    """Return the model that ``model`` adapts, None if it is no adapter; the entry's ``base`` overrides the adapter's.

    Raises :class:`ModelError` for an unknown base, or one that is given for a model that is no adapter.
    """
    path = local_copy(model) / ADAPTER
    if not path.is_file():
        if model.base:
            raise ModelError(f"{model.source}: no {ADAPTER}, so base {model.base} has no use; leave the base out")
        return None
    adapter = read_object(path)
    source = model.base or adapter.get("base_model_name_or_path")
    revision = model.base_revision or adapter.get("revision")
    if not isinstance(source, str) or not source:
        raise ModelError(f"{path}: base_model_name_or_path is {source!r}; give the base in an entry")
    return model._replace(source=source, revision=revision, base=None, base_revision=None)


def load_tokenizer(model: Model) -> Any:
    """Return the tokenizer of ``model``; an adapter without one uses its base's."""
    from transformers import AutoTokenizer

    with loading(model.source):
        return AutoTokenizer.from_pretrained(tokenizer_folder(model), trust_remote_code=runs_remote_code(model))


class LanguageModel(LocalModel):
    """A model that an engine runs, with its tokenizer."""

    def _identity(self) -> Config:
        """Return its files, its base's, precision and engine."""
        base = base_of(self._model)
        identity = {**super()._identity(), "base": fingerprint(base) if base else None}
        return {**identity, "inference": ["vllm", recipe_version("vllm")]} if self._by_vllm else identity

    @property
    def _by_vllm(self) -> bool:
        """Whether vLLM runs it: the user chose that, and it can run the family."""
        return self._compute.inference == "vllm" and FAMILIES[self._model.family].vllm

    @cached_property
    def _tokenizer(self) -> Any:
        """The tokenizer, which stays when the engine is closed."""
        return load_tokenizer(self._model)

    def _engine(self, length: int, generates: bool = True) -> Any:
        """Return the opened engine, with the methods of :class:`heed.models.engine.TransformersModel`.

        ``length`` is how many tokens a prompt and its answer have at most.
        """
        if self._by_vllm:
            return brought("inference vllm")(self._model, self._compute, length)
        from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

        from heed.models.engine import TransformersModel

        kind = AutoModelForSeq2SeqLM if self._model.family == "seq2seq" else AutoModelForCausalLM
        network = load_network(self._model, self._compute, kind)
        return TransformersModel(self._model, network, self._tokenizer, self._compute, generates)

    def close(self) -> None:
        """Close the engine and free its memory; a later use opens it again."""
        if self._by_vllm and "_loaded" in self.__dict__:
            self._loaded.close()
        super().close()

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])


def tokenizer_folder(model: Model) -> Path:
    """Return the folder of the tokenizer of ``model``; raises as :func:`base_of` does."""
    base = base_of(model)
    folder = local_copy(model)
    return tokenizer_folder(base) if base and not (folder / "tokenizer_config.json").is_file() else folder


def load_config(model: Model) -> Any:
    """Return the configuration of the network of ``model``, which is its base's; :class:`ModelError` without one."""
    from transformers import AutoConfig

    folder = local_copy(base_of(model) or model)
    with loading(model.source):
        return AutoConfig.from_pretrained(folder, trust_remote_code=runs_remote_code(model))


def adapter_folder(model: Model) -> Path:
    """Return the folder of the adapter ``model``; :class:`ModelError` without weights."""
    folder = local_copy(model)
    if not (folder / "adapter_model.safetensors").is_file():
        raise ModelError(f"{folder}: no adapter_model.safetensors, the weights of an adapter; copy the whole adapter")
    return folder


def load_network(model: Model, compute: Compute, kind: Any) -> Any:
    """Return the network of ``model`` loaded by ``kind``, a transformers auto class, for inference.

    Raises :class:`ModelError` if it has no weights, lacks some, or cannot be loaded.
    """
    base = base_of(model)
    with loading(model.source):
        network = merged(model, lambda: _whole(base, compute, kind)) if base else _whole(model, compute, kind)
    warn_of_batches(model.source, network)
    return network.to(compute.torch_device).eval()


def _whole(model: Model, compute: Compute, kind: Any) -> Any:
    folder = local_copy(model)
    network = kind.from_pretrained(
        folder, dtype=precision(model, compute), use_safetensors=True, trust_remote_code=runs_remote_code(model)
    )
    check_weights(folder, network)
    return network


def merged(model: Model, load: Callable[[], Any]) -> Any:
    """Return the network of ``load`` with the adapter ``model`` added to its weights.

    Raises :class:`ModelError` for an adapter of another class of network, whose names peft would skip.
    """
    from peft import PeftModel

    folder = adapter_folder(model)
    network = load()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft's own use of deprecated names of transformers
        warnings.filterwarnings("error", message=".*missing adapter keys")
        try:
            adapted = PeftModel.from_pretrained(network, str(folder), torch_device="cpu")
        except (UserWarning, AttributeError) as error:  # the latter for adapters of models with a head
            kind = type(network).__name__
            raise ModelError(f"{model.source}: its weights do not fit {kind}, so it adapts another model") from error
    return adapted.merge_and_unload()


def limit_of(model: Model, tokenizer: Any, config: Any) -> int:
    """Return how many tokens a prompt may have: the entry's, else what tokenizer and positions allow, at most 2048."""
    positions = getattr(config, "max_position_embeddings", None) or MOST
    return model.max_length or min(MOST, tokenizer.model_max_length, positions)


def check_entry(model: Model) -> None:
    """Raise :class:`ModelError` for a model without prompt or tokens; warn of words that lack the space before."""
    missing = [field for field in FAMILIES[model.family].needs if getattr(model, field) is None]
    if missing:
        entry = {model.name: {"source": model.source, "family": model.family, **SKELETON}}
        raise ModelError(
            f"{model.source}: {' and '.join(missing)} missing, which a {model.family} reranker needs; give them in "
            f"a file of models, such as {json.dumps(entry, ensure_ascii=False)}"
        )
    if not model.entry or model.family != "causal" or not re.search(r"[\w:?.!)}]\Z", model.prompt or ""):
        return  # no space follows other ends, such as a special token; what is shipped is its authors'
    vocabulary = load_tokenizer(model).get_vocab()
    if spaced := [f"Ġ{token}" for token in model.tokens or () if token.isalnum() and f"Ġ{token}" in vocabulary]:
        warn(
            f"{model.source}: its prompt ends without a space, so the answer is rather {' or '.join(spaced)} of its "
            f"vocabulary than tokens {model.tokens}; name these, or end the prompt with a newline"
        )


def entry_ids(model: Model, tokenizer: Any) -> tuple[int, ...]:
    """Return the ids of the entry's ``tokens``; :class:`ModelError` for one that is not exactly in the vocabulary."""
    vocabulary, tokens = tokenizer.get_vocab(), model.tokens or ()
    for token in tokens:
        if token not in vocabulary:
            near = sorted(known for known in vocabulary if _bare(known) == _bare(token))
            raise ModelError(
                f"{model.source}: token {token!r} is not one entry of its vocabulary; it has {near or 'none like it'}"
            )
    ids = tuple(vocabulary[token] for token in tokens)
    if len(set(ids)) < len(ids):
        raise ModelError(f"{model.source}: tokens {tokens} are the same token; expected no and yes")
    return ids


def _bare(token: str) -> str:
    """Return a vocabulary entry without the mark of a leading space: SentencePiece's ``▁``, byte-level BPE's ``Ġ``."""
    return token.lstrip("▁Ġ ").lower()

"""Language models with their tokenizers: safetensors only, adapters merged into their base."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from heed.errors import ModelError, UsageError
from heed.models.model_files import fingerprint, loading, local_copy, runs_remote_code
from heed.models.registry import Model
from heed.types import Config

ADAPTER = "adapter_config.json"
INT8 = "int8"  # a preset of every model: NAME@int8
ROUNDED = ("", "bi-encoder", "cross-encoder")  # the families that can
MOST = 2048  # tokens of a prompt: FollowIR's and MTEB's limit for these rerankers


def place(device: str) -> str:
    """Return ``cpu``, ``cuda`` or ``mps`` for the user's ``device``; ``auto`` takes CUDA where there is one."""
    import torch

    return device if device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"


def check_gpu(device: str) -> None:
    """Raise :class:`UsageError` if ``device`` is cuda or mps and this machine has none, before any work is done."""
    if device not in ("cuda", "mps"):
        return
    import torch

    if device == "mps" and not torch.backends.mps.is_available():
        raise UsageError(
            f"--device mps: torch {torch.__version__} finds no GPU of Apple here; use --device cpu, or a Mac with "
            "Apple silicon and a Python that is built for it"
        )
    if device == "cuda" and not torch.cuda.is_available():
        raise UsageError(
            f"--device cuda: torch {torch.__version__} finds no GPU here; use --device cpu, or install its driver "
            "and a torch that is built for it"
        )


def precision(model: Model, device: str) -> str:
    """Return float32 on a CPU, where half precision saves no time; else the entry's, or the weights' own (``auto``).

    ``int8`` means float32 weights that :class:`heed.models.products.Int8Product` rounds after loading; raises
    :class:`UsageError` where it cannot: on a GPU, on a processor without the instructions, in other families.
    """
    import torch

    if model.dtype != INT8:
        return "float32" if place(device) == "cpu" else model.dtype or "auto"
    if model.family not in ROUNDED:
        raise UsageError(f"{model.source}@{INT8}: of family {model.family}, neither bi-encoder nor cross-encoder")
    if place(device) != "cpu" or not torch.cpu._is_vnni_supported():
        raise UsageError(f"{model.source}@{INT8}: needs --device cpu and a CPU with VNNI instructions")
    return "float32"


def network_config(model: Model, device: str) -> Config:
    """Return what identifies a language model on ``device``: its files, its base's, and its precision."""
    base = base_of(model)
    return {**fingerprint(model), "precision": precision(model, device), "base": fingerprint(base) if base else None}


def cannot_round(model: Model) -> ModelError:
    """Return the error for a network that cannot be computed in integers."""
    return ModelError(
        f"{model.source}@{INT8}: its network is no BERT, RoBERTa, MPNet, DistilBERT or DeBERTa read from its start; "
        f"leave @{INT8} out"
    )


def base_of(model: Model) -> Model | None:
    """Return the model that ``model`` adapts, None if it is no adapter; the entry's ``base`` overrides the adapter's.

    Raises :class:`ModelError` for an unknown base, or one that is given for a model that is no adapter.
    """
    path = local_copy(model) / ADAPTER
    if not path.is_file():
        if model.base:
            raise ModelError(f"{model.source}: no {ADAPTER}, so base {model.base} has no use; leave the base out")
        return None
    try:
        adapter = json.loads(path.read_text(encoding="utf-8"))
        source = model.base or adapter["base_model_name_or_path"]
        revision = model.base_revision or adapter.get("revision")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path}: not an adapter's configuration ({error!r}); give the base in an entry") from error
    if not isinstance(source, str) or not source:
        raise ModelError(f"{path}: base_model_name_or_path is {source!r}; give the base in an entry")
    return model._replace(source=source, revision=revision, base=None, base_revision=None)


def load_tokenizer(model: Model) -> Any:
    """Return the tokenizer of ``model``; an adapter without one uses its base's."""
    from transformers import AutoTokenizer

    with loading(model.source):
        return AutoTokenizer.from_pretrained(tokenizer_folder(model), trust_remote_code=runs_remote_code(model))


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


def load_network(model: Model, device: str, kind: Any) -> Any:
    """Return the network of ``model`` loaded by ``kind``, a transformers auto class, on ``device``, for inference.

    Raises :class:`ModelError` if it has no weights, lacks some, or cannot be loaded.
    """
    base = base_of(model)
    with loading(model.source):
        network = merged(model, lambda: _whole(base, device, kind)) if base else _whole(model, device, kind)
    return network.to(place(device)).eval()


def _whole(model: Model, device: str, kind: Any) -> Any:
    network, report = kind.from_pretrained(
        local_copy(model),
        dtype=precision(model, device),
        use_safetensors=True,
        trust_remote_code=runs_remote_code(model),
        output_loading_info=True,
    )
    missing = sorted(report["missing_keys"])
    if missing:  # transformers fills these with random numbers
        raise ModelError(
            f"{model.source}: {len(missing)} weights are missing, such as {missing[0]}; "
            f"expected all that {kind.__name__} has"
        )
    return network


def merged(model: Model, load: Callable[[], Any]) -> Any:
    """Return the network of ``load`` with the adapter ``model`` added to its weights.

    Raises :class:`ModelError` for an adapter of another class of network, whose names peft would skip.
    """
    folder = adapter_folder(model)
    try:
        from peft import PeftModel
    except ImportError as error:
        raise ModelError(
            f"{model.source}: is an adapter, which needs peft; install it with pip install peft"
        ) from error
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


def entry_ids(model: Model, tokenizer: Any) -> tuple[int, ...]:
    """Return the ids of the entry's ``tokens``; :class:`ModelError` for one that is not exactly in the vocabulary."""
    if model.tokens is None:
        raise ModelError(f'{model.source}: no tokens for no and yes; give them in its entry, as ["false", "true"]')
    vocabulary = tokenizer.get_vocab()
    for token in model.tokens:
        if token not in vocabulary:
            near = sorted(known for known in vocabulary if _bare(known) == _bare(token))
            raise ModelError(
                f"{model.source}: token {token!r} is not one entry of its vocabulary; it has {near or 'none like it'}"
            )
    ids = tuple(vocabulary[token] for token in model.tokens)
    if len(set(ids)) < len(ids):
        raise ModelError(f"{model.source}: tokens {model.tokens} are the same token; expected no and yes")
    return ids


def _bare(token: str) -> str:
    """Return a vocabulary entry without the mark of a leading space: SentencePiece's ``▁``, byte-level BPE's ``Ġ``."""
    return token.lstrip("▁Ġ ").lower()

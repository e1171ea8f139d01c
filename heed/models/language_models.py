"""Language models with their tokenizers: safetensors only, adapters merged into their base."""

import json
import warnings
from pathlib import Path
from typing import Any

from heed.errors import HeedError
from heed.models.model_files import local_copy, runs_remote_code, unusable
from heed.models.registry import Model

ADAPTER = "adapter_config.json"
INT8 = "int8"  # a preset of every model: NAME@int8
ROUNDED = ("", "cross-encoder")  # the families that can
MOST = 2048  # tokens of a prompt: FollowIR's and MTEB's limit for these rerankers


def place(device: str) -> str:
    """``cpu`` or ``cuda`` for what the user said; ``auto`` takes a GPU where there is one."""
    import torch

    return device if device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"


def check_gpu(device: str) -> None:
    """Raise :class:`HeedError` if ``device`` is cuda and this machine has none; said before any work is done."""
    if device != "cuda":
        return
    import torch

    if not torch.cuda.is_available():
        raise HeedError(
            f"--device cuda: torch {torch.__version__} finds no GPU here; use --device cpu, or install its driver "
            "and a torch that is built for it"
        )


def precision(model: Model, device: str) -> str:
    """float32 on a CPU, where half precision saves no time; else the entry's, or the weights' own (``auto``).

    ``int8`` stands for float32 weights that :mod:`heed.models.int8` rounds when they are loaded; raises
    :class:`HeedError` where it cannot: on a GPU, on a processor without the instructions, in other families.
    """
    import torch

    if model.dtype != INT8:
        return "float32" if place(device) == "cpu" else model.dtype or "auto"
    if model.family not in ROUNDED:
        raise HeedError(f"{model.source}@{INT8}: of family {model.family}, neither bi-encoder nor cross-encoder")
    if place(device) != "cpu" or not torch.cpu._is_vnni_supported():
        raise HeedError(f"{model.source}@{INT8}: needs --device cpu and a CPU with VNNI instructions")
    return "float32"


def not_rounded(model: Model) -> HeedError:
    """What to raise for a network that :mod:`heed.models.int8` does not know."""
    return HeedError(f"{model.source}@{INT8}: its network is no BERT or RoBERTa read from its start; leave @{INT8} out")


def base_of(model: Model) -> Model | None:
    """The model that ``model`` adapts, None if it is whole; the entry's ``base`` goes before the adapter's own.

    Raises :class:`HeedError` for a base that is not known, or one that is given to a whole model.
    """
    path = local_copy(model) / ADAPTER
    if not path.is_file():
        if model.base:
            raise HeedError(f"{model.source}: no {ADAPTER}, so base {model.base} has no use; leave the base out")
        return None
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        source, revision = model.base or told["base_model_name_or_path"], model.base_revision or told.get("revision")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HeedError(f"{path}: not an adapter's configuration ({error!r}); give the base in an entry") from error
    if not isinstance(source, str) or not source:
        raise HeedError(f"{path}: base_model_name_or_path is {source!r}; give the base in an entry")
    return model._replace(source=source, revision=revision, base=None, base_revision=None)


def load_tokenizer(model: Model) -> Any:
    """The tokenizer of ``model``; an adapter without one has its base's."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(tokenizer_folder(model), trust_remote_code=runs_remote_code(model))
    except (OSError, ValueError, RuntimeError, ImportError) as error:
        raise unusable(model.source, error) from error


def tokenizer_folder(model: Model) -> Path:
    """Where the tokenizer of ``model`` is; :class:`HeedError` as :func:`base_of` raises it."""
    base = base_of(model)
    folder = local_copy(model)
    return tokenizer_folder(base) if base and not (folder / "tokenizer_config.json").is_file() else folder


def load_config(model: Model) -> Any:
    """The configuration of the network of ``model``, which is its base's; :class:`HeedError` if it has none."""
    from transformers import AutoConfig

    try:
        return AutoConfig.from_pretrained(
            local_copy(base_of(model) or model), trust_remote_code=runs_remote_code(model)
        )
    except (OSError, ValueError, RuntimeError, ImportError) as error:
        raise unusable(model.source, error) from error


def adapter_folder(model: Model) -> Path:
    """Where the adapter ``model`` is; :class:`HeedError` if its weights are no safetensors."""
    folder = local_copy(model)
    if not (folder / "adapter_model.safetensors").is_file():
        raise HeedError(f"{folder}: no adapter_model.safetensors; save the adapter with safe_serialization")
    return folder


def load_network(model: Model, device: str, kind: Any) -> Any:
    """The network of ``model`` by ``kind``, a transformers auto class, on ``device``, ready to infer.

    Raises :class:`HeedError` if it has no safetensors weights, lacks some, or cannot be loaded.
    """
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # --quiet would not silence it
    base = base_of(model)
    try:
        network = _adapted(model, base, device, kind) if base else _whole(model, device, kind)
    except (OSError, ValueError, RuntimeError) as error:
        raise unusable(model.source, error) from error
    return network.to(place(device)).eval()


def _whole(model: Model, device: str, kind: Any) -> Any:
    network, told = kind.from_pretrained(
        local_copy(model),
        dtype=precision(model, device),
        use_safetensors=True,
        trust_remote_code=runs_remote_code(model),
        output_loading_info=True,
    )
    missing = sorted(told["missing_keys"])
    if missing:  # transformers makes random weights of these
        raise HeedError(
            f"{model.source}: {len(missing)} weights are missing, such as {missing[0]}; "
            f"expected all that {kind.__name__} has"
        )
    return network


def _adapted(model: Model, base: Model, device: str, kind: Any) -> Any:
    folder = adapter_folder(model)
    try:
        from peft import PeftModel
    except ImportError as error:
        raise HeedError(f"{model.source}: is an adapter, which needs peft; install it with pip install peft") from error
    with warnings.catch_warnings():
        # of peft 0.21 with transformers 5.23; nothing that a user of this model could do about
        warnings.filterwarnings("ignore", "`is_gradient_checkpointing`", FutureWarning)
        adapted = PeftModel.from_pretrained(_whole(base, device, kind), str(folder), torch_device="cpu")
    return adapted.merge_and_unload()


def limit_of(model: Model, tokenizer: Any, config: Any) -> int:
    """How many tokens a prompt may have: the entry's, else what tokenizer and positions allow, at most 2048."""
    positions = getattr(config, "max_position_embeddings", None) or MOST
    return model.max_length or min(MOST, tokenizer.model_max_length, positions)


def entry_ids(model: Model, tokenizer: Any) -> tuple[int, int]:
    """The ids of the entry's ``tokens``; :class:`HeedError` for one that is not in the vocabulary as it is written."""
    if model.tokens is None:
        raise HeedError(f'{model.source}: no tokens for no and yes; give them in its entry, as ["false", "true"]')
    vocabulary = tokenizer.get_vocab()
    for token in model.tokens:
        if token not in vocabulary:
            near = sorted(one for one in vocabulary if _bare(one) == _bare(token))
            raise HeedError(
                f"{model.source}: token {token!r} is not one entry of its vocabulary; it has {near or 'none like it'}"
            )
    negative, positive = (vocabulary[token] for token in model.tokens)
    if negative == positive:
        raise HeedError(f"{model.source}: tokens {model.tokens} are one and the same; expected no and yes")
    return negative, positive


def _bare(token: str) -> str:
    """A vocabulary entry without the mark of a leading space: SentencePiece's ``▁``, byte-level BPE's ``Ġ``."""
    return token.lstrip("▁Ġ ").lower()

"""What the files of a model say, read without sentence-transformers, whose import takes seconds.

Only a folder whose every file says what is known here is read so; any other is left to sentence-transformers.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from heed.models.language_models import ADAPTER, place
from heed.models.model_files import local_copy, read_object
from heed.models.registry import Model

SETTINGS_FILE = "sentence_bert_config.json"
SETTINGS: dict[str, tuple[Any, ...] | None] = {  # its names, with the values that change nothing; None for any
    "max_seq_length": None,
    "query_length": None,
    "document_length": None,
    "transformer_task": None,
    "module_output_name": None,
    "unpad_inputs": None,
    "do_lower_case": (False, None),
    "processing_kwargs": ({}, None),
    "query_expansion": (None,),
}
OWN: dict[str, tuple[Any, ...] | None] = {  # the same of config_sentence_transformers.json
    "__version__": None,
    "prompts": None,
    "default_prompt_name": (None,),
    "similarity_fn_name": None,
    "model_type": None,
    "truncate_dim": None,
    "activation_fn": None,
}
POOLING = {  # names until sentence-transformers 5
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_lasttoken": "lasttoken",
}
SIZES = ("embedding_dimension", "word_embedding_dimension")
DENSE: dict[str, tuple[Any, ...] | None] = {  # settings of a linear layer behind the pooling
    "in_features": None,
    "out_features": None,
    "bias": None,
    "activation_function": ("torch.nn.modules.linear.Identity", "torch.nn.modules.activation.Tanh"),
    "module_input_name": ("sentence_embedding",),
    "module_output_name": ("sentence_embedding", None),
}
ORDER = ("Transformer", "Pooling", "Dense", "Normalize")


class PlainFiles(NamedTuple):
    """What a folder says: ``config.json``, ``modules`` by name with their settings, and sentence-transformers' own.

    The settings of ``Dense`` have its ``folder`` too.
    """

    folder: Path
    config: dict[str, Any]
    modules: dict[str, dict[str, Any]] | None
    settings: dict[str, Any]


def plain_files(model: Model, device: str, kind: str) -> PlainFiles | None:
    """Return what the folder of ``model`` says, where it is plain and runs on a CPU; else None.

    ``kind`` is sentence-transformers' name of what it is used as. Raises :class:`ModelError` as ``local_copy`` does.
    """
    if model.remote_code or _elsewhere(device):
        return None
    folder = local_copy(model)
    config = read_object(folder / "config.json")
    if (folder / ADAPTER).exists() or "quantization_config" in config:
        return None
    if model.pooling is not None or not (folder / "modules.json").is_file():
        return PlainFiles(folder, config, None, {})
    if any(path.name != SETTINGS_FILE for path in folder.glob("sentence_*_config.json")):
        return None
    settings, own = read_object(folder / SETTINGS_FILE), read_object(folder / "config_sentence_transformers.json")
    texts_only = settings.pop("modality_config", {"text": {}}).keys() == {"text"}
    if not texts_only or not (_known(settings, SETTINGS) and _known(own, OWN)) or own.get("model_type", kind) != kind:
        return None
    modules = _modules(folder)
    return PlainFiles(folder, config, modules, {**settings, **own}) if modules else None


def pooling_of(files: PlainFiles) -> str | None:
    """Return ``mean``, ``cls`` or ``lasttoken``: as the second module says, without modules the default; else None."""
    if files.modules is None:
        causal = any(str(name).endswith("ForCausalLM") for name in files.config.get("architectures") or [])
        return None if causal else "mean"
    settings = {name: value for name, value in files.modules.get("Pooling", {}).items() if name not in SIZES}
    settings.pop("include_prompt", None)
    if "pooling_mode" in settings:
        mode = settings["pooling_mode"]
        [mode] = mode if isinstance(mode, list) and len(mode) == 1 else [mode]
        return mode if mode in POOLING.values() else None
    chosen = [name for name, value in settings.items() if value]
    return POOLING.get(chosen[0]) if len(chosen) == 1 else None


class Tensors(Mapping[str, Any]):
    """The tensors of a folder's safetensors files by name, in float32, each read when it is asked for."""

    def __init__(self, folder: Path) -> None:
        """Open the files; without them there are no tensors."""
        from safetensors import safe_open

        index = folder / "model.safetensors.index.json"
        names = sorted(set(read_object(index).get("weight_map", {}).values())) or ["model.safetensors"]
        paths = [folder / Path(name).name for name in names]
        whole = all(path.is_file() for path in paths)
        files: list[Any] = [safe_open(path, "pt") for path in paths] if whole else []
        self._files: dict[str, Any] = {name: file for file in files for name in file.keys()}  # noqa: SIM118 (it is no dict)

    def __getitem__(self, name: str) -> Any:
        """Return a tensor of torch."""
        return self._files[name].get_tensor(name).float()

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self._files)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._files)


def _elsewhere(device: str) -> bool:
    """Whether sentence-transformers would take a GPU of any make."""
    import torch

    return place(device) != "cpu" or (device == "auto" and torch.accelerator.is_available())


def _modules(folder: Path) -> dict[str, dict[str, Any]] | None:
    entries = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
    types = [str(entry["type"]) for entry in entries]
    names = [one.rpartition(".")[2] for one in types]
    known = all(one.startswith("sentence_transformers.") for one in types) and entries[0]["path"] == ""
    if not known or names[0] != ORDER[0] or names != [name for name in ORDER if name in names]:
        return None
    folders = {name: folder / Path(entry["path"]).name for name, entry in zip(names, entries, strict=True)}
    settings = {name: read_object(folders[name] / "config.json") for name in names if name in ("Pooling", "Dense")}
    if not _known(settings.get("Dense", {}), DENSE):
        return None
    if "Dense" in settings:
        settings["Dense"]["folder"] = folders["Dense"]
    return {name: settings.get(name, {}) for name in names}


def _known(found: dict[str, Any], known: dict[str, tuple[Any, ...] | None]) -> bool:
    return all(name in known and (known[name] is None or value in (known[name] or ())) for name, value in found.items())

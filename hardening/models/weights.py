"""The files of a model's weights: in which precision and parts, and what is missing, too many or left from before."""

import json
import re
from pathlib import Path
from typing import Any

from hardening.models.networks import SCALE, Draw

SINGLE, INDEX, PICKLED = "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"
HEAD = re.compile(r"(classifier|pre_classifier|score|head|lm_head)\.")
LAYER = re.compile(r"(?<=\.)\d+(?=\.)")
MISSING, UNEXPECTED = "missing weights", "unexpected weights"
FAULTS = ("missing layer", "missing weight", "a layer too many")
FORMS = ("shards", "stale shards", "index without shards", "a shard is missing", "gamma and beta", "pickled")
NAMES = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
OLD = "|".join(map(re.escape, NAMES))
Tensors = dict[str, Any]


def rewrite(draw: Draw, folder: Path, headed: bool) -> str:
    """Write the weights in ``folder`` again, and return what Heed must refuse about them: empty, if nothing."""
    from safetensors.torch import load_file

    tensors = load_file(folder / SINGLE)
    dtype = draw("saved as", "float32", "bfloat16", "float16")
    faults = (*FAULTS, "missing head") if headed and any(map(HEAD.match, tensors)) else FAULTS
    fault = draw("weights", "whole", *faults, odd=0.2)
    tensors = _cast(_faulty(draw, tensors, fault), dtype)
    form = draw("files of weights", "one", *FORMS)
    (folder / SINGLE).unlink()
    WRITERS[form](folder, tensors)
    return "" if fault == "whole" else UNEXPECTED if fault == "a layer too many" else MISSING


def _cast(tensors: Tensors, dtype: str) -> Tensors:
    import torch

    to = getattr(torch, dtype)
    return {name: one.to(to) if one.is_floating_point() else one for name, one in tensors.items()}


def _faulty(draw: Draw, tensors: Tensors, fault: str) -> Tensors:
    """Return ``tensors`` without some, or with those of a further layer."""
    layers = {name: int(match[0]) for name in sorted(tensors) if (match := LAYER.search(name))}
    last = max(layers.values())
    names = [name for name, layer in layers.items() if layer == last]
    if fault == "a layer too many":
        return tensors | {LAYER.sub(str(last + 1), name, count=1): tensors[name].clone() for name in names}
    heads = [name for name in tensors if HEAD.match(name)]
    gone = {
        "whole": [],
        "missing layer": names,
        "missing weight": [draw.random.choice(names)],
        "missing head": heads,
    }[fault]
    return {name: one for name, one in tensors.items() if name not in gone}


def _one(folder: Path, tensors: Tensors) -> None:
    from safetensors.torch import save_file

    save_file(tensors, folder / SINGLE, {"format": "pt"})


def _shards(folder: Path, tensors: Tensors) -> None:
    from safetensors.torch import save_file

    names = sorted(tensors)
    parts = {f"model-0000{at + 1}-of-00003.safetensors": names[at::3] for at in range(3)}
    for part, its in parts.items():
        save_file({name: tensors[name] for name in its}, folder / part, {"format": "pt"})
    index = {"metadata": {}, "weight_map": {name: part for part, its in parts.items() for name in its}}
    (folder / INDEX).write_text(json.dumps(index), encoding="utf-8")


def _stale_shards(folder: Path, tensors: Tensors) -> None:
    import torch

    made = torch.Generator().manual_seed(0)
    old = {
        name: (SCALE * torch.randn(one.shape, generator=made)).to(one.dtype) if one.is_floating_point() else one
        for name, one in tensors.items()
    }
    _shards(folder, old)
    _one(folder, tensors)


def _index_alone(folder: Path, tensors: Tensors) -> None:
    _shards(folder, tensors)
    for path in folder.glob("model-*.safetensors"):
        path.unlink()
    _one(folder, tensors)


def _two_of_three(folder: Path, tensors: Tensors) -> None:
    _shards(folder, tensors)
    (folder / "model-00002-of-00003.safetensors").unlink()


def _old_names(folder: Path, tensors: Tensors) -> None:
    """Write the weights of norms under the names of TensorFlow's BERT."""
    _one(folder, {re.sub(OLD, lambda match: NAMES[match[0]], name): one for name, one in tensors.items()})


def _pickled(folder: Path, tensors: Tensors) -> None:
    import torch

    torch.save(tensors, folder / PICKLED)


WRITERS = {
    "one": _one,
    "shards": _shards,
    "stale shards": _stale_shards,
    "index without shards": _index_alone,
    "a shard is missing": _two_of_three,
    "gamma and beta": _old_names,
    "pickled": _pickled,
}

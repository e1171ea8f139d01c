"""The weights in a model's files: read by name, and compared with those that a loaded network has."""

import logging
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from heed.errors import ModelError, fail
from heed.progress import logging_only, warn

LENGTH_DEPENDENT = ("dynamic", "longrope")  # rotary embeddings that change all positions with the text's length
MASKS = (".masked_bias", ".attn.bias", ".attention.bias", ".inv_freq")  # earlier versions of transformers saved them
POOLER = "pooler."  # of an encoder: it computes the state of the first token for a classifier, which no pooling reads


def weight_files(folder: Path) -> list[Path]:
    """Return the safetensors files of the network in ``folder``, as transformers chooses them: a single one first."""
    single = folder / "model.safetensors"
    return [single] if single.is_file() else sorted(folder.glob("*.safetensors"))


def weights_in(folder: Path) -> set[str]:
    """Return the names of the tensors in the safetensors files of ``folder``."""
    from safetensors import safe_open

    names: set[str] = set()
    for path in weight_files(folder):
        with safe_open(path, "numpy") as stream:
            names.update(stream.keys())
    return names


def tensors_in(folder: Path, prefix: str) -> dict[str, Any]:
    """Return torch's tensors of the safetensors files in ``folder`` whose names begin with ``prefix``, without it."""
    from safetensors import safe_open

    tensors: dict[str, Any] = {}
    for path in weight_files(folder):
        with safe_open(path, "pt") as stream:
            names = [name for name in stream.keys() if name.startswith(prefix)]  # noqa: SIM118 (it is no dict)
            tensors |= {name.removeprefix(prefix): stream.get_tensor(name) for name in names}
    return tensors


def check_names(folder: Path, kind: str, expected: Collection[str], may_lack: Collection[str] = ()) -> None:
    """Raise :class:`ModelError` where the files in ``folder`` hold other weights than ``expected``, with their names.

    Transformers would use random numbers for those that are missing, and leave others out. ``may_lack`` are copies
    of others that a file need not repeat.
    """
    stored = weights_in(folder)
    _refuse(folder, kind, sorted(set(expected) - stored - set(may_lack)), sorted(stored - set(expected)))


def _refuse(folder: Path, kind: str, missing: list[str], unexpected: list[str]) -> None:
    """Raise :class:`ModelError` where a network of some ``kind`` misses weights in ``folder``, or has others there."""
    problems = (
        ("missing", missing, f"expected all that {kind} has; fetch the files again, or save the whole model"),
        ("unexpected", unexpected, f"which {kind} has not; check the number of layers and the class in config.json"),
    )
    fail(
        (
            f"{folder}: {kind_of_problem} weights: {len(names)}, such as {names[0]}; {advice}"
            for kind_of_problem, names, advice in problems
            if names
        ),
        ModelError,
    )


def check_weights(folder: Path, network: Any, unused: Sequence[str] = ()) -> None:
    """Raise :class:`ModelError` where the files in ``folder`` do not hold exactly the weights of ``network``.

    Transformers gives random numbers to weights that are missing, and ignores those that it does not expect.
    ``unused`` are beginnings of the names of weights that may be missing. Weights of the head that the class in
    ``config.json`` has, such as that of a masked language model, are not expected but allowed.
    """
    missing, unexpected = _differences(folder, type(network), network.config)
    missing = [name for name in missing if not name.startswith(tuple(unused))]
    unexpected = [name for name in unexpected if not name.endswith(MASKS)]
    if unexpected:
        unexpected = [name for name in unexpected if name not in _of_head(folder, network, unexpected)]
    _refuse(folder, type(network).__name__, missing, unexpected)


def _differences(folder: Path, kind: Any, config: Any) -> tuple[list[str], list[str]]:
    """Return the names of weights that ``kind`` lacks in ``folder``, and of those that it does not expect there."""
    # on the device meta no number is read, only the files' headers
    with logging_only("transformers", logging.ERROR):
        _, report = kind.from_pretrained(
            folder, config=config, device_map="meta", use_safetensors=True, output_loading_info=True
        )
    return sorted(report["missing_keys"]), sorted(report["unexpected_keys"])


def _of_head(folder: Path, network: Any, names: list[str]) -> set[str]:
    """Return those of ``names`` that are weights of the class in ``config.json``, but not of ``network``.

    Of a class that transformers has not, what lies beside the network's own modules is taken for its head.
    """
    import transformers

    [name, *_] = network.config.architectures or [""]
    kind = getattr(transformers, name, None)
    if kind:
        return set(names).difference(_differences(folder, kind, network.config)[1])
    modules = {network.base_model_prefix, *(module for module, _ in network.named_children())}
    return {name for name in names if name.partition(".")[0] not in modules}


def warn_of_batches(source: str, network: Any, padding_side: str = "right") -> None:
    """Warn where a text's score depends on the other texts of its batch."""
    rotary = getattr(network.config.get_text_config(), "rope_parameters", None) or {}
    if rotary.get("rope_type") in LENGTH_DEPENDENT:
        reason = f"its positions depend on the longest text of a batch and of earlier ones ({rotary['rope_type']} rope)"
    elif padding_side == "left" and (table := position_table(network)) is not None and table.padding_idx is None:
        reason = "padding at the left moves its positions; batch_size=1 avoids it"
    else:
        return
    warn(f"{source}: scores depend on the other texts of a batch, as {reason}")


def position_table(network: Any) -> Any:
    """Return a network's table of absolute positions; None for one without."""
    return getattr(getattr(network.base_model, "embeddings", None), "position_embeddings", None)


def positions_of(network: Any, tokenizer: Any) -> int | None:
    """Return how many tokens have a row in the table of positions; None for a network without a table.

    RoBERTa and its kin count them from the padding's index plus one.
    """
    table = position_table(network)
    if table is None:
        return None
    counts_from_padding = table.padding_idx is not None and table.padding_idx == tokenizer.pad_token_id
    return int(table.num_embeddings - table.padding_idx - 1 if counts_from_padding else table.num_embeddings)

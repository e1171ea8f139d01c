"""Weights that no class of a library loads: their names and tensors, by the files of a model's folder."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from heed.errors import ModelError, fail


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
    problems = (
        ("are missing, expected all of", sorted(set(expected) - stored - set(may_lack))),
        ("have no place in", sorted(stored - set(expected))),
    )
    fail(
        (
            f"{folder}: weights {_first(names)} {problem} {kind}; fetch its files again"
            for problem, names in problems
            if names
        ),
        ModelError,
    )


def _first(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{', '.join(names[:3])}{more}"

"""Pickled weights and vectors of strangers, read by a process of its own that has no keys and limited time.

A pickle can run code when it is read. Weights are read by ``torch.load(weights_only=True)``, vectors by a reader that
makes NumPy's arrays and plain values; both refuse every other name. :func:`unpickle` starts the process, :func:`main`
is what it runs. :func:`converted` keeps weights as safetensors, so that they are read once.
"""

import hashlib
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Literal
from zipfile import is_zipfile

import numpy as np

from heed.errors import HeedError, ModelError, first_line
from heed.files import finished_folder, read_bytes, write_json
from heed.progress import escaped, log

FASTEST, LEAST = 5_000_000, 300  # bytes a second, which any disk does, and seconds: how long reading may take
LONGEST = 1000  # characters of the process's message
ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")  # all that it gets of this one's variables

Kind = Literal["weights", "vectors"]
REASON = re.compile(r"WeightsUnpickler error:\s*(.+?)(?:\. |\n|$)")

PICKLED, SHARDS, ADAPTER = "pytorch_model.bin", "pytorch_model.bin.index.json", "adapter_model.bin"
SHARD = re.compile(r"pytorch_model-\d+-of-\d+\.bin")
WHOLE = ("model.safetensors", "model.safetensors.index.json")
MODULE = re.compile(r"\.|\d+_\w+")  # the top, and what sentence-transformers calls the folders of its modules
LOCK = ".lock"
PICKLES = {".bin", ".pt", ".pth", ".pkl", ".ckpt"}  # files that a converted folder does not show


def unpickle(kind: Kind, files: Sequence[tuple[Path, ...]], error: type[HeedError]) -> None:
    """Let a process of its own write the content of pickles to other files.

    ``files`` are a pickle and the paths that its content is written to, each: weights as safetensors, vectors as npy
    and their docids as JSON. Raise ``error`` for a pickle that is refused or cannot be read.
    """
    variables = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
    variables |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
    seconds = LEAST + sum(pickled.stat().st_size for pickled, *_ in files) // FASTEST
    try:
        process = subprocess.run(  # noqa: S603 (this module)
            [sys.executable, "-P", "-B", "-m", __name__],
            input=json.dumps([kind, [list(map(str, paths)) for paths in files]]),
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env=variables,
            timeout=seconds,
        )
        problem = json.loads(process.stdout)
    except subprocess.TimeoutExpired:
        raise error(f"{files[0][0]}: not read within {seconds} s; fetch it again, or use another machine") from None
    except ValueError:
        last = (process.stderr.strip().splitlines() or ["without a message"])[-1]
        problem = f"{files[0][0]}: the process that reads it ended with status {process.returncode} ({last}); run again"
    if problem:
        raise error(escaped(str(problem))[:LONGEST])


class PickleError(Exception):
    """A pickle with other content than expected, or whose content cannot be written; the message says which."""


def main() -> None:
    """Read the pickles of a task, JSON on stdin; write the first problem as JSON to stdout, an empty text without."""
    kind, files = json.load(sys.stdin)
    problems = (f"{pickled}: {problem}" for pickled, *outs in files if (problem := convert(kind, pickled, outs)))
    json.dump(next(problems, ""), sys.stdout)


def convert(kind: Kind, pickled: str, outs: Sequence[str]) -> str:
    """Write the content of one pickle to the files ``outs``; return the problem with it, an empty text without one."""
    try:
        (_convert_vectors if kind == "vectors" else _convert_weights)(pickled, *outs)
    except PickleError as error:
        return str(error)
    except Exception as error:  # readers raise nearly anything for a file that is not whole
        return f"not whole pickled {kind} ({_reason(error)}); fetch the file again"
    return ""


def _reason(error: Exception) -> str:
    """Return the first sentence of an error; torch's go on for a page."""
    match = REASON.search(str(error))
    return match[1] if match else first_line(error).partition(". ")[0]


def _convert_weights(pickled: str, out: str) -> None:
    """Write the weights; those that share memory, as tied ones do, are written once for each of their names."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    taken: set[int] = set()
    whole = {}
    for name, weight in _read_weights(pickled).items():
        dense = weight.detach().resolve_conj().resolve_neg().contiguous()
        start = dense.untyped_storage().data_ptr()
        whole[name] = dense.clone() if start in taken else dense
        taken.add(start)
    try:
        save_file(whole, out, metadata={"format": "pt"})
        descriptor = os.open(out, os.O_RDONLY)
        os.fsync(descriptor)  # the folder's new name must not be on disk before its content
        os.close(descriptor)
    except (SafetensorError, OSError) as error:
        reason = f"cannot be written as safetensors ({_reason(error)})"
        raise PickleError(f"{reason}; make room, or set HF_ASSETS_CACHE to another folder") from error


def _read_weights(path: str) -> dict[str, Any]:
    """Return the weights by name in a pickle."""
    import torch

    try:
        # of a ZIP file, torch's format since 1.6, no copy in memory is needed
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=is_zipfile(path))
    except pickle.UnpicklingError as error:
        reason = f"the pickle holds more than weights, which could run code, so it stays refused ({_reason(error)})"
        raise PickleError(f"{reason}; ask its authors for safetensors") from error
    weights = content if isinstance(content, dict) else {}
    other = [name for name, weight in weights.items() if not isinstance(weight, torch.Tensor)]
    if not weights or other:
        first = f"{other[0]!r} is of type {type(weights[other[0]]).__name__}" if other else ""
        reason = first or f"found {type(content).__name__}"
        raise PickleError(f"no weights by name ({reason}); expected what torch.save makes of a model's state_dict()")
    return weights


def _convert_vectors(pickled: str, rows_path: str, docids_path: str) -> None:
    with Path(pickled).open("rb") as stream:
        content = ArrayReader(stream).load()
    match content:
        case [np.ndarray() as rows, [*docids]] if not rows.dtype.hasobject:
            pass
        case _:
            kind = f"a {type(content).__name__}, expected a pair of vectors and a list of docids"
            raise PickleError(f"the pickle holds {kind}, as Tevatron encodes them")
    others = {type(docid).__name__ for docid in docids} - {"str", "int"}
    if others:
        types = f"docids of type {', '.join(sorted(others))}, expected text or numbers"
        raise PickleError(f"the pickle holds {types}; encode whole documents where these are chunks")
    try:
        with Path(rows_path).open("wb") as stream:
            np.save(stream, rows)
        Path(docids_path).write_text(json.dumps([str(docid) for docid in docids]), encoding="utf-8")
    except OSError as error:
        raise PickleError(f"its vectors cannot be written ({_reason(error)}); make room") from error


RECONSTRUCT, FROM_BUFFER = (np.empty(1).__reduce_ex__(protocol)[0] for protocol in (4, 5))

ARRAYS: dict[tuple[str, str], Any] = {  # the names in pickles of numpy's arrays, before and since numpy 2
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    **{(f"numpy.{core}.multiarray", "_reconstruct"): RECONSTRUCT for core in ("core", "_core")},
    **{(f"numpy.{core}.numeric", "_frombuffer"): FROM_BUFFER for core in ("core", "_core")},
}


class ArrayReader(pickle.Unpickler):
    """Reads numpy's arrays and Python's plain values; anything else is refused before it is made."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the class or function of numpy's arrays; raises :class:`PickleError` for any other name."""
        if (module, name) not in ARRAYS:
            reason = f"so it stays refused (it names {module}.{name}); expected what Tevatron encodes"
            raise PickleError(f"the pickle holds more than arrays and plain values, which could run code, {reason}")
        return ARRAYS[module, name]


def converted(folder: Path) -> Path:
    """Return a folder with the files of the model in ``folder`` and safetensors where its weights are pickled.

    That is ``folder`` itself if none are, else one in the hub's folder for assets (``HF_ASSETS_CACHE``), beside the
    hub's cache: the converted weights, divided into files as they were, and links to the other files. It is used again
    while the files of ``folder`` have the same sizes and times. Raises :class:`ModelError` for a pickle that holds
    more than weights or cannot be read, and where there is no room.
    """
    from filelock import FileLock

    pickles = pickles_of(folder)
    if not pickles:
        return folder
    target = _target(folder)
    if target.is_dir():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(target.with_name(LOCK)):  # another process may be at it: this one waits
            if not target.is_dir():
                _convert(folder, target, pickles)
    except OSError as error:
        raise ModelError(
            f"{target}: the converted weights of {folder} cannot be written ({error.strerror or error}); make room, or "
            "set HF_ASSETS_CACHE to another folder"
        ) from error
    return target


def pickles_of(folder: Path) -> list[str]:
    """Return the pickled weights in ``folder`` that lack a copy as safetensors.

    Raises :class:`ModelError` for shards or an index that are missing, and for an index that is none.
    """
    pickles = lacks_safetensors([path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*"))])
    for index in _indexes(folder, pickles):
        _check_shards(index)
    return pickles


def has_weights(folder: Path) -> bool:
    """Whether there are weights in ``folder``, and where they are pickled and divided into files, all of these."""
    try:
        return any(folder.rglob("*.safetensors")) or bool(pickles_of(folder))
    except ModelError:
        return False


def lacks_safetensors(names: list[str]) -> list[str]:
    """Return those of a repository's files that are pickled weights without a copy as safetensors in their folder."""
    folders = {PurePosixPath(name).parent for name in names if name.endswith((*WHOLE, "adapter_model.safetensors"))}
    paths = [PurePosixPath(name) for name in names]
    weights = [path for path in paths if path.name in (PICKLED, ADAPTER) or SHARD.fullmatch(path.name)]
    return [str(path) for path in weights if path.parent not in folders and MODULE.fullmatch(str(path.parent))]


def _indexes(folder: Path, pickles: list[str]) -> set[Path]:
    """Return the index beside each of the ``pickles`` that are shards."""
    return {(folder / name).with_name(SHARDS) for name in pickles if SHARD.fullmatch(PurePosixPath(name).name)}


def _check_shards(index: Path) -> None:
    if not index.is_file():
        raise ModelError(f"{index}: is missing, but pickled weights beside it are divided into files; fetch it")
    try:
        names = sorted(set(json.loads(read_bytes(index))["weight_map"].values()))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{index}: not an index of weights ({error!r}); fetch the file again") from error
    for name in names:
        if not SHARD.fullmatch(str(name)) or not (index.parent / name).is_file():
            raise ModelError(f"{index}: names {name!r}, expected a file pytorch_model-…-of-….bin beside it; fetch it")


def _renamed(name: str) -> str:
    """Return the name of a pickle as a safetensors file."""
    path = PurePosixPath(name)
    return str(path.with_name(path.stem.replace("pytorch_model", "model", 1) + ".safetensors"))


def _target(folder: Path) -> Path:
    """Return the folder of the converted files, named by the paths, sizes and times of the files in ``folder``.

    It lies in one of the model and commit for a snapshot of the hub's cache, in one of the path for other folders.
    """
    from huggingface_hub.constants import HF_ASSETS_CACHE

    root = Path(HF_ASSETS_CACHE) / "heed" / "safetensors"
    if folder.parent.name == "snapshots":
        home = root / folder.parent.parent.name / folder.name
    else:
        home = root / "local" / f"{folder.resolve().name}-{_digest(str(folder.resolve()))}"
    stats = {str(path.relative_to(folder)): path.stat() for path in folder.rglob("*") if path.is_file()}
    return home / _digest(sorted((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()))


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode("ascii", "backslashreplace")).hexdigest()[:16]


def _convert(folder: Path, target: Path, pickles: list[str]) -> None:
    """Fill ``target`` with the weights as safetensors, their index and links to the other files, all or nothing."""
    size = sum((folder / name).stat().st_size for name in pickles) / 1e9
    log.info(f"{folder}: converting its pickled weights to safetensors, once ({size:.1f} GB, {target})")
    for earlier in (path for path in target.parent.iterdir() if path.name != LOCK):
        shutil.rmtree(earlier) if earlier.is_dir() else earlier.unlink()
    with finished_folder(target) as part:
        outs = [part / _renamed(name) for name in pickles]
        for out in outs:
            out.parent.mkdir(parents=True, exist_ok=True)
        unpickle("weights", [(folder / name, out) for name, out in zip(pickles, outs, strict=True)], ModelError)
        for index in _indexes(folder, pickles):
            content = json.loads(read_bytes(index))
            content["weight_map"] = {weight: _renamed(name) for weight, name in content["weight_map"].items()}
            write_json(part / index.parent.relative_to(folder) / WHOLE[1], content)
        for path in folder.rglob("*"):
            if path.is_file() and path.suffix not in PICKLES and path.name != SHARDS:
                link = part / path.relative_to(folder)
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(path.absolute())


if __name__ == "__main__":
    main()

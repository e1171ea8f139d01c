"""Pickled weights as safetensors: converted once by :mod:`heed.models.files.unpickling`, and used again."""

import hashlib
import json
import re
import shutil
from pathlib import Path, PurePosixPath

from heed.errors import ModelError
from heed.files import finished_folder, read_bytes, write_json
from heed.models.files.unpickling import unpickle
from heed.progress import log

PICKLED, SHARDS, ADAPTER = "pytorch_model.bin", "pytorch_model.bin.index.json", "adapter_model.bin"
SHARD = re.compile(r"pytorch_model-\d+-of-\d+\.bin")
WHOLE = ("model.safetensors", "model.safetensors.index.json")
MODULE = re.compile(r"\.|\d+_\w+")  # the top, and what sentence-transformers calls the folders of its modules
LOCK = ".lock"
PICKLES = {".bin", ".pt", ".pth", ".pkl", ".ckpt"}  # files that a converted folder does not show


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
    """Fill ``target`` with the weights as safetensors, their index and links to the other files, all or nothing.

    What earlier states of ``folder`` became is removed.
    """
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

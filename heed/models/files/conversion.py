"""Pickled weights as safetensors: converted once by :mod:`heed.models.files.unpickling`, and used again."""

import hashlib
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from heed.errors import HeedError, ModelError
from heed.files import digest, finished_folder, parse_json, read_bytes, write_json
from heed.models.files.unpickling import unpickle
from heed.progress import log

NOTE = "converted.json"
PICKLED, SHARDS, ADAPTER = "pytorch_model.bin", "pytorch_model.bin.index.json", "adapter_model.bin"
SHARD = re.compile(r"pytorch_model-\d+-of-\d+\.bin")
WHOLE = ("model.safetensors", "model.safetensors.index.json")
MODULE = re.compile(r"\.|\d+_\w+")  # the top, and what sentence-transformers calls the folders of its modules
PICKLES = {".bin", ".pt", ".pth", ".pkl", ".ckpt"}  # files that a converted folder does not show


def converted(folder: Path) -> Path:
    """Return a folder with the files of the model in ``folder`` and safetensors where its weights are pickled.

    That is ``folder`` itself if none are, else one in the hub's folder for assets (``HF_ASSETS_CACHE``), beside the
    hub's cache: links to the other files, the weights converted as they were divided into files, and a note with the
    SHA-256 of each pickle and each converted file. It is used again while the pickles are the same. Raises
    :class:`ModelError` for a pickle that holds more than weights or cannot be read, and where there is no place.
    """
    from filelock import FileLock

    pickles = pickles_of(folder)
    if not pickles:
        return folder
    target = _place(folder)
    if _is_whole(folder, target, pickles) and _is_linked(folder, target):
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(target.with_name(f"{target.name}.lock")):  # another process may be at it: this one waits
            if not _is_whole(folder, target, pickles):
                _convert(folder, target, pickles)
            _link(folder, target)
    except OSError as error:
        raise ModelError(
            f"{target}: the converted weights of {folder} cannot be written ({error.strerror or error}); make room, or "
            "set HF_ASSETS_CACHE to another folder"
        ) from error
    return target


def pickles_of(folder: Path) -> dict[str, str]:
    """Return the pickled weights in ``folder`` that lack a copy as safetensors, with the names that those get.

    Looked for are transformers' and peft's files at the top and in the folders of sentence-transformers' modules.
    Raises :class:`ModelError` for a module outside of the folder, and for a shard that is missing.
    """
    pickles = {}
    for place in _places(folder):
        here = folder / place
        if (here / ADAPTER).is_file() and not (here / "adapter_model.safetensors").is_file():
            pickles[str(place / ADAPTER)] = str(place / "adapter_model.safetensors")
        if any((here / name).is_file() for name in WHOLE):
            continue
        if (here / PICKLED).is_file():
            pickles[str(place / PICKLED)] = str(place / "model.safetensors")
        elif (here / SHARDS).is_file():
            pickles |= {str(place / name): str(place / _renamed(name)) for name in _shards(here / SHARDS)}
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


def _places(folder: Path) -> list[PurePosixPath]:
    """Return where weights may be, below ``folder``: at the top and in the modules of sentence-transformers."""
    modules = folder / "modules.json"
    try:
        told = parse_json(modules.read_text(encoding="utf-8")) if modules.is_file() else []
        places = [PurePosixPath(str(module.get("path", ""))) for module in told]
    except (ValueError, TypeError, AttributeError):  # who loads the model says what is wrong with this file
        places = []
    for place in places:
        if place.is_absolute() or ".." in place.parts:
            raise ModelError(f"{modules}: path {str(place)!r} leads out of the model's folder; expected one below it")
    return list(dict.fromkeys([PurePosixPath(), *places]))


def _shards(index: Path) -> list[str]:
    """Return the files that an index names."""
    try:
        names = sorted(set(json.loads(read_bytes(index))["weight_map"].values()))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{index}: not an index of weights ({error!r}); fetch the file again") from error
    for name in names:
        if not SHARD.fullmatch(str(name)) or not (index.parent / name).is_file():
            raise ModelError(f"{index}: names {name!r}, expected a file pytorch_model-…-of-….bin beside it; fetch it")
    return names


def _renamed(name: str) -> str:
    return name.replace("pytorch_model", "model", 1).removesuffix(".bin") + ".safetensors"


def _place(folder: Path) -> Path:
    """Return the folder of the converted files; snapshots are named by model and commit, other folders by their path.

    A folder that was moved is converted again.
    """
    from huggingface_hub.constants import HF_ASSETS_CACHE

    root = Path(HF_ASSETS_CACHE) / "heed" / "safetensors"
    if folder.parent.name == "snapshots":
        return root / folder.parent.parent.name / folder.name
    path = folder.resolve()
    return root / "local" / f"{path.name}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}"


def _is_whole(folder: Path, target: Path, pickles: dict[str, str]) -> bool:
    """Whether ``target`` holds what ``pickles`` became: sizes and times of all are as noted, or else the digests."""
    try:
        note = json.loads(read_bytes(target / NOTE))
        return (note["pickles"].keys(), note["weights"].keys()) == (pickles.keys(), set(pickles.values())) and all(
            _stamp(base / name).items() <= was.items() or digest(base / name) == was["sha256"]
            for base, files in ((folder, note["pickles"]), (target, note["weights"]))
            for name, was in files.items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, HeedError):
        return False


def _stamp(path: Path) -> dict[str, int]:
    """Return size in bytes and time of the last change in nanoseconds."""
    stat = path.stat()
    return {"size": stat.st_size, "changed": stat.st_mtime_ns}


def _others(folder: Path) -> dict[Path, Path]:
    """Return the files of the model that are no pickles, by their paths below ``folder``."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path.suffix not in PICKLES)
    return {path.relative_to(folder): path.absolute() for path in paths if path.name != SHARDS}


def _is_linked(folder: Path, target: Path) -> bool:
    links = {path.relative_to(target): path.readlink() for path in target.rglob("*") if path.is_symlink()}
    return links == _others(folder)


def _link(folder: Path, target: Path) -> None:
    """Let ``target`` show the other files of the model as they are now."""
    for path in [path for path in target.rglob("*") if path.is_symlink()]:
        path.unlink()
    for name, path in _others(folder).items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).symlink_to(path)


def _convert(folder: Path, target: Path, pickles: dict[str, str]) -> None:
    """Fill ``target`` with the weights as safetensors, their index and the note; it appears when it is complete."""
    from importlib.metadata import version  # takes 20 ms

    before = _noted(folder, pickles)
    size = sum(was["size"] for was in before.values()) / 1e9
    log.info(f"{folder}: converting its pickled weights to safetensors, once ({size:.1f} GB, {target})")
    with finished_folder(target) as part:
        for name in pickles.values():
            (part / name).parent.mkdir(parents=True, exist_ok=True)
        holds = unpickle("weights", [(folder / name, part / out) for name, out in pickles.items()], ModelError)
        facts = {"holds": holds, **{name: version(name) for name in ("torch", "safetensors")}}
        for index in {(folder / name).with_name(SHARDS) for name in pickles if SHARD.fullmatch(Path(name).name)}:
            content = json.loads(read_bytes(index))
            content["weight_map"] = {weight: _renamed(name) for weight, name in content["weight_map"].items()}
            write_json(part / index.parent.relative_to(folder) / WHOLE[1], content)
        after = _noted(part, pickles.values())
        write_json(part / NOTE, {"from": str(folder), **facts, "pickles": before, "weights": after})


def _noted(folder: Path, names: Iterable[str]) -> dict[str, Any]:
    return {name: {**_stamp(folder / name), "sha256": digest(folder / name)} for name in names}

"""How to run a model: its templates, pooling and lengths, as data in ``models.json``."""

import difflib
import json
import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pipelines.errors import HeedError
from pipelines.files import digest
from pipelines.made import Recipe
from pipelines.progress import say

DATA = Path(__file__).with_name("models.json")
FETCHED = ["*.json", "*.safetensors", "*.txt", "*.model"]  # never pickled weights or code
POOLINGS = ("mean", "cls", "lasttoken", "max")
_extra: dict[str, "Model"] = {}


class Model(NamedTuple):
    """One model. What is None is left as the model's own files say.

    ``query`` and ``document`` are templates with ``{query}``, ``{instruction}``, ``{title}`` and
    ``{text}``; ``max_length`` is in tokens; ``source`` is a hub id or a local path.
    """

    source: str
    revision: str | None = None
    query: str | None = None
    document: str | None = None
    pooling: str | None = None
    normalize: bool | None = None
    max_length: int | None = None

    @property
    def name(self) -> str:
        """What its runs are called: the last part of the hub id or path."""
        return re.sub(r"[^A-Za-z0-9._+-]", "-", Path(self.source).name) or "model"


def model(source: str) -> Model:
    """The entry for a name of the registry, a hub id or a local path; plain settings if there is none."""
    return _extra.get(source) or _shipped().get(source) or Model(source)


def add_models(path: Path) -> None:
    """Add the entries of a JSON file in the form of ``models.json``; ``source`` may name a local path.

    Raises :class:`HeedError` naming an entry with an unknown field or pooling.
    """
    try:
        _extra.update(_parse(path, json.loads(path.read_text(encoding="utf-8"))))
    except (OSError, ValueError) as error:
        raise HeedError(f"{path}: not a models file ({error}); its form is that of {DATA}") from error


@cache
def _shipped() -> dict[str, Model]:
    return _parse(DATA, json.loads(DATA.read_text(encoding="utf-8")))


def _parse(path: Path, entries: dict[str, dict[str, Any]]) -> dict[str, Model]:
    models = {}
    for name, entry in entries.items():
        unknown = set(entry) - set(Model._fields)
        if unknown:
            raise HeedError(f"{path}: {name}: unknown fields {sorted(unknown)}; expected some of {Model._fields}")
        if entry.get("pooling", "mean") not in POOLINGS:
            raise HeedError(f"{path}: {name}: pooling {entry['pooling']!r}, expected one of {POOLINGS}")
        models[name] = Model(**{"source": name, **entry})
    return models


def local_copy(model: Model) -> Path:
    """The folder of the model's files: the local path, or the hub's files fetched at most once.

    Only configuration, tokenizer and safetensors files are fetched. Raises :class:`HeedError` that
    says what to do when there is no such folder, or the hub is out of reach.
    """
    if Path(model.source).is_dir():
        return Path(model.source)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(snapshot_download(model.source, revision=model.revision, local_files_only=True))
    except LocalEntryNotFoundError:
        say(f"{model.source}: fetching it from the hub")
    try:
        with quiet_hub():
            return Path(snapshot_download(model.source, revision=model.revision, allow_patterns=FETCHED))
    except Exception as error:  # the hub client raises its HTTP library's errors, which changed between releases
        raise unusable(model.source, error) from error


@contextmanager
def quiet_hub() -> Iterator[None]:
    """Keep the hub client's own retry messages away: its last error says it all."""
    logger = logging.getLogger("huggingface_hub")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def named(source: str, built_in: Sequence[str]) -> Model:
    """The model called ``source`` where none of the ``built_in`` systems is.

    Raises :class:`HeedError` with the nearest names if it is no folder, entry or hub id either.
    """
    found = model(source)
    if Path(found.source).is_dir() or re.fullmatch(r"\w[\w.-]*/[\w.-]+", found.source):
        return found
    names = [*built_in, *_shipped(), *_extra]
    near = difflib.get_close_matches(source, names, n=3) or built_in
    raise HeedError(
        f"{source}: no system, no folder and no hub id of the form owner/name; did you mean {' or '.join(near)}?"
    )


def fingerprint(model: Model) -> Recipe:
    """What identifies a model in a recipe: its entry, and the commit or the digests of its files."""
    folder = local_copy(model)
    if folder != Path(model.source):
        return {**model._asdict(), "commit": folder.name}
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {**model._asdict(), "files": {str(path.relative_to(folder)): digest(path) for path in found}}


def unusable(source: str, error: Exception) -> HeedError:
    """The error for a model that cannot be loaded: why, and what to do without a network."""
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return HeedError(
        f"{source}: cannot be loaded as a model ({reason}); give the path of a local copy with safetensors weights, "
        f"made with 'hf download {source} --local-dir DIR' on a machine that reaches the hub"
    )

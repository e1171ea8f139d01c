"""How to run a model: templates, pooling, lengths, tokens, licence and the papers' variants, as data."""

import difflib
import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from pipelines.errors import HeedError
from pipelines.files import digest
from pipelines.made import Recipe
from pipelines.model_code import refuse_code_elsewhere
from pipelines.progress import say

DATA = Path(__file__).with_name("registry.json")
FETCHED = ["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja"]  # never pickled weights
CODE = "*.py"  # fetched only where the user lets it run
POOLINGS = ("mean", "cls", "lasttoken", "max")
STATUSES = ("runs", "api", "named")  # named: known from a paper, without weights that anybody can get
AUTHOR = "author"  # the preset that needs no name: as the model's authors run it
# what decides no score: facts for people
TOLD = ("status", "pickled", "licence", "gated", "price", "needs", "note", "names", "presets")
_extra: dict[str, "Model"] = {}
_unknown: dict[str, Any] = {}
_remote_code = False


class Model(NamedTuple):
    """One model. What is None is left as the model's own files, or its family, say.

    ``family`` is a key of ``retrievers.ENCODERS`` or ``rerankers.FAMILIES``; empty for a plain
    sentence-transformers bi-encoder or CrossEncoder. ``query`` and ``document`` are templates with
    ``{query}``, ``{instruction}``, ``{title}`` and ``{text}``; ``prompt`` is the one of models that
    read both at once, with ``{query}`` and ``{document}`` for the filled templates. Where a condition
    has no instruction, ``bare`` is the query's template, else ``task`` stands in for the instruction.
    ``pool_prefix``: what stands before the text in its template is pooled with it; ``bidirectional``:
    a decoder's tokens see those after them. Lengths are in tokens. ``tokens`` are the vocabulary
    entries for no and yes, ``label`` the column of a classification head. ``source`` is a hub id or a
    local path, ``base`` the model of an adapter; ``pickled``: that revision has no safetensors weights.
    ``price`` is in US dollars for a million tokens, asked and answered; ``needs`` are pip packages.
    ``presets`` are changes of these fields by name, ``variant`` the one that was made; ``names`` is
    what papers call it.
    """

    source: str
    family: str = ""
    status: str = "runs"
    revision: str | None = None
    base: str | None = None
    base_revision: str | None = None
    query: str | None = None
    document: str | None = None
    prompt: str | None = None
    bare: str | None = None
    task: str | None = None
    pooling: str | None = None
    pool_prefix: bool = True
    bidirectional: bool = False
    normalize: bool | None = None
    similarity: str | None = None
    max_length: int | None = None
    query_length: int | None = None
    document_length: int | None = None
    padding: str | None = None
    append_eos: bool = False
    tokens: tuple[str, str] | None = None
    label: int | None = None
    dtype: str | None = None
    remote_code: bool = False
    pickled: bool = False
    licence: str | None = None
    gated: bool = False
    price: tuple[float, float] | None = None
    needs: tuple[str, ...] = ()
    note: str = ""
    names: Mapping[str, str] = MappingProxyType({})
    presets: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    variant: str = ""

    @property
    def name(self) -> str:
        """What its runs are called: the last part of the hub id or path, with the preset if there is one."""
        name = re.sub(r"[^A-Za-z0-9._+-]", "-", Path(self.source).name) or "model"
        return f"{name}@{self.variant}" if self.variant else name

    def preset(self, name: str) -> "Model":
        """The model as ``name`` runs it; :class:`HeedError` for a preset that it does not have."""
        if name == AUTHOR:
            return self
        if name not in self.presets:
            known = ", ".join((AUTHOR, *self.presets))
            raise HeedError(f"{self.source}: no preset {name!r}; expected one of {known}")
        return _made(f"{self.source}, preset {name}", {**self._asdict(), **self.presets[name], "variant": name})


def model(source: str) -> Model:
    """The entry for a name of the registry, a hub id or a local path, as ``source@preset`` with one of its presets.

    What has no entry gets the settings of :func:`set_unknown`, else none.
    """
    name, _, preset = source.partition("@")
    entry = _extra.get(name) or _shipped().get(name) or _trained(name) or _made(name, {"source": name, **_unknown})
    return entry.preset(preset or AUTHOR)


def _trained(folder: str) -> Model | None:
    """The entry that ``python -m pipelines.train`` left in its folder."""
    path = Path(folder) / "training.json"
    if not path.is_file():
        return None
    try:
        return _made(str(path), {"source": folder, **json.loads(path.read_text(encoding="utf-8"))["model"]})
    except (ValueError, KeyError, TypeError) as error:
        raise HeedError(f"{path}: not a note of python -m pipelines.train ({error!r}); train again") from error


def entries() -> dict[str, Model]:
    """All entries, those of the user's own file included, by name."""
    return {**_shipped(), **_extra}


def set_unknown(fields: Mapping[str, Any]) -> None:
    """Set fields, such as family and templates, of models that have no entry."""
    _unknown.clear()
    _unknown.update({field: value for field, value in fields.items() if value is not None})


def allow_remote_code() -> None:
    """Let models that bring code run it, where their entry pins a revision."""
    global _remote_code
    _remote_code = True


def runs_remote_code(model: Model) -> bool:
    """Whether to run code of the model's repository; :class:`HeedError` where that is not allowed or not pinned."""
    if not model.remote_code:
        return False
    if not _remote_code:
        raise HeedError(
            f"{model.source}: runs code of its own repository; read it at revision {model.revision}, then allow it "
            "with --trust-remote-code"
        )
    if not model.revision and not Path(model.source).is_dir():
        raise HeedError(f"{model.source}: no revision is pinned, so its code could change; pin one with --models")
    return True


def add_models(path: Path) -> None:
    """Add the entries of a JSON file in the form of ``registry.json``; ``source`` may name a local path.

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
    return {name: _made(f"{path}: {name}", {"source": name, **entry}) for name, entry in entries.items()}


def _made(place: str, entry: dict[str, Any]) -> Model:
    unknown = set(entry) - set(Model._fields)
    if unknown:
        raise HeedError(f"{place}: unknown fields {sorted(unknown)}; expected some of {Model._fields}")
    for field, allowed in (("pooling", POOLINGS), ("status", STATUSES), ("padding", ("left", "right"))):
        if entry.get(field) is not None and entry[field] not in allowed:
            raise HeedError(f"{place}: {field} {entry[field]!r}, expected one of {allowed}")
    lists = {field: tuple(entry[field]) for field in ("tokens", "price", "needs") if entry.get(field) is not None}
    return Model(**{**entry, **lists})


def local_copy(model: Model) -> Path:
    """The folder of the model's files: the local path, or the hub's files fetched at most once.

    Only configuration, tokenizer and safetensors files are fetched, and code where it may run. Raises
    :class:`HeedError` that says what to do when there is no such folder, the hub is out of reach or
    access must be granted first.
    """
    code = runs_remote_code(model)
    folder = (
        Path(model.source) if Path(model.source).is_dir() else _from_hub(model, [*FETCHED, CODE] if code else FETCHED)
    )
    if code:
        refuse_code_elsewhere(folder)
    return folder


def _from_hub(model: Model, patterns: list[str]) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(model.source, revision=model.revision, local_files_only=True))
        if CODE not in patterns or any(folder.rglob(CODE)):  # it may have been fetched before without its code
            return folder
    except LocalEntryNotFoundError:
        if model.pickled:
            raise HeedError(
                f"{model.source}: its weights on the hub are pickled, and a pickle can run code; load them once with "
                "transformers where that does no harm, save_pretrained(DIR), and give DIR"
            ) from None
        say(f"{model.source}: fetching it from the hub")
    try:
        with quiet_hub():
            return Path(snapshot_download(model.source, revision=model.revision, allow_patterns=patterns))
    except Exception as error:  # the hub client raises its HTTP library's errors, which changed between releases
        if model.gated and not model.base:  # an adapter's gate is its base's
            raise _gate(model.source, error) from error
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
    if found.status == "named":
        raise HeedError(f"{source}: cannot be run ({found.note}); bring its run file with --run NAME=FILE")
    if Path(found.source).is_dir() or re.fullmatch(r"\w[\w.-]*/[\w.-]+", found.source):
        return found
    names = [*built_in, *_shipped(), *_extra]
    near = difflib.get_close_matches(source, names, n=3) or built_in
    raise HeedError(
        f"{source}: no system, no folder and no hub id of the form owner/name; did you mean {' or '.join(near)}?"
    )


def fingerprint(model: Model) -> Recipe:
    """What identifies a model in a recipe: its entry, and the commit or the digests of its files."""
    settings = {field: value for field, value in model._asdict().items() if field not in TOLD}
    folder = local_copy(model)
    if folder != Path(model.source):
        return {**settings, "commit": folder.name}
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {**settings, "files": {str(path.relative_to(folder)): digest(path) for path in found}}


def unusable(source: str, error: Exception) -> HeedError:
    """The error for a model that cannot be loaded: why, and what to do without a network."""
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return HeedError(
        f"{source}: cannot be loaded as a model ({reason}); give the path of a local copy with safetensors weights, "
        f"made with 'hf download {source} --local-dir DIR' on a machine that reaches the hub"
    )


def _gate(source: str, error: Exception) -> HeedError:
    """The error for a model whose owner grants access to persons."""
    return HeedError(
        f"{unusable(source, error)}; access to it must be granted first: ask for it with your account at "
        f"https://huggingface.co/{source}, then log in with 'hf auth login' or set HF_TOKEN"
    )

"""How to run a model: templates, pooling, lengths, tokens, licence and the papers' variants, as data."""

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType, UnionType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from heed.errors import HeedError
from heed.io.files import parse_json, read_bytes

DATA = Path(__file__).with_name("registry.json")
POOLINGS = ("mean", "cls", "lasttoken", "max")
STATUSES = ("runs", "api", "named")  # named: known from a paper, without weights that anybody can get
AUTHOR = "author"  # the preset that needs no name: as the model's authors run it
EVERYWHERE = {"int8": {"dtype": "int8"}}  # presets of every model
ASKED = (("query",), ("instruction", "mark"))
PLACES = {  # what a template must have a place for, and what it may
    "query": ASKED,
    "bare": ASKED,
    "document": (("text",), ("title",)),
    "prompt": (("query", "document"), ()),
}
_extra: dict[str, "Model"] = {}
_unknown: dict[str, Any] = {}


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
        presets = {**self.presets, **EVERYWHERE}
        if name not in presets:
            known = ", ".join((AUTHOR, *presets))
            raise HeedError(f"{self.source}: no preset {name!r}; expected one of {known}")
        return _made(f"{self.source}, preset {name}", {**self._asdict(), **presets[name], "variant": name})


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
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise HeedError(f"{path}: not a note of python -m pipelines.train ({error!r}); train again") from error


def entries() -> dict[str, Model]:
    """All entries, those of the user's own file included, by name."""
    return {**_shipped(), **_extra}


def set_unknown(fields: Mapping[str, Any]) -> None:
    """Set fields, such as family and templates, of models that have no entry."""
    _unknown.clear()
    _unknown.update({field: value for field, value in fields.items() if value is not None})


def add_models(path: Path) -> None:
    """Add the entries of a JSON file in the form of ``registry.json``; ``source`` may name a local path.

    Raises :class:`HeedError` naming an entry with an unknown field or another value than its field takes.
    """
    try:
        found = parse_json(read_bytes(path).decode("utf-8-sig"))
    except (ValueError, HeedError) as error:
        raise HeedError(f"{path}: not a models file ({error}); its form is that of {DATA}") from error
    if not isinstance(found, dict) or not all(isinstance(entry, dict) for entry in found.values()):
        raise HeedError(f"{path}: not a models file (no object of objects); its form is that of {DATA}")
    _extra.update(_parse(path, found))


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
    for field, value in entry.items():
        if not _fits(value, _hints()[field]):
            raise HeedError(f"{place}: {field} is {repr(value)[:60]}, expected {_told(_hints()[field])}")
    for field in PLACES.keys() & entry.keys():
        check_template(place, field, entry[field])
    lists = {field: tuple(entry[field]) for field in ("tokens", "price", "needs") if entry.get(field) is not None}
    return Model(**{**entry, **lists})


def check_template(place: str, field: str, template: str | None) -> None:
    """Raise :class:`HeedError` where ``template`` lacks a place of its kind or has one that nothing fills.

    A ``prompt`` of one word names a conversation of list-wise rerankers instead.
    """
    if template is None or (field == "prompt" and template.isidentifier()):
        return
    needed, allowed = PLACES[field]
    found = set(re.findall(r"\{(\w+)\}", template))
    wrong = [f"{{{name}}} is missing" for name in needed if name not in found]
    wrong += [f"nothing fills {{{name}}}" for name in sorted(found.difference(needed, allowed))]
    if wrong:
        places = " and ".join(f"{{{name}}}" for name in needed)
        more = "".join(f", and may have {{{name}}}" for name in allowed)
        raise HeedError(f"{place}: {field} {template[:60]!r}: {'; '.join(wrong)}; expected {places}{more}")


@cache
def _hints() -> dict[str, Any]:
    return get_type_hints(Model)


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value out of JSON is what a field of :class:`Model` takes."""
    kind, inner = get_origin(hint), get_args(hint)
    if kind is UnionType:
        return any(_fits(value, one) for one in inner)
    if kind is tuple:
        size = len(value) if inner[-1] is ... and isinstance(value, list | tuple) else len(inner)
        listed = isinstance(value, list | tuple) and len(value) == size
        return listed and all(_fits(one, inner[0]) for one in value)
    if kind is not None:
        return isinstance(value, Mapping) and all(_fits(one, inner[1]) for one in value.values())
    if hint in (int, float):
        return isinstance(value, int | hint) and not isinstance(value, bool)
    return hint is Any or isinstance(value, hint)


def _told(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "").replace("collections.abc.", "")


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

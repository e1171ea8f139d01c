"""How to run a model: templates, pooling, lengths, tokens, licence and the papers' variants, as data."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, get_type_hints

import msgspec

from heed.errors import DataError, ModelError, UsageError, did_you_mean, fail
from heed.files import nearest, read_by_name
from heed.models.registry.families import BI_ENCODER, FAMILIES, SERVICE

DATA = Path(__file__).with_name("registry.json")
POOLINGS = ("mean", "cls", "lasttoken", "max", "weightedmean", "mean_sqrt_len_tokens")  # sentence-transformers'
STATUSES = ("runs", "api", "named")  # named: known from a paper, without weights that anybody can get
BY_TRAINERS = re.compile(r"model|final|best|checkpoint-(?P<step>\d+)")  # what trainers call every model's folder
NEAR = 0.9  # of a hub id to an entry's name, beside which a model that has none may be called alike
AUTHOR = "author"  # the preset that needs no name: as the model's authors run it
SET_HERE = ("variant", "trusted", "guessed_from", "entry")  # fields that no file may set
QUERY_PLACES = (("query",), ("instruction", "mark"))
PLACES = {  # the placeholders that a template must have, and those that it may have
    "query": QUERY_PLACES,
    "bare": QUERY_PLACES,
    "document": (("text",), ("title",)),
    "untitled": (("text",), ()),
    "prompt": (("query", "document"), ()),
}
CALL = re.compile(r"([\w.]+):\w+\(.*\)")  # of a class in a module


class Model(NamedTuple):
    """One model. A field that is None is left to the model's own files, or to its family.

    ``family`` is one of ``FAMILIES``, empty where nobody says it: :mod:`heed.models.files` then reads it
    from the model's files, and ``guessed_from`` says from what. ``query`` and ``document`` are templates with
    ``{query}``, ``{instruction}``, ``{title}`` and ``{text}``; ``prompt`` is the one of models that read both
    at once, with ``{query}`` and ``{document}`` for the filled templates. Where a condition has no
    instruction, ``bare`` is the query's template, else ``task`` replaces the instruction; ``untitled`` is
    the template of a document without title. ``pooling`` is one of ``POOLINGS``, or a module of one's own as
    ``package.module:Class``, made with the width of a token's vector. ``pool_prefix``: what precedes the text in its
    template is pooled with it; ``layer_norm``: a vector's mean becomes 0 and its variance 1 before anything else;
    ``bidirectional``: a decoder's tokens attend to later ones too. ``cut_prompt``: a ``prompt`` that is too
    long loses its end, whatever stands there, instead of the end of its document. Lengths are in tokens.
    ``{|}`` in a ``prompt`` parts it: the parts become tokens apart, without the tokenizer's special ones, and of those
    from ``{query}`` to ``{document}`` there are at most ``pair_length``. ``block`` is the most documents that one
    prompt of family ``block`` holds. A list-wise model orders ``window`` documents at a time, by default 20, and moves
    up by ``stride``, by default 10.
    ``tokens`` are the vocabulary entries for no and yes, or the one whose logit is the score;
    ``label`` is the column of a classification head.
    ``source`` is a hub id or a local path, ``base`` the model of an adapter; ``pickled``: that revision has no
    safetensors weights, so they are converted. ``price`` is in US dollars for a million tokens of input and of
    output, ``search_price`` for a thousand searches of a rerank server that counts those; ``api`` is how such a
    server is asked, one of :data:`heed.addons.apis.rerank.FORMS`. ``needs`` are pip packages. ``presets`` are
    changes of these fields by name, ``variant`` the preset that was applied; ``names`` is what papers call the
    model outside their tables (:mod:`.published.figures` knows those in tables). ``trusted``: the user allowed
    the code of the model's repository to run; set by a :class:`Registry`, never by a file, as is ``entry``, its name in
    a file of the user's.
    """

    source: str
    family: str = ""
    status: str = "runs"
    revision: str | None = None
    base: str | None = None
    base_revision: str | None = None
    query: str | None = None
    document: str | None = None
    untitled: str | None = None
    prompt: str | None = None
    cut_prompt: bool = False
    bare: str | None = None
    task: str | None = None
    pooling: str | None = None
    pool_prefix: bool = True
    layer_norm: bool = False
    bidirectional: bool = False
    normalize: bool | None = None
    similarity: str | None = None
    max_length: int | None = None
    query_length: int | None = None
    document_length: int | None = None
    pair_length: int | None = None
    block: int | None = None
    window: int | None = None
    stride: int | None = None
    padding: str | None = None
    append_eos: bool = False
    tokens: tuple[str, ...] | None = None
    label: int | None = None
    dtype: str | None = None
    remote_code: bool = False
    pickled: bool = False
    licence: str | None = None
    gated: bool = False
    price: tuple[float, float] | None = None
    search_price: float | None = None
    api: str | None = None
    needs: tuple[str, ...] = ()
    note: str = ""
    names: Mapping[str, str] = {}
    presets: Mapping[str, Mapping[str, Any]] = {}
    variant: str = ""
    trusted: bool = False
    guessed_from: str = ""
    entry: str = ""

    @property
    def name(self) -> str:
        """The name of its runs: the last part of the entry's name, hub id or path, with the preset if there is one.

        A folder that a trainer named for every model alike, such as ``runs/a/model``, is called like the one above it.
        """
        path = Path(self.entry or self.source)
        called = path.name if self.entry or not path.is_dir() else _folder_name(path)
        name = re.sub(r"[^A-Za-z0-9._+-]", "-", called) or "model"
        return f"{name}@{self.variant}" if self.variant else name

    def preset(self, name: str) -> "Model":
        """Return the model as its preset ``name`` runs it; :class:`UsageError` for an unknown preset."""
        if name == AUTHOR:
            return self
        if name not in self.presets:
            known = ", ".join((AUTHOR, *self.presets))
            raise UsageError(f"{self.source}: no preset {name!r}; expected one of {known}")
        fields = {field: value for field, value in self._asdict().items() if field not in SET_HERE}
        changed = parse_entry(f"{self.source}, preset {name}", {**fields, **self.presets[name]})
        return changed._replace(variant=name, trusted=self.trusted, entry=self.entry)

    def limited(self, tokens: int | None) -> "Model":
        """Return the model with no input longer than ``tokens``; None for the lengths that it has."""
        if tokens is None:
            return self
        query, document = (length and min(length, tokens) for length in (self.query_length, self.document_length))
        return self._replace(max_length=tokens, query_length=query, document_length=document)


FIELD_TYPES = get_type_hints(Model)


class Registry:
    """The shipped entries and those of the user's files.

    ``defaults`` are fields, such as family and templates, of models without an entry; with
    ``trust_remote_code`` its models may run the code of their repositories.
    """

    def __init__(
        self, files: Sequence[str | Path] = (), defaults: Mapping[str, Any] = {}, trust_remote_code: bool = False
    ) -> None:
        """Read ``files``, JSON in the form of ``registry.json``; raises as :func:`read_entries` does.

        Raises :class:`UsageError` for an unknown family in ``defaults``, :class:`DataError` for a name in two files.
        """
        self._defaults = {field: value for field, value in defaults.items() if value is not None}
        fail(_family_problems(self._defaults.get("family")), UsageError)
        self.trusted = trust_remote_code
        self._added: dict[str, Model] = {}
        for path in files:
            entries = {name: model._replace(entry=name) for name, model in read_entries(Path(path)).items()}
            twins = (name for name in entries if name in self._added)
            fail((f"{path}: {name}: is in an earlier file of models too; rename one" for name in twins), DataError)
            self._added |= entries

    @property
    def entries(self) -> dict[str, Model]:
        """All entries by name."""
        entries = {**_shipped(), **self._added}
        return {name: model._replace(trusted=self.trusted) for name, model in entries.items()}

    def find(self, source: str) -> Model:
        """Return the model of an entry, a hub id or a local path, as ``source@preset`` with one of its presets."""
        name, _, preset = source.partition("@")
        entry = self._added.get(name) or _shipped().get(name) or _read_trained(name)
        model = entry or parse_entry(name, {"source": name, **self._defaults})
        refuse_gguf(model.source, [model.source])
        return model._replace(trusted=self.trusted).preset(preset or AUTHOR)

    def resolve(self, source: str, built_in: Sequence[str]) -> Model:
        """Return the model called ``source`` where none of the ``built_in`` systems is meant.

        Raises :class:`UsageError` with the nearest names if it is no folder, entry or hub id either, and
        :class:`ModelError` for a system without public weights.
        """
        model = self.find(source)
        if model.status == "named":
            raise ModelError(f"{source}: cannot be run ({model.note}); bring its run file")
        if Path(model.source).is_dir() and not any(Path(model.source).glob("*.json")):
            raise ModelError(f"{source}: no config.json in this folder; expected one as save_pretrained writes it")
        if Path(model.source).is_dir() or re.fullmatch(r"\w[\w.-]*/[\w.-]+", model.source):
            return model
        is_served = bool(model.family) and FAMILIES[model.family].library == SERVICE  # by a server's own name
        if source.partition("@")[0] in self.entries:
            if is_served:
                return model
            advice = model.note or "correct its source: a folder, or owner/name on the hub"
            raise ModelError(f"{source}: there is no folder {model.source} here; {advice}")
        if Path(source).is_file():
            raise UsageError(
                f"{source}: a file; a program that scores is given as command:{source}, a class as module:Class"
            )
        if source.startswith((".", "/", "~")):
            expected = nearest(Path(source)) or "; give the folder of a model, or a name that heed models lists"
            raise UsageError(f"{source}: no such folder{expected}")
        if is_served:
            return model
        others = {*built_in, *(name for name, entry in self.entries.items() if entry.family != "lexical")}
        spelled = {name.rpartition("/")[2]: name for name in sorted(others)} | {name: name for name in others}
        advice = f"Heed's own are {', '.join(built_in)}" if built_in else "heed models lists them"
        if is_call := CALL.fullmatch(source):
            advice = f"for other arguments make the object in {is_call[1]}, and name it: {is_call[1]}:NAME"
        meant = did_you_mean(source, spelled, 3) or advice
        raise UsageError(f"{source}: no system, no folder and no hub id of the form owner/name; {meant}")


def near_entry(source: str) -> str:
    """Return "; did you mean …?" with the entry that a hub id is nearly the name of; empty for others."""
    return "" if source in _shipped() else did_you_mean(source, [*_shipped()], cutoff=NEAR, before="; ")


def _folder_name(folder: Path) -> str:
    """Return the name of a folder, ``a`` of ``a/model``, ``a-checkpoint-9`` of ``a/checkpoint-9``."""
    match = BY_TRAINERS.fullmatch(folder.name)
    above = _folder_name(folder.parent) if match else ""
    if not match or above in ("", ".."):
        return folder.name
    return f"{above}-{folder.name}" if match["step"] else above


def refuse_gguf(source: str, names: Iterable[str]) -> None:
    """Raise :class:`ModelError` where ``names``, the files of a model, have weights of llama.cpp and no others."""
    kinds = {PurePosixPath(name).suffix.lower() for name in names}
    if ".gguf" in kinds and kinds.isdisjoint((".safetensors", ".bin")):
        raise ModelError(
            f"{source}: GGUF, llama.cpp's form of weights, which Heed does not read; fetch them as safetensors, or "
            "convert them by transformers: from_pretrained(FOLDER, gguf_file=NAME), then save_pretrained"
        )


def read_entries(path: Path) -> dict[str, Model]:
    """Read the entries of a JSON file in the form of ``registry.json``; ``source`` may name a local path.

    Raises :class:`DataError` naming an entry with an unknown field or a value of another type.
    """
    entries = read_by_name(path, "models file", DATA).items()
    return {name: parse_entry(f"{path}: {name}", {"source": name, **entry}) for name, entry in entries}


def parse_entry(origin: str, entry: Mapping[str, Any]) -> Model:
    """Return the entry as a model; :class:`DataError`, which begins with ``origin``, for what no entry may hold."""
    known = [field for field in Model._fields if field not in SET_HERE]
    unknown = set(entry).difference(known)
    if unknown:
        meant = "".join(did_you_mean(field, known, before="; ") for field in sorted(unknown))
        raise DataError(f"{origin}: unknown fields {sorted(unknown)}; expected some of {', '.join(known)}{meant}")
    for field, allowed in (("pooling", POOLINGS), ("status", STATUSES), ("padding", ("left", "right"))):
        own_module = field == "pooling" and ":" in str(entry.get(field))
        if entry.get(field) is not None and entry[field] not in allowed and not own_module:
            raise DataError(f"{origin}: {field} {entry[field]!r}, expected one of {allowed}")
    fail(f"{origin}: {problem}" for problem in _family_problems(entry.get("family")))
    tokens = entry.get("tokens")
    if isinstance(tokens, list | tuple) and len(tokens) not in (1, 2):
        raise DataError(
            f"{origin}: tokens is {tokens!r}, expected two, for no and yes, or the one whose logit is the score"
        )
    if entry.get("layer_norm") and not entry.get("pooling"):
        raise DataError(f"{origin}: layer_norm follows a pooling, but there is none; say pooling too")
    values = {field: _converted(origin, field, value) for field, value in entry.items()}
    for field in PLACES.keys() & values.keys():
        check_template(origin, field, values[field])
    return Model(**values)


def _family_problems(family: Any) -> list[str]:
    if not family or not isinstance(family, str) or family in FAMILIES:
        return []
    meant = did_you_mean(family, [*FAMILIES], before="; ")
    return [f"family {family!r} is unknown{meant or ';'} There are {', '.join(FAMILIES)}"]


def _converted(origin: str, field: str, value: Any) -> Any:
    """Return a JSON value as the type of ``field``: lists become tuples."""
    try:
        return msgspec.convert(value, FIELD_TYPES[field])
    except msgspec.ValidationError as error:
        reason = str(error).replace("Expected", "expected", 1)
        if field == "price":
            reason = "expected dollars for a million tokens of input and of output, such as [2.5, 10]"
        raise DataError(f"{origin}: {field} is {repr(value)[:60]}, {reason}") from None


def check_template(origin: str, field: str, template: str | None) -> None:
    """Raise :class:`DataError` where ``template`` lacks a placeholder of its kind or has one that nothing fills.

    A ``prompt`` of one word names a conversation of list-wise rerankers instead.
    """
    if template is None or (field == "prompt" and template.isidentifier()):
        return
    needed, allowed = PLACES[field]
    names = set(re.findall(r"\{(\w+)\}", template))
    wrong = [f"{{{name}}} is missing" for name in needed if name not in names]
    wrong += [f"nothing fills {{{name}}}" for name in sorted(names.difference(needed, allowed))]
    if wrong:
        places = " and ".join(f"{{{name}}}" for name in needed)
        more = "".join(f", and may have {{{name}}}" for name in allowed)
        raise DataError(f"{origin}: {field} {template[:60]!r}: {'; '.join(wrong)}; expected {places}{more}")


@cache
def _shipped() -> dict[str, Model]:
    entries = read_entries(DATA)
    return {
        name: model._replace(family=model.family or (BI_ENCODER if model.status != "named" or model.query else ""))
        for name, model in entries.items()
    }


def _read_trained(folder: str) -> Model | None:
    """Read the entry that ``heed train`` left in its folder; None without one."""
    path = Path(folder) / "training.json"
    if not path.is_file():
        return None
    try:
        entry = {"source": folder, **json.loads(path.read_text(encoding="utf-8"))["model"]}
        if ":" in str(entry.get("pooling")):  # a folder of a stranger names no code that runs
            raise ValueError("pooling")
        return parse_entry(str(path), entry)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"{path}: not written by heed train ({error!r}); train again") from error

"""The models of the registry: what each is and needs, and what of it is missing here; with NAME, what it sees."""

import argparse
import difflib
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from heed.errors import HeedError
from heed.models.model_files import FETCHED, TOLD
from heed.models.registry import AUTHOR, STATUSES, Model, add_models, entries
from heed.models.registry import model as entry_of
from heed.models.rendering import DOCUMENT, sees, visible
from pipelines.options import run_command, talk_options

PAPERS = {"followir": "FollowIR", "mfollowir": "mFollowIR", "followtable": "FollowTable", "infosearch": "InfoSearch"}
BI_ENCODER, UNKNOWN = "bi-encoder", "-"
SHOWN_APART = ("source", "family", "revision", "base", "base_revision", "remote_code", "variant")
TEMPLATES = ("query", "bare", "document", "prompt")


def parser() -> argparse.ArgumentParser:
    """The command line of ``python -m pipelines.models``."""
    made = argparse.ArgumentParser(prog="python -m pipelines.models", description=__doc__)
    made.add_argument("name", nargs="?", metavar="NAME[@PRESET]", help="show this model in full; nothing is downloaded")
    made.add_argument("--family", metavar="FAMILY", help=f"list this family only, as causal or {BI_ENCODER}")
    made.add_argument("--status", choices=STATUSES, help="list these only; named: no usable weights are public")
    made.add_argument("--paper", choices=PAPERS, help="list what this paper ran, under its names")
    made.add_argument("--models", type=Path, metavar="FILE", help="JSON with further models")
    made.add_argument("--json", type=Path, metavar="FILE", help="write it all to this file too")
    talk_options(made)
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; gives back the exit status."""
    return run_command(parser(), _run, argv)


def _run(options: argparse.Namespace) -> None:
    from heed.io.files import write_json
    from heed.progress import log

    if options.models:
        add_models(options.models)
    if options.name:
        if options.family or options.status or options.paper:
            raise HeedError("--family, --status and --paper narrow the list; leave them out to see one model")
        found = entry(options.name)
        facts: Any = as_data(options.name, found)
        print("\n".join(_view(options.name, found, facts["missing"], facts["sees"])))
    else:
        chosen = narrowed(options.family, options.status, options.paper)
        facts = [as_data(name, model) for name, model in chosen.items()]
        print(_listing(facts, options.paper))
        log.info(f"{len(chosen)} models; python -m pipelines.models NAME shows one in full")
    if options.json:
        write_json(options.json, facts)


def entry(name: str) -> Model:
    """The entry or local folder ``name``, with its ``@preset``; :class:`HeedError` with the nearest names if none."""
    source, _, preset = name.partition("@")
    known = entries()
    if source in known:
        return known[source].preset(preset or AUTHOR)
    if Path(source).is_dir():
        return entry_of(name)
    spelt = {alias.lower(): key for key, model in known.items() for alias in _aliases(key, model)}
    near = dict.fromkeys(spelt[found] for found in difflib.get_close_matches(source.lower(), spelt, n=6, cutoff=0.5))
    hint = f"did you mean {' or '.join(list(near)[:3])}?" if near else "without a name, all are listed"
    raise HeedError(f"{source}: no entry of the registry and no folder; {hint}")


def _aliases(key: str, model: Model) -> Iterator[str]:
    yield key
    yield key.rpartition("/")[2]
    yield from model.names.values()


def listed() -> dict[str, Model]:
    """All entries, and as ``NAME@PRESET`` those of their presets that are another family."""
    found = {}
    for key, model in entries().items():
        found[key] = model
        others = {preset: model.preset(preset) for preset in model.presets}
        found |= {f"{key}@{preset}": other for preset, other in others.items() if other.family != model.family}
    return found


def narrowed(family: str | None, status: str | None, paper: str | None) -> dict[str, Model]:
    """The models that are asked for; :class:`HeedError` for an unknown family."""
    every = listed()
    families = sorted({family_of(model) for model in every.values()} - {UNKNOWN})
    if family and family not in families:
        raise HeedError(f"--family {family}: expected one of {', '.join(families)}")
    return {
        name: model
        for name, model in every.items()
        if family in (None, family_of(model))
        and status in (None, model.status)
        and (paper is None or paper in model.names)
    }


def family_of(model: Model) -> str:
    """The family in words: a bi-encoder's entry names none, and of some named systems none is known."""
    return model.family or (UNKNOWN if model.status == "named" and model.query is None else BI_ENCODER)


def missing(model: Model) -> list[str]:
    """What must still be had on this machine to run ``model``; nothing is asked of a network."""
    if model.status == "named" or model.family == "lexical":
        return []
    if model.status == "api":
        return _missing_key(model.source)
    found = [f"pip install {package}" for package in model.needs if not _installed(package)]
    if not _has_weights(model.source, model.revision):
        found.append("weights as safetensors" if model.pickled else "weights")
    if model.base and not _has_weights(model.base, model.base_revision):
        found.append(f"weights of {model.base}")
    return found


def _missing_key(source: str) -> list[str]:
    import os

    from heed.models.api_providers import PROVIDERS

    provider = PROVIDERS.get(source.partition("/")[0])
    if provider is None:
        return []
    set_here = any(os.environ.get(variable, "").strip() for variable in (provider.key, provider.base))
    return [] if set_here else [provider.key]


def _installed(package: str) -> bool:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return bool(version(package))
    except PackageNotFoundError:
        return False


def _has_weights(source: str, revision: str | None) -> bool:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    folder = Path(source)
    try:
        if not folder.is_dir():
            folder = Path(snapshot_download(source, revision=revision, allow_patterns=FETCHED, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError):
        return False
    return any(folder.rglob("*.safetensors"))


def as_data(name: str, model: Model) -> dict[str, Any]:
    """The entry as JSON data, with its texts and what is missing here."""
    plain = {**model._asdict(), "family": family_of(model), "names": dict(model.names), "presets": list(model.presets)}
    return {"name": name, **plain, "missing": missing(model), "sees": dict(sees(model))}


def _listing(facts: Sequence[dict[str, Any]], paper: str | None) -> str:
    from heed.evaluation.summary import aligned

    head = ["name", "family", "status", "licence", "marks", "missing here"]
    rows = [
        [
            one["name"],
            one["family"],
            one["status"],
            one["licence"] or "unknown",
            ", ".join(_marks(one)) or "-",
            "; ".join(one["missing"]) or "-",
        ]
        for one in facts
    ]
    if paper:
        head.insert(0, f"in {PAPERS[paper]}")
        rows = [[one["names"][paper], *row] for one, row in zip(facts, rows, strict=True)]
    return aligned([head, *rows], left=len(head))


def _marks(one: dict[str, Any]) -> list[str]:
    kinds = {"gated": "gated", "remote_code": "runs its own code", "pickled": "pickled"}
    return [mark for field, mark in kinds.items() if one[field]]


def _view(name: str, model: Model, lacking: Sequence[str], seen: dict[str, str]) -> Iterator[str]:
    yield name
    yield from _columns(_facts(model, lacking))
    yield ""
    if not seen:
        yield "what it sees of a topic and a document is not known"
        return
    yield "what it sees of an example (↵ a newline, ␣ a space that is easily missed):"
    yield from _columns((label, visible(text)) for label, text in seen.items())


def _facts(model: Model, lacking: Sequence[str]) -> Iterator[tuple[str, str]]:
    hub = f"https://huggingface.co/{model.base or model.source}"
    yield "family", family_of(model)
    yield "status", model.status + (": cannot be run" if model.status == "named" else "")
    yield "licence", model.licence or "unknown"
    yield "gated", f"yes: accept its terms at {hub}, then hf auth login" if model.gated else "no"
    yield "own code", "yes, which runs only with --trust-remote-code" if model.remote_code else "no"
    if model.status != "api" and "/" in model.source:
        yield "source", f"{model.source}, revision {model.revision or 'not pinned'}"
    if model.base:
        yield "base", f"{model.base}, revision {model.base_revision or 'not pinned'}"
    if model.price:
        yield "price", f"${model.price[0]:g} and ${model.price[1]:g} for a million tokens, asked and answered"
    if model.needs:
        yield "needs", ", ".join(model.needs)
    if model.status != "named":
        yield "missing here", "; ".join(lacking) or "nothing"
    yield "papers", "; ".join(f"{PAPERS[paper]}: {named}" for paper, named in model.names.items()) or "none"
    yield "presets", ", ".join((AUTHOR, *model.presets))
    for field in (one for one in model._fields if one not in (*TOLD, *SHOWN_APART)):
        value = getattr(model, field)
        if value != Model._field_defaults.get(field):
            yield field, visible(value) if field in TEMPLATES else str(value)
    if model.document is None and model.status != "named":
        yield "document", DOCUMENT
    if model.note:
        yield "note", model.note


def _columns(pairs: Iterable[tuple[str, str]]) -> list[str]:
    told = list(pairs)
    width = max(len(label) for label, _ in told)
    return [f"  {label.ljust(width)}  {text}" for label, text in told]


if __name__ == "__main__":
    sys.exit(main())

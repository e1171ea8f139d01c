"""List the models by name, with what each needs and what is missing here; with NAME, also the text that it reads."""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from heed.addon_table import brought, brought_if_here
from heed.compute import Compute
from heed.errors import UsageError
from heed.files import write_json
from heed.models.files import FACTS
from heed.models.listing import (
    EXAMPLE,
    EXAMPLE_DOCUMENT,
    EXAMPLE_QUERY,
    FIELDS,
    UNKNOWN,
    as_data,
    find_entry,
    list_models,
    missing,
    reads_chat,
    scoring_facts,
    status_of,
    visible,
)
from heed.models.registry.entries import AUTHOR, Model, Registry
from heed.models.registry.families import CROSS_ENCODER, TABLE
from heed.models.text import DOCUMENT
from heed.progress import log
from heed.types import PAPERS, Query, Reranker
from pipelines.command import main_of
from pipelines.options.machine import MODELS, compute_of, registry_options
from pipelines.options.output import json_option
from pipelines.options.parser import command_parser, field_options

EXAMPLES = ("", "--paper mfollowir", "jhu-clsp/FollowIR-7B", "./my-cross-encoder --example")
RULES = (
    "A class or a program of your own needs no entry: --reranker package.module:Class, --reranker command:PROGRAM.\n"
)
SHOWN_APART = ("source", "family", "guessed_from", "revision", "base", "base_revision", "remote_code", "variant")
MARKS = {"gated": "gated", "remote_code": "runs its own code", "pickled": "pickled"}
TEMPLATES = ("query", "bare", "document", "untitled", "prompt")


def parser() -> argparse.ArgumentParser:
    """Return the parser of ``heed models``."""
    parser = command_parser("models", "[NAME]", __doc__, EXAMPLES, RULES)
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME[@PRESET]",
        help="show one model in full, by its name, a folder, or a name that a paper prints; downloads nothing",
    )
    parser.add_argument("--paper", choices=PAPERS, help="list the models of this paper, under the names that it prints")
    parser.add_argument(
        "--example",
        action="store_true",
        help="run the model, and print the score of the example's pair, to compare with a script of yours",
    )
    running = parser.add_argument_group("how NAME is run")
    registry_options(running)
    field_options(running, Compute, "device", *MODELS)
    output = parser.add_argument_group("output")
    json_option(output)
    return parser


def _run(options: argparse.Namespace) -> None:
    from pipelines.options.settings import registry_of

    registry = registry_of(options, described=())
    if options.name and options.paper:
        raise UsageError("--paper narrows the list; leave it out to see one model")
    chosen = _named(registry, options.name) if options.name else _of_paper(registry, options.paper)
    facts: Any
    if options.name and len(chosen) == 1:
        [(name, model)] = chosen.items()
        facts = _facts_of_one(name, model.limited(options.max_length), options)
        print("\n".join(_view(facts, model)))
    else:
        if options.example:
            raise UsageError("--example: runs one model; name it, with its preset")
        facts = [_facts_of(name, model) for name, model in chosen.items()]
        print(_listing(facts, options.paper))
        log.info(f"{len(chosen)} models; heed models NAME shows one in full")
    if options.json:
        write_json(options.json, facts)


def _named(registry: Registry, name: str) -> dict[str, Model]:
    """Return the entry or folder ``name``, or all models that papers call so."""
    called = brought_if_here("models that papers call so")
    word, _, preset = name.partition("@")
    entry = word in registry.entries or Path(word).is_dir()
    entries = called(list_models(registry), word) if called and not entry else []
    names = [f"{key}@{preset}" if preset else key for key in entries] or [name]
    return {key: find_entry(registry, key) for key in names}


def _of_paper(registry: Registry, paper: str | None) -> dict[str, Model]:
    """Return the models of a paper's tables, or all without one."""
    models = list_models(registry)
    return {name: models[name] for name in brought("models of a paper")(paper) if name in models} if paper else models


def _facts_of(name: str, model: Model, prompts: Mapping[str, str] = {}) -> dict[str, Any]:
    names_of = brought_if_here("names in papers")
    return {**as_data(name, model, prompts), "names": names_of(name, model) if names_of else {}}


def _facts_of_one(name: str, model: Model, options: argparse.Namespace) -> dict[str, Any]:
    """Return a model's entry, the settings that decide its scores, and with --example the score of its example."""
    compute = compute_of(options)
    compute.check()
    scoring = scoring_facts(model, compute, here=not missing(model))
    facts = {**_facts_of(name, model, scoring["prompts"] or {}), **scoring}
    return {**facts, "example": _example_score(model, compute)} if options.example else facts


def _example_score(model: Model, compute: Compute) -> float:
    """Return the score of the example's document for its query with the original instruction."""
    from heed.systems.make import Place, make, system_of

    place = Place(Registry(), compute)
    reranker = make(system_of(model, place, Reranker), place, Reranker)
    query = Query("1", query=EXAMPLE_QUERY, instruction=EXAMPLE["original"])
    return float(reranker.score(query, [EXAMPLE_DOCUMENT])[0])


def _listing(facts: Sequence[dict[str, Any]], paper: str | None) -> str:
    from heed.measures.summary import aligned

    head = ["name", "family", "status", "licence", "marks"]
    rows = [
        [
            entry["name"],
            entry["family"],
            status_of(entry["status"], entry["missing"]),
            entry["licence"] or "unknown",
            ", ".join(mark for field, mark in MARKS.items() if entry[field]) or "-",
        ]
        for entry in facts
    ]
    if paper:
        head.insert(0, f"in {PAPERS[paper]}")
        printed = brought("models of a paper")(paper)
        rows = [[", ".join(printed[entry["name"]]), *row] for entry, row in zip(facts, rows, strict=True)]
    else:
        head.append("in papers")
        rows = [
            [*row, ", ".join(dict.fromkeys(chain(*entry["names"].values()))) or "-"]
            for entry, row in zip(facts, rows, strict=True)
        ]
    return aligned([head, *rows], left=len(head))


def _view(facts: dict[str, Any], model: Model) -> Iterator[str]:
    texts = facts["sees"]
    yield facts["name"]
    yield from _columns(_facts(model, facts["missing"], facts["names"]))
    yield ""
    yield "what decides its scores:"
    yield from _columns(_scoring(facts))
    yield ""
    if not texts:
        yield "what it sees of a topic and a document is not known"
        return
    yield f"what it sees of an example{_together(model)} (↵ a newline, ␣ a space that is easily missed):"
    yield from _columns((label, visible(text)) for label, text in texts.items())


def _family(model: Model) -> str:
    if model.guessed_from:
        return f"{model.family}, guessed from {model.guessed_from}; --family or an entry says otherwise"
    if model.family or model.status == "named":
        return model.family or UNKNOWN
    if not Path(model.source).is_dir():
        return "not told by its entry; it will be read from the model's files"
    return "not told by its files; without --family a bi-encoder as --retriever, a cross-encoder as --reranker"


def _together(model: Model) -> str:
    """Return words on how a cross-encoder's two texts are put together, and on the parts of a table that are read."""
    if reads_chat(model):
        return ", put together by its chat template, with the instruction as system message or else behind the query"
    if model.family == TABLE:
        return "; of a table the caption, then every cell with its column, its row and its rank among numbers"
    return ", query and document together as one pair" if model.family == CROSS_ENCODER else ""


def _facts(model: Model, lacking: Sequence[str], names: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    hub = f"https://huggingface.co/{model.base or model.source}"
    yield "family", _family(model)
    yield "status", status_of(model.status, lacking) + (": cannot be run" if model.status == "named" else "")
    yield "licence", model.licence or "unknown"
    yield "gated", f"yes: accept its terms at {hub}, then hf auth login" if model.gated else "no"
    yield "own code", "yes, which runs only with --trust-remote-code" if model.remote_code else "no"
    if model.status != "api" and "/" in model.source:
        yield "source", f"{model.source}, revision {model.revision or 'not pinned'}"
    if model.pickled:
        yield "weights", "pickled: converted to safetensors once, in a process of its own"
    if model.base:
        yield "base", f"{model.base}, revision {model.base_revision or 'not pinned'}"
    if model.price:
        yield "price", f"${model.price[0]:g} and ${model.price[1]:g} for a million tokens of input and of output"
    if model.needs:
        yield "needs", ", ".join(model.needs)
    yield "papers", "; ".join(f"{PAPERS[paper]}: {', '.join(printed)}" for paper, printed in names.items()) or "none"
    yield "presets", ", ".join((AUTHOR, *model.presets))
    for field in (field for field in model._fields if field not in (*FACTS, *SHOWN_APART, *FIELDS)):
        value = getattr(model, field)
        if value != Model._field_defaults.get(field):
            yield field, visible(value) if field in TEMPLATES else str(value)
    if model.document is None and model.status != "named":
        yield "document", DOCUMENT
    if model.note:
        yield "note", model.note


def _scoring(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what decides a model's scores; a dash for what only its files say, which are not here."""
    yield "computed by", facts["class"] or UNKNOWN
    for name, prompt in (facts["prompts"] or {}).items():
        yield f"prompt, {name}", visible(prompt)
    if facts["prompts"] == {}:
        yield "prompts", "none is read"
    labels = {"max_length": "longest input", "truncation_side": "cut at the", "dtype": "precision"}
    for field in ("pooling", "similarity", "max_length", "truncation_side", "dtype", "inference"):
        if facts[field] is not None:
            yield labels.get(field, field), f"{facts[field]}{' tokens' if field == 'max_length' else ''}"
    if facts["problem"]:
        yield "problem", facts["problem"]
    if "example" in facts:
        yield "score of the example", f"{facts['example']!r}, under original"


def _columns(pairs: Iterable[tuple[str, str]]) -> list[str]:
    rows = list(pairs)
    width = max(len(label) for label, _ in rows)
    return [f"  {label.ljust(width)}  {text}" for label, text in rows]


main = main_of(parser, _run)

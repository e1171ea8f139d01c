"""Options that say which models there are and how systems are run, and by which processes."""

import argparse
from dataclasses import fields

from heed.compute import Compute
from pipelines.options.parser import Group, positive

ENGINES = ("local", "ray")  # this machine, as by default, or a cluster
MODELS = ("dtype", "batch_size", "max_length", "inference")  # fields of models that run on the device


def compute_options(group: Group, *names: str) -> None:
    """Add an option for each of the fields ``names``, with the field's default and help."""
    for field in (field for field in fields(Compute) if field.name in names):
        group.add_argument(
            f"--{field.name.replace('_', '-')}",
            type=field.metadata.get("type", str if isinstance(field.default, str) else positive),
            default=field.default,
            choices=field.metadata.get("choices"),
            metavar=field.metadata.get("metavar"),
            help=field.metadata["help"] + (f" (default {field.default})" if field.default else ""),
        )


def compute_of(options: argparse.Namespace) -> Compute:
    """Return how systems are run, by those options of :class:`Compute` that the command has."""
    names = [field.name for field in fields(Compute) if field.name in options]
    return Compute(**{name: getattr(options, name) for name in names})


def machine_options(parser: argparse.ArgumentParser) -> None:
    """Add threads, device and Java's heap."""
    compute_options(parser.add_argument_group("machine"), "device", "threads", "heap")


def engine_options(parser: argparse.ArgumentParser) -> None:
    """Add the processes and machines that run models."""
    engine = parser.add_argument_group("engine")
    engine.add_argument(
        "--engine",
        choices=ENGINES,
        default=ENGINES[0],
        help="run models on this machine (default) or on a Ray cluster; the results are the same",
    )
    engine.add_argument(
        "--workers",
        type=positive,
        metavar="N",
        help="number of processes that run models (default: one per GPU if there are several, else only this one; with "
        "ray one per machine)",
    )
    engine.add_argument(
        "--ray-address",
        metavar="HOST:PORT",
        help="address of the Ray cluster (default: RAY_ADDRESS, else the command starts a cluster here)",
    )


def registry_options(group: Group) -> None:
    """Add where the entries of further models are, and whether their code may run."""
    more = "JSON file of more models, in the form of registry.json; repeatable"
    group.add_argument("--models", action="append", default=[], metavar="FILE", help=more)
    group.add_argument(
        "--trust-remote-code",
        action="store_true",
        help="let a model run code of its repository, at its pinned revision",
    )


def family_option(group: Group) -> None:
    """Add --family."""
    group.add_argument("--family", metavar="NAME", help="family of a model without an entry, such as causal")


def model_options(group: Group) -> None:
    """Add all that a command takes which runs any system of the registry, or a model without an entry."""
    registry_options(group)
    family_option(group)
    for part in ("query", "document", "prompt"):
        group.add_argument(f"--{part}-template", metavar="TEXT", help=f"{part} template of a model without an entry")
    compute_options(group, *MODELS, "fusion_weight", "encoder_reads")

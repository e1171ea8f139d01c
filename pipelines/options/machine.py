"""Options that say which models there are and how systems are run, and by which processes."""

import argparse

from heed.compute import Compute
from pipelines.options.parser import ENGINE, MACHINE, Group, field_options, fields_of, positive

LOCAL, RAY = "local", "ray"  # engines: this machine, or a cluster
MODELS = ("dtype", "batch_size", "max_length", "inference")  # fields of models that run on the device


def compute_of(options: argparse.Namespace) -> Compute:
    """Return how systems are run, by those options of :class:`Compute` that the command has."""
    return Compute(**fields_of(options, Compute))


def machine_options(parser: argparse.ArgumentParser) -> None:
    """Add threads, device and Java's heap."""
    field_options(parser.add_argument_group(MACHINE), Compute, "device", "threads", "heap")


def engine_options(parser: argparse.ArgumentParser) -> None:
    """Add the processes and machines that run models."""
    engine = parser.add_argument_group(ENGINE)
    engine.add_argument(
        "--engine",
        choices=(LOCAL, RAY),
        default=LOCAL,
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
        help="address of the Ray cluster, or auto on one of its machines (default: RAY_ADDRESS)",
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
    field_options(group, Compute, *MODELS, "reader", "fusion_weight", "encoder_reads")

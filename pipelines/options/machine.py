"""Options of the machine: threads, device, Java's heap, and the processes that run models."""

import argparse
import os

from heed.addons.cluster import ENGINES
from pipelines.options.parser import Group, positive


def device_option(group: Group) -> None:
    """Add where models run."""
    group.add_argument(
        "--device",
        default="auto",
        metavar="NAME",
        help="where models run: auto, cpu, cuda, cuda:1 for the second GPU, or mps for a Mac's (default auto)",
    )


def machine_options(parser: argparse.ArgumentParser) -> None:
    """Add threads, device and Java's heap; models run in this process unless :func:`engine_options` are added too."""
    parser.set_defaults(engine=ENGINES[0], workers=None, ray_address=None)
    machine = parser.add_argument_group("machine")
    machine.add_argument(
        "--threads",
        type=positive,
        default=os.cpu_count() or 1,
        metavar="N",
        help="threads for Java and search (default: all cores)",
    )
    device_option(machine)
    machine.add_argument(
        "--heap", default="4g", metavar="SIZE", help="largest heap of Java, such as 512m or 8g (default 4g)"
    )


def engine_options(parser: argparse.ArgumentParser) -> None:
    """Add the processes and machines that run models."""
    engine = parser.add_argument_group("engine")
    engine.add_argument(
        "--engine",
        choices=ENGINES,
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

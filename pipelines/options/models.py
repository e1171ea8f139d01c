"""Options that describe models, and say how they are run."""

from pipelines.options.machine import MODELS, compute_options
from pipelines.options.parser import Group


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
    compute_options(group, *MODELS)

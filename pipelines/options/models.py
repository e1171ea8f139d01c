"""Options that describe models, and say how they are run."""

from pipelines.options.parser import Group, positive


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


def inference_options(group: Group) -> None:
    """Add precision, lengths, and what runs models."""
    group.add_argument(
        "--dtype",
        choices=("auto", "float32", "bfloat16", "float16"),
        default="auto",
        help="precision of models' weights (default auto: float32 on a CPU, the model's own on a GPU)",
    )
    group.add_argument(
        "--batch-size", type=positive, metavar="N", help="at most N texts in a batch (default: as many as fit)"
    )
    group.add_argument(
        "--max-length",
        type=positive,
        metavar="N",
        help="at most N tokens in an input, with query, instruction and template (default: the model's own limit)",
    )
    group.add_argument(
        "--inference",
        choices=("transformers", "vllm"),
        default="transformers",
        help="library that runs causal, reasoning and local list-wise rerankers, and no others (default transformers; "
        "vllm needs pip install vllm==0.32.0)",
    )


def model_options(group: Group) -> None:
    """Add all that a command takes which runs any system of the registry, or a model without an entry."""
    registry_options(group)
    family_option(group)
    for part in ("query", "document", "prompt"):
        group.add_argument(f"--{part}-template", metavar="TEXT", help=f"{part} template of a model without an entry")
    inference_options(group)

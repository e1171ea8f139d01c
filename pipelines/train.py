"""Train a reranker that follows instructions by FollowIR's recipe, a LoRA adapter of a causal language model.

Each line of DATA is a JSON object with query, instruction, document and label (true or false).
"""

import argparse
from pathlib import Path

from heed.addons.training.lora import TrainingSettings
from heed.compute import Compute
from heed.errors import UsageError
from heed.models.registry.entries import Model, Registry
from pipelines.command import main_of
from pipelines.options.machine import compute_of, registry_options
from pipelines.options.parser import command_parser, field_options, fields_of

BASE = "mistralai/Mistral-7B-Instruct-v0.2"  # FollowIR-7B's
LIKE = "jhu-clsp/FollowIR-7B"
RECIPE = ("epochs", "batch", "max_length", "rank", "alpha", "lr", "seed", "steps")
EXAMPLES = (
    f"train.jsonl --base {BASE} --out models/mine",
    "train.jsonl --base ./my-causal-model --epochs 1 --steps 20 --out models/trial     # a trial",
    "train.jsonl --base ./my-causal-model --prompt-template 'Query: {query} Document: {document} Relevant:' \\\n"
    "             --tokens no yes --out models/mine",
)


def parser() -> argparse.ArgumentParser:
    """Return the command line of ``heed train``."""
    command = command_parser("train", "DATA.jsonl --base NAME --out DIR", __doc__, EXAMPLES)
    command.add_argument("data", type=Path, metavar="DATA.jsonl", help="examples to learn from")
    command.add_argument(
        "--base", required=True, metavar="NAME", help=f"causal model by path or hub id; FollowIR used {BASE}"
    )
    command.add_argument("--out", required=True, type=Path, metavar="DIR", help="folder for the adapter")
    prompt = command.add_argument_group("prompt")
    prompt.add_argument(
        "--like", default=LIKE, metavar="NAME", help=f"use prompt and tokens of this model (default {LIKE})"
    )
    prompt.add_argument("--prompt-template", metavar="TEXT", help="use this prompt, with {query} and {document}")
    prompt.add_argument("--tokens", nargs=2, metavar=("NO", "YES"), help="use these two tokens as the answers")
    recipe = command.add_argument_group("recipe (defaults: FollowIR's)")
    field_options(recipe, TrainingSettings, *RECIPE)
    machine = command.add_argument_group("machine")
    field_options(machine, Compute, "device")
    registry_options(machine)
    return command


def _run(options: argparse.Namespace) -> None:
    from heed.addons.training.lora import train
    from pipelines.options.settings import registry_of

    compute_of(options).check()
    registry = registry_of(options, described=())
    settings = TrainingSettings(**fields_of(options, TrainingSettings))
    base, template = registry.resolve(options.base, [BASE]), _template(options, registry)
    train(options.data, base, template, settings, options.out)


def _template(options: argparse.Namespace, registry: Registry) -> Model:
    """Return the model whose templates, prompt and tokens are used, with the given ones in place of its own."""
    from heed.models.listing import find_entry

    like = find_entry(registry, options.like)
    if like.family != "causal":
        raise UsageError(
            f"--like {options.like}: its family is {like.family or 'bi-encoder'}, expected causal; see heed models"
        )
    tokens = tuple(options.tokens) if options.tokens else like.tokens
    return like._replace(prompt=options.prompt_template or like.prompt, tokens=tokens)


main = main_of(parser, _run)

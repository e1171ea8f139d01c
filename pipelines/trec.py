"""Run FollowIR, a collection that fetch lists, a data set of the hub, an id of ir_datasets, or files of yours."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from heed.data import FILES
from heed.datasets.catalogue import Catalogue
from heed.datasets.collection import Layout
from heed.datasets.loading import layout_of
from heed.datasets.own_files import DESCRIBED
from heed.errors import HeedError, UsageError
from heed.progress import log
from pipelines.command import own_modules, print_error, refuse, run_command
from pipelines.options.collection import collection_options
from pipelines.options.data import catalogue_option, data_of, data_options, layout_options, parameters_of, refuse_data
from pipelines.options.parser import command_parser

EXAMPLES = (
    "--retriever bm25",
    "--docs news.jsonl --topics topics.jsonl --qrels original.qrels --changed-qrels changed.qrels",
    "--benchmark followir --reranker jhu-clsp/FollowIR-7B",
    "--dataset hub:OWNER/NAME --retriever bm25 --reranker none",
)
BENCHMARKS = ("followir",)


def parser(layout: Layout = DESCRIBED) -> argparse.ArgumentParser:
    """Return the command line of ``heed trec``, with the parameters of a collection's ``layout``."""
    command = command_parser("trec", "", __doc__, EXAMPLES)
    data = command.add_argument_group("data")
    source = data.add_mutually_exclusive_group()
    source.add_argument(
        "--dataset",
        metavar="NAME",
        help="entry of the catalogue (heed fetch lists them), hub:OWNER/NAME for a data set of the hub in MTEB's or "
        "BEIR's layout, or id of ir_datasets",
    )
    source.add_argument(
        "--benchmark",
        metavar="NAME",
        help="followir (all three), followir/robust04, followir/news21 or followir/core17; "
        "with --docs, the whole collection is searched",
    )
    data_options(data, "lang")
    reading = collection_options(command, data)
    data_options(reading, "fields")
    layout_options(reading, DESCRIBED, {"data": "--data"})
    further = [name for name, option in layout.options.items() if option.help and name not in DESCRIBED.options]
    layout_options(reading, layout, {name: f"--{name.replace('_', '-')}" for name in further})
    command.set_defaults(layout=layout)
    catalogue_option(reading)
    return command


def _run(options: argparse.Namespace) -> None:
    from pipelines.launch import run_named

    data = data_of(options)
    name = options.benchmark or options.dataset
    if options.benchmark:
        refuse_data(data, "--benchmark has its own", but=("docs", "encoding"), names=(*FILES, "lang", "fields"))
        refuse(options, ["catalogue"], "--benchmark has its own")
        if name.partition("/")[0] not in BENCHMARKS:
            raise UsageError(f"--benchmark {name}: not known; expected followir, or followir/robust04 …")
    elif not name:
        refuse(options, ["data"], "it is a copy of a --benchmark, or of an entry named with --dataset")
        refuse(options, ["catalogue"], "name one of its entries with --dataset")
        if not data.docs:
            instead = (
                "give --docs PATH, --dataset NAME or --benchmark NAME too, or leave it out for the embedded sample"
            )
            refuse_data(data, instead, names=(*FILES, "lang"))
            log.info("no collection named: this is the embedded sample, invented news in English for a first try")
            name, data = "neuclir-sample", replace(data, lang="eng")
    parameters = parameters_of(options, DESCRIBED) | parameters_of(options, options.layout)
    run_named(options, name, data, parameters, Catalogue(options.catalogue))


def _layout_named(arguments: Sequence[str]) -> Layout:
    """Return the layout of the entry that --dataset or --benchmark names; that of described files where none does."""
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    first.add_argument("--dataset", "--benchmark", default="")
    first.add_argument("--catalogue", type=Path)
    try:
        named, _ = first.parse_known_args(arguments)
        with own_modules():
            return layout_of(Catalogue(named.catalogue).find(named.dataset)[0])
    except (HeedError, OSError, argparse.ArgumentError):  # told when the command runs
        return DESCRIBED


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with the options in ``argv`` (:func:`pipelines.command.run_command`)."""
    try:
        command = parser(_layout_named(sys.argv[1:] if argv is None else argv))
    except argparse.ArgumentError as error:
        return print_error(UsageError(f"--dataset: a parameter of its layout is an option already, {error}; rename it"))
    return run_command(command, _run, argv)


if __name__ == "__main__":
    sys.exit(main())

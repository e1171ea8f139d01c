"""Run FollowTable or any tables: queries alone, and with instructions on content or schema."""

import argparse

from heed.datasets.followtable import FOLLOWTABLE
from pipelines.command import main_of
from pipelines.options.collection import collection_options
from pipelines.options.data import data_of, data_options, layout_options, parameters_of
from pipelines.options.parser import command_parser

EXAMPLES = (
    "",
    "--retriever bm25+fields --field-weights 2 1 1 --reranker none",
    "--data FollowTable/data/WTR --retriever bm25 --measure nDCG@10",
    "--docs tables.jsonl --topics topics.jsonl --qrels query.qrels",
)
SUBSETS = ("WQT", "WTR", "TArX", "IndusTR", "sample")


def parser() -> argparse.ArgumentParser:
    """Return the command line of ``heed tables``."""
    command = command_parser("tables", "", __doc__, EXAMPLES)
    data = command.add_argument_group("data")
    source = data.add_mutually_exclusive_group()
    source.add_argument(
        "--subset", choices=SUBSETS, help="subset of FollowTable fetched before, or the embedded sample (default)"
    )
    layout_options(source, FOLLOWTABLE, {"data": "--data"})
    data_options(data, "lang")
    reading = collection_options(command, data)
    layout_options(reading, FOLLOWTABLE, {"form": "--serialise"})
    reading.add_argument(
        "--field-weights",
        nargs=3,
        type=float,
        default=(1.0, 1.0, 1.0),
        metavar=("CAPTION", "HEADER", "CELLS"),
        help="weights of the retriever bm25+fields (default 1 1 1)",
    )
    layout_options(reading, FOLLOWTABLE, {"traps": "--traps"})
    return command


def _run(options: argparse.Namespace) -> None:
    from pipelines.launch import run_named

    parameters = parameters_of(options, FOLLOWTABLE)
    if parameters["subset"] == SUBSETS[-1]:
        del parameters["subset"]
    name = "followtable" if parameters.get("subset") or parameters["data"] else "tables-sample"
    run_named(options, name, data_of(options), parameters)


main = main_of(parser, _run)

"""Run InfoSearch, or files of yours: each query alone, with an instruction, and with the reversed instruction."""

import argparse

from heed.datasets.infosearch import INFOSEARCH
from pipelines.command import main_of, refuse
from pipelines.options.collection import collection_options
from pipelines.options.data import data_of, data_options, layout_options, parameters_of, refuse_data
from pipelines.options.parser import command_parser

EXAMPLES = (
    "--dimension keyword",
    "--dimension audience length --reranker none",
    "--data InfoSearch --retriever bm25 --rerank-depth 100",
    "--docs docs.jsonl --topics topics.jsonl --qrels original.qrels --reversed-qrels reversed.qrels",
)
NAMES = ("audience", "keyword", "format", "language", "length", "source")
RERANK_DEPTH = 100  # InfoSearch, section 3: rerankers take a retriever's first 100


def parser() -> argparse.ArgumentParser:
    """Return the command line of ``heed infosearch``."""
    command = command_parser("infosearch", "", __doc__, EXAMPLES)
    data = command.add_argument_group("data")
    data.add_argument(
        "--dimension", action="extend", nargs="+", choices=NAMES, help="dimensions to run (default: all six)"
    )
    source = data.add_mutually_exclusive_group()
    layout_options(source, INFOSEARCH, {"data": "--data"})
    source.add_argument(
        "--collection",
        choices=("auto", "sample"),
        help="auto (default): InfoSearch if all of it was fetched before, else the sample",
    )
    data_options(data, "lang")
    collection_options(command, data, RERANK_DEPTH)
    return command


def _run(options: argparse.Namespace) -> None:
    from pipelines.launch import run_named

    data = data_of(options)
    if data.docs:
        instead = "they choose parts of InfoSearch, --docs names other documents"
        refuse(options, ["dimension", "data", "collection"], instead)
    else:
        instead = "name documents with --docs too, or a copy of InfoSearch with --data"
        refuse_data(data, instead)
    name = "infosearch-sample" if options.collection == "sample" else "infosearch"
    parameters = {**parameters_of(options, INFOSEARCH), "subset": tuple(options.dimension or ()), "or_sample": True}
    run_named(options, name, data, parameters)


main = main_of(parser, _run)

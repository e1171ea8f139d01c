"""Run InfoSearch, or files of yours: each query alone, with an instruction, and with the reversed instruction."""

import argparse
import sys
from pathlib import Path

from pipelines.command import main_of, refuse
from pipelines.options.collection import collection_options
from pipelines.options.data import OWN_FILES, lang_option
from pipelines.options.parser import command_parser

EXAMPLES = (
    "--dimension keyword",
    "--dimension audience --dimension length --reranker none",
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
        "--dimension", action="append", choices=NAMES, help="dimension to run; repeatable (default: all six)"
    )
    source = data.add_mutually_exclusive_group()
    source.add_argument(
        "--data", type=Path, metavar="DIR", help="local copy: a folder of dimensions, or of one dimension"
    )
    source.add_argument(
        "--collection",
        choices=("auto", "sample"),
        help="auto (default): InfoSearch if all of it was fetched before, else the sample",
    )
    lang_option(data)
    collection_options(command, data, RERANK_DEPTH)
    return command


def _run(options: argparse.Namespace) -> None:
    from heed.datasets.layout import Settings
    from heed.datasets.loading import find_collections
    from pipelines.launch import run_collections
    from pipelines.options.settings import own_files

    if options.docs:
        refuse(
            options,
            ["dimension", "data", "collection"],
            "they choose parts of InfoSearch, --docs names other documents",
        )
    else:
        refuse(options, [*OWN_FILES, "lang"], "name documents with --docs too, or a copy of InfoSearch with --data")
    name = "infosearch-sample" if options.collection == "sample" else "infosearch"
    settings = Settings(
        own_files(options),
        lang=options.lang or "",
        subsets=tuple(options.dimension or ()),
        data=options.data,
        or_sample=True,
    )
    run_collections(options, find_collections(name, settings))


main = main_of(parser, _run)

if __name__ == "__main__":
    sys.exit(main())

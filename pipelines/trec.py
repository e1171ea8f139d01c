"""Run FollowIR, a collection that fetch lists, a data set of the hub, an id of ir_datasets, or files of yours."""

import argparse
from dataclasses import replace

from heed.data import FILES
from heed.datasets.own_files import DESCRIBED
from heed.errors import UsageError
from heed.progress import log
from pipelines.command import main_of, refuse
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


def parser() -> argparse.ArgumentParser:
    """Return the command line of ``heed trec``."""
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
    catalogue_option(reading)
    return command


def _run(options: argparse.Namespace) -> None:
    from heed.datasets.catalogue import Catalogue
    from pipelines.launch import run_named

    data = data_of(options, conditions=tuple(options.condition or ()))
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
            refuse_data(data, "name documents with --docs, --dataset or --benchmark too", names=(*FILES, "lang"))
            log.info("no collection named: this is the embedded sample, invented news in English for a first try")
            name, data = "neuclir-sample", replace(data, lang="eng")
    run_named(options, name, data, parameters_of(options, DESCRIBED), Catalogue(options.catalogue))


main = main_of(parser, _run)

"""Run FollowIR, a collection that fetch lists, a data set of the hub, an id of ir_datasets, or files of yours."""

import argparse
import sys
from pathlib import Path

from heed.errors import UsageError
from heed.progress import log
from pipelines.command import main_of, refuse
from pipelines.options.collection import collection_options
from pipelines.options.data import OWN_FILES, catalogue_option, fields_option, lang_option
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
    lang_option(data)
    reading = collection_options(command, data)
    fields_option(reading, default=None)
    reading.add_argument("--data", type=Path, metavar="DIR", help="local copy of the data set, in place of the hub's")
    catalogue_option(reading)
    return command


def _run(options: argparse.Namespace) -> None:
    from heed.datasets.catalogue import Catalogue
    from heed.datasets.layout import Settings
    from heed.datasets.loading import find_collections
    from pipelines.launch import run_collections
    from pipelines.options.settings import own_files

    if options.benchmark:
        replaced = [name for name in OWN_FILES if name not in ("docs", "encoding")]
        refuse(options, [*replaced, "lang", "fields", "catalogue"], "--benchmark has its own")
        if options.benchmark.partition("/")[0] not in BENCHMARKS:
            raise UsageError(f"--benchmark {options.benchmark}: not known; expected followir, or followir/robust04 …")
    elif not options.dataset:
        refuse(options, ["data"], "it is a copy of a --benchmark, or of an entry named with --dataset")
        refuse(options, ["catalogue"], "name one of its entries with --dataset")
    if not (options.docs or options.dataset):
        refuse(options, ["name"], "it names a collection of --docs or --dataset")
    name, lang = options.benchmark or options.dataset, options.lang or ""
    if not (name or options.docs):
        refuse(options, [*OWN_FILES, "lang"], "name documents with --docs, --dataset or --benchmark too")
        log.info("no collection named: this is the embedded sample, invented news in English for a first try")
        name, lang = "neuclir-sample", "eng"
    settings = Settings(
        own_files(options),
        lang=lang,
        fields=options.fields or "title",
        data=options.data,
        conditions=tuple(options.condition or ()),
    )
    catalogue = Catalogue(options.catalogue)
    run_collections(options, find_collections(name, settings, catalogue))


main = main_of(parser, _run)

if __name__ == "__main__":
    sys.exit(main())

"""Any TREC-style collection, those of the catalogue, and FollowIR's Robust04, News21 and Core17."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from heed.errors import UsageError
from heed.types import ABLATIONS
from pipelines.command import refuse, run_command
from pipelines.options.collection import collection_options
from pipelines.options.data import OWN_FILES, catalogue_option, fields_option, lang_option
from pipelines.options.parser import command_parser

if TYPE_CHECKING:
    from heed.datasets.collection import Collection
    from heed.experiment.results import Results

EXAMPLES = (
    "--retriever bm25",
    "--docs news.jsonl --topics topics.jsonl --qrels original.qrels --changed-qrels changed.qrels",
    "--benchmark followir --reranker jhu-clsp/FollowIR-7B",
    "--dataset hub:OWNER/NAME --retriever bm25 --reranker none",
)
FOLLOWIR, OLDER = "followir", "followir-older"  # entries of the catalogue; the older form has ABLATIONS too


def parser() -> argparse.ArgumentParser:
    """Return the command line of ``python -m pipelines.trec``."""
    command = command_parser("trec", "", __doc__, EXAMPLES)
    data = command.add_argument_group("data")
    source = data.add_mutually_exclusive_group()
    source.add_argument(
        "--dataset",
        metavar="NAME",
        help="an entry of the catalogue (heed fetch lists them), a data set of the hub in MTEB's or BEIR's layout as "
        "hub:OWNER/NAME, or an id of ir_datasets",
    )
    source.add_argument(
        "--benchmark",
        metavar="NAME",
        help="followir (all three), followir/robust04, followir/news21 or followir/core17; "
        "with --docs the whole collection is searched",
    )
    lang_option(data)
    reading = collection_options(command, data)
    fields_option(reading, default=None)
    reading.add_argument("--data", type=Path, metavar="DIR", help="a local copy of the data set, instead of the hub's")
    catalogue_option(reading)
    return command


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return the exit status."""
    return run_command(parser(), _run, argv)


def _run(options: argparse.Namespace) -> None:
    from pipelines.launch import finish, launch

    if options.benchmark:
        refuse(options, [*OWN_FILES[1:], "lang", "fields", "catalogue"], "--benchmark has its own")
    elif not options.dataset:
        refuse(options, ["data"], "it is a copy of a --benchmark, or of an entry named with --dataset")
        refuse(options, ["catalogue"], "name one of its entries with --dataset")
    if not (options.docs or options.dataset):
        refuse(options, ["name"], "it names a collection of --docs or --dataset")
    if not (options.benchmark or options.dataset or options.docs):
        refuse(options, [*OWN_FILES, "lang"], "name documents with --docs, --dataset or --benchmark too")
    collections = _collections(options)
    results = [launch(options, collection) for collection in collections]
    several = len(results) > 1 and results[0].collection == FOLLOWIR
    finish(options, [_with_score(each) for each in results] if several else results)


def _collections(options: argparse.Namespace) -> "list[Collection]":
    """Return the collections that the options name, all of a benchmark's or one."""
    from heed.datasets.catalogue import Catalogue
    from heed.datasets.described import find_entries
    from heed.datasets.own_files import english_sample, own_collection
    from heed.progress import log
    from pipelines.options.settings import own_files

    if options.benchmark:
        if options.benchmark.partition("/")[0] != FOLLOWIR:
            raise UsageError(
                f"--benchmark {options.benchmark}: not known; expected {FOLLOWIR}, or {FOLLOWIR}/robust04 …"
            )
        older = not options.data and any(condition in ABLATIONS for condition in options.condition or ())
        name = options.benchmark.replace(FOLLOWIR, OLDER, 1) if older else options.benchmark
        entries = find_entries(name, Catalogue(), data=options.data, files=own_files(options))
        return [replace(each, name=FOLLOWIR) for each in entries]
    fields = options.fields or "title"
    if options.dataset:
        return _named(options, fields)
    if options.docs:
        return [own_collection(own_files(options), lang=options.lang, fields=fields)]
    log.info("no collection named: this is the embedded sample, invented news in English for a first try")
    return [english_sample(fields)]


def _named(options: argparse.Namespace, fields: str) -> "list[Collection]":
    """Return the collections of an entry of the catalogue, or of an id of ir_datasets."""
    from heed.datasets.catalogue import Catalogue
    from heed.datasets.described import find_entries
    from heed.datasets.irds import is_known
    from heed.datasets.loading import NAMES, load
    from heed.datasets.own_files import ir_dataset
    from pipelines.options.settings import own_files

    name, catalogue = options.dataset, Catalogue([options.catalogue] if options.catalogue else [])
    entry, files = catalogue.entries.get(name), own_files(options)
    if name in NAMES and not (entry and entry.subsets):
        refuse(options, OWN_FILES, f"{name} has its own; its own command takes them")
        return [load(name, lang=options.lang, fields=options.fields, data=options.data)]
    if name in catalogue or not is_known(name):
        return find_entries(name, catalogue, data=options.data, files=files, lang=options.lang, fields=fields)
    refuse(options, ["data"], f"{name} is no entry of the catalogue")
    return [ir_dataset(name, files, lang=options.lang, fields=fields)]


def _with_score(results: "Results") -> "Results":
    """Return the results with the benchmark's main measure on original once more, as ``score``.

    FollowIR's tables average MAP of two collections and nDCG@5 of the third under that name.
    """
    from heed.datasets.catalogue import Catalogue
    from heed.measures.summary import Detail

    [benchmark] = Catalogue().find(f"{FOLLOWIR}/{results.subset.removesuffix('-full')}")
    measure = benchmark.entry.measures[0]
    main = [each for each in results.details if (each["condition"], each["measure"]) == ("original", measure)]
    return replace(results, details=[*results.details, *(Detail(**{**each, "measure": "score"}) for each in main)])


if __name__ == "__main__":
    sys.exit(main())

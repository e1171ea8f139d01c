"""Run FollowTable or any tables: queries alone, and with instructions on content or schema."""

import argparse
import sys
from pathlib import Path

from heed.tables.text import FORMS
from pipelines.command import main_of
from pipelines.options.collection import collection_options
from pipelines.options.data import lang_option
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
    source.add_argument(
        "--data", type=Path, metavar="DIR", help="folder in FollowTable's layout: its BEIR form or raw release"
    )
    lang_option(data)
    reading = collection_options(command, data)
    reading.add_argument(
        "--serialise",
        choices=FORMS,
        default="raw",
        help="text of a table that systems read (default raw, as it came); the others have one row per line",
    )
    reading.add_argument(
        "--field-weights",
        nargs=3,
        type=float,
        default=(1.0, 1.0, 1.0),
        metavar=("CAPTION", "HEADER", "CELLS"),
        help="weights of the retriever bm25+fields (default 1 1 1)",
    )
    reading.add_argument("--traps", type=Path, metavar="PATH", help="traps for NFR, lines of query-id and corpus-ids")
    return command


def _run(options: argparse.Namespace) -> None:
    from heed.datasets.layout import Settings
    from heed.datasets.loading import find_collections
    from pipelines.launch import run_collections
    from pipelines.options.settings import own_files

    subsets = (options.subset,) if options.subset not in (None, SUBSETS[-1]) else ()
    settings = Settings(
        own_files(options),
        lang=options.lang or "",
        subsets=subsets,
        data=options.data,
        form=options.serialise,
        traps=options.traps,
    )
    run_collections(options, find_collections("followtable" if subsets or options.data else "tables-sample", settings))


main = main_of(parser, _run)

if __name__ == "__main__":
    sys.exit(main())

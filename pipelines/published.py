"""Print the figures of FollowIR, mFollowIR, FollowTable and InfoSearch, table by table, as in the papers."""

import argparse

from heed.addons.published.figures import Paper, PaperTable, as_rows, find_table, read_paper, select
from heed.files import write_json
from heed.types import PAPERS
from pipelines.command import main_of
from pipelines.options.output import json_option
from pipelines.options.parser import command_parser

EXAMPLES = ("mfollowir", "followir --table 2 --measure p-MRR", "followtable --subset WTR --json figures.json")


def parser() -> argparse.ArgumentParser:
    """Return the parser of ``heed published``."""
    parser = command_parser("published", "PAPER", __doc__, EXAMPLES)
    paper_options(parser)
    parser.add_argument("--measure", metavar="NAME", help="this measure only, such as p-MRR")
    json_option(parser)
    return parser


def paper_options(parser: argparse.ArgumentParser) -> None:
    """Add which published figures are meant; :func:`published_tables` reads them."""
    parser.add_argument("paper", choices=PAPERS, metavar="PAPER", help=", ".join(PAPERS))
    parser.add_argument("--table", metavar="N", help="this table only, such as 4 or 'Table 4' (default: all)")
    parser.add_argument(
        "--system", metavar="NAME", help="this system only, by the name that the paper prints or that of the registry"
    )
    parser.add_argument("--subset", metavar="NAME", help="this subset only, such as robust04, zho, WTR or average")


def published_tables(options: argparse.Namespace, measure: str | None = None) -> tuple[Paper, list[PaperTable]]:
    """Return the paper, and the figures of its tables that the options name."""
    paper = read_paper(options.paper)
    tables = [find_table(paper, options.table)] if options.table else paper.tables
    return paper, select(tables, options.system, options.subset, measure)


def _run(options: argparse.Namespace) -> None:
    paper, tables = published_tables(options, options.measure)
    print("\n\n".join(f"{paper.paper.title}, {table}" for table in tables))
    if options.json:
        write_json(options.json, as_rows(paper, tables))


main = main_of(parser, _run)

"""Options that choose published figures, and the figures that they choose."""

import argparse

from heed.addons.published.figures import Paper, PaperTable, find_table, read_paper, select
from heed.types import PAPERS


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

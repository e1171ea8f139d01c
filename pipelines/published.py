"""Print the figures of FollowIR, mFollowIR, FollowTable and InfoSearch, table by table, as in the papers."""

import argparse
import sys

from heed.files import write_json
from pipelines.command import main_of
from pipelines.options.output import json_option, log_options
from pipelines.options.parser import command_parser
from pipelines.options.published import paper_options, published_tables

EXAMPLES = ("mfollowir", "followir --table 2 --measure p-MRR", "followtable --subset WTR --json figures.json")


def parser() -> argparse.ArgumentParser:
    """Return the parser of ``heed published``."""
    parser = command_parser("published", "PAPER", __doc__, EXAMPLES)
    paper_options(parser)
    parser.add_argument("--measure", metavar="NAME", help="this measure only, such as p-MRR")
    json_option(parser)
    log_options(parser)
    return parser


def _run(options: argparse.Namespace) -> None:
    from heed.addons.published.figures import as_rows

    paper, tables = published_tables(options, options.measure)
    print("\n\n".join(f"{paper.paper.title}, {table}" for table in tables))
    if options.json:
        write_json(options.json, as_rows(paper, tables))


main = main_of(parser, _run)

if __name__ == "__main__":
    sys.exit(main())

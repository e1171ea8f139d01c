"""Options of results: where they go, and in which form."""

import argparse
from pathlib import Path

from pipelines.options.parser import Group

TABLE_FORMS = ("text", "markdown", "latex", "csv")


def out_option(group: Group, folder: str = "runs") -> None:
    """Add the folder of results."""
    group.add_argument(
        "--out", type=Path, default=Path(folder), metavar="DIR", help=f"folder of results (default {folder}/)"
    )


def indexes_option(group: Group) -> None:
    """Add the folder of indexes."""
    group.add_argument(
        "--indexes", type=Path, default=Path("indexes"), metavar="DIR", help="folder of indexes (default indexes/)"
    )


def verify_option(group: Group) -> None:
    """Add whether large files are read although they seem to be unchanged."""
    group.add_argument(
        "--verify",
        action="store_true",
        help="read every file to see whether it has changed (default: not those of 64 MB and more whose size and time "
        "of change are as they were)",
    )


def export_form(text: str) -> tuple[str, Path]:
    """Return form and path of ``FORM=PATH``, of a pool for other tools."""
    from heed.addons.judging.exchange.exports import FORMATS

    form, _, path = text.partition("=")
    if form not in FORMATS or not path:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected FORM=PATH with one of {', '.join(FORMATS)}")
    return form, Path(path)


def json_option(group: Group) -> None:
    """Add the file of results as JSON."""
    group.add_argument("--json", type=Path, metavar="FILE", help="also write the results to this file")

"""Any TREC-style collection, and FollowIR's Robust04, News21 and Core17."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from heed.io.topics import FIELDS
from pipelines.options import collection_options, refuse, run_command

if TYPE_CHECKING:
    from heed.evaluation.summary import Row


def parser() -> argparse.ArgumentParser:
    """The command line of ``python -m pipelines.trec``."""
    made = argparse.ArgumentParser(prog="python -m pipelines.trec", description=__doc__)
    source = made.add_mutually_exclusive_group()
    source.add_argument("--dataset", metavar="ID", help="documents, topics and judgements of an ir_datasets id")
    source.add_argument(
        "--benchmark",
        metavar="NAME",
        help="followir (all three), followir/robust04, followir/news21 or followir/core17; "
        "with --docs the whole collection is searched",
    )
    made.add_argument("--data", type=Path, metavar="DIR", help="a local copy of the benchmark, instead of the hub's")
    made.add_argument("--lang", metavar="LANG", help="language: eng, zho, fas, rus (default: the data set's, else eng)")
    made.add_argument("--fields", choices=FIELDS, help="what of a topic is the query (default title)")
    collection_options(made)
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; gives back the exit status."""
    return run_command(parser(), _run, argv)


def _run(options: argparse.Namespace) -> None:
    from heed.datasets.trec import find_trec
    from pipelines.launch import OWN_FILES, begin, finish, launch

    begin(options)
    if options.benchmark:
        refuse(options, [*OWN_FILES[1:], "lang", "fields"], "--benchmark has its own")
    else:
        refuse(options, ["data"], "it is a copy of a --benchmark")
    if not (options.benchmark or options.dataset or options.docs):
        refuse(options, [*OWN_FILES, "lang"], "name documents with --docs, --dataset or --benchmark too")
    collections = find_trec(options)
    found = {one.subset: launch(options, one) for one in collections}
    if len(found) > 1:
        found = {subset: _with_score(subset, rows) for subset, rows in found.items()}
    finish(options, collections[0].name, found)


def _with_score(subset: str, rows: "list[Row]") -> "list[Row]":
    """The rows, and the benchmark's main measure on original once more as ``score``.

    FollowIR's tables average MAP of two collections and nDCG@5 of the third under that name.
    """
    from heed.datasets.followir import BENCHMARKS

    measure = BENCHMARKS[subset.removesuffix("-full")].measure
    scores = [row.copy() for row in rows if (row["condition"], row["measure"]) == ("original", measure)]
    for row in scores:
        row["measure"] = "score"
    return [*rows, *scores]


if __name__ == "__main__":
    sys.exit(main())

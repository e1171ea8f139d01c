"""Tables and plots of results folders: text, Markdown, LaTeX, CSV, or one page to read in a browser."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.options import run_command, talk_options

if TYPE_CHECKING:
    from heed.reporting.folders import Results

FORMATS = ("text", "markdown", "latex", "csv")


def parser() -> argparse.ArgumentParser:
    """The command line of ``python -m pipelines.report``."""
    made = argparse.ArgumentParser(prog="python -m pipelines.report", description=__doc__)
    made.add_argument(
        "runs", type=Path, metavar="RUNS_DIR", help="a results folder (it has summary.json), or a tree of them"
    )
    made.add_argument("--format", choices=FORMATS, default="text", help="form of the tables (default text)")
    made.add_argument("--out", type=Path, metavar="FILE", help="write the tables to this file instead of stdout")
    made.add_argument(
        "--html",
        nargs="?",
        type=Path,
        const=Path(),
        metavar="FILE",
        help="write tables and plots as one self-contained page (default file RUNS_DIR/report.html)",
    )
    made.add_argument("--plots", type=Path, metavar="DIR", help="write every plot as a file into this folder")
    made.add_argument("--plot-format", choices=("svg", "png"), default="svg", help="of --plots (default svg)")
    talk_options(made)
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; gives back the exit status."""
    return run_command(parser(), _run, argv)


def _run(options: argparse.Namespace) -> None:
    from heed.io.files import write_bytes
    from heed.progress import log, timed
    from heed.reporting.folders import read_tree
    from heed.reporting.page import write_page
    from heed.reporting.text import tables

    found = read_tree(options.runs)
    text = tables(found, options.format)
    if options.out:
        write_bytes(options.out, text.encode())
        log.info(f"{options.out}: tables of {len(found)} results folders")
    else:
        sys.stdout.write(text)
    bare = [results.folder for results in found if not results.details]
    if bare and (options.html or options.plots):
        log.info(f"no per_topic.json, so no rank shifts and no bars by topic; run again for them: {', '.join(bare)}")
    if options.plots:
        with timed("plots"):
            _write_plots(found, options.plots, options.plot_format)
    if options.html:
        path = options.runs / "report.html" if options.html == Path() else options.html
        with timed("page"):
            write_page(found, options.runs, path)
        log.info(f"{path}: open it in a browser")


def _write_plots(found: "list[Results]", folder: Path, form: str) -> None:
    from heed.io.files import write_bytes
    from heed.progress import bar, log
    from heed.reporting.plots import plots, render

    drawn = plots(found)
    for plot in bar(drawn, len(drawn), "drawing", "plots"):
        write_bytes(folder / f"{plot.name}.{form}", render(plot, form))
    log.info(f"{folder}: {len(drawn)} plots")


if __name__ == "__main__":
    sys.exit(main())

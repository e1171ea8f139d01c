"""Write tables and plots of results folders as text, Markdown, LaTeX, CSV, one HTML page, or a static site."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from heed.errors import UsageError
from heed.files import write_bytes
from heed.progress import bar, log, number_of, timed
from pipelines.command import main_of, refuse
from pipelines.options.output import TABLE_FORMS, check_target
from pipelines.options.parser import command_parser

EXAMPLES = (
    "runs",
    "runs --format latex --out tables.tex",
    "runs/neuclir-sample/zho --html --baseline bm25 --plots plots --plot-format pdf",
    "runs ../others/runs --site public --title 'Our systems'",
)


def parser() -> argparse.ArgumentParser:
    """Return the parser of ``heed report``."""
    parser = command_parser("report", "RUNS_DIR…", __doc__, EXAMPLES)
    parser.add_argument(
        "runs",
        nargs="+",
        type=Path,
        metavar="RUNS_DIR",
        help="results folder, which has summary.json, or a tree of such folders",
    )
    parser.add_argument("--format", choices=TABLE_FORMS, default="text", help="form of the tables (default text)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the tables to this file instead of stdout")
    parser.add_argument(
        "--html",
        nargs="?",
        type=_page,
        const=Path(),
        metavar="FILE",
        help="write tables and plots as one HTML file (default RUNS_DIR/report.html)",
    )
    parser.add_argument("--plots", type=Path, metavar="DIR", help="write each plot as a file into this folder")
    parser.add_argument("--plot-format", choices=("svg", "png", "pdf"), help="of --plots (default svg)")
    parser.add_argument(
        "--site",
        type=Path,
        metavar="DIR",
        help="write a static site into this folder: index.html with the systems by collection, and a page for each "
        "results folder",
    )
    parser.add_argument(
        "--baseline", metavar="NAME", help="system that pages compare with from now on (default: the best first stage)"
    )
    parser.add_argument("--title", help="heading of --site (default Leaderboard)")
    return parser


def _page(text: str) -> Path:
    """Return the file of --html; the folder of results behind it would be taken for one."""
    if Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text} is a folder, expected a file; write RUNS_DIR before --html")
    return Path(text)


def _run(options: argparse.Namespace) -> None:
    from heed.experiment.measuring import refresh
    from heed.report.charts import render
    from heed.report.page import write_page
    from heed.report.plots import plots
    from heed.report.results import keep_baseline, read_folders
    from heed.report.tables import tables

    if options.html == Path() and len(options.runs) > 1:
        raise UsageError("--html of several folders: give its file, as in --html report.html")
    if options.html == Path():
        options.html = options.runs[0] / "report.html"
    check_target(options, "html", ".html")
    check_target(options, "out", TABLE_FORMS[options.format])
    if not options.site:
        refuse(options, ["title"], "it is the heading of --site")
    if not options.plots:
        refuse(options, ["plot_format"], "it is that of --plots")
    if not (options.site or options.html):
        refuse(options, ["baseline"], "it is that of --html and --site; heed compare prints a table")
    for folder in options.runs:
        refresh(folder)
    folders = [replace(each, baseline=options.baseline or each.baseline) for each in read_folders(options.runs)]
    for results in folders:
        for warning in results.warnings:
            log.warning(f"{results.path}: {warning}")
    text = tables(folders, options.format)
    if options.out:
        write_bytes(options.out, text.encode())
        log.info(f"{options.out}: tables of {number_of(len(folders), 'results folder')}")
    else:
        sys.stdout.write(text)
    if options.plots:
        with timed("plots"):
            drawn = plots(folders, most=sum(len(results.rows) for results in folders))  # those of all systems
            for plot in bar(drawn, len(drawn), "drawing", "plots"):
                form = options.plot_format or "svg"
                write_bytes(options.plots / f"{plot.name}.{form}", render(plot.spec, form))
            log.info(f"{options.plots}: {number_of(len(drawn), 'plot')}")
    if options.html:
        with timed("page"):
            size = write_page(folders, options.runs[0], options.html)
        log.info(f"{options.html}: {size / 1e6:.2f} MB, open it in a browser")
    if options.site:
        from heed.addons.explorer.static_site import write_site

        with timed("site"):
            write_site(folders, options.site, options.title or "Leaderboard")
        pages = number_of(len(folders), "results folder")
        log.info(f"{options.site / 'index.html'}: the site of {pages}, open it in a browser")
    for results in folders if options.baseline else ():
        keep_baseline(results.path, options.baseline)


main = main_of(parser, _run)

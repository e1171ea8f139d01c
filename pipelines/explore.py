"""Read topics, narratives, rankings and documents of results in the browser, and try changed instructions."""

import argparse
import secrets
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from heed.errors import UsageError
from heed.progress import log, number_of
from pipelines.command import main_of
from pipelines.options.machine import compute_of, machine_options, model_options
from pipelines.options.parser import OF_MODELS, command_parser, positive
from pipelines.serving import check_server_options, serve_page, server_options

EXAMPLES = (
    "runs",
    "runs/neuclir-sample/zho --port 8000 --no-browser",
    "runs --reranker ./my-cross-encoder --rerank-depth 50",
)


def parser() -> argparse.ArgumentParser:
    """Return the command line of ``heed explore``."""
    command = command_parser("explore", "RUNS_DIR", __doc__, EXAMPLES)
    command.add_argument(
        "runs", type=Path, metavar="RUNS_DIR", help="results folder, which has summary.json, or a tree of such folders"
    )
    command.add_argument(
        "--annotate",
        default="",
        metavar="URL",
        help="link that a running annotate printed; the key o then judges a document there",
    )
    server_options(command, "any")
    systems = command.add_argument_group("playground", "systems to be asked changed queries and instructions")
    for kind in ("retriever", "reranker"):
        systems.add_argument(
            f"--{kind}",
            action="append",
            default=[],
            metavar="NAME",
            help=f"one more {kind}, as for the collection commands; those of the runs that need no model are "
            "there; repeatable",
        )
    systems.add_argument(
        "--rerank-depth", type=positive, metavar="N", help="documents per topic in the pool (default: as in the runs)"
    )
    model_options(command.add_argument_group(OF_MODELS))
    machine_options(command)
    return command


def _run(options: argparse.Namespace) -> None:
    from heed.addons.explorer.live_systems import Choice
    from heed.addons.explorer.server import PlaygroundServer, served_page, served_policy
    from heed.experiment.measuring import refresh
    from heed.report.results import read_tree
    from heed.web import listen
    from pipelines.options.settings import registry_of

    check_server_options(options)
    refresh(options.runs)
    results = read_tree(options.runs)
    page = partial(served_page, results, options.runs, _link(options.annotate))
    compute = compute_of(options)
    compute.check()
    choice = Choice(options.retriever, options.reranker, options.rerank_depth, compute, registry_of(options))
    server = PlaygroundServer(page, results, choice)
    server.check()
    sock = listen(options.port, 0)
    log.info(f"{number_of(len(results), 'results folder')}")
    try:
        serve_page(options, "explore", secrets.token_urlsafe(32), server.application(), sock, served_policy())
    except KeyboardInterrupt:
        log.info("stopped")
    finally:
        server.close()


def _link(url: str) -> str:
    """Return the address of a running annotation page; :class:`heed.errors.UsageError` for anything else."""
    parts = urlsplit(url)
    if url and (parts.scheme not in ("http", "https") or not parts.netloc or parts.fragment):
        raise UsageError(f"--annotate {url!r}: expected the link that a running annotate printed, http://127.0.0.1:…")
    return url


main = main_of(parser, _run)

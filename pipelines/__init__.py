"""The commands, one file each: ``python -m pipelines`` lists them."""

import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

try:
    from heed.extras import advice
except ModuleNotFoundError:
    raise
except ImportError as error:  # a system that Heed does not run on
    sys.exit(f"error: {error}")


COMMANDS = {
    "neuclir": "run NeuCLIR, HC4 or mFollowIR: Chinese, Persian or Russian news, with instructions",
    "trec": "run FollowIR, an id of ir_datasets, a data set of the hub, or files of yours",
    "tables": "run FollowTable, or any tables as HTML, Markdown or CSV",
    "infosearch": "run InfoSearch's six dimensions: query, instruction, reversed instruction",
    "compare": "compare the systems of a folder with a baseline, or runs of two conditions; measure one run",
    "report": "write tables and plots of results: text, Markdown, LaTeX, CSV, one HTML page",
    "pool": "make a pool for judging from any runs, and export it to annotation tools",
    "check": "check runs as NIST does, correct them, and make the package that a track asks for",
    "annotate": "judge a pool in the browser: grades by keyboard, edited narratives, agreement, qrels and topics",
    "judge": "judge a pool by a language model, and compare it with people (κ, τ)",
    "publish": "publish a judged collection: Parquet for MTEB, ir_datasets, datasheet, agreement, digests",
    "rerank": "rescore one run or pool by one reranker under one condition",
    "judgements": "turn results of annotation tools into qrels: Label Studio, doccano, CSV, Excel",
    "explore": "read topics, rankings and documents in the browser, and try changed instructions",
    "models": "list the models: what each needs, what is missing here, and the text that it reads",
    "published": "print the papers' figures table by table, with what is doubtful",
    "reproduce": "run rows of a paper's tables, and say of each figure whether it comes out",
    "train": "train a reranker by FollowIR's recipe (LoRA)",
    "fetch": "download a collection, or say how to get it",
}
FIRST_WEEK = tuple(COMMANDS)[:8]  # the collections, and what follows on their runs; the others are named alone
NAMED = re.compile(rf"\bheed\s+({'|'.join(COMMANDS)})\b")


def as_started(text: str) -> str:
    """Return ``text`` with the commands that it names in the form in which this process was started.

    Messages and help name them as ``heed fetch``; one of ``python -m pipelines`` gets ``python -m pipelines.fetch``.
    """
    return text if Path(sys.argv[0]).stem == "heed" else NAMED.sub(r"python -m pipelines.\1", text)


@contextmanager
def until_the_reader_leaves() -> Iterator[None]:
    """End the process without a word where nobody reads its output any more, as after ``head``."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def print_any_character() -> None:
    """Let stdout and stderr print ``?`` for what their encoding lacks: that of ``LC_ALL=C`` has no "×"."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a notebook's takes everything
            stream.reconfigure(errors="replace")


def missing_package(error: ModuleNotFoundError) -> str | None:
    """Return advice on a package or an add-on that this Python lacks; None if a module of the core is missing."""
    package, *parts = (error.name or "").split(".")
    if parts[:1] == ["addons"]:
        return (
            f"the add-on {'.'.join([package, *parts[:2]])} is not installed for {sys.executable}; install all of Heed"
        )
    if package in ("", "heed", "pipelines"):
        return None
    return advice(package)


def print_uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an error that nothing caught, as :data:`sys.excepthook` is called: of a missing package one line."""
    message = missing_package(error) if isinstance(error, ModuleNotFoundError) else None
    if message is None or "--debug" in sys.argv:
        sys.__excepthook__(kind, error, trace)
    else:
        print(f"error: {message}", file=sys.stderr)


if sys.argv[0] == "-m":  # python -m pipelines…, whose own imports may fail; not when a program imports this package
    sys.excepthook = print_uncaught

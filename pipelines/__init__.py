"""The commands, one file each: ``python -m pipelines`` lists them."""

import io
import re
import sys
from pathlib import Path
from types import TracebackType

try:
    from heed.extras import advice
except ModuleNotFoundError:
    raise
except ImportError as error:  # a system that Heed does not run on
    sys.exit(f"error: {error}")


COMMANDS = {
    "neuclir": "NeuCLIR, HC4 and mFollowIR: Chinese, Persian or Russian news, with instructions",
    "trec": "any TREC-style collection: ir_datasets ids, your own files, FollowIR's Robust04, News21, Core17",
    "tables": "FollowTable, or any tables: HTML, Markdown, CSV; results by constraint type",
    "infosearch": "InfoSearch's six dimensions: query, instruction, reversed instruction",
    "pool": "pools for judging, from any runs: budgets, samples, orders for assessors, statistics, exports",
    "annotate": "judge a pool in the browser: grades by keyboard, edited narratives, agreement, qrels and topics",
    "judge": "a pool judged by a model, apart from people's judgements, with agreement (κ, τ); cost first",
    "rerank": "one run or pool rescored under one condition by one reranker",
    "check": "runs as NIST tests them, and more; corrected copies; a track's package with form and manifest",
    "judgements": "results of annotation tools back to qrels: Label Studio, doccano, Relevation, CSV, Excel",
    "compare": "two or three runs pairwise, or all systems of a folder: p-MRR, selectivity, IRS, NFR, WISE, SICR",
    "report": "tables and plots of results folders: text, Markdown, LaTeX, CSV, one HTML page",
    "explore": "see why, in the browser: topics, narratives, whole runs, and a playground for changed instructions",
    "models": "every registered model: what it is, what it needs, what is missing here, and what it sees",
    "published": "the papers' figures, as these lay them out, with what is doubtful",
    "reproduce": "published rows again: what can run here does, with a verdict on each figure",
    "train": "a reranker of your own: FollowIR's recipe (LoRA) on query, instruction, document, label",
    "fetch": "collections: what can be downloaded is, with sizes told first; how to get the rest",
}
NAMED = re.compile(rf"\bheed\s+({'|'.join(COMMANDS)})\b")


def as_started(text: str) -> str:
    """Return ``text`` with the commands that it names in the form in which this process was started.

    Messages and help name them as ``heed fetch``; one of ``python -m pipelines`` gets ``python -m pipelines.fetch``.
    """
    return text if Path(sys.argv[0]).stem == "heed" else NAMED.sub(r"python -m pipelines.\1", text)


def print_any_character() -> None:
    """Let stdout and stderr print ``?`` for what their encoding lacks: that of ``LC_ALL=C`` has no "×"."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a notebook's takes everything
            stream.reconfigure(errors="replace")


def missing_package(error: ModuleNotFoundError) -> str | None:
    """Return advice on a package that this Python lacks; None if a module of Heed itself is missing."""
    package = (error.name or "").partition(".")[0]
    if package in ("", "heed", "pipelines"):
        return None
    return advice(package)


def _print_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    message = missing_package(error) if isinstance(error, ModuleNotFoundError) else None
    if message is None or "--debug" in sys.argv:
        sys.__excepthook__(kind, error, trace)
    else:
        print(f"error: {message}", file=sys.stderr)


if sys.argv[0] == "-m":  # python -m pipelines…, whose own imports may fail; not when a program imports this package
    sys.excepthook = _print_error

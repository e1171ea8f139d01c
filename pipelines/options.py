"""What all commands share: options of the same name and meaning, and how errors are told."""

import argparse
import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from heed import __version__
from heed.errors import HeedError, fail
from heed.io.topic_files import OwnFiles
from heed.progress import Timing, escaped, log, recording
from heed.retrieval.bm25_index import K1, B
from heed.retrieval.dense import KINDS
from heed.types import CONDITIONS
from heed.workers import ENGINES
from pipelines import missing_package, started_as_heed
from pipelines.resources import log_resources
from pipelines.stopping import Terminated, stoppable


def collection_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that the four collection commands share."""
    parser.set_defaults(field_weights=(1.0, 1.0, 1.0))
    data = parser.add_argument_group("data")
    data.add_argument(
        "--docs", nargs="+", metavar="PATH", help="documents: .jsonl[.gz], folders of them, or an ir_datasets id"
    )
    data.add_argument("--topics", metavar="PATH", help="topics; the format is recognised")
    data.add_argument(
        "--topics-format", choices=("heed", "neuclir", "tsv", "trec", "mfollowir"), help="read the topics as this form"
    )
    data.add_argument("--qrels", type=Path, metavar="PATH", help="judgements for query and original")
    data.add_argument("--changed-qrels", type=Path, metavar="PATH", help="judgements for changed")
    data.add_argument("--reversed-qrels", type=Path, metavar="PATH", help="judgements for reversed")
    systems = parser.add_argument_group("systems")
    systems.add_argument(
        "--retriever",
        action="append",
        metavar="NAME",
        help="bm25, bm25+rm3, bm25+rocchio, bm25+fields (tables), lsa, or an encoder by name, path or hub id; "
        "repeatable (default: bm25, lsa)",
    )
    systems.add_argument(
        "--reranker",
        action="append",
        metavar="NAME",
        help="polarity, a model by name, path or hub id, decompose:ENCODER, polarity+NAME, or none; repeatable "
        "(default: polarity)",
    )
    systems.add_argument(
        "--maxp",
        nargs="?",
        const="400/200",
        metavar="WORDS/OVERLAP",
        help="rerankers score a document by its best passage of so many words (400/200 if not told)",
    )
    model_options(systems)
    systems.add_argument(
        "--run",
        action="append",
        metavar="NAME=FILE",
        help="a run made elsewhere, measured beside the others: NAME.CONDITION=FILE, or NAME=FILE with {condition} "
        "in it; repeatable",
    )
    systems.add_argument(
        "--condition", action="append", choices=CONDITIONS, help="repeatable (default: all that the topics carry)"
    )
    systems.add_argument(
        "--depth", type=positive, default=1000, metavar="N", help="documents a topic in a run (default 1000)"
    )
    systems.add_argument(
        "--rerank-depth", type=positive, metavar="N", help="documents a topic in the pool (default: --depth)"
    )
    systems.add_argument(
        "--pool",
        choices=("retrieved", "published"),
        help="rescore what the retrievers found (default), or the candidate lists that came with the topics "
        "(default of trec --benchmark)",
    )
    systems.add_argument("--k1", type=float, default=K1, help=f"BM25's k1 (default {K1})")
    systems.add_argument("--b", type=float, default=B, help=f"BM25's b (default {B})")
    systems.add_argument(
        "--shards",
        type=positive,
        default=1,
        metavar="N",
        help="split BM25's index in N, made one after the other and searched as one (default 1)",
    )
    systems.add_argument("--faiss", choices=KINDS, default=KINDS[0], help="kind of FAISS index (default exact)")
    machine_options(parser)
    engine_options(parser)
    output_options(parser)


def model_options(systems: argparse._ActionsContainer) -> None:
    """Add what is told of models that the registry does not know."""
    systems.add_argument(
        "--models", type=Path, metavar="FILE", help="JSON with family, templates and lengths of further models"
    )
    systems.add_argument("--family", metavar="NAME", help="family of models without an entry, such as causal")
    for part in ("query", "document", "prompt"):
        systems.add_argument(f"--{part}-template", metavar="TEXT", help=f"{part} template of models without an entry")
    systems.add_argument(
        "--trust-remote-code", action="store_true", help="run code that comes with a model, at its pinned revision"
    )
    systems.add_argument(
        "--inference",
        choices=("transformers", "vllm"),
        default="transformers",
        help="what runs causal, reasoning and local list-wise rerankers; all other models run as ever "
        "(default transformers; vllm needs pip install vllm==0.32.0)",
    )


def machine_options(parser: argparse.ArgumentParser) -> None:
    """Add threads, device and Java's heap."""
    machine = parser.add_argument_group("machine")
    machine.add_argument(
        "--threads",
        type=positive,
        default=os.cpu_count() or 1,
        metavar="N",
        help="threads for Java and search (default: all cores)",
    )
    machine.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="where models run (default auto)"
    )
    machine.add_argument("--heap", default="4g", metavar="SIZE", help="Java's largest heap, as 512m or 8g (default 4g)")


def engine_options(parser: argparse.ArgumentParser) -> None:
    """Add where models run."""
    engine = parser.add_argument_group("engine")
    engine.add_argument(
        "--engine",
        choices=ENGINES,
        default=ENGINES[0],
        help="where models run: on this machine, or on a Ray cluster; the results are the same (default local)",
    )
    engine.add_argument(
        "--workers",
        type=positive,
        metavar="N",
        help="processes that run models (default: one for each GPU; without several GPUs this process does it, "
        "with ray one on each machine)",
    )
    engine.add_argument(
        "--ray-address",
        metavar="HOST:PORT",
        help="the Ray cluster (default: RAY_ADDRESS, else one of the command's own)",
    )


def output_options(parser: argparse.ArgumentParser) -> None:
    """Add where results go and how much is told."""
    output = parser.add_argument_group("output")
    output.add_argument("--out", type=Path, default=Path("runs"), metavar="DIR", help="results (default runs/)")
    output.add_argument(
        "--indexes", type=Path, default=Path("indexes"), metavar="DIR", help="indexes (default indexes/)"
    )
    output.add_argument("--json", type=Path, metavar="FILE", help="write the summary to this file too")
    talk_options(output)


def talk_options(parser: argparse._ActionsContainer) -> None:
    """Add how much a command tells, the same for every command."""
    parser.add_argument("--quiet", action="store_true", help="tell nothing on the way")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser.add_argument("--version", action="version", version=f"heed {__version__}", help="print Heed's version")


def positive(text: str) -> int:
    """A whole number from 1, as argparse wants its types."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"found {text}, expected at least 1")
    return value


def refuse(options: argparse.Namespace, names: Sequence[str], instead: str) -> None:
    """Raise :class:`HeedError` for options that do not go together with the others, instead of ignoring them."""
    given = [f"--{name.replace('_', '-')}" for name in names if getattr(options, name)]
    fail([f"{', '.join(given)}: not used here; {instead}"] if given else [])


def own_files(options: argparse.Namespace) -> OwnFiles:
    """Return the documents, topics and judgements that the options name."""
    paths = (options.qrels, options.changed_qrels, options.reversed_qrels)
    return OwnFiles(tuple(options.docs or ()), options.topics, options.topics_format, *paths)


def run_command(
    parser: argparse.ArgumentParser, body: Callable[[argparse.Namespace], None], argv: Sequence[str] | None
) -> int:
    """Parse, run, and give back the exit status.

    0 done, 1 a problem told on stderr (2: argparse's own), 130 and 143 stopped by Ctrl-C or SIGTERM.
    Without ``argv`` the command is all that the process is for.
    """
    if started_as_heed():
        parser.prog = parser.prog.replace("python -m pipelines.", "heed ")
    options = parser.parse_args(argv)
    timings: list[Timing] = []
    try:
        with stoppable(last=argv is None), logging_to_stderr(options.quiet), recording(timings):
            body(options)
            log_resources(timings)
            sys.stdout.flush()
    except (KeyboardInterrupt, Terminated) as stop:
        print("stopped; what was complete is kept and used again", file=sys.stderr)
        return 130 if isinstance(stop, KeyboardInterrupt) else 143
    except BrokenPipeError:  # the reader of our output left, as head does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if options.debug:
            traceback.print_exc()
        return _tell(error)
    return 0


class _Stderr(logging.Handler):
    """Writes messages to what is stderr at that moment, with control characters escaped."""

    def emit(self, record: logging.LogRecord) -> None:
        print(escaped(record.getMessage()), file=sys.stderr, flush=True)


@contextmanager
def logging_to_stderr(quiet: bool) -> Iterator[None]:
    """Write Heed's messages to stderr inside the block; warnings alone if ``quiet``."""
    handlers, level = log.handlers, log.level
    log.handlers = [_Stderr()]
    log.setLevel(logging.WARNING if quiet else logging.INFO)
    try:
        yield
    finally:
        log.handlers = handlers
        log.setLevel(level)


def _tell(error: Exception) -> int:
    if isinstance(error, HeedError):
        message = str(error)
    elif isinstance(error, ModuleNotFoundError) and (advice := missing_package(error)):
        message = advice
    elif isinstance(error, OSError):
        where, what = error.filename or "file", error.strerror or error
        message = f"{where}: {what}; nothing half-written is left; mend it, then run again"
    elif type(error).__module__ == "sqlite3":
        message = f"document store: {error}; free some disk space or check the folder, then run again"
    else:
        message = f"internal error, {type(error).__name__}: {error}; run again with --debug and report what it prints"
    for line in message.splitlines():
        print(f"error: {escaped(line)}", file=sys.stderr)
    return 1

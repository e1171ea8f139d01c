"""Pool any runs for judging: depth, fusion, budgets, samples; orders for assessors; statistics and exports."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from heed.exchange.exports import FORMATS
from heed.io.trec_files import parse_score
from heed.pooling.budgets import quota
from heed.pooling.languages import language_file
from heed.pooling.orders import ORDERS
from heed.pooling.request import DEPTH
from heed.pooling.samples import strata
from heed.pooling.statistics import SECONDS
from heed.types import CONDITIONS
from pipelines.options import positive, run_command, talk_options

if TYPE_CHECKING:
    from heed.exchange.exports import Material
    from heed.io.pools import Pool

Value = TypeVar("Value")

RULES = """\
The pool of a topic is the union of every run's first --depth documents (score descending, then docid descending).
--size cuts it to the best by reciprocal rank fusion. --budget N is for all topics together: they are pooled to
the same depth, the deepest that fits, and what remains goes to the best fused documents of the next depth. Neither
the order of the runs nor that of their lines matters.

Runs called <system>.<condition>.run are pooled together; their system is left out as one. A pool is a topic's,
under the id of the runs: narratives 12-og and 12-changed, or 3_0 and 3_1, have a pool each. --by-base makes one
of a query's narratives: 12, 3. A document is judged then (--exclude-judged, --judged) when it is so under all.

mtf and hedge learn from --judged: judge what comes first, then pool again.

examples:
  python -m pipelines.pool runs/*.run --depth 100 --out pool.jsonl
  python -m pipelines.pool runs/*.run --budget 5000 --order hedge --judged qrels-so-far.txt --out next.jsonl
  python -m pipelines.pool runs/*.run --sample 1-10:1.0,11-100:0.3,101-1000:0.05 --out sample.jsonl
  python -m pipelines.pool mlir-*.run --language zho=zho.ids --language fas=fas.ids --language rus=rus.ids \\
                           --budget zho=2000 --budget fas=2000 --budget rus=2000 --out pool.jsonl
  python -m pipelines.pool --only-relevant qrels.txt --out again.jsonl     # a narrative was edited
"""


def parser() -> argparse.ArgumentParser:
    """The command line of ``python -m pipelines.pool``."""
    made = argparse.ArgumentParser(
        prog="python -m pipelines.pool",
        description=__doc__,
        epilog=RULES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("run", nargs="*", type=Path, metavar="RUN", help="TREC, rank_llm JSON, MTEB predictions; .gz")
    made.add_argument("--subset", metavar="NAME", help="subset of MTEB predictions, where a file holds several")
    made.add_argument("--out", required=True, type=Path, metavar="POOL", help='the pool, {"qid", "docids"} lines')
    made.add_argument("--json", type=Path, metavar="FILE", help="write settings and statistics")
    _size_options(made.add_argument_group("how much is judged"))
    _judged_options(made.add_argument_group("judgements"))
    order = made.add_argument_group("order")
    told = "; ".join(f"{name}: {does}" for name, does in ORDERS.items())
    order.add_argument("--order", choices=ORDERS, default="hidden", help=f"{told} (default hidden)")
    order.add_argument("--seed", type=int, metavar="N", help="of the hidden order and of samples (default 0)")
    _export_options(made.add_argument_group("exports"))
    talk_options(made)
    return made


def _export_options(exports: argparse._ArgumentGroup) -> None:
    forms = "; ".join(f"{name}: {does}" for name, does in FORMATS.items())
    exports.add_argument(
        "--export",
        action="append",
        type=_typed(_export),
        metavar="FORM=PATH",
        help=f"write the pool also as {forms}; repeatable; what shows text needs --topics and --docs",
    )
    exports.set_defaults(dataset=None, fields=None, topics_format=None)
    exports.add_argument("--topics", metavar="PATH", help="topics, for exports and for languages")
    exports.add_argument("--docs", nargs="+", metavar="PATH", help="documents, for exports")
    exports.add_argument("--lang", metavar="LANG", help="of topics and documents of exports (default eng)")
    exports.add_argument("--condition", choices=CONDITIONS, help="whose instruction exports show (default original)")
    exports.add_argument("--indexes", type=Path, default=Path("indexes"), metavar="DIR", help="default indexes/")


def _size_options(size: argparse._ArgumentGroup) -> None:
    size.add_argument("--depth", type=positive, metavar="K", help=f"documents of each list (default {DEPTH})")
    size.add_argument(
        "--size", action="append", type=_typed(quota), metavar="[QID=]N", help="at most N a topic, by fusion"
    )
    size.add_argument(
        "--budget", action="append", type=_typed(quota), metavar="[LANG=]N", help="at most N in all, or in a language"
    )
    size.add_argument(
        "--language",
        action="append",
        type=_typed(language_file),
        metavar="LANG=PATH",
        help="the documents of LANG: a list of ids, JSONL or a folder; each list is split by language then, as "
        "NeuCLIR's multilingual runs are; without it LANG is that of the topics in --topics",
    )
    size.add_argument(
        "--sample",
        type=_typed(strata),
        metavar="STRATA",
        help="draw by best rank, such as 1-10:1.0,11-100:0.3; POOL.prels gets topic, stratum, docid, probability",
    )
    size.add_argument("--by-base", action="store_true", help="one pool for all narratives of a query")
    size.add_argument("--topic", action="append", metavar="QID", help="pool this topic only; repeatable")


def _judged_options(judged: argparse._ArgumentGroup) -> None:
    judged.add_argument(
        "--exclude-judged",
        action="append",
        type=Path,
        metavar="QRELS",
        help="leave out what has a grade from 0 there; repeatable",
    )
    judged.add_argument(
        "--only-relevant",
        type=Path,
        metavar="QRELS",
        help="pool exactly the documents relevant there, retrieved or not, as mFollowIR reads them again for an "
        "edited narrative; RUN may be missing",
    )
    judged.add_argument("--judged", type=Path, metavar="QRELS", help="judgements so far, for mtf and hedge")
    judged.add_argument(
        "--qrels",
        type=Path,
        metavar="QRELS",
        help="can they be used again? each system is left out and all runs are ranked again; of a sample, what is "
        "estimated from them",
    )
    judged.add_argument(
        "--seconds-per-document", type=_typed(_seconds), metavar="S", help=f"judging time (assumed: {SECONDS:g})"
    )


def _typed(read: Callable[[str], Value]) -> Callable[[str], Value]:
    """``read`` as argparse wants its types: what a ValueError says is shown to the user."""

    def typed(text: str) -> Value:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return typed


def _seconds(text: str) -> float:
    value = parse_score(text)
    if value is None or value <= 0:
        raise ValueError(f"found {text!r}, expected seconds above 0")
    return value


def _export(text: str) -> tuple[str, Path]:
    form, _, path = text.partition("=")
    if form not in FORMATS or not path:
        raise ValueError(f"found {text!r}, expected FORM=PATH with one of {', '.join(FORMATS)}")
    return form, Path(path)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; gives back the exit status."""
    return run_command(parser(), _run, argv)


def _run(options: argparse.Namespace) -> None:
    from heed.exchange.exports import export
    from heed.io.files import write_json
    from heed.io.pools import write_pool
    from heed.pooling.judged import read_judged
    from heed.pooling.making import bring_together, make
    from heed.pooling.report import as_data, as_text, reported
    from heed.pooling.request import (
        check,
        document_languages_of,
        known_of,
        language_of,
        probabilities,
        settings_of,
        wish_of,
    )
    from heed.pooling.runs import read_runs
    from heed.pooling.samples import write_probabilities
    from heed.progress import log, timed

    check(options)
    wish, known = wish_of(options), known_of(options)
    qrels = read_judged("--qrels", [options.qrels] if options.qrels else [])
    with timed("runs") as work:
        runs = read_runs(options.run, options.subset)
        work.did(len(runs), "runs")
    languages = document_languages_of(options, runs, known)
    with timed("pool") as work:
        inputs = bring_together(runs, known, wish, qrels, languages)
        made = make(inputs, wish, language_of(options, languages, inputs.topics))
        work.did(sum(map(len, made.pooled.values())), "documents")
    with timed("statistics"):
        report = reported(made, inputs, runs, qrels)._replace(seconds=options.seconds_per_document or SECONDS)
    shown = _material(options, made.pooled)
    beside = probabilities(options.out)
    if made.sample:
        write_probabilities(beside, made.sample)
    elif beside.exists():
        log.info(f"{beside}: of an earlier sample, not of this pool; remove it")
    write_pool(options.out, made.pooled)
    if options.json:
        write_json(options.json, {"settings": settings_of(options, wish), **as_data(report)})
    for form, path in options.export or ():
        with timed("export", form):
            export(form, path, shown)
    print(as_text(report, str(options.out)))


def _material(options: argparse.Namespace, pooled: "Pool") -> "Material":
    """The pool with what --topics and --docs tell of it; without --docs, for the forms that show no text."""
    from heed.datasets.trec import given_files
    from heed.exchange.exports import Material
    from heed.io.document_store import open_store
    from heed.io.files import locked

    if not (options.export and options.docs and options.topics):
        return Material(pooled, {}, "query", None)
    name, code, source, topics = given_files(options)
    instructed = any("original" in topic.instructions for topic in topics)
    condition = options.condition or ("original" if instructed else "query")
    indexes = options.indexes / name / code
    with locked(indexes):
        store = open_store(indexes / "documents", source)
    return Material(pooled, {topic.qid: topic for topic in topics}, condition, store)


if __name__ == "__main__":
    sys.exit(main())

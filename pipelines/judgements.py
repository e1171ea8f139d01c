"""Turn results of annotation tools into qrels: Label Studio, doccano, CSV, Excel, JSON lines."""

import argparse
from pathlib import Path

from heed.addons.judging.agreement import same_grades
from heed.addons.judging.exchange.judgements import (
    RULES,
    agreements,
    count_votes,
    parse_grades,
    read_labels,
    resolve,
)
from heed.errors import fail
from heed.formats.trec_files import read_pool, write_qrels
from heed.progress import brief, counted, log, number_of, timed
from heed.types import UNJUDGED
from pipelines.command import main_of
from pipelines.options.data import data_options
from pipelines.options.output import check_target
from pipelines.options.parser import command_parser

EXAMPLES = (
    "label-studio.json --pool pool.jsonl --out judged.qrels",
    "ann.csv bob.csv --resolve majority --out judged.qrels",
    "doccano.jsonl --grades no=0,partly=1,yes=3 --out judged.qrels",
)


def parser() -> argparse.ArgumentParser:
    """Return the parser of ``heed judgements``."""
    command = command_parser("judgements", "FILE… --out QRELS", __doc__, EXAMPLES)
    command.add_argument("file", nargs="+", type=Path, metavar="FILE", help="result file of a tool, by its suffix")
    command.add_argument("--out", type=Path, required=True, metavar="QRELS", help="qrels to write")
    command.add_argument(
        "--grades",
        action="append",
        default=[],
        metavar="LABEL=GRADE,…",
        help="grades of labels that are words; any other label is then an error; repeatable (default: labels are whole "
        "numbers, and a negative one means not judged, as for trec_eval)",
    )
    command.add_argument(
        "--resolve",
        choices=RULES,
        default=RULES[0],
        help="if assessors differ: stop with an error (default), take the grade of most assessors (in a tie "
        "the highest), or the highest grade",
    )
    command.add_argument(
        "--pool", type=Path, metavar="POOL", help="refuse documents outside this pool; count those not judged"
    )
    command.add_argument(
        "--condition",
        default="",
        metavar="NAME",
        help="use only judgements under this condition; an export of annotate has original and changed",
    )
    command.add_argument(
        "--unjudged",
        choices=("leave", str(UNJUDGED)),
        default="leave",
        help="documents of the pool without a grade: leave them out (default), or give them -1, which infAP reads as "
        "pooled and not judged",
    )
    data_options(command, "encoding")
    return command


def _run(options: argparse.Namespace) -> None:
    check_target(options, "out", ".qrels")
    grades = parse_grades(options.grades)
    with timed("judgements") as work:
        judgements = read_labels(options.file, options.condition, encoding=options.encoding or "")
        work.did(len(judgements), "records")
    votes = count_votes(judgements, grades, read_pool(options.pool) if options.pool else None)
    pairs = agreements(votes, grades.values())
    for (first, second), pair in pairs.items():
        print(f"{first} and {second}: {counted(pair.n, 'document')} judged by both, {pair.line()}")
    same_grades(pairs.items())
    qrels = resolve(votes, options.resolve)
    fail([] if qrels else [f"none of {len(votes)} documents is judged; expected a grade in the field grade or label"])
    summary = f"{number_of(sum(map(len, qrels.values())), 'judgement')} of {number_of(len(qrels), 'topic')}"
    unjudged = [key for key, by_grade in votes.items() if not by_grade]
    if options.unjudged != "leave":
        for qid, docid in unjudged:
            qrels.setdefault(qid, {})[docid] = UNJUDGED
    write_qrels(options.out, qrels)
    log.info(f"{options.out}: {summary}")
    if options.condition.casefold() == "changed":
        log.info("what was not relevant, and not judged again, is in changed.qrels of heed annotate --export, not here")
    if unjudged:
        done = "left out" if options.unjudged == "leave" else f"have the grade {UNJUDGED}"
        names = brief([" ".join(key) for key in unjudged])
        log.info(f"{counted(len(unjudged), 'document')} not judged and {done} (topic, document): {names}")


main = main_of(parser, _run)

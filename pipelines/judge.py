"""Judge a pool by a language model with UMBRELA's prompt; the grades go to a file of their own."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from heed.addons.judging.agreement import Comparison, compare_judgements
from heed.addons.judging.annotate.task import parse_scale
from heed.addons.judging.exchange.exports import ExportedPool, check_exported
from heed.addons.judging.model import (
    JUDGE,
    SYSTEM,
    UMBRELA,
    Judge,
    Judged,
    Rubric,
    check_replaceable,
    judge_chat,
    judged_as_data,
    judgements_path,
    report_lines,
    rubric_of,
    write_judgements,
)
from heed.compute import Compute
from heed.errors import UsageError, fail
from heed.files import digest
from heed.formats.topic_ids import number_hint
from heed.formats.trec_files import read_pool
from heed.models.registry.entries import Model
from heed.progress import brief, counted, gathering, log, timed, warn
from heed.types import Qrels
from pipelines.command import main_of
from pipelines.options.data import TEXTS, condition_option, data_options
from pipelines.options.machine import MODELS, compute_of, family_option, registry_options
from pipelines.options.output import check_target, indexes_option, verify_option
from pipelines.options.parser import OF_MODELS, READING, command_parser, field_options, positive

RULES = """\
Each document of the pool is one request. It has UMBRELA's prompt without examples (arXiv 2406.06519), the query, the
instruction if the condition has one, and the document's title and text.

The number of requests, their tokens and their price are printed before the first request. Answers are kept in
--indexes: a killed command goes on where it was, and nothing is paid twice.

With --grades the prompt has the scale of your campaign and its labels, in place of UMBRELA's meanings of 0 to 3.

An answer without a grade is no judgement. It is counted as refused, and is in the JSON but not in the qrels.

No other command uses the model's judgements unless you name the file: heed compare --qrels POOL.MODEL….qrels
"""
EXAMPLES = (
    "pool.jsonl --topics topics.jsonl --docs docs/ --model openai/gpt-4o --dry-run",
    "pool.jsonl --topics topics.jsonl --docs docs/ --model openai/gpt-4o --condition changed",
    "pool.jsonl --topics topics.jsonl --docs docs/ --model models/mine \\\n"
    "             --qrels people.qrels --run runs/a.original.run runs/b.original.run",
)


def parser() -> argparse.ArgumentParser:
    """Return the parser of ``heed judge``."""
    command = command_parser("judge", "POOL --topics PATH --docs PATH… --model NAME", __doc__, EXAMPLES, RULES)
    command.add_argument("pool", type=Path, metavar="POOL", help="pool file that the model judges")
    data = command.add_argument_group("data")
    data_options(data, *TEXTS, required=True)
    condition_option(data)
    judge = command.add_argument_group("judge")
    judge.add_argument(
        "--model", required=True, metavar="NAME", help="chat model of an API, or path or hub id of a causal model"
    )
    judge.add_argument("--grades", default="", metavar="LIST", help="0,1,3 or 0=off topic,1=on topic (default 0,1,2,3)")
    judge.add_argument(
        "--dry-run", action="store_true", help="print number, tokens and price of requests; send nothing"
    )
    judge.add_argument(
        "--parallel",
        type=positive,
        default=1,
        metavar="N",
        help="send N requests to an API at once; all wait when it asks for a pause or answers 429 (default 1)",
    )
    people = command.add_argument_group("agreement with people")
    people.add_argument("--qrels", type=Path, metavar="QRELS", help="people's judgements of the pool, for Cohen's κ")
    people.add_argument(
        "--run",
        nargs="+",
        action="extend",
        default=[],
        type=Path,
        metavar="RUN",
        help="runs of systems under the same condition, for Kendall's τ of their order by people and by the model",
    )
    output = command.add_argument_group("output")
    output.add_argument(
        "--out", type=Path, metavar="QRELS", help="qrels to write, beside a .json (default POOL.MODEL.CONDITION.qrels)"
    )
    indexes_option(output)
    verify_option(output)
    reading = command.add_argument_group(READING)
    data_options(reading, "topics_format", "fields", "name")
    models = command.add_argument_group(OF_MODELS)
    registry_options(models)
    family_option(models)
    field_options(models, Compute, "device", *MODELS)
    return command


def _run(options: argparse.Namespace) -> None:
    from pipelines.options.settings import registry_of
    from pipelines.texts import exported_pool

    compute = compute_of(options)
    compute.check()
    model = registry_of(options, described=["family"]).resolve(options.model, ()).limited(compute.max_length)
    with gathering([]) as warnings:
        pool = _judgeable(exported_pool(options, read_pool(options.pool)))
        options.out = out = options.out or judgements_path(options.pool, model.name, pool.condition)
        fail(_contradictions(options), UsageError)
        check_target(options, "out", ".qrels")
        check_replaceable(out)
        check_exported(pool, shows_text=True)
        people = _people(options)
        rubric = rubric_of(parse_scale(options.grades)) if options.grades else UMBRELA
        chat = judge_chat(model, compute, options.indexes / "api", rubric.grades, needs_key=not options.dry_run)
        try:
            judge = Judge(model, chat, rubric)
            line = judge.estimate(pool).line(f"{model.name}.{pool.condition}")
            if options.dry_run:
                print(line)
                return
            log.info(line)
            judged = _judged(judge, pool, options.parallel)
        finally:
            chat.close()
        comparison = _comparison(options, people, judged)
        chat_note = _chat_note(model, rubric, chat.config)
        _write(options, out, chat_note, pool, judged, comparison, warnings)


def _judgeable(pool: ExportedPool) -> ExportedPool:
    """Return the pool without topics that are not given or lack the condition's instruction; say so.

    A pool of which nothing would be left is returned as it is.
    """
    absent = [qid for qid in pool.pool if qid not in pool.topics]
    topics = {qid: pool.topics[qid].instructions for qid in pool.pool if qid in pool.topics}
    without = [qid for qid, instructions in topics.items() if pool.condition not in ("query", *instructions)]
    if len(without) == len(topics):
        return pool
    if absent:
        count, hint = counted(len(absent), "topic"), number_hint(absent, pool.topics)
        warn(f"{count} left out, in the pool and not among the topics: {brief(absent)}{hint}")
    if without:
        log.info(f"{counted(len(without), 'topic')} left out, without {pool.condition} instruction: {brief(without)}")
    return pool._replace(pool={qid: docids for qid, docids in pool.pool.items() if qid not in {*absent, *without}})


def _contradictions(options: argparse.Namespace) -> Iterator[str]:
    if options.run and not options.qrels:
        yield "--run: the systems are ordered by people's judgements and by the model's; give people's with --qrels"
    if len(options.run) == 1:
        yield "--run: one system has no order; give two or more"


def _judged(judge: Judge, pool: ExportedPool, parallel: int) -> Judged:
    with timed("judge", judge.name) as work:
        judged = judge.judge(pool, parallel)
        work.did(judged.bill.calls, "documents")
    if judged.cut:
        log.info(f"{judge.name}: {judged.cut} of {judged.bill.calls} documents were too long and cut at their end")
    if judged.refused:
        qid, docid, answer = judged.refused[0]
        warn(
            f"{judge.name}: {len(judged.refused)} of {judged.bill.calls} answers hold no grade and judge nothing, such "
            f"as that for topic {qid}, document {docid}: {answer[:80]!r}"
        )
    fail([] if judged.grades else [f"{judge.name}: no answer holds a grade; try another model"])
    return judged


def _people(options: argparse.Namespace) -> Qrels:
    """Return people's judgements, empty without any; say where they never have the highest grade of the model."""
    from heed.formats.judgements import read_judgements

    if not options.qrels:
        return {}
    qrels = read_judgements(options.qrels, None, options.encoding or options.lang or "")
    highest = max((grade for grades in qrels.values() for grade in grades.values()), default=0)
    if not options.grades and highest < UMBRELA.grades[-1]:
        log.info(
            f"{options.qrels}: grades up to {highest}, the model's go to {UMBRELA.grades[-1]}; --grades names yours"
        )
    return qrels


def _comparison(options: argparse.Namespace, qrels: Qrels, judged: Judged) -> Comparison | None:
    from heed.addons.judging.pools.build import read_runs

    if not options.qrels:
        return None
    encoding = options.encoding or options.lang or ""
    return compare_judgements(qrels, judged.grades, read_runs(options.run, None, encoding), judged.scale)


def _chat_note(model: Model, rubric: Rubric, settings: dict[str, Any]) -> dict[str, Any]:
    """Return as JSON data who was asked, and what."""
    messages = {"system": SYSTEM, "user": rubric.prompt}
    return {
        "model": model.source,
        "name": model.name,
        "prompt": rubric.name,
        "messages": messages,
        "settings": settings,
    }


def _write(
    options: argparse.Namespace,
    out: Path,
    chat_note: dict[str, Any],
    pool: ExportedPool,
    judged: Judged,
    comparison: Comparison | None,
    warnings: list[str],
) -> None:
    people = {"file": options.qrels.name, "sha256": digest(options.qrels)} if options.qrels else None
    note = {
        JUDGE: chat_note,
        "condition": pool.condition,
        "pool": {"file": options.pool.name, "sha256": digest(options.pool)},
        "people": people,
        **judged_as_data(judged),
        "agreement": comparison and comparison.as_data(),
        "warnings": warnings,
    }
    write_judgements(out, judged, note)
    print(*report_lines(str(out), judged, comparison), sep="\n")
    log.info(f"{out}.json: model, prompt, counts, cost{' and agreement' if comparison else ''}")


main = main_of(parser, _run)

"""Make a pool for judging from any runs, with statistics, and export it to annotation tools; or fuse the runs."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from heed.addons.judging.exchange.exports import FORMATS, ExportedPool, check_form, export
from heed.addons.judging.pools.build import (
    DEPTH,
    PoolQrels,
    PoolSettings,
    build_pool,
    document_languages,
    pool_inputs,
    poolable,
    read_judged,
    read_runs,
    relevant_documents,
)
from heed.addons.judging.pools.selection import GUIDED, ORDERS, Stratum, parse_strata, write_probabilities
from heed.addons.judging.pools.statistics import SECONDS
from heed.errors import DataError, UsageError, fail
from heed.files import unpacked_name, write_json
from heed.formats.judgements import read_judgements
from heed.formats.trec_files import as_tag, parse_score, read_pool, write_pool, write_run
from heed.progress import gathering, log, number_of, timed, warn
from heed.ranking import FUSIONS, fused_runs
from pipelines.command import main_of
from pipelines.options.data import condition_option, data_options, run_reading_options
from pipelines.options.output import check_target, export_form, indexes_option, json_option, verify_option
from pipelines.options.parser import MORE, Group, command_parser, listed, positive

RULES = """\
The pool of a topic is the union of the first --depth documents of every run. Equal scores are ordered by docid,
descending. --size keeps the best by reciprocal rank fusion. --budget N is for all topics together: they are pooled to
the same depth, the deepest that fits. The rest goes to the best documents of the next depth, by fusion. The order of
the runs and of their lines does not matter.

Runs named <system>.<condition>.run belong to one system, and are left out together. Narratives 12-og and 12-changed,
or 3_0 and 3_1, have a pool each. --by-base makes one pool, 12 or 3, of all narratives of a query. In it a document is
judged (--exclude-judged, --judged) when it is judged under all of them.

Statistics count each list down to the pool's depth in the topic: the rank of the deepest document that the pool took
from a list. A list whose documents are all in the pool counts further, but not deeper than the deepest topic. With
--qrels the pool is made again without each system, with as many documents, and without reading the others deeper.

mtf and hedge learn from --judged: judge the first documents, then pool again.

--fused writes a run instead of a pool: the first --depth documents (1000) of every run, as many of a topic.
"""
EXAMPLES = (
    "runs/*.run --depth 100 --out pool.jsonl",
    "runs/*.run --budget 5000 --order hedge --judged qrels-so-far.txt --out next.jsonl",
    "mlir-*.run --language zho=zho.ids --language fas=fas.ids --language rus=rus.ids \\\n"
    "            --budget zho=2000 --budget fas=2000 --budget rus=2000 --out pool.jsonl",
    "--only-relevant qrels.txt --out again.jsonl     # a narrative was edited",
    "bm25.original.run e5.original.run --fused rrf-bm25-e5.original.run",
)
FUSED_DEPTH = 1000
OF_FUSED = ("run", "fused", "fusion", "depth", "subset", "topic_ids", "encoding", "quiet", "verbose", "debug")


def parser() -> argparse.ArgumentParser:
    """Return the parser of ``heed pool``."""
    command = command_parser("pool", "RUN… --out POOL | --fused RUN", __doc__, EXAMPLES, RULES)
    command.add_argument(
        "run", nargs="*", type=Path, metavar="RUN", help="TREC, Parquet, JSON of scores, rank_llm, MTEB"
    )
    written = command.add_mutually_exclusive_group(required=True)
    written.add_argument("--out", type=Path, metavar="POOL", help='pool, lines of {"qid", "docids"}')
    written.add_argument("--fused", type=Path, metavar="RUN", help="the runs fused to one, .gz by its suffix")
    command.add_argument(
        "--fusion",
        choices=FUSIONS,
        help="how --fused is made: rrf, by reciprocal ranks (default), or sum, of scores from 0 to 1 in each list",
    )
    json_option(command)
    _size_options(command.add_argument_group("how much is judged"))
    _judged_options(command.add_argument_group("judgements"))
    order = command.add_argument_group("order")
    order.add_argument(
        "--order",
        choices=ORDERS,
        default="hidden",
        help=f"order of a topic's documents (default hidden):{listed(ORDERS)}",
    )
    order.add_argument("--seed", type=int, metavar="N", help="seed of the hidden order and of samples (default 0)")
    _export_options(command.add_argument_group("exports"))
    _more_options(command.add_argument_group(MORE))
    return command


def _export_options(exports: Group) -> None:
    exports.add_argument(
        "--export",
        action="append",
        default=[],
        type=export_form,
        metavar="FORM=PATH",
        help=f"also write the pool in a form; repeatable; text needs --topics and --docs:{listed(FORMATS)}",
    )
    data_options(exports, "topics", "docs", "lang", more=dict.fromkeys(("topics", "docs"), "; for exports"))


def _size_options(size: Group) -> None:
    size.add_argument("--depth", type=positive, metavar="K", help=f"first K documents of each list (default {DEPTH})")
    for option, metavar, text in (
        ("--size", "[QID=]N", "at most N documents per topic, the best by reciprocal rank fusion"),
        ("--budget", "[LANG=]N", "at most N documents in all, or in a language"),
    ):
        size.add_argument(option, action="append", default=[], type=_number, metavar=metavar, help=text)
    size.add_argument(
        "--sample",
        default=(),
        type=_strata,
        metavar="STRATA",
        help="draw a sample by best rank, such as 1-10:1.0,11-100:0.3; POOL.prels then has topic, stratum, docid and "
        "probability",
    )
    size.add_argument("--by-base", action="store_true", help="one pool for all narratives of a query")


def _judged_options(judged: Group) -> None:
    judged.add_argument(
        "--exclude-judged",
        action="append",
        default=[],
        type=Path,
        metavar="QRELS",
        help="leave out documents that QRELS grades 0 or higher; repeatable",
    )
    judged.add_argument(
        "--only-relevant",
        type=Path,
        metavar="QRELS",
        help="pool exactly the documents that are relevant in QRELS, to judge them again for an edited narrative, as "
        "mFollowIR does; needs no RUN",
    )
    judged.add_argument(
        "--qrels",
        type=Path,
        metavar="QRELS",
        help="print whether these judgements can be used for a new system: each system is left out in turn, and all "
        "runs are ranked again; how reliably measures rank the systems; for a sample, the estimates",
    )
    judged.add_argument(
        "--changed-qrels",
        type=Path,
        metavar="QRELS",
        help="the same under changed narratives: p-MRR and selectivity too",
    )


def _more_options(more: Group) -> None:
    run_reading_options(more)
    data_options(more, "encoding")
    more.add_argument(
        "--language",
        action="append",
        default=[],
        type=_language_file,
        metavar="LANG=PATH",
        help="the documents in LANG, or a list of their ids; splits each list by language, as for NeuCLIR's "
        "multilingual runs",
    )
    more.add_argument("--topic", action="append", default=[], metavar="QID", help="pool this topic only; repeatable")
    more.add_argument("--judged", type=Path, metavar="QRELS", help="judgements so far, for mtf and hedge")
    more.add_argument(
        "--seconds-per-document", type=_seconds, metavar="S", help=f"time to judge a document (default {SECONDS:g})"
    )
    more.add_argument("--grades", metavar="LIST", help="grades of exports: 0,1,3 or 0=off topic,1=on topic")
    more.add_argument(
        "--corpus-size", type=int, default=0, metavar="N", help="size of the collection, for IRS of --changed-qrels"
    )
    more.add_argument(
        "--teams", type=Path, metavar="FILE", help="lines of a system, a tab and its team: each team is left out too"
    )
    condition_option(more)
    indexes_option(more)
    verify_option(more)


def _number(text: str) -> tuple[str, int]:
    """Return ``N`` or ``KEY=N`` as key and number."""
    key, equals, number = text.rpartition("=")
    if not number.isdecimal() or int(number) < 1 or (equals and not key):
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a whole number from 1, alone or after a name and =")
    return key, int(number)


def _strata(text: str) -> tuple[Stratum, ...]:
    try:
        return parse_strata(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _language_file(text: str) -> tuple[str, Path]:
    language, equals, path = text.partition("=")
    if not (language and equals and path) or language.split() != [language]:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected LANG=PATH")
    return language, Path(path)


def _seconds(text: str) -> float:
    value = parse_score(text)
    if value is None or value <= 0:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected seconds above 0")
    return value


def _contradictions(options: argparse.Namespace) -> Iterator[str]:
    """Yield what is wrong with options that contradict each other or would have no effect."""
    if options.sample and options.out == probabilities_path(options.out):
        yield f"--out {options.out}: is where the probabilities go; name a .jsonl file"
    relevant, languages = options.only_relevant, {key for key, _ in options.budget if key}
    if not options.run and not relevant:
        yield "no RUN given; name the run files, or --only-relevant QRELS"
    for option in ("size", "budget", "sample"):
        if relevant and getattr(options, option):
            yield f"--only-relevant with --{option}: all relevant documents are judged again; leave --{option} out"
    for option in ("size", "budget"):
        if options.sample and getattr(options, option):
            yield f"--sample with --{option}: a cut would change the probabilities; choose smaller shares instead"
    if options.sample and options.depth and options.depth != options.sample[-1].last:
        yield f"--depth {options.depth} with strata to rank {options.sample[-1].last}: leave --depth out"
    if relevant and not options.run:
        about_runs = [option for option in ("depth", "language", "qrels") if getattr(options, option)]
        yield from (f"--{option} without RUN: it is about runs; name them, or leave it out" for option in about_runs)
        if options.order != "hidden":
            yield f"--order {options.order} without RUN: only the hidden order needs no runs"
    if options.fusion:
        yield "--fusion: only used with --fused"
    if options.judged and options.order not in GUIDED:
        yield f"--judged with --order {options.order}: it guides {' and '.join(GUIDED)}; use --exclude-judged instead"
    if options.seed is not None and options.order != "hidden" and not options.sample:
        yield f"--seed with --order {options.order}: nothing is random; leave it out"
    if not languages <= {language for language, _ in options.language}:
        yield f"--budget {min(languages)}=…: every language with a budget needs its --language LANG=PATH"
    for option in ("topics", "docs", "lang", "condition"):
        if getattr(options, option) and not options.export:
            yield f"--{option}: only used with --export"
    for option, other in (("changed_qrels", "qrels"), ("teams", "qrels"), ("corpus_size", "changed_qrels")):
        if getattr(options, option) and not getattr(options, other):
            yield f"--{option.replace('_', '-')}: only used with --{other.replace('_', '-')}"


def probabilities_path(out: Path) -> Path:
    """Return where the probabilities of a sample go that is written to ``out``."""
    return out.with_suffix(".prels")


def settings_of(options: argparse.Namespace) -> PoolSettings:
    """Return how the pool is to be built; :class:`UsageError` for a size or budget that is given twice."""
    return PoolSettings(
        depth=options.sample[-1].last if options.sample else options.depth or DEPTH,
        order=options.order,
        seed=options.seed or 0,
        by_base=options.by_base,
        topics=tuple(options.topic),
        sizes=_by_key("--size", options.size),
        budgets=_by_key("--budget", options.budget),
        strata=options.sample,
    )


def _by_key(option: str, numbers: Sequence[tuple[str, int]]) -> dict[str, int]:
    by_key: dict[str, int] = {}
    for key, number in numbers:
        if key in by_key:
            raise UsageError(f"{option}: given twice{f' for {key}' if key else ''}; keep one")
        by_key[key] = number
    return by_key


def settings_as_data(options: argparse.Namespace, settings: PoolSettings) -> dict[str, Any]:
    """Return the settings as JSON data."""
    names = ("only_relevant", "judged", "qrels", "changed_qrels", "teams")
    files = {name: getattr(options, name) for name in names}
    return {
        "depth": settings.depth,
        "size": dict(settings.sizes),
        "budget": dict(settings.budgets),
        "sample": [str(stratum) for stratum in settings.strata],
        "language": sorted(f"{language}={path}" for language, path in options.language),
        "by_base": settings.by_base,
        "topics": sorted(settings.topics),
        "order": settings.order,
        "seed": settings.seed,
        "exclude_judged": sorted(map(str, options.exclude_judged)),
        **{name: path and str(path) for name, path in files.items()},
    }


def _fuse(options: argparse.Namespace) -> None:
    """Write the runs fused to one; :class:`UsageError` for options of pools beside it."""
    usual = vars(parser().parse_args(["--fused", ""]))
    of_pools = (name for name in usual if name not in OF_FUSED and getattr(options, name) != usual[name])
    problems = [f"{name}: of a pool, and --fused writes a run; leave it out" for name in of_pools]
    if len(options.run) < 2:
        problems.append("--fused: found fewer than two runs; name those that are to be one")
    fail(problems, UsageError)
    runs = read_runs(options.run, options.subset, options.encoding)
    fused = fused_runs(runs.values(), options.fusion or "rrf", options.depth or FUSED_DEPTH)
    write_run(options.fused, fused, as_tag(unpacked_name(options.fused).removesuffix(".run")))
    log.info(f"{options.fused}: {len(runs)} runs fused, {number_of(len(fused), 'topic')}")


def _run(options: argparse.Namespace) -> None:
    check_target(options, "out", ".jsonl")
    check_target(options, "fused", ".run")
    if options.fused:
        _fuse(options)
        return
    fail(_contradictions(options), UsageError)
    for form, path in options.export:
        check_form(form, path)
    with gathering([]) as warnings:
        _pool(options, warnings)


def _pool(options: argparse.Namespace, warnings: list[str]) -> None:
    from heed.addons.judging.annotate.task import parse_scale
    from heed.addons.judging.pools.reusability import Judgements, read_teams
    from heed.addons.judging.pools.statistics import as_data, as_text, pool_report
    from pipelines.texts import exported_pool

    encoding = options.encoding or options.lang or ""
    settings, qrels = settings_of(options), _read_qrels(options, encoding)
    reused = read_judged("qrels", [options.qrels], encoding)
    changed = read_judgements(options.changed_qrels, None, encoding) if options.changed_qrels else None
    with timed("runs") as work:
        runs = read_runs(options.run, options.subset, encoding)
        work.did(len(runs), "runs")
    if changed is not None and not any(name.endswith(".changed") for name in runs):
        warn("--changed-qrels: no effect without runs called NAME.changed.run beside NAME.original.run")
    languages = document_languages(options.language, poolable(runs, qrels.only)) if options.language else {}
    with timed("pool") as work:
        inputs = pool_inputs(runs, qrels, settings, reused, languages)
        built = build_pool(inputs, settings)
        work.did(sum(map(len, built.documents.values())), "documents")
    with timed("statistics"):
        teams = read_teams(options.teams, runs) if options.teams else {}
        judged = Judgements(reused, changed, options.corpus_size, teams)
        report = pool_report(built, inputs, runs, judged, options.seconds_per_document)
    shows_text = options.export and options.docs and options.topics
    exported = (
        exported_pool(options, built.documents) if shows_text else ExportedPool(built.documents, {}, "query", None)
    )
    if options.grades:
        exported = exported._replace(scale=dict(parse_scale(options.grades)))
    probabilities = probabilities_path(options.out)
    if probabilities.exists():  # before the pool is written: a command that is killed leaves no two that do not fit
        probabilities.unlink()
        if not built.sample:
            log.info(f"{probabilities}: removed, it was of an earlier sample")
    if options.out.exists() and options.out.stat().st_size and read_pool(options.out) != built.documents:
        log.info(f"{options.out}: had another pool, which is replaced")
    write_pool(options.out, built.documents)
    if built.sample:
        write_probabilities(probabilities, built.sample)
    if options.json:
        write_json(
            options.json, {"settings": settings_as_data(options, settings), **as_data(report), "warnings": warnings}
        )
    for form, path in options.export:
        with timed("export", form):
            export(form, path, exported)
    print(as_text(report, str(options.out)))


def _read_qrels(options: argparse.Namespace, encoding: str) -> PoolQrels:
    only = read_judged("only_relevant", [options.only_relevant], encoding)
    if options.only_relevant and not relevant_documents(only):
        raise DataError(f"{options.only_relevant}: no document is relevant, so there is none to judge again")
    excluded = read_judged("exclude_judged", options.exclude_judged, encoding)
    return PoolQrels(excluded, only, read_judged("judged", [options.judged], encoding))


main = main_of(parser, _run)

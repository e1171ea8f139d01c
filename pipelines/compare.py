"""Compare runs of the same queries with other instructions: two runs, three, or all systems of a folder."""

import argparse
import sys
from collections.abc import Mapping, Set
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

from heed.errors import DataError, UsageError, fail
from heed.files import write_json
from heed.formats.pairs import pair, renamed, select, stem
from heed.formats.run_warnings import warn_of_tags
from heed.formats.user_files import read_judgements
from heed.measures import PerTopic, mean
from heed.measures.absence import Absence, absent
from heed.measures.comparison import MEASURES, Statistics, compare, statistics, warn_of_comparison
from heed.measures.inputs import Inputs, paired
from heed.measures.own_measures import as_measures
from heed.measures.power import POWER, Power, is_compared_with_zero, power_of, topics_needed
from heed.measures.registry import help_text
from heed.measures.significance import ALPHA
from heed.measures.summary import ABSENT, aligned, factor, format_value
from heed.measures.system_comparison import Comparison, Systems, compare_systems
from heed.progress import gathering, timed, warn
from heed.types import Qrels, Run
from pipelines.command import main_of
from pipelines.options.data import encoding_option, run_reading_options
from pipelines.options.output import json_option, log_options
from pipelines.options.parser import command_parser

EXAMPLES = (
    "mine.original.run mine.changed.run --qrels original.qrels --new-qrels changed.qrels",
    "mine.original.run mine.changed.run --qrels original.qrels --new-qrels changed.qrels --per-topic --json mine.json",
    "--runs runs/neuclir-sample/zho --qrels qrels/neuclir-sample/original.qrels \\\n"
    "               --new-qrels qrels/neuclir-sample/changed.qrels --holm",
    "mine.query.run mine.original.run mine.reversed.run --qrels query.qrels --new-qrels original.qrels",
)
CAN_SHOW = "can show"
ABSENCES: dict[Absence, str] = {"in_neither": "in neither list", "in_one_only": "in one list only"}
PAIRS_ONLY = ("qrel_diff", "traps", "pairs", "subset", "per_topic")  # options not for --runs


def parser() -> argparse.ArgumentParser:
    """Return the parser of ``heed compare``."""
    parser = command_parser("compare", "BASE NEW [REVERSED] | --runs DIR", __doc__, EXAMPLES)
    parser.add_argument(
        "run", nargs="*", type=Path, metavar="RUN", help="TREC run, rank_llm's JSON, MTEB's predictions"
    )
    parser.add_argument("--runs", type=Path, metavar="DIR", help="compare all systems of this results folder")
    parser.add_argument("--qrels", type=Path, metavar="PATH", help="judgements for the base condition")
    parser.add_argument("--lang", metavar="LANG", help="use judgements whose column 2 names this language")
    parser.add_argument("--new-qrels", type=Path, metavar="PATH", help="judgements for the new condition")
    parser.add_argument(
        "--qrel-diff",
        type=Path,
        metavar="PATH",
        help="instead of --new-qrels, JSON lines of query-id and of the corpus-ids whose grade changed",
    )
    parser.add_argument("--traps", type=Path, metavar="PATH", help="traps for NFR, in the form of --qrel-diff")
    parser.add_argument("--pairs", type=Path, metavar="TSV", help="lines: new qid, tab, base qid (default: by the ids)")
    parser.add_argument("--corpus-size", type=int, default=0, metavar="N", help="size of the collection, for IRS")
    run_reading_options(parser)
    encoding_option(parser)
    parser.add_argument(
        "--measure",
        action="append",
        metavar="NAME",
        help=f"measure: {help_text()}; repeatable (default nDCG@20, Judged@20, AP)",
    )
    parser.add_argument(
        "--variant",
        choices=("paper", "released"),
        default="paper",
        help="formulas of the papers, or of the released code",
    )
    parser.add_argument("--holm", action="store_true", help="with --runs, correct p-values for several systems")
    parser.add_argument(
        "--difference",
        type=float,
        metavar="POINTS",
        help="print how many topics would show a difference of so many points",
    )
    parser.add_argument("--per-topic", action="store_true", help="print the values of each topic")
    json_option(parser)
    log_options(parser)
    return parser


def _run(options: argparse.Namespace) -> None:
    fail(_contradictions(options), UsageError)
    run_comparison = _compare_systems if options.runs else _compare_runs
    with gathering([]) as warnings:
        comparison = run_comparison(options)
    if options.json:
        write_json(options.json, comparison | {"warnings": warnings})


def _contradictions(options: argparse.Namespace) -> list[str]:
    """Return a problem for each option that would be ignored, or that another one needs."""
    if options.difference is not None and not 0 < options.difference < inf:
        return [f"--difference: found {options.difference:g}, expected a number above 0"]
    pair_options = [f"--{name.replace('_', '-')}" for name in PAIRS_ONLY if getattr(options, name)]
    if options.runs and (pair_options or options.run):
        names = ", ".join([*(["RUN"] if options.run else []), *pair_options])
        return [f"{names}: not used with --runs, which compares all systems of a folder; leave one out"]
    if options.runs:
        needs = "--runs needs --qrels and --new-qrels, the judgements for the base and for the new condition"
        return [] if options.qrels and options.new_qrels else [needs]
    problems = ["--holm: corrects p-values of several systems; give --runs"] if options.holm else []
    if len(options.run) not in (2, 3):
        problems.append(f"{len(options.run)} runs given; expected BASE NEW [REVERSED], or --runs DIR")
    return problems


def _compare_runs(options: argparse.Namespace) -> dict[str, Any]:
    """Print the measures of two runs or three, and return them as JSON has them."""
    measures = as_measures(options.measure or MEASURES)
    with timed("runs") as work:
        inputs = _inputs(options)
        work.did(len(options.run), "runs")
    with timed("measures") as work:
        values = compare(inputs, measures)
        work.did(len(inputs.query_of), "pairs")
    if not values:
        raise DataError("nothing can be measured: give --qrels and --new-qrels, or --qrel-diff, for these topics")
    _warn_of_missing_judgements(options)
    warn_of_comparison(inputs, values)
    shares = absent(inputs, values)
    by_measure = {measure: statistics(per_topic, shares.get(measure)) for measure, per_topic in values.items()}
    compared = {measure: power_of(values[measure]) for measure in filter(is_compared_with_zero, values)}
    powers = {measure: power for measure, power in compared.items() if power}
    print(f"{' → '.join(map(str, options.run))}: {len(inputs.query_of)} pairs, values ×100")
    print(_measure_table(by_measure, powers))
    _print_powers(options, "mean that n topics tell from 0", powers)
    if options.per_topic:
        print(f"\n{_topic_table(values)}")
    return {"measures": by_measure, "per_topic": values, "power": powers} | _counts(inputs.not_judged)


def _counts(not_judged: Mapping[str, Set[str]]) -> dict[str, dict[str, int]]:
    return {"not_judged": {qid: len(docids) for qid, docids in not_judged.items()}} if not_judged else {}


def _print_powers(options: argparse.Namespace, shown: str, by_measure: Mapping[str, Power]) -> None:
    """Say what "can show" means, and add to ``by_measure`` and print how many topics show the ``--difference``."""
    if not by_measure:
        return
    print(f"{CAN_SHOW}: the least {shown} (power {POWER}, two-sided paired t-test at {ALPHA:.0%})")
    if options.difference:
        for measure, power in by_measure.items():
            power["topics"] = topics_needed(options.difference / factor(measure), power["sd"])
        needed = ", ".join(f"{measure} {power['topics']}" for measure, power in by_measure.items())
        print(f"topics that would show {options.difference:g}: {needed}")


def _inputs(options: argparse.Namespace) -> Inputs:
    from heed.formats.run_formats import read_any_run

    roles = ("base", "new", "reversed")
    read = [read_any_run(path, options.subset, options.encoding or options.lang or "") for path in options.run]
    runs = [select(run, role) for run, role in zip(read, roles, strict=False)]
    warn_of_tags(options.run)
    qrels, new_qrels = _judgements(options)
    pairs = pair(runs[0].keys(), runs[1].keys(), options.pairs, (qrels, new_qrels))
    reverse = renamed(runs[2], pair(runs[2].keys(), runs[1].keys() & pairs)) if len(runs) == 3 else None
    if not options.pairs:
        _check_unknown(options, runs, {*pairs, *pairs.values(), *qrels, *new_qrels})
    return replace(
        paired(runs[0], runs[1], pairs, qrels, new_qrels),
        reverse=reverse,
        changed=_listed(options.qrel_diff, pairs),
        traps=_listed(options.traps, pairs),
        corpus_size=options.corpus_size,
        variant=options.variant,
    )


def _judgements(options: argparse.Namespace) -> tuple[Qrels, Qrels]:
    from heed.languages import language

    lang = language(options.lang).code if options.lang else None
    encoding = options.encoding or lang or ""
    qrels = read_judgements(options.qrels, lang, encoding) if options.qrels else {}
    return qrels, read_judgements(options.new_qrels, lang, encoding) if options.new_qrels else {}


def _check_unknown(options: argparse.Namespace, runs: list[Run], known: set[str]) -> None:
    """Raise an error for topics of one run that are in no other run and in no judgements: their ids are mistakes."""
    from heed.formats.run_formats import place_of

    stems = {stem(qid) for qid in known}
    fail(
        f"{place_of(path, qid)}: topic {qid} is in no other run and in no judgements; fix the id, or name --pairs"
        for path, run in zip(options.run, runs, strict=True)
        for qid in run
        if qid not in known and stem(qid) not in stems
    )


def _listed(path: Path | None, pairs: dict[str, str]) -> dict[str, set[str]]:
    """Return documents by new qid from a ``qrel_diff`` file, whose ids are the new or base ones, or their stems."""
    from heed.formats.user_files import read_listed

    if path is None:
        return {}
    listed = read_listed(path)
    documents = {qid: listed.get(qid) or listed.get(base) or listed.get(stem(qid)) for qid, base in pairs.items()}
    return {qid: docids for qid, docids in documents.items() if docids}


def _warn_of_missing_judgements(options: argparse.Namespace) -> None:
    """Warn that p-MRR, where no list of changed documents is given, and selectivity need judgements of both runs."""
    missing = [f"--{name.replace('_', '-')}" for name in ("qrels", "new_qrels") if not getattr(options, name)]
    if missing:
        measures = "selectivity: it needs" if options.qrel_diff else "p-MRR and no selectivity: they need"
        warn(f"no {measures} judgements for both runs; give {' and '.join(missing)}")


def _measure_table(by_measure: Mapping[str, Statistics], powers: Mapping[str, Power]) -> str:
    rows = [["measure", "mean", "95% interval", "n", CAN_SHOW, "up", "equal", "down", "in neither", "in one only"]]
    for measure, values in by_measure.items():
        mean, low, high = (format_value(measure, value) for value in (values["mean"], values["low"], values["high"]))
        shares = ["", "", ""]
        if not measure.endswith((" base", " new", " reversed")) and measure != "Robustness@10":
            shares = [f"{100 * share:.0f}%" for share in (values["up"], values["equal"], values["down"])]
        absent = [f"{share:.0%}" if share is not None else "" for share in map(values.get, ABSENCES)]
        shown = format_value(measure, powers[measure]["difference"]) if measure in powers else ""
        rows.append([measure, mean, f"[{low}, {high}]", str(values["n"]), shown, *shares, *absent])
    return aligned(rows, left=1)


def _topic_table(values: dict[str, PerTopic]) -> str:
    rows = [["topic", *values]]
    for qid in sorted({qid for per_topic in values.values() for qid in per_topic}):
        cells = (f"{per_topic[qid]:.4f}" if qid in per_topic else ABSENT for per_topic in values.values())
        rows.append([qid, *cells])
    return aligned(rows, left=1)


def _compare_systems(options: argparse.Namespace) -> dict[str, Any]:
    """Print the measures of all systems of a folder, and return them as JSON has them."""
    qrels, new_qrels = _judgements(options)
    compared = compare_systems(
        options.runs,
        qrels,
        new_qrels,
        as_measures(options.measure or MEASURES),
        options.corpus_size,
        options.variant,
        correct=options.holm,
    )
    conditions = " → ".join(compared.conditions)
    print(f"{options.runs}: {conditions}, values ×100; **best**, _not significantly below it (p > {ALPHA})_")
    with_power = {name: each.power() for name, each in compared.measures.items() if not name.startswith("Judged")}
    powers = {measure: power for measure, power in with_power.items() if power}
    print(_system_table(compared, powers))
    _print_powers(options, "difference between two systems that these topics show", powers)
    _print_unseen(compared)
    _warn_of_missing(compared)
    if not options.json:
        return {}  # intervals take seconds
    per_topic = {measure: comparison.per_topic for measure, comparison in compared.measures.items()}
    by_measure = {measure: comparison.statistics() for measure, comparison in compared.measures.items()}
    return {"measures": by_measure, "per_topic": per_topic, "power": powers} | _counts(compared.not_judged)


def _system_table(compared: Systems, powers: Mapping[str, Power]) -> str:
    comparisons = compared.measures
    rows = [["system", *comparisons, "n"]]
    for system in dict.fromkeys(system for comparison in comparisons.values() for system in comparison.per_topic):
        values = [_marked(measure, comparison, system) for measure, comparison in comparisons.items()]
        counts = {len(each.per_topic[system]) for each in comparisons.values() if system in each.per_topic}
        rows.append([system, *values, _span(counts)])
    if powers:
        shown = [format_value(name, powers[name]["difference"]) if name in powers else "" for name in comparisons]
        rows.append([CAN_SHOW, *shown, _span({power["n"] for power in powers.values()})])
    return aligned(rows, left=1)


def _span(counts: Set[int]) -> str:
    return "–".join(map(str, sorted({min(counts), max(counts)})))


def _marked(measure: str, comparison: Comparison, system: str) -> str:
    """Return a system's mean: in ** the best, in _ those not significantly below it."""
    if system not in comparison.means:
        return ABSENT
    text = format_value(measure, comparison.means[system])
    if measure.startswith("Judged"):  # no merit of a system
        return text
    if system == comparison.best:
        return f"**{text}**"
    return f"_{text}_" if comparison.p_values.get(system, 0) > ALPHA else text


def _print_unseen(compared: Systems) -> None:
    """Print, for the measures that depend on it, the shares of their documents that are not in all lists."""
    for measure, comparison in compared.measures.items():
        for kind, lists in ABSENCES.items():
            shares = [f"{system} {mean(of[kind]):.0%}" for system, of in comparison.absent.items() if kind in of]
            if shares:
                print(f"{measure}, documents {lists}: {', '.join(shares)}")


def _warn_of_missing(compared: Systems) -> None:
    for measure, comparison in compared.measures.items():
        counts = {system: len(comparison.per_topic[system]) for system in comparison.missing}
        missing = [f"{system} ({count} of {count + comparison.missing[system]})" for system, count in counts.items()]
        if missing:
            warn(f"{measure}: not marked, since topics are missing: {', '.join(missing)}")


main = main_of(parser, _run)

if __name__ == "__main__":
    sys.exit(main())

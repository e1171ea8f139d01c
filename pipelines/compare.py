"""Compare the systems of a results folder with a baseline; or runs, with a baseline or under two instructions."""

import argparse
import csv
import sys
from collections.abc import Mapping
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heed.errors import DataError, UsageError, fail
from heed.files import nearest, write_json
from heed.formats.judgements import read_judgements
from heed.formats.topic_ids import renamed, stem
from heed.formats.trec_files import called_as, doubtful_names
from heed.measures import PerTopic
from heed.measures.baseline import LABELS, BaselineRow
from heed.measures.comparison import Absence, absent
from heed.measures.evaluate import measure_runs
from heed.measures.per_topic import Inputs
from heed.measures.registry import as_measures, help_text
from heed.measures.significance import ALPHA, POWER, Power, is_compared_with_zero, power_of, topics_needed
from heed.measures.summary import (
    ABSENT,
    SystemEntry,
    aligned,
    factor,
    format_value,
    own_directions,
)
from heed.measures.two_runs import (
    MEASURES,
    Statistics,
    compare,
    pair,
    paired,
    select,
    statistics,
    warn_of_comparison,
)
from heed.progress import brief, gathering, timed, warn
from heed.types import Qrels, Run
from pipelines.command import main_of, refuse
from pipelines.options.data import data_options, run_reading_options
from pipelines.options.output import TABLE_FORMS, json_option
from pipelines.options.parser import MORE, Group, command_parser

if TYPE_CHECKING:
    from heed.report.results import ResultsFolder

EXAMPLES = (
    "runs/neuclir-sample/zho --baseline bm25",
    "mine.run other.run --qrels qrels.txt --measure ndcg_cut_10 --baseline bm25.run",
    "mine.run --qrels qrels.txt --measure map --measure P_5",
    "mine.original.run mine.changed.run --qrels original.qrels --new-qrels changed.qrels",
    "mine.query.run mine.original.run mine.reversed.run --qrels query.qrels --new-qrels original.qrels",
)
CAN_SHOW = "can show"
ABSENCES: dict[Absence, str] = {"in_neither": "in neither list", "in_one_only": "in one list only"}
OF_PAIRS = ("qrel_diff", "traps", "pairs", "difference")
OF_SYSTEMS = ("across_pools", "test", "format")


def parser() -> argparse.ArgumentParser:
    """Return the parser of ``heed compare``."""
    parser = command_parser("compare", "DIR | RUN… --baseline RUN | RUN | BASE NEW [REVERSED]", __doc__, EXAMPLES)
    parser.add_argument(
        "run",
        nargs="*",
        type=Path,
        metavar="DIR|RUN",
        help="a results folder; or runs: TREC's, Parquet, JSON of scores, rank_llm's, MTEB's predictions",
    )
    parser.add_argument(
        "--baseline",
        metavar="NAME",
        help="system of the folder, or run, to compare the others with (default of a folder: the best first stage)",
    )
    parser.add_argument(
        "--across-pools", action="store_true", help="test rerankers too that rescored another pool than the baseline"
    )
    parser.add_argument(
        "--test",
        metavar="t",
        help="t: paired t-test, as in PyTerrier and ranx (default: Fisher's randomization, of pairs Wilcoxon's test)",
    )
    parser.add_argument("--format", choices=TABLE_FORMS, help="form of the table against a baseline (default text)")
    parser.add_argument("--qrels", type=Path, metavar="PATH", help="judgements of runs, of the base condition")
    parser.add_argument("--new-qrels", type=Path, metavar="PATH", help="judgements for the new condition")
    parser.add_argument(
        "--measure",
        action="append",
        metavar="NAME",
        help=f"measure: {help_text()}; repeatable (default nDCG@20, Judged@20, AP; of a folder its own)",
    )
    topics = "print how many topics would show a difference of so many points"
    parser.add_argument("--difference", type=float, metavar="POINTS", help=topics)
    parser.add_argument("--per-topic", action="store_true", help="print the values of each topic")
    json_option(parser)
    _more_options(parser.add_argument_group(MORE))
    return parser


def _more_options(group: Group) -> None:
    group.add_argument("--lang", metavar="LANG", help="use judgements whose column 2 names this language")
    group.add_argument(
        "--qrel-diff",
        type=Path,
        metavar="PATH",
        help="instead of --new-qrels, JSON lines of query-id and of the corpus-ids whose grade changed, or a folder of "
        "such lines or Parquet, as a release has it",
    )
    group.add_argument("--traps", type=Path, metavar="PATH", help="traps for NFR, in the form of --qrel-diff")
    group.add_argument("--pairs", type=Path, metavar="TSV", help="lines: new qid, tab, base qid (default: by the ids)")
    group.add_argument("--corpus-size", type=int, default=0, metavar="N", help="size of the collection, for IRS")
    run_reading_options(group)
    data_options(group, "encoding")
    group.add_argument(
        "--variant", choices=("paper", "released"), help="formulas of the papers (default), or of the released code"
    )


def _run(options: argparse.Namespace) -> None:
    if options.difference is not None and not 0 < options.difference < inf:
        raise UsageError(f"--difference: found {options.difference:g}, expected a number above 0")
    with gathering([]) as warnings:
        absent = [path for path in options.run if not path.exists()]
        expected = "; expected a results folder, or runs"
        fail([f"{path}: no such file or folder{nearest(path, 0.7) or expected}" for path in absent], UsageError)
        folders = [path for path in options.run if path.is_dir()]
        if folders and len(options.run) > 1:
            raise UsageError(f"{folders[0]}: is a folder; give it alone for its systems, or give runs")
        pair = len(options.run) > 1 and not options.qrels
        pair = pair or any((options.new_qrels, options.qrel_diff, options.traps, options.pairs))
        way = _compare_folder if folders else _compare_runs if pair and not options.baseline else _measure_runs
        compared = way(options)
    if options.json:
        write_json(options.json, compared | {"warnings": warnings})


def _compare_folder(options: argparse.Namespace) -> dict[str, Any]:
    """Print the systems of a results folder against a baseline, and return them as JSON has them."""
    from heed.experiment.measuring import refresh

    folder, measures = options.run[0], as_measures(options.measure or ())
    refuse(options, [*OF_PAIRS, "subset", "per_topic", "corpus_size", "variant"], "a folder is compared as it was made")
    instead = "the folder's own figures are compared; repeat its command with other judgements, its runs are used again"
    refuse(options, ["qrels", "new_qrels", "lang", "encoding", "topic_ids"], instead)
    refresh(folder)
    results = _own_figures(folder)
    names = dict.fromkeys(detail["measure"] for detail in results.details)
    expected = (
        f"expected one of {folder}: {', '.join(names)}; to measure others, give them to the command that made its runs"
    )
    fail([f"measure {name}: {expected}" for name in measures if str(name) not in names], UsageError)
    directions = {**results.lower_is_better, **own_directions(measures)}
    return _print_systems(options, replace(results, lower_is_better=directions))


def _own_figures(folder: Path) -> "ResultsFolder":
    """Return the figures of a results folder, or of the only one below it; say their warnings."""
    from heed.experiment.ledger import log_unknown, runs_in, systems_in
    from heed.report.results import read_tree

    folders = read_tree(folder)
    results, *others = [each for each in folders if each.folder == "."] or folders
    if others:
        raise UsageError(f"{folder}: has several below it; give one: {brief([str(each.path) for each in folders])}")
    log_unknown(results.path, runs_in(results.path))
    for warning in results.warnings:
        warn(warning)
    # a summary of an earlier version has no systems; notes of runs say what is a first stage
    return replace(results, systems=results.systems or [system.entry for system in systems_in(results.path)])


def _print_systems(options: argparse.Namespace, results: "ResultsFolder") -> dict[str, Any]:
    """Print the systems against the baseline, and return them as JSON has them."""
    measures = [*map(str, as_measures(options.measure or ()))]
    compared = results.compare(options.baseline or "", options.test or "", options.across_pools, measures)
    for warning in compared.warnings:
        warn(warning)
    if options.format == "csv":
        writer = csv.DictWriter(sys.stdout, BaselineRow.__annotations__, lineterminator="\n")
        writer.writeheader()
        writer.writerows(row for row in compared.rows if not measures or row["measure"] in measures)
    else:
        from heed.report.tables import formatted

        form = options.format or "text"
        print(formatted(form, f"{results.title}: {compared.title}", compared.cells(), LABELS), end="")
        if form == "text":
            print("\n".join(compared.notes))
    return {"baseline": compared.baseline, "rows": compared.rows, "sentences": compared.sentences}


def _measure_runs(options: argparse.Namespace) -> dict[str, Any]:
    """Print runs under one condition, against the baseline or one alone, and return them as JSON has them."""
    from heed.formats.run_formats import read_any_run

    refuse(options, [*OF_PAIRS, "new_qrels", "corpus_size", "variant"], "runs of one condition are measured")
    instead = "a --baseline compares runs" if options.baseline else "name a --baseline to compare systems"
    refuse(options, ["per_topic", "across_pools"] if options.baseline else OF_SYSTEMS, instead)
    paths = dict.fromkeys([*([Path(options.baseline)] if options.baseline else []), *options.run])
    if not paths or not options.qrels:
        raise UsageError("expected a results folder, or RUN… with --qrels, or BASE NEW [REVERSED]")
    measures = as_measures(options.measure or MEASURES)
    encoding = options.encoding or options.lang or ""
    several = len({path.name for path in paths}) < len(paths)
    with timed("runs") as work:
        runs = {str(path) if several else path.name: read_any_run(path, options.subset, encoding) for path in paths}
        work.did(len(runs), "runs")
    with timed("measures"):
        details = measure_runs(runs, _judgements(options)[0], measures)
    if options.baseline:
        from heed.report.results import ResultsFolder

        options.baseline = next(iter(runs))
        wholes = [SystemEntry(system=name, first_stages=None, pool=None) for name in runs]
        about = details, (), own_directions(measures), wholes
        return _print_systems(options, ResultsFolder(str(options.qrels), "", *about))
    if len(runs) > 1:
        advice = f"of two systems, give --baseline {options.run[0]}; of two instructions, give --new-qrels"
        warn(f"{len(runs)} runs, and no difference between them: {advice}")
    suffixes = {name: f" {name}" if len(runs) > 1 else "" for name in runs}
    values = {detail["measure"] + suffixes[detail["system"]]: detail["per_topic"] for detail in details}
    by_measure = {measure: statistics(per_topic) for measure, per_topic in values.items()}
    print(f"{', '.join(map(str, paths))}: values ×100")
    print(aligned([line[:4] for line in _measure_lines(by_measure, {})], left=1))
    if options.per_topic:
        print(f"\n{_topic_table(values)}")
    return {"measures": by_measure, "per_topic": values}


def _compare_runs(options: argparse.Namespace) -> dict[str, Any]:
    """Print the measures of two runs or three, and return them as JSON has them."""
    refuse(options, OF_SYSTEMS, "name a --baseline to compare systems")
    if len(options.run) not in (2, 3):
        raise UsageError(f"{len(options.run)} runs given; expected BASE NEW [REVERSED], or RUN… --baseline RUN")
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
    print(aligned(_measure_lines(by_measure, powers), left=1))
    _print_powers(options, powers)
    if options.per_topic:
        print(f"\n{_topic_table(values)}")
    counts = {qid: len(docids) for qid, docids in inputs.not_judged.items()}
    not_judged = {"not_judged": counts} if counts else {}
    return {"measures": by_measure, "per_topic": values, "power": powers} | not_judged


def _print_powers(options: argparse.Namespace, by_measure: Mapping[str, Power]) -> None:
    """Say what "can show" means, and add to ``by_measure`` and print how many topics show the ``--difference``."""
    if not by_measure:
        return
    print(
        f"{CAN_SHOW}: the least mean that n topics tell from 0 (power {POWER}, two-sided paired t-test at {ALPHA:.0%})"
    )
    if options.difference:
        for measure, power in by_measure.items():
            power["topics"] = topics_needed(options.difference / factor(measure), power["sd"])
        needed = ", ".join(f"{measure} {power['topics']}" for measure, power in by_measure.items())
        print(f"topics that would show {options.difference:g}: {needed}")


def _inputs(options: argparse.Namespace) -> Inputs:
    from heed.formats.run_formats import read_any_run

    conditions = ("original", "changed", "reversed")
    read = [read_any_run(path, options.subset, options.encoding or options.lang or "") for path in options.run]
    runs = [select(run, condition) for run, condition in zip(read, conditions, strict=False)]
    for doubt in doubtful_names({str(path): called_as(path) for path in options.run}):
        warn(doubt)
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
        variant=options.variant or "paper",
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
    from heed.formats.data_sets import read_listed

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


def _measure_lines(by_measure: Mapping[str, Statistics], powers: Mapping[str, Power]) -> list[list[str]]:
    rows = [["measure", "mean", "95% interval", "n", CAN_SHOW, "up", "equal", "down", "in neither", "in one only"]]
    for measure, values in by_measure.items():
        mean, low, high = (format_value(measure, value) for value in (values["mean"], values["low"], values["high"]))
        shares = ["", "", ""]
        if not measure.endswith((" base", " new", " reversed")) and measure != "Robustness@10":
            shares = [f"{100 * share:.0f}%" for share in (values["up"], values["equal"], values["down"])]
        absent = [f"{share:.0%}" if share else "" for share in map(values.get, ABSENCES)]
        shown = format_value(measure, powers[measure]["difference"]) if measure in powers else ""
        rows.append([measure, mean, f"[{low}, {high}]", str(values["n"]), shown, *shares, *absent])
    return rows


def _topic_table(values: dict[str, PerTopic]) -> str:
    rows = [["topic", *values]]
    for qid in sorted({qid for per_topic in values.values() for qid in per_topic}):
        cells = (f"{per_topic[qid]:.4f}" if qid in per_topic else ABSENT for per_topic in values.values())
        rows.append([qid, *cells])
    return aligned(rows, left=1)


main = main_of(parser, _run)

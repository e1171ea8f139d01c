"""Compare runs pairwise: same queries, another instruction. Two runs, three, or a folder of systems."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from heed.errors import HeedError, fail
from pipelines.options import run_command, talk_options

if TYPE_CHECKING:
    from heed.evaluation.comparison import Figure, Inputs
    from heed.measures.judged import PerTopic
    from heed.types import Qrels, Run


OF_PAIRS = ("qrel_diff", "traps", "pairs", "subset", "per_topic", "mteb", "mteb_task")  # options not for --runs


def parser() -> argparse.ArgumentParser:
    """The command line of ``python -m pipelines.compare``."""
    made = argparse.ArgumentParser(prog="python -m pipelines.compare", description=__doc__)
    made.add_argument(
        "run",
        nargs="*",
        type=Path,
        metavar="RUN",
        help="BASE NEW [REVERSED]: TREC, rank_llm JSON, MTEB predictions; .gz",
    )
    made.add_argument("--runs", type=Path, metavar="DIR", help="compare all systems of a results folder instead")
    made.add_argument("--qrels", type=Path, metavar="PATH", help="judgements for the base condition")
    made.add_argument("--lang", metavar="LANG", help="of judgements that name languages in column 2, take this one's")
    made.add_argument("--new-qrels", type=Path, metavar="PATH", help="judgements for the new condition")
    made.add_argument(
        "--qrel-diff",
        type=Path,
        metavar="PATH",
        help="JSON lines of query-id and corpus-ids that changed, instead of --new-qrels",
    )
    made.add_argument("--traps", type=Path, metavar="PATH", help="trap documents for NFR, in the same form")
    made.add_argument("--pairs", type=Path, metavar="TSV", help="new qid, tab, base qid (default: by the ids)")
    made.add_argument("--corpus-size", type=int, default=0, metavar="N", help="documents searched; needed for IRS")
    made.add_argument("--subset", metavar="NAME", help="subset of MTEB predictions, or of --mteb-task, such as zho")
    made.add_argument(
        "--measure", action="append", metavar="NAME", help="standard measure, repeatable (default nDCG@20, AP)"
    )
    made.add_argument(
        "--variant", choices=("paper", "released"), default="paper", help="the papers' formulas, or the released code's"
    )
    made.add_argument("--holm", action="store_true", help="correct p-values for several systems (with --runs)")
    made.add_argument("--per-topic", action="store_true", help="print every topic's values")
    made.add_argument("--json", type=Path, metavar="FILE", help="write means and per-topic values")
    made.add_argument("--mteb", type=Path, metavar="FILE", help="write or extend an MTEB result file, of --mteb-task")
    made.add_argument("--mteb-task", metavar="NAME", help="MTEB's name of the task, such as mFollowIR")
    talk_options(made)
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; gives back the exit status."""
    return run_command(parser(), _run, argv)


def _run(options: argparse.Namespace) -> None:
    fail(_contradictions(options))
    if options.runs:
        from heed.evaluation.systems import compare_systems

        compare_systems(options)
        return
    if len(options.run) not in (2, 3):
        raise HeedError(f"{len(options.run)} runs given; expected BASE NEW [REVERSED], or --runs DIR")
    from heed.evaluation.comparison import compare, figure
    from heed.io.files import write_json
    from heed.progress import timed

    with timed("runs") as work:
        given = _inputs(options)
        work.did(len(options.run), "runs")
    with timed("measures") as work:
        values = compare(given, options.measure or ["nDCG@20", "AP"], options.variant)
        work.did(len(given.new), "pairs")
    if not values:
        raise HeedError("nothing can be measured: give --qrels and --new-qrels, or --qrel-diff, for these topics")
    figures = {name: figure(per_topic) for name, per_topic in values.items()}
    print(f"{' → '.join(map(str, options.run))}: {len(given.new)} pairs, values ×100")
    print(_table(figures))
    if options.per_topic:
        print(f"\n{_topics(values)}")
    if options.json:
        write_json(options.json, {"measures": figures, "per_topic": values})
    if options.mteb:
        _write_mteb(options, given)


def _contradictions(options: argparse.Namespace) -> list[str]:
    """Options that would be ignored."""
    alone = [name for name in OF_PAIRS if getattr(options, name)]
    if options.runs and (alone or options.run):
        named = ", ".join([*(["RUN"] if options.run else []), *(f"--{name.replace('_', '-')}" for name in alone)])
        return [f"{named}: not used with --runs, which compares all systems of a folder; leave one out"]
    found = ["--holm: corrects p-values of several systems; give --runs"] if options.holm and not options.runs else []
    if options.mteb_task and not options.mteb:
        found.append("--mteb-task: names the task of a result file; give --mteb FILE")
    return found


def _write_mteb(options: argparse.Namespace, given: "Inputs") -> None:
    from heed.evaluation.mteb_results import merge_results, mteb_result, read_mteb_result, write_mteb_result

    if not options.mteb_task:
        raise HeedError("--mteb needs --mteb-task, such as mFollowIR or Robust04InstructionRetrieval")
    result = mteb_result(options.mteb_task, options.subset, given)
    before = read_mteb_result(options.mteb) if options.mteb.exists() else None
    write_mteb_result(options.mteb, merge_results(before, result) if before else result)


def _inputs(options: argparse.Namespace) -> "Inputs":
    from heed.evaluation.comparison import Inputs
    from heed.io.pairs import pair, qrels_for, renamed, select
    from heed.io.run_formats import read_any_run
    from heed.io.trec_files import read_qrels

    roles = ("base", "new", "reversed")
    runs = [select(read_any_run(path, options.subset), role) for path, role in zip(options.run, roles, strict=False)]
    pairs = pair(runs[0].keys(), runs[1].keys(), options.pairs)
    own = {qid: qid for qid in pairs}
    reverse: Run = {}
    if len(runs) == 3:
        reverse = renamed(runs[2], pair(runs[2].keys(), list(pairs)))
    qrels: Qrels = read_qrels(options.qrels, options.lang) if options.qrels else {}
    new_qrels: Qrels = read_qrels(options.new_qrels, options.lang) if options.new_qrels else {}
    if not options.pairs:
        _refuse_strangers(options, runs, {*pairs, *pairs.values(), *qrels, *new_qrels})
    return Inputs(
        base=renamed(runs[0], pairs),
        new=renamed(runs[1], own),
        reverse=reverse,
        qrels=qrels_for(qrels, pairs),
        new_qrels=qrels_for(new_qrels, own),
        changed=_listed(options.qrel_diff, pairs),
        traps=_listed(options.traps, pairs),
        corpus_size=options.corpus_size,
        query_of=pairs,
    )


def _refuse_strangers(options: argparse.Namespace, runs: "list[Run]", known: set[str]) -> None:
    """A topic of one run that no other run and no judgement knows is a mistake in its id."""
    from heed.io.pairs import stem
    from heed.io.run_formats import place_of

    stems = {stem(qid) for qid in known}
    fail(
        f"{place_of(path, qid)}: topic {qid} is in no other run and in no judgements; mend the id, or name --pairs"
        for path, run in zip(options.run, runs, strict=True)
        for qid in run
        if qid not in known and stem(qid) not in stems
    )


def _listed(path: Path | None, pairs: dict[str, str]) -> dict[str, set[str]]:
    """Documents by new qid from a ``qrel_diff`` file, whose ids are the new ones, the base ones, or their stems."""
    from heed.io.pairs import stem
    from heed.io.topic_files import read_listed

    if path is None:
        return {}
    listed = read_listed(path)
    found = {qid: listed.get(qid) or listed.get(base) or listed.get(stem(qid)) for qid, base in pairs.items()}
    return {qid: docids for qid, docids in found.items() if docids}


def _table(figures: "dict[str, Figure]") -> str:
    rows = [["measure", "mean", "95% interval", "n", "up", "equal", "down"]]
    for name, one in figures.items():
        by = 1.0 if name.startswith("mean gold rank") else 100.0
        signed = not name.endswith((" base", " new", " reversed")) and name != "Robustness@10"
        shares = [f"{100 * share:.0f}%" for share in (one["up"], one["equal"], one["down"])] if signed else ["", "", ""]
        bounds = f"[{by * one['low']:.1f}, {by * one['high']:.1f}]"
        rows.append([name, f"{by * one['mean']:.1f}", bounds, str(one["n"]), *shares])
    return _aligned(rows)


def _topics(values: "dict[str, PerTopic]") -> str:
    qids = sorted({qid for per_topic in values.values() for qid in per_topic})
    rows = [["topic", *values]]
    rows += [[qid, *(f"{one[qid]:.4f}" if qid in one else "-" for one in values.values())] for qid in qids]
    return _aligned(rows)


def _aligned(rows: list[list[str]]) -> str:
    from heed.evaluation.summary import aligned

    return aligned(rows, left=1)


if __name__ == "__main__":
    sys.exit(main())

"""Many systems side by side: the best of each measure, and those that are statistically like it."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from heed.errors import HeedError
from heed.evaluation.significance import ALPHA, fisher, holm, wilcoxon
from heed.measures.pairwise import mean
from heed.progress import log

if TYPE_CHECKING:
    from heed.measures.judged import PerTopic

Values = dict[str, "dict[str, PerTopic]"]  # measure -> system -> qid -> value

# FollowIR and mFollowIR; InfoSearch; FollowTable
CONDITIONS = (("original", "changed"), ("query", "original", "reversed"), ("query", "original"))
PAIRWISE = ("p-MRR", "IRS", "WISE", "SICR")  # tested by Wilcoxon, the others by Fisher, as mFollowIR did


def compare_systems(options: argparse.Namespace) -> None:
    """Print the table of all systems that have runs of two conditions in ``options.runs``."""
    from heed.evaluation.comparison import Inputs, compare, figure
    from heed.io.files import write_json
    from heed.io.pairs import pair, qrels_for, renamed
    from heed.io.trec_files import read_qrels, read_run

    if not options.qrels or not options.new_qrels:
        raise HeedError("--runs needs --qrels and --new-qrels, the judgements for the base and for the new condition")
    qrels, new_qrels = (read_qrels(path, options.lang) for path in (options.qrels, options.new_qrels))
    by_measure: Values = {}
    conditions, systems = find_systems(options.runs)
    for system, paths in systems.items():
        base, new, *reverse = map(read_run, paths)
        pairs = pair(base.keys(), new.keys())
        own = {qid: qid for qid in pairs}
        given = Inputs(
            base=renamed(base, pairs),
            new=renamed(new, own),
            reverse=reverse[0] if reverse else {},
            qrels=qrels_for(qrels, pairs),
            new_qrels=qrels_for(new_qrels, own),
            changed={},
            traps={},
            corpus_size=options.corpus_size,
            query_of=pairs,
        )
        for measure, values in compare(given, options.measure or ["nDCG@20", "AP"], options.variant).items():
            if not measure.endswith(" change"):
                by_measure.setdefault(measure, {})[system] = values
    print(
        f"{options.runs}: {' → '.join(conditions)}, values ×100; **best**, _not significantly below it (p > {ALPHA})_"
    )
    print(_table(by_measure, options.holm))
    _tell_fewer(by_measure)
    if options.json:
        figures = {
            measure: {system: figure(values) for system, values in by_system.items()}
            for measure, by_system in by_measure.items()
        }
        write_json(options.json, {"measures": figures, "per_topic": by_measure})


def find_systems(folder: Path) -> tuple[tuple[str, ...], dict[str, list[Path]]]:
    """The conditions that the systems of a results folder have runs of, and of each system the runs.

    Of ``CONDITIONS`` the first choice that any system has all of.
    """
    for conditions in CONDITIONS:
        found = {}
        for first in sorted(folder.glob(f"*.{conditions[0]}.run")):
            system = first.name.removesuffix(f".{conditions[0]}.run")
            paths = [folder / f"{system}.{condition}.run" for condition in conditions]
            if all(path.exists() for path in paths):
                found[system] = paths
        if found:
            return conditions, found
    raise HeedError(
        f"{folder}: no <system>.original.run with its <system>.changed.run or <system>.query.run; give a results folder"
    )


def similar_to_best(
    by_system: "dict[str, PerTopic]", pairwise: bool, correct: bool, lowest: bool = False
) -> tuple[str, dict[str, float]]:
    """The system with the highest mean, or the ``lowest``, and every other's p-value against it."""
    best = max(by_system, key=lambda system: (mean(by_system[system]) * (-1 if lowest else 1), system))
    test = wilcoxon if pairwise else fisher
    others = {system: test(by_system[best], values) for system, values in by_system.items() if system != best}
    return best, holm(others) if correct else others


def _table(by_measure: Values, correct: bool) -> str:
    from heed.evaluation.summary import GOLD_RANK, aligned, shown

    systems = list(dict.fromkeys(system for by_system in by_measure.values() for system in by_system))
    rows = [["system", *by_measure, "n"]] + [[system] for system in systems]
    for measure, by_system in by_measure.items():
        most = max(map(len, by_system.values()))
        whole = {system: values for system, values in by_system.items() if len(values) == most}
        best, p_values = similar_to_best(whole, measure in PAIRWISE, correct, measure.startswith(GOLD_RANK))
        for row in rows[1:]:
            values = by_system.get(row[0])
            text = shown(measure, mean(values)) if values else "-"
            row.append(f"**{text}**" if row[0] == best else f"_{text}_" if p_values.get(row[0], 0) > ALPHA else text)
    for row in rows[1:]:
        counts = {len(by_system[row[0]]) for by_system in by_measure.values() if row[0] in by_system}
        row.append("–".join(map(str, sorted({min(counts), max(counts)}))))
    return aligned(rows, left=1)


def _tell_fewer(by_measure: Values) -> None:
    """Say which systems have fewer topics than others: they are not compared with the best."""
    for measure, by_system in by_measure.items():
        most = max(map(len, by_system.values()))
        fewer = [f"{system} ({len(values)} of {most})" for system, values in by_system.items() if len(values) < most]
        if fewer:
            log.info(f"{measure}: not marked, since topics are missing: {', '.join(fewer)}")

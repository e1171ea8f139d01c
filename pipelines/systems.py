"""Many systems side by side: the best of each measure, and those that are statistically like it."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.errors import HeedError
from pipelines.measures import mean
from pipelines.significance import ALPHA, fisher, holm, wilcoxon

if TYPE_CHECKING:
    from pipelines.judged import PerTopic

Values = dict[str, "dict[str, PerTopic]"]  # measure -> system -> qid -> value

PAIRWISE = ("p-MRR", "IRS", "WISE", "SICR")  # tested by Wilcoxon, the others by Fisher, as mFollowIR did


def compare_systems(options: argparse.Namespace) -> None:
    """Print the table of all systems with an original and a changed run in ``options.runs``."""
    from pipelines.comparison import Inputs, compare, figure
    from pipelines.files import write_json
    from pipelines.pairs import qrels_for
    from pipelines.trec_files import read_qrels, read_run

    if not options.qrels or not options.new_qrels:
        raise HeedError("--runs needs --qrels and --new-qrels, the judgements for original and for changed")
    qrels, new_qrels = read_qrels(options.qrels), read_qrels(options.new_qrels)
    by_measure: Values = {}
    for system, (base, new) in find_systems(options.runs).items():
        runs = read_run(base), read_run(new)
        own = {qid: qid for qid in runs[1] if qid in runs[0]}
        sides = qrels_for(qrels, own), qrels_for(new_qrels, own)
        given = Inputs(*runs, {}, *sides, {}, {}, options.corpus_size, own)
        for measure, values in compare(given, options.measure or ["nDCG@20", "AP"], options.variant).items():
            if not measure.endswith(" change"):
                by_measure.setdefault(measure, {})[system] = values
    print(f"{options.runs}: original → changed, values ×100; **best**, _not significantly below it (p > {ALPHA})_")
    print(_table(by_measure, options.holm))
    if options.json:
        figures = {
            measure: {system: figure(values) for system, values in by_system.items()}
            for measure, by_system in by_measure.items()
        }
        write_json(options.json, {"measures": figures, "per_topic": by_measure})


def find_systems(folder: Path) -> dict[str, tuple[Path, Path]]:
    """``system -> (original run, changed run)`` of a results folder, by name."""
    found = {}
    for base in sorted(folder.glob("*.original.run")):
        system = base.name.removesuffix(".original.run")
        new = folder / f"{system}.changed.run"
        if new.exists():
            found[system] = (base, new)
    if not found:
        raise HeedError(f"{folder}: no <system>.original.run with its <system>.changed.run; give a results folder")
    return found


def similar_to_best(by_system: "dict[str, PerTopic]", pairwise: bool, correct: bool) -> tuple[str, dict[str, float]]:
    """The system with the highest mean, and every other's p-value against it."""
    best = max(by_system, key=lambda system: (mean(by_system[system]), system))
    test = wilcoxon if pairwise else fisher
    others = {system: test(by_system[best], values) for system, values in by_system.items() if system != best}
    return best, holm(others) if correct else others


def _table(by_measure: Values, correct: bool) -> str:
    from pipelines.summary import aligned

    systems = list(dict.fromkeys(system for by_system in by_measure.values() for system in by_system))
    rows = [["system", *by_measure, "n"]] + [[system] for system in systems]
    for measure, by_system in by_measure.items():
        best, p_values = similar_to_best(by_system, measure in PAIRWISE, correct)
        for row in rows[1:]:
            values = by_system.get(row[0])
            text = f"{100 * mean(values):.1f}" if values else "-"
            row.append(f"**{text}**" if row[0] == best else f"_{text}_" if p_values.get(row[0], 0) > ALPHA else text)
    for row in rows[1:]:
        row.append(str(max(len(by_system.get(row[0], ())) for by_system in by_measure.values())))
    return aligned(rows, left=1)

"""What a collection command found: rows of measures, as JSON and as the printed table."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from pipelines.measures import STANDARD, mean, no_longer_relevant, p_mrr, standard
from pipelines.progress import say
from pipelines.trec import Qrels, Run


class Row(TypedDict):
    """One figure: ``value`` on the measure's own scale, over ``n`` topics."""

    system: str
    condition: str
    measure: str
    value: float
    n: int


Runs = Mapping[tuple[str, str], Run]  # (system, condition) -> run


def summarise(runs: Runs, qrels: Mapping[str, Qrels], qids: Mapping[str, set[str]]) -> list[Row]:
    """The measures of each run over the judged topics that have its condition, and p-MRR of each pair.

    ``qids`` holds the topics of each condition. Conditions without qrels of their own
    (``query``) are measured with the original ones.
    """
    rows: list[Row] = []
    for (system, condition), run in runs.items():
        judged = qrels.get("original" if condition == "query" else condition, {})
        mine = {qid: grades for qid, grades in judged.items() if qid in qids[condition]}
        for measure, values in standard(run, mine).items() if mine else ():
            rows.append(_row(system, condition, measure, values))
    return rows + _pairwise(runs, qrels)


def _pairwise(runs: Runs, qrels: Mapping[str, Qrels]) -> list[Row]:
    if "original" not in qrels or "changed" not in qrels:
        return []
    changed = no_longer_relevant(qrels["original"], qrels["changed"])
    rows = []
    for system in dict.fromkeys(system for system, _ in runs):
        base, new = runs.get((system, "original")), runs.get((system, "changed"))
        if base is None or new is None:
            continue
        values = p_mrr(base, new, changed)
        if len(values) < len(changed):
            absent = ", ".join(sorted(changed.keys() - values.keys()))
            say(f"{system}: p-MRR is over {len(values)} of {len(changed)} topics; not in both runs: {absent}")
        if values:
            rows.append(_row(system, "original>changed", "p-MRR", values))
    return rows


def _row(system: str, condition: str, measure: str, values: Mapping[str, float]) -> Row:
    return Row(system=system, condition=condition, measure=measure, value=mean(dict(values)), n=len(values))


def table(rows: Sequence[Row], title: str) -> str:
    """The rows as text, one line a system and condition, values ×100; ``-`` where there is none."""
    measures = [*STANDARD, "p-MRR"]
    cells: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        cells.setdefault((row["system"], row["condition"]), {})[row["measure"]] = row
    order = {system: place for place, system in enumerate(dict.fromkeys(row["system"] for row in rows))}
    lines = [["system", "condition", *measures, "n"]]
    for (system, condition), found in sorted(cells.items(), key=lambda cell: order[cell[0][0]]):
        values = [f"{100 * found[name]['value']:.1f}" if name in found else "-" for name in measures]
        lines.append([system, condition, *values, str(next(iter(found.values()))["n"])])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join([title, *(_line(line, widths) for line in lines)])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    named = [cell.ljust(width) for cell, width in zip(cells[:2], widths[:2], strict=True)]
    return "  ".join(named + [cell.rjust(width) for cell, width in zip(cells[2:], widths[2:], strict=True)])

"""What a collection command found: rows of measures, as JSON and as the printed table."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from pipelines.judged import PerTopic
from pipelines.measures import STANDARD, mean, no_longer_relevant, p_mrr, standard, still_relevant
from pipelines.progress import say
from pipelines.ranking import ranks
from pipelines.trec import Qrels, Run


class Row(TypedDict):
    """One figure: ``value`` on the measure's own scale, over ``n`` topics."""

    system: str
    condition: str
    measure: str
    value: float
    n: int


class Detail(Row):
    """The same with the value of each topic, by qid."""

    per_topic: PerTopic


Runs = Mapping[tuple[str, str], Run]  # (system, condition) -> run


def summarise(runs: Runs, qrels: Mapping[str, Qrels], qids: Mapping[str, set[str]]) -> list[Detail]:
    """The measures of each run over the judged topics that have its condition, and p-MRR of each pair.

    ``qids`` holds the topics of each condition. Conditions without qrels of their own
    (``query``) are measured with the original ones.
    """
    found: list[Detail] = []
    for (system, condition), run in runs.items():
        judged = qrels.get("original" if condition == "query" else condition, {})
        mine = {qid: grades for qid, grades in judged.items() if qid in qids[condition]}
        for measure, values in standard(run, mine).items() if mine else ():
            found.append(_detail(system, condition, measure, values))
    return found + _pairwise(runs, qrels)


def _pairwise(runs: Runs, qrels: Mapping[str, Qrels]) -> list[Detail]:
    if "original" not in qrels or "changed" not in qrels:
        return []
    changed = no_longer_relevant(qrels["original"], qrels["changed"])
    found = []
    for system in dict.fromkeys(system for system, _ in runs):
        base, new = runs.get((system, "original")), runs.get((system, "changed"))
        if base is None or new is None:
            continue
        values = p_mrr(base, new, changed)
        if len(values) < len(changed):
            absent = ", ".join(sorted(changed.keys() - values.keys()))
            say(f"{system}: p-MRR is over {len(values)} of {len(changed)} topics; not in both runs: {absent}")
        if values:
            found.append(_detail(system, "original>changed", "p-MRR", values))
    return found


def _detail(system: str, condition: str, measure: str, values: PerTopic) -> Detail:
    return Detail(
        system=system, condition=condition, measure=measure, value=mean(values), n=len(values), per_topic=values
    )


def rows_of(details: Sequence[Detail]) -> list[Row]:
    """The rows of ``summary.json``, without the topics."""
    return [
        Row(system=one["system"], condition=one["condition"], measure=one["measure"], value=one["value"], n=one["n"])
        for one in details
    ]


class Shift(TypedDict):
    """Where a judged document stood under the original and stands under the changed instruction."""

    system: str
    qid: str
    docid: str
    group: str
    base: int
    new: int


def shifts(runs: Runs, qrels: Mapping[str, Qrels]) -> list[Shift]:
    """The rank shift of every document that stays relevant (``compliant``) or no longer is (``violating``)."""
    if "original" not in qrels or "changed" not in qrels:
        return []
    groups = {
        "compliant": still_relevant(qrels["original"], qrels["changed"]),
        "violating": no_longer_relevant(qrels["original"], qrels["changed"]),
    }
    found = []
    for system in dict.fromkeys(system for system, _ in runs):
        base, new = runs.get((system, "original"), {}), runs.get((system, "changed"), {})
        for group, judged in groups.items():
            for qid in sorted(judged.keys() & base.keys() & new.keys()):
                docids = sorted(judged[qid])
                places = zip(docids, ranks(base[qid], docids), ranks(new[qid], docids), strict=True)
                found += [Shift(system=system, qid=qid, docid=d, group=group, base=o, new=s) for d, o, s in places]
    return found


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
    return f"{title}\n{aligned(lines, left=2)}"


def aligned(rows: Sequence[Sequence[str]], left: int) -> str:
    """Rows as columns of text: the first ``left`` columns to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = zip(row, widths, strict=True)
        placed = [cell.ljust(width) if at < left else cell.rjust(width) for at, (cell, width) in enumerate(cells)]
        lines.append("  ".join(placed).rstrip())
    return "\n".join(lines)

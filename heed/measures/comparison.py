"""Compare runs of paired topics, two or three, by each measure, and warn of what makes the figures weak."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations, permutations
from statistics import median
from typing import Any, Literal

import numpy as np

from heed.measures.pairwise import KEPT, P_MRR, SELECTIVITY
from heed.measures.per_topic import Inputs, Judged, Measure, PerTopic, difference, no_longer_relevant
from heed.measures.registry import BUILT_IN, find
from heed.progress import brief, counted, warn
from heed.ranking import ranked
from heed.types import Qrels, Run

Absence = Literal["in_neither", "in_one_only"]
# Of a measure's documents in neither list, or of p-MRR's in one list only, above which it is a warning. The latter are
# 0 to 8% with real news to depths 20 to 1000, 50% if half the ids differ.
SHARE = 0.2


def absent(inputs: Inputs, values: Mapping[str, PerTopic]) -> dict[str, dict[Absence, PerTopic]]:
    """Return for p-MRR, p-MRR kept, IRS, WISE and SICR, those in ``values``, the shares of their documents not seen.

    ``in_neither``: in none of the lists, so that the measures rank them behind all; ``in_one_only``, of p-MRR: in one
    of the two lists, so that they move to or from the rank behind the other.
    """
    shares: dict[str, dict[Absence, PerTopic]] = {}
    for (measure, kind), topics in _unseen(inputs, values).items():
        shares.setdefault(measure, {})[kind] = {qid: count / documents for qid, (count, documents) in topics.items()}
    return shares


def _unseen(inputs: Inputs, values: Mapping[str, PerTopic]) -> dict[tuple[str, Absence], dict[str, tuple[int, int]]]:
    """Return by measure and kind, for each topic, how many of the measure's documents are not seen, of how many.

    Topics without documents, or missing from one of the runs, are left out.
    """
    unseen: dict[tuple[str, Absence], dict[str, tuple[int, int]]] = {}
    for name, measure in BUILT_IN.items():
        if not measure.about or name not in values:
            continue
        runs, judged = measure.about(inputs)
        topics = {qid: docids for qid, docids in judged.items() if docids and all(qid in run for run in runs)}
        lists = {qid: [sum(docid in run[qid] for run in runs) for docid in docids] for qid, docids in topics.items()}
        unseen[name, "in_neither"] = {qid: (times.count(0), len(times)) for qid, times in lists.items()}
        if name == P_MRR:
            unseen[name, "in_one_only"] = {qid: (times.count(1), len(times)) for qid, times in lists.items()}
    return unseen


def as_seen(inputs: Inputs) -> dict[str, PerTopic]:
    """Return p-MRR, selectivity and WISE with the documents in none of the lists counted as not moved.

    They would move from behind one list to behind another: by the lengths of these alone.
    """
    values: dict[str, PerTopic] = {}
    p_mrr = partial(BUILT_IN[P_MRR].function, *inputs.two)
    values[P_MRR] = _as_seen(p_mrr, inputs.two, inputs.ruled_out)
    values[SELECTIVITY] = difference(values[P_MRR], _as_seen(p_mrr, inputs.two, inputs.relevant))
    measure = BUILT_IN["WISE"]
    if measure.takes and (arguments := measure.takes(inputs)):
        runs, gold, *others = arguments
        values["WISE"] = _as_seen(lambda seen: measure.function(runs, seen, *others), runs, gold)
    return values


def _as_seen(function: Callable[[Judged], PerTopic], runs: Sequence[Run], judged: Judged) -> PerTopic:
    """Return each topic's mean of a measure over its ``judged`` documents, 0 for those in none of ``runs``."""
    topics = {qid: docids for qid, docids in judged.items() if docids and all(qid in run for run in runs)}
    seen = {
        qid: [docid for docid in docids if any(docid in run[qid] for run in runs)] for qid, docids in topics.items()
    }
    values = function({qid: sorted(docids) for qid, docids in seen.items()})
    return {qid: values.get(qid, 0.0) * len(docids) / len(topics[qid]) for qid, docids in seen.items()}


def count_unseen(inputs: Inputs, measure: str) -> tuple[int, int]:
    """Return how many of a measure's documents are in none of the lists, and of how many."""
    names = (P_MRR, KEPT) if measure == SELECTIVITY else (measure,)
    counts = _unseen(inputs, {name: {} for name in names})
    pairs = [pair for (_, kind), topics in counts.items() if kind == "in_neither" for pair in topics.values()]
    return sum(count for count, _ in pairs), sum(documents for _, documents in pairs)


def warn_of_judgements(inputs: Inputs, label: str = "", by_p_mrr: bool = True) -> None:
    """Warn of what the new judgements leave open, and where ``by_p_mrr`` has no document that lost its relevance."""
    if inputs.not_judged:
        total = counted(sum(map(len, inputs.not_judged.values())), "relevant document")
        topics = brief([f"{qid}: {len(docids)}" for qid, docids in inputs.not_judged.items()])
        warn(f"{label}{total} not judged under the new condition (topic {topics}): neither ruled out nor kept")
    qrels, new_qrels = inputs.qrels, inputs.new_qrels
    if not (by_p_mrr and qrels and new_qrels) or inputs.ruled_out:
        return
    common = qrels.keys() & new_qrels.keys()
    gained = sum(map(len, no_longer_relevant(new_qrels, qrels).values()))
    if not common:
        reason = "no topic is judged for both runs"
    elif all(qrels[qid] == new_qrels[qid] for qid in common):
        reason = "the judgements for both runs are the same; give those under the new instruction"
    elif gained:
        reason = f"no document lost its relevance, {gained} gained it: are the judgements exchanged?"
    else:
        reason = "no document is known to have lost its relevance"
    warn(f"{label}no p-MRR: {reason}")


def warn_of_foreign_ids(runs: Mapping[str, Run], judgements: Sequence[Mapping[str, Any]], label: str = "") -> None:
    """Warn where no judged document is in the lists of one of ``runs``, which are by name, or of any.

    ``judgements`` are docids, or grades, by qid.
    """
    topics = [(qid, docids) for by_topic in judgements for qid, docids in by_topic.items() if docids]
    without = [
        name
        for name, run in runs.items()
        if not any(docid in run[qid] for qid, docids in topics if qid in run for docid in docids)
    ]
    if topics and without:
        where = "any list" if len(without) == len(runs) else f"any list of the {' and the '.join(without)} run"
        count = len({docid for _, docids in topics for docid in docids})
        warn(f"{label}none of the {count} judged documents is in {where}: are its ids those of another collection?")


def warn_of_depths(runs: Mapping[str, Run], label: str = "") -> None:
    """Warn where most lists of one of ``runs``, which are by name, end at a depth that most of another's pass."""
    qids = sorted(set.intersection(*(set(run) for run in runs.values())))
    lengths = {name: [len(run[qid]) for qid in qids] for name, run in runs.items()}
    if not any(_cut(shorter, longer) for shorter, longer in permutations(lengths.values(), 2)):
        return
    depths = ", ".join(f"{median(of_run):g} in the {name} run" for name, of_run in lengths.items())
    warn(f"{label}lists of different depth: {depths} (median documents a topic)")


def _cut(lengths: Sequence[int], others: Sequence[int]) -> bool:
    """Whether most of ``lengths`` are one depth that most of ``others`` pass; lists that end by themselves vary."""
    if not lengths:
        return False
    depth, times = Counter(lengths).most_common(1)[0]
    return 1 < times > len(lengths) / 2 and sum(other > depth for other in others) > len(others) / 2


def warn_of_unseen(inputs: Inputs, values: Mapping[str, PerTopic], label: str = "") -> None:
    """Warn where more than a fifth of a measure's documents are in none of the lists, or of p-MRR's in one only."""
    for (measure, kind), topics in sorted(_unseen(inputs, values).items(), key=lambda item: item[0][1] == "in_neither"):
        lists = "none of the three lists" if BUILT_IN[measure].of == "three" else "neither list"
        hint = f"in {lists}, and what happens to them is not seen; deeper lists would show it"
        if kind == "in_one_only":  # a guess
            hint = "in one of the two lists only: are both lists deep enough, and their ids written in the same way?"
        count, documents = (sum(numbers) for numbers in zip(*topics.values(), strict=True)) if topics else (0, 0)
        if count > SHARE * documents:
            warn(f"{label}{measure}: {count} of its {documents} documents ({count / documents:.0%}) are {hint}")


def warn_of_single_precision(runs: Mapping[str, tuple[Run, Qrels]]) -> None:
    """Warn of ``runs``, ``name -> (run, qrels)``, whose measures change when scores are read in single precision."""
    counted = []
    for name, (run, qrels) in runs.items():
        judged = [qid for qid in qrels if qid in run]
        count = sum(_differs_in_single(run[qid], qrels[qid]) for qid in judged)
        counted += [f"{count} of {len(judged)} topics of {name}"] if count else []
    if counted:
        warn(
            f"scores that differ only beyond single precision decide in {', '.join(counted)}: trec_eval takes "
            "them for ties, and its figures differ"
        )


def _differs_in_single(scores: Mapping[str, float], grades: Mapping[str, int]) -> bool:
    """Whether a list's grades come in another order where scores are read in single precision."""
    values = np.fromiter(scores.values(), dtype=np.float64, count=len(scores))
    with np.errstate(over="ignore"):
        singles = values.astype(np.float32)
    if len(np.unique(singles)) == len(np.unique(values)):
        return False
    orders = ranked(scores), ranked(dict(zip(scores, singles.tolist(), strict=True)))
    by_double, by_single = ([grades.get(docid, 0) for docid in order] for order in orders)
    return by_double != by_single


def warn_of_no_values(values: Mapping[str, PerTopic], label: str = "") -> None:
    """Warn of measures that no topic has a value of; ``values`` are those of judged topics."""
    for measure, per_topic in values.items():
        if not per_topic:
            needs = "it needs judged documents of several grades, or topics in pairs (7_q1 and 7_q2)"
            warn(f"{label}{measure}: no topic has a value; {needs}")


def warn_of_same_runs(runs: Mapping[str, Run]) -> None:
    """Warn of each two of ``runs``, by name, that are the same."""
    for first, second in combinations(runs, 2):
        if runs[first] and runs[first] == runs[second]:
            warn(f"runs {first} and {second} hold the same lists and scores")


def compare_pair(inputs: Inputs, measures: Sequence[str | Measure]) -> dict[str, PerTopic]:
    """Return the values by qid of each pairwise measure that ``inputs`` allow; some compare three runs.

    A measure that is asked for by name and has no values is a warning.
    """
    values, by_name = {}, {}
    for measure in measures:
        if declared := find(measure):
            values[str(measure)] = declared.of_pair(str(measure), inputs)
            if declared.by_name:
                by_name[str(measure)] = values[str(measure)]
    warn_of_no_values(by_name)
    return by_qid(values)


def by_qid(values: Mapping[str, PerTopic]) -> dict[str, PerTopic]:
    """Return those measures that have values, sorted by qid."""
    return {measure: dict(sorted(per_topic.items())) for measure, per_topic in values.items() if per_topic}


def warn_of_runs(inputs: Inputs, values: Mapping[str, PerTopic], label: str = "") -> None:
    """Warn of lists and documents that make ``values`` meaningless or weak; ``label`` begins each line."""
    warn_of_foreign_ids(inputs.runs, [inputs.qrels, inputs.new_qrels, inputs.ruled_out], label)
    if inputs.base and inputs.base == inputs.new:
        why = "the same run twice, or a system that reads no instruction"
        warn(f"{label}both runs hold the same lists and scores: {why}")
    warn_of_depths(inputs.runs, label)
    warn_of_unseen(inputs, values, label)

"""Compare runs of paired topics, two or three, by each measure."""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from heed.measures.absence import Absence, runs_and_documents
from heed.measures.comparison_warnings import (
    warn_of_depths,
    warn_of_foreign_ids,
    warn_of_judgements,
    warn_of_no_values,
    warn_of_one_sided,
    warn_of_same_lists,
    warn_of_single_precision,
    warn_of_unseen,
)
from heed.measures.definition import Measure
from heed.measures.inputs import Inputs
from heed.measures.pairwise import P_MRR
from heed.measures.per_topic import PerTopic, difference, mean
from heed.measures.registry import COMING, find, is_of_pair
from heed.measures.significance import interval
from heed.measures.single_run import ROBUSTNESS, ROBUSTNESS_OF, robustness
from heed.measures.standard import JUDGED, standard
from heed.measures.three_runs import GOLD_RANK, gold_of, mean_rank

MEASURES = ("nDCG@20", JUDGED, "AP")  # standard measures of each run, beside the pairwise ones


class Statistics(TypedDict):
    """A mean over ``n`` topics with its 95% interval, and the shares of topics above, at and below 0.

    ``in_neither`` and ``in_one_only``, of some measures: the mean shares of their documents that :func:`absent` counts.
    """

    mean: float
    n: int
    in_neither: NotRequired[float]
    in_one_only: NotRequired[float]
    low: float
    high: float
    up: float
    equal: float
    down: float


def compare(inputs: Inputs, measures: Sequence[str | Measure] = MEASURES) -> dict[str, PerTopic]:
    """Return ``measure -> qid -> value`` for every measure that ``inputs`` allow, sorted by qid.

    They are the pairwise measures, those of ``measures`` that compare two runs, and the others of ``measures`` for each
    run by itself, which need its judgements. p-MRR needs documents that changed; p-MRR kept and selectivity, beside it,
    judgements of both runs; IRS the size of the corpus as well; NFR traps; WISE and SICR a reversed run.
    """
    of_pair = [measure for measure in measures if is_of_pair(measure)]
    of_each = [measure for measure in measures if not is_of_pair(measure)]
    values = compare_pair(inputs, COMING)
    if inputs.reverse:
        gold = gold_of(inputs)
        values |= _by_qid({f"{GOLD_RANK} {role}": mean_rank(run, gold) for role, run in inputs.runs.items()})
    return values | compare_pair(inputs, of_pair) | _by_qid(_of_each_run(inputs, of_each))


def compare_pair(inputs: Inputs, measures: Sequence[str | Measure]) -> dict[str, PerTopic]:
    """Return those of ``measures`` of two runs, or of three, that ``inputs`` allow, sorted by qid.

    A measure that is asked for by name and has no values is a warning.
    """
    values, by_name = {}, {}
    for measure in measures:
        if declared := find(measure):
            values[str(measure)] = declared.of_pair(str(measure), inputs)
            if declared.by_name:
                by_name[str(measure)] = values[str(measure)]
    warn_of_no_values(by_name)
    return _by_qid(values)


def _by_qid(values: Mapping[str, PerTopic]) -> dict[str, PerTopic]:
    return {measure: dict(sorted(per_topic.items())) for measure, per_topic in values.items() if per_topic}


def _of_each_run(inputs: Inputs, measures: Sequence[str | Measure]) -> dict[str, PerTopic]:
    values: dict[str, PerTopic] = {}
    base_values = standard(inputs.base, inputs.qrels, measures)
    new_values = standard(inputs.new, inputs.new_qrels, measures)
    for measure, new in new_values.items():
        base = base_values[measure]
        values |= {f"{measure} base": base, f"{measure} new": new}
        values[f"{measure} change"] = difference(new, base)
    if inputs.new_qrels:
        warn_of_no_values(new_values)
    several = len(set(inputs.query_of.values())) < len(inputs.query_of)
    if several and inputs.new_qrels:
        per_topic = standard(inputs.new, inputs.new_qrels, [ROBUSTNESS_OF])[ROBUSTNESS_OF]
        values[ROBUSTNESS] = robustness(per_topic, inputs.query_of)
    return values


def warn_of_comparison(inputs: Inputs, values: Mapping[str, PerTopic]) -> None:
    """Warn of what makes ``values``, those of :func:`compare`, meaningless or weak."""
    warn_of_judgements(inputs)
    warn_of_runs(inputs, values)
    warn_of_single_precision({"base": (inputs.base, inputs.qrels), "new": (inputs.new, inputs.new_qrels)})


def warn_of_runs(inputs: Inputs, values: Mapping[str, PerTopic], label: str = "") -> None:
    """Warn of lists and documents that make ``values`` meaningless or weak; ``label`` begins each line."""
    warn_of_foreign_ids(inputs.runs, [inputs.qrels, inputs.new_qrels, inputs.ruled_out], label)
    warn_of_same_lists(inputs.base, inputs.new, label)
    warn_of_depths(inputs.runs, label)
    if P_MRR in values:
        warn_of_one_sided(inputs.base, inputs.new, inputs.ruled_out, label)
    for measure, (runs, documents) in runs_and_documents(inputs, values).items():
        warn_of_unseen(measure, runs, documents, label)


def statistics(values: PerTopic, shares: Mapping[Absence, PerTopic] | None = None) -> Statistics:
    """Return the mean of ``values``, its interval, and the shares of topics up, equal and down.

    ``shares`` are those of :func:`heed.measures.absence.absent`, whose means are given too.
    """
    ordered = [values[qid] for qid in sorted(values)]  # the bootstrap draws by position
    low, high = interval(ordered)
    figures = Statistics(
        mean=mean(values),
        n=len(ordered),
        low=low,
        high=high,
        up=sum(value > 0 for value in ordered) / len(ordered),
        equal=sum(value == 0 for value in ordered) / len(ordered),
        down=sum(value < 0 for value in ordered) / len(ordered),
    )
    for kind, of_topics in (shares or {}).items():
        figures[kind] = mean(of_topics)
    return figures

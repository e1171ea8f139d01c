"""Compare two or three runs of paired topics: one value for each measure and topic, and their means with intervals."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypedDict

from heed.evaluation.significance import interval
from heed.io.pairs import qrels_for, renamed
from heed.measures import (
    PerTopic,
    Variant,
    irs,
    mean,
    mean_rank,
    nfr,
    no_longer_relevant,
    p_mrr,
    robustness,
    sicr,
    standard,
    still_relevant,
    wise,
)
from heed.types import Qrels, Run

MEASURES = ("nDCG@20", "AP")  # standard measures of each run, beside the pairwise ones
ROBUSTNESS, ROBUSTNESS_OF = "Robustness@10", "nDCG@10"  # InfoSearch's


class Inputs(NamedTuple):
    """Runs and judgements, all under the new run's qids.

    ``query_of`` names each topic's query; ``changed`` and ``traps`` are given lists (qid -> docids)
    or empty; ``corpus_size`` is 0 where unknown,
    ``reverse`` None where there is no third run.
    """

    base: Run
    new: Run
    qrels: Qrels
    new_qrels: Qrels
    query_of: Mapping[str, str]
    reverse: Run | None = None
    changed: Mapping[str, set[str]] = {}
    traps: Mapping[str, set[str]] = {}
    corpus_size: int = 0


class Statistics(TypedDict):
    """A mean over ``n`` topics with its 95% interval, and the shares of topics above, at and below 0."""

    mean: float
    n: int
    low: float
    high: float
    up: float
    equal: float
    down: float


def paired(base: Run, new: Run, pairs: Mapping[str, str], qrels: Qrels, new_qrels: Qrels) -> Inputs:
    """Return two runs and their judgements under the new run's qids; ``pairs`` maps them to the base run's.

    Judged topics that have no pair are logged.
    """
    unchanged = {qid: qid for qid in pairs}
    return Inputs(
        base=renamed(base, pairs),
        new=renamed(new, unchanged),
        qrels=qrels_for(qrels, pairs),
        new_qrels=qrels_for(new_qrels, unchanged),
        query_of=pairs,
    )


def compare(inputs: Inputs, measures: Sequence[str] = MEASURES, variant: Variant = "paper") -> dict[str, PerTopic]:
    """Return ``measure -> qid -> value`` for every measure that ``inputs`` allow, sorted by qid.

    p-MRR needs documents that changed; IRS the size of the corpus as well; NFR traps; WISE and
    SICR a reversed run; the standard ``measures`` judgements of their run.
    """
    unwanted = inputs.changed or no_longer_relevant(inputs.qrels, inputs.new_qrels)
    wanted = still_relevant(inputs.qrels, inputs.new_qrels)
    values = {"p-MRR": p_mrr(inputs.base, inputs.new, unwanted), "NFR": nfr(inputs.base, inputs.new, inputs.traps)}
    if inputs.corpus_size and inputs.new_qrels:
        values["IRS"] = irs(inputs.base, inputs.new, wanted, unwanted, inputs.corpus_size, variant)
    if inputs.reverse:
        values |= _three_runs((inputs.base, inputs.new, inputs.reverse), wanted, unwanted, variant)
    values |= _standard(inputs, measures)
    return {measure: dict(sorted(per_topic.items())) for measure, per_topic in values.items() if per_topic}


def _three_runs(
    runs: tuple[Run, Run, Run],
    wanted: Mapping[str, set[str]],
    unwanted: Mapping[str, set[str]],
    variant: Variant,
) -> dict[str, PerTopic]:
    gold = {qid: sorted(docids) for qid, docids in wanted.items()}
    judged = {qid: len(docids) + len(unwanted.get(qid, ())) for qid, docids in gold.items()}
    values = {"WISE": wise(runs, gold, judged, variant=variant), "SICR": sicr(runs, gold, variant)}
    for side, run in zip(("base", "new", "reversed"), runs, strict=True):
        values[f"mean gold rank {side}"] = mean_rank(run, gold)
    return values


def _standard(inputs: Inputs, measures: Sequence[str]) -> dict[str, PerTopic]:
    values: dict[str, PerTopic] = {}
    base_values = standard(inputs.base, inputs.qrels, measures)
    new_values = standard(inputs.new, inputs.new_qrels, measures)
    for measure in measures:
        base, new = base_values[measure], new_values[measure]
        values |= {f"{measure} base": base, f"{measure} new": new}
        values[f"{measure} change"] = {qid: new[qid] - base[qid] for qid in new if qid in base}
    several = len(set(inputs.query_of.values())) < len(inputs.query_of)
    if several and inputs.new_qrels:
        per_topic = standard(inputs.new, inputs.new_qrels, [ROBUSTNESS_OF])[ROBUSTNESS_OF]
        values[ROBUSTNESS] = robustness(per_topic, inputs.query_of)
    return values


def statistics(values: PerTopic) -> Statistics:
    """Return the mean of ``values``, its interval, and the shares of topics up, equal and down."""
    ordered = [values[qid] for qid in sorted(values)]  # the bootstrap draws by position
    low, high = interval(ordered)
    return Statistics(
        mean=mean(values),
        n=len(ordered),
        low=low,
        high=high,
        up=sum(value > 0 for value in ordered) / len(ordered),
        equal=sum(value == 0 for value in ordered) / len(ordered),
        down=sum(value < 0 for value in ordered) / len(ordered),
    )

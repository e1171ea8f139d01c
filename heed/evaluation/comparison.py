"""Everything that can be said of two or three runs of paired topics, one value a topic and measure."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypedDict

from heed.evaluation.significance import interval
from heed.measures.judged import PerTopic
from heed.measures.pairwise import (
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

ROBUST = "nDCG@10"  # the papers' Robustness@10


class Inputs(NamedTuple):
    """Runs and judgements, all under the new run's qids.

    ``changed`` and ``traps`` are given lists (qid -> docids) or empty; ``corpus_size`` is 0 where
    unknown; ``query_of`` names each topic's query.
    """

    base: Run
    new: Run
    reverse: Run
    qrels: Qrels
    new_qrels: Qrels
    changed: Mapping[str, set[str]]
    traps: Mapping[str, set[str]]
    corpus_size: int
    query_of: Mapping[str, str]


class Figure(TypedDict):
    """A mean over ``n`` topics with its 95% interval, and the shares of topics above, at and below 0."""

    mean: float
    n: int
    low: float
    high: float
    up: float
    equal: float
    down: float


def compare(given: Inputs, names: Sequence[str], variant: Variant) -> dict[str, PerTopic]:
    """``measure -> qid -> value`` for every measure that the inputs allow, by qid, in whatever order the inputs are.

    p-MRR needs documents that changed; IRS the size of the corpus as well; NFR traps; WISE and
    SICR a reversed run; the standard measures ``names`` qrels of their side.
    """
    unwanted = given.changed or no_longer_relevant(given.qrels, given.new_qrels)
    wanted = still_relevant(given.qrels, given.new_qrels)
    found = {"p-MRR": p_mrr(given.base, given.new, unwanted), "NFR": nfr(given.base, given.new, given.traps)}
    if given.corpus_size and given.new_qrels:
        found["IRS"] = irs(given.base, given.new, wanted, unwanted, given.corpus_size, variant)
    if given.reverse:
        found |= _three_way(given, wanted, unwanted, variant)
    found |= _standard(given, names)
    return {name: dict(sorted(values.items())) for name, values in found.items() if values}


def _three_way(
    given: Inputs, wanted: Mapping[str, set[str]], unwanted: Mapping[str, set[str]], variant: Variant
) -> dict[str, PerTopic]:
    gold = {qid: sorted(docids) for qid, docids in wanted.items()}
    judged = {qid: len(docids) + len(unwanted.get(qid, ())) for qid, docids in gold.items()}
    runs = (given.base, given.new, given.reverse)
    found = {"WISE": wise(runs, gold, judged, variant=variant), "SICR": sicr(runs, gold, variant)}
    sides = zip(("base", "new", "reversed"), runs, strict=True)
    return found | {f"mean gold rank {side}": mean_rank(run, gold) for side, run in sides}


def _standard(given: Inputs, names: Sequence[str]) -> dict[str, PerTopic]:
    found: dict[str, PerTopic] = {}
    sides = (standard(given.base, given.qrels, names), standard(given.new, given.new_qrels, names))
    for name in names:
        base, new = (side[name] for side in sides)
        found |= {f"{name} base": base, f"{name} new": new}
        found[f"{name} change"] = {qid: new[qid] - base[qid] for qid in new if qid in base}
    several = len(set(given.query_of.values())) < len(given.query_of)
    if several and given.new_qrels:
        found["Robustness@10"] = robustness(standard(given.new, given.new_qrels, [ROBUST])[ROBUST], given.query_of)
    return found


def figure(values: PerTopic) -> Figure:
    """The mean of ``values`` with its interval and the shares up, equal and down."""
    found = [values[qid] for qid in sorted(values)]  # resampled by place, so in an order of their own
    low, high = interval(found)
    return Figure(
        mean=mean(values),
        n=len(found),
        low=low,
        high=high,
        up=sum(value > 0 for value in found) / len(found),
        equal=sum(value == 0 for value in found) / len(found),
        down=sum(value < 0 for value in found) / len(found),
    )

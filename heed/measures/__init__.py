"""Measures: plain functions of runs (``qid -> docid -> score``) and judgements that return one value for each topic.

Pairwise measures compare the runs of two conditions, or of three; they need both runs under the same qids
(:mod:`heed.measures.two_runs`). Ranks are those of :mod:`heed.ranking`: score descending, then docid descending. The
published programs of IRS, WISE and SICR keep insertion order on ties instead; ``variant="released"`` follows
them in everything else.
"""

from heed.measures.contrasts import (
    delta_mrr,
    delta_recall,
    flip_rate,
    monotonic_order,
    pairwise_accuracy,
    right_rank,
    win_rate,
)
from heed.measures.pairwise import instfol, irs, mean_rank, nfr, p_mrr, selectivity, sicr, wise
from heed.measures.per_topic import Judged, Measure, PerTopic, mean, no_longer_relevant, not_judged, still_relevant
from heed.measures.registry import JUDGED, STANDARD, measure, standard
from heed.measures.significance import Power, power_of, smallest_difference, topics_needed
from heed.measures.single_run import alpha_ndcg, robustness, subtopic_recall

__all__ = (
    "JUDGED",
    "STANDARD",
    "Judged",
    "Measure",
    "PerTopic",
    "Power",
    "alpha_ndcg",
    "delta_mrr",
    "delta_recall",
    "flip_rate",
    "instfol",
    "irs",
    "mean",
    "mean_rank",
    "measure",
    "monotonic_order",
    "nfr",
    "no_longer_relevant",
    "not_judged",
    "p_mrr",
    "pairwise_accuracy",
    "power_of",
    "right_rank",
    "robustness",
    "selectivity",
    "sicr",
    "smallest_difference",
    "standard",
    "still_relevant",
    "subtopic_recall",
    "topics_needed",
    "win_rate",
    "wise",
)

"""Measures: plain functions of runs (``qid -> docid -> score``) and judgements that return one value for each topic.

Pairwise measures compare the runs of two conditions, or of three; they need both runs under the same qids
(:mod:`heed.formats.pairs`). Ranks are those of :mod:`heed.ranking`: score descending, then docid descending. The
published programs of IRS, WISE and SICR keep insertion order on ties instead; ``variant="released"`` follows
them in everything else.
"""

from heed.measures.contrast import (
    delta_mrr,
    delta_recall,
    flip_rate,
    monotonic_order,
    pairwise_accuracy,
    right_rank,
    win_rate,
)
from heed.measures.diversity import alpha_ndcg, subtopic_recall
from heed.measures.instfol import instfol
from heed.measures.judged_ranks import Judged, PerTopic, Variant
from heed.measures.pairwise import (
    Gold,
    in_no_list,
    in_one_list,
    irs,
    mean_rank,
    nfr,
    no_longer_relevant,
    p_mrr,
    selectivity,
    sicr,
    still_relevant,
    wise,
)
from heed.measures.standard import JUDGED, STANDARD, check_measures, mean, robustness, standard

__all__ = (
    "JUDGED",
    "STANDARD",
    "Gold",
    "Judged",
    "PerTopic",
    "Variant",
    "alpha_ndcg",
    "check_measures",
    "delta_mrr",
    "delta_recall",
    "flip_rate",
    "in_no_list",
    "in_one_list",
    "instfol",
    "irs",
    "mean",
    "mean_rank",
    "monotonic_order",
    "nfr",
    "no_longer_relevant",
    "p_mrr",
    "pairwise_accuracy",
    "right_rank",
    "robustness",
    "selectivity",
    "sicr",
    "standard",
    "still_relevant",
    "subtopic_recall",
    "win_rate",
    "wise",
)

"""Measures: plain functions of runs (``qid -> docid -> score``) and judgements that return one value for each topic.

Pairwise measures compare the runs of two conditions, or of three; they need both runs under the same qids
(:mod:`heed.io.pairs`). Ranks are those of :mod:`heed.ranking`: score descending, then docid descending. The
published programs of IRS, WISE and SICR keep insertion order on ties instead; ``variant="released"`` follows
them in everything else.
"""

from heed.measures.judged import Judged, PerTopic, Variant
from heed.measures.pairwise import Gold, irs, mean_rank, nfr, no_longer_relevant, p_mrr, sicr, still_relevant, wise
from heed.measures.standard import STANDARD, mean, robustness, standard

__all__ = (
    "STANDARD",
    "Gold",
    "Judged",
    "PerTopic",
    "Variant",
    "irs",
    "mean",
    "mean_rank",
    "nfr",
    "no_longer_relevant",
    "p_mrr",
    "robustness",
    "sicr",
    "standard",
    "still_relevant",
    "wise",
)

"""Measures by their names: standard ones through ir_measures, and Heed's own of one run; means and Robustness@k."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from heed.errors import UsageError
from heed.measures.contrast import delta_mrr, delta_recall, monotonic_order, pairwise_accuracy, right_rank, win_rate
from heed.measures.diversity import alpha_ndcg, subtopic_recall
from heed.measures.ir_measures_programs import computed, provided
from heed.measures.judged_ranks import PerTopic
from heed.measures.measure_names import Name, parse_name
from heed.ranking import top
from heed.types import Qrels, Run, subtopics_of

JUDGED = "Judged@20"  # the share judged of a run's first 20 documents, without which its nDCG cannot be read
STANDARD = ("nDCG@20", JUDGED, "AP", "R@100", "R@1000")  # NeuCLIR's official measures (guidelines 2022, 2023)
BY_SUBTOPIC = ("ERR_IA", "nERR_IA", "alpha_DCG", "alpha_nDCG", "NRBP", "nNRBP", "AP_IA", "P_IA", "StRecall")

Own = Callable[[Run, Qrels], PerTopic]


def standard(run: Run, qrels: Qrels, names: Sequence[str] = STANDARD) -> dict[str, PerTopic]:
    """Return ``measure -> qid -> value`` for every topic of ``qrels``; a topic that the run lacks counts 0.

    ``names`` are ir_measures' own, such as ``nDCG@20`` or ``AP(rel=2)``, and Heed's: ``PairwiseAccuracy`` (by pair of
    topics), ``WinRate``, ``WinRate@3`` (the third step), ``MonotonicOrder``, ``dR@1`` (ΔR@1), ``dMRR@10`` and
    ``RightRank@10`` (see :mod:`heed.measures.contrast`), where topics without a contrast have no value. ``Judged@k``,
    ``alpha_nDCG@k`` and ``StRecall@k`` are computed here, the others by the program that ir_measures has for them.
    Ties are broken as by :mod:`heed.ranking` in all. Negative grades count as not relevant, as in trec_eval. Raises
    :class:`UsageError` for an unknown name, for one whose program is not installed, and for a measure of subtopics
    where ``qrels`` have none (:class:`heed.types.SubtopicGrades`).
    """
    values: dict[str, PerTopic] = {}
    measures: dict[Any, list[Any]] = {}  # by provider
    texts: dict[Any, list[str]] = {}  # AP and MAP are one measure
    check_measures(names, qrels)
    for name in map(parse_name, names):
        if own := _own(name):
            values[name.text] = own(run, qrels)
        else:
            values[name.text] = dict.fromkeys(qrels, 0.0)
            provider, measure = provided(name)
            measures.setdefault(provider, []).append(measure)
            texts.setdefault(measure, []).append(name.text)
    for provider, of_provider in measures.items():
        for qid, measure, value in computed(provider, of_provider, run, qrels):
            for text in texts[measure]:
                values[text][qid] = value
    return values


def check_measures(names: Sequence[str], qrels: Qrels) -> None:
    """Raise :class:`UsageError` for names that :func:`standard` cannot compute with ``qrels``."""
    for name in map(parse_name, names):
        if needs_subtopics(name.text) and qrels and all(len(subtopics_of(grades)) < 2 for grades in qrels.values()):
            raise UsageError(
                f"measure {name.text}: needs judgements by subtopic, in column 2 of the qrels; these have none"
            )
        if not _own(name):
            provided(name)


def needs_subtopics(name: str) -> bool:
    """Whether a measure needs judgements by subtopic."""
    return parse_name(name).family.replace("α", "alpha") in BY_SUBTOPIC


def _own(name: Name) -> Own | None:
    """Return the function of a measure that is computed here; None for others."""
    family = name.family.replace("α", "alpha")
    if family in ("alpha_nDCG", "StRecall") and "judged_only" not in name.parameters:
        relevant = name.parameters.get("rel", 1)
        if family == "StRecall":
            name.only("rel")
            return partial(subtopic_recall, cutoff=name.depth(), relevant=relevant)
        name.only("alpha", "rel")
        alpha = name.parameters.get("alpha", 0.5)
        return partial(alpha_ndcg, cutoff=name.depth(), alpha=alpha, relevant=relevant)
    if family in WITH_CUTOFF:
        name.only()
        return partial(WITH_CUTOFF[family], cutoff=name.depth())
    if family == "WinRate":
        name.only()
        return partial(win_rate, step=None if name.cutoff is None else name.depth())
    if family in WITHOUT_CUTOFF:
        name.only(cutoff=False)
        return WITHOUT_CUTOFF[family]
    return None


def judged_share(run: Run, qrels: Qrels, cutoff: int) -> PerTopic:
    """Return the share of the first ``cutoff`` documents of each topic's list, or of a shorter list, that have a grade.

    It is ir_measures' ``Judged@k`` (a negative grade counts too), with ties broken as everywhere.
    """
    first = {qid: top(run.get(qid, {}), cutoff) for qid in qrels}
    return {qid: sum(docid in qrels[qid] for docid in docids) / (len(docids) or 1) for qid, docids in first.items()}


WITH_CUTOFF: Mapping[str, Callable[..., PerTopic]] = {
    "Judged": judged_share,
    "dR": delta_recall,
    "dMRR": delta_mrr,
    "RightRank": right_rank,
}
WITHOUT_CUTOFF: Mapping[str, Own] = {"PairwiseAccuracy": pairwise_accuracy, "MonotonicOrder": monotonic_order}


def mean(values: PerTopic) -> float:
    """Return the mean over topics, to the last bit the same in any order of them.

    Raises ZeroDivisionError without topics; report ``len(values)`` beside the mean.
    """
    return math.fsum(values.values()) / len(values)


def robustness(values: PerTopic, query_of: Mapping[str, str]) -> PerTopic:
    """Return Robustness@k by query: the worst of the query's values over its instructions.

    InfoSearch, section 2.3, and InstructIR (mteb ``robustness_at_10``), with ``values`` the nDCG@k
    of each instructed topic and ``query_of`` each topic's query; KeyError if it lacks a topic.
    """
    worst: PerTopic = {}
    for qid, value in values.items():
        query = query_of[qid]
        worst[query] = min(worst.get(query, value), value)
    return worst

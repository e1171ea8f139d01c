"""Measures: what a ranking is worth, and whether it followed a changed instruction."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pipelines.ranking import ranks
from pipelines.trec import Qrels, Run

STANDARD = ("nDCG@20", "AP", "R@100", "R@1000")  # NeuCLIR's official measures (guidelines 2022, 2023)

PerTopic = dict[str, float]  # qid -> value


def p_mrr(base: Run, new: Run, changed: Mapping[str, Iterable[str]]) -> PerTopic:
    """p-MRR of each topic: did documents that are no longer relevant fall? −1 … 1, 0 is no change.

    FollowIR (Weller et al., 2024), equation 1, for every document of ``changed[qid]`` with rank
    ``r`` in ``base`` and ``s`` in ``new``: ``s / r − 1`` where it rose or stayed (``r ≥ s``),
    ``1 − r / s`` where it fell; averaged over the topic's documents. A document missing from a run
    has the list's length + 1 as its rank (mteb ``get_rank_from_dict``). Topics without changed
    documents, or missing from one of the runs, have no value: compare the number of values with
    the number of topics.
    """
    values = {}
    for qid, docids in changed.items():
        judged = sorted(docids)
        if judged and qid in base and qid in new:
            pairs = zip(ranks(base[qid], judged), ranks(new[qid], judged), strict=True)
            values[qid] = sum(_rank_change(old, now) for old, now in pairs) / len(judged)
    return values


def _rank_change(old: int, new: int) -> float:
    return new / old - 1 if old >= new else 1 - old / new


def no_longer_relevant(original: Qrels, changed: Qrels) -> dict[str, set[str]]:
    """For each topic in both qrels, the documents with a positive grade in ``original`` only.

    Topics in which nothing changed are left out.
    """
    differences = {
        qid: {docid for docid, grade in grades.items() if grade > 0 and changed[qid].get(docid, 0) <= 0}
        for qid, grades in original.items()
        if qid in changed
    }
    return {qid: docids for qid, docids in differences.items() if docids}


def standard(run: Run, qrels: Qrels, names: Sequence[str] = STANDARD) -> dict[str, PerTopic]:
    """``measure -> qid -> value`` for every topic of ``qrels``; a topic the run lacks counts 0.

    Computed by ir_measures with its pytrec_eval provider only, which breaks ties as trec_eval and
    :mod:`pipelines.ranking` do; its other providers would not.
    """
    import ir_measures

    measures = [_measure(name) for name in names]
    values: dict[str, PerTopic] = {name: dict.fromkeys(qrels, 0.0) for name in names}
    scores = {qid: dict(docs) for qid, docs in run.items() if qid in qrels}
    if scores:
        for metric in ir_measures.pytrec_eval.evaluator(measures, qrels).iter_calc(scores):
            values[str(metric.measure)][metric.query_id] = metric.value
    return values


def _measure(name: str) -> Any:
    """ir_measures' object for ``AP`` or ``nDCG@20``; its own parser fails on Python 3.14 and warns before."""
    import ir_measures

    family, _, cutoff = name.partition("@")
    measure = getattr(ir_measures, family)
    return measure @ int(cutoff) if cutoff else measure


def mean(values: PerTopic) -> float:
    """The mean over topics; the caller says over how many."""
    return sum(values.values()) / len(values)

"""Standard measures, through ir_measures and one provider of it alone."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from heed.errors import HeedError
from heed.measures.judged import PerTopic
from heed.ranking import ranked
from heed.types import Qrels, Run

STANDARD = ("nDCG@20", "AP", "R@100", "R@1000")  # NeuCLIR's official measures (guidelines 2022, 2023)


def standard(run: Run, qrels: Qrels, names: Sequence[str] = STANDARD) -> dict[str, PerTopic]:
    """``measure -> qid -> value`` for every topic of ``qrels``; a topic the run lacks counts 0.

    Computed by ir_measures with its pytrec_eval provider only, which breaks ties as trec_eval and
    :mod:`heed.ranking` do; its other providers would not. Negative grades count as not
    relevant, as in trec_eval. Raises :class:`HeedError` for a name that this provider does not know.
    """
    import ir_measures

    measures = {_measure(name): name for name in names}
    values: dict[str, PerTopic] = {name: dict.fromkeys(qrels, 0.0) for name in names}
    scores = {qid: _for_single_precision(docs) for qid, docs in run.items() if qid in qrels}
    if scores:
        for metric in ir_measures.pytrec_eval.evaluator(list(measures), qrels).iter_calc(scores):
            values[measures[metric.measure]][metric.query_id] = metric.value
    return values


def _for_single_precision(scores: Mapping[str, float]) -> dict[str, float]:
    """Scores that keep their order when pytrec_eval rounds them to single precision.

    trec_eval 10 reads doubles, pytrec_eval still floats: 1 and 1 + 1e-12 would tie. Only then are the
    scores replaced, by their places in the one order.
    """
    import numpy as np

    values = np.fromiter(scores.values(), dtype=np.float64, count=len(scores))
    with np.errstate(over="ignore"):
        kept = len(np.unique(values.astype(np.float32))) == len(np.unique(values))
    return dict(scores) if kept else {docid: float(-place) for place, docid in enumerate(ranked(scores))}


def _measure(name: str) -> Any:
    """ir_measures' object for ``AP`` or ``nDCG@20``; its own parser fails on Python 3.14 and warns before."""
    import ir_measures

    family, mark, cutoff = name.partition("@")
    found = getattr(ir_measures, family, None)
    # trec_eval ends the process at a cutoff of 0
    if not isinstance(found, ir_measures.measures.Measure) or (mark and not re.fullmatch("[1-9][0-9]*", cutoff)):
        raise HeedError(f"measure {name!r}: not known; expected such as nDCG@20, AP, R@1000, P@10, RR")
    measure = found @ int(cutoff) if cutoff else found
    try:
        supported = ir_measures.pytrec_eval.supports(measure)
    except AssertionError as error:  # ir_measures' own for a cutoff that is missing or out of place
        wrong = "takes no cutoff" if cutoff else "needs a cutoff, such as @10"
        raise HeedError(f"measure {name}: {wrong}; expected such as nDCG@20, AP, R@1000, P@10, RR") from error
    if not supported:
        raise HeedError(f"measure {name}: not computed by trec_eval's rules; expected such as nDCG@20, AP, R@1000")
    return measure

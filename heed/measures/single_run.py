"""Measures of one run beside the standard ones: how much of it is judged, and how it fares over instructions."""

from collections.abc import Mapping

from heed.measures.definition import Measure
from heed.measures.per_topic import PerTopic, judged
from heed.ranking import top
from heed.types import Qrels, Run

ROBUSTNESS, ROBUSTNESS_OF = "Robustness@10", "nDCG@10"  # InfoSearch's


def judged_share(run: Run, qrels: Qrels, cutoff: int = 10**9) -> PerTopic:
    """Return the share of the first ``cutoff`` documents of each topic's list, or of all, that have a grade from 0.

    A negative grade is not judged, so that it is 1 − trec_eval 10's ``unj``, but over the documents that a shorter list
    has; for ir_measures' ``Judged@k`` it is judged. Ties are broken as everywhere.
    """
    grades = judged(qrels)
    first = {qid: top(run.get(qid, {}), cutoff) for qid in qrels}
    return {qid: sum(docid in grades[qid] for docid in docids) / (len(docids) or 1) for qid, docids in first.items()}


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


MEASURES = (
    Measure(
        name="Judged",
        function=judged_share,
        parameters={"@": "cutoff"},
        cutoff_optional=True,
        value="share of the first k documents that have a grade from 0; without a cutoff of the whole list",
        source="1 − trec_eval 10's unj",
        examples=("Judged@20", "Judged"),
    ),
    Measure(
        name="Robustness",
        function=robustness,
        by_name=False,
        value="the lowest nDCG@10 among the instructions of a query",
        needs="several instructions for a query",
        source="InfoSearch, InstructIR; equal to mteb's",
        examples=(ROBUSTNESS,),
    ),
)

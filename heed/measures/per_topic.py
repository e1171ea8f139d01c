"""Values by topic, their mean and their differences."""

import math
from collections.abc import Collection, Mapping
from typing import Literal

from heed.types import Qrels

PerTopic = dict[str, float]  # qid -> value
Judged = Mapping[str, Collection[str]]  # qid -> docids
Variant = Literal["paper", "released"]  # a paper's formula, or its released code's


def judged(qrels: Qrels) -> Qrels:
    """Return judgements without negative grades: such a document is not judged, as in trec_eval."""
    return {qid: {docid: grade for docid, grade in grades.items() if grade >= 0} for qid, grades in qrels.items()}


def mean(values: PerTopic) -> float:
    """Return the mean over topics, to the last bit the same in any order of them.

    Raises ZeroDivisionError without topics; report ``len(values)`` beside the mean.
    """
    return math.fsum(values.values()) / len(values)


def difference(first: PerTopic, second: PerTopic) -> PerTopic:
    """Return first − second for each topic that both have, in the order of their qids."""
    return {qid: first[qid] - second[qid] for qid in sorted(first.keys() & second.keys())}

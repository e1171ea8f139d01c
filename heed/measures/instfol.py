"""INSTFOL: do the grades of what is at the top rise with the instruction?"""

from collections.abc import Mapping

from heed.errors import UsageError
from heed.measures.definition import Measure
from heed.measures.per_topic import PerTopic
from heed.ranking import top
from heed.types import Run

Grades = Mapping[str, Mapping[str, float]]  # qid -> docid -> grade, which may be a mean or an expectation
BEST = 3  # of IFIR's grades 0 to 3


def instfol(base: Run, new: Run, grades: Grades, new_grades: Grades, cutoff: int = 20, best: float = BEST) -> PerTopic:
    """Return each topic's INSTFOL, at most 1: the share of what was left to gain that the instruction gained.

    IFIR (Song et al., NAACL 2025): with ``q`` and ``i`` the mean grades of the first ``cutoff`` documents
    without (``base``) and with the instruction (``new``), ``(i − q) / (best − q)``; ``i − q`` where ``q`` is ``best``
    already. Grades, by a person or a model, say how well a document satisfies the instruction, 0 … ``best``; as in the
    authors' ``llm_eval.py`` documents with a negative grade are left out, and so are those without one. A loss is not
    bounded: it is far below −1 where ``q`` was near ``best``. Topics missing from one of the runs, or without a graded
    document in one of the lists, have no value. Raises :class:`UsageError` for a grade above ``best``.
    """
    values = {}
    for qid in base.keys() & new.keys():
        q = _mean_grade(base[qid], grades.get(qid, {}), cutoff, best)
        i = _mean_grade(new[qid], new_grades.get(qid, {}), cutoff, best)
        if q is not None and i is not None:
            values[qid] = i - q if q == best or i == q else (i - q) / (best - q)
    return dict(sorted(values.items()))


def _mean_grade(scores: Mapping[str, float], grades: Mapping[str, float], cutoff: int, best: float) -> float | None:
    graded = [grades[docid] for docid in top(scores, cutoff) if grades.get(docid, -1) >= 0]
    if graded and max(graded) > best:
        raise UsageError(f"INSTFOL: found the grade {max(graded):g}, expected 0 to {best:g}")
    return sum(graded) / len(graded) if graded else None


MEASURES = (
    Measure(
        name="INSTFOL",
        function=instfol,
        of="pair",
        takes=lambda pair: (pair.base, pair.new, pair.qrels, pair.new_qrels or pair.qrels),
        parameters={"@": "cutoff"},
        signed=True,
        value="(i − q) ÷ (3 − q), where q is the mean grade of the first k without the instruction and i with it; "
        "i − q if q = 3",
        needs="grades 0 … 3 of both lists, by people or a model",
        source="IFIR",
        examples=("INSTFOL@20",),
    ),
)

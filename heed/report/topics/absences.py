"""Why a topic has no value, or one that no system can change, under a condition or in a comparison of two."""

from collections.abc import Iterator

from heed.report.topics.explored import Explored
from heed.report.topics.view_types import Absence
from heed.types import Topic


def absences(explored: Explored, topic: Topic) -> list[Absence]:
    """Return the reasons, by condition and pair of those that have runs."""
    conditions = [name for name in explored.conditions if topic.has(name) or (name == "query" and topic.base)]
    reasons = [(name, reason) for name in conditions for reason in _of_condition(explored, topic, name)]
    for base, new in explored.compared:
        if base in conditions and new in conditions:
            reasons += [(f"{base}>{new}", reason) for reason in _of_pair(explored, topic, base, new)]
    return [Absence(condition=condition, reason=reason) for condition, reason in reasons]


def _of_condition(explored: Explored, topic: Topic, condition: str) -> Iterator[str]:
    grades = explored.grades(topic, condition)
    if grades is None:
        yield f"Not judged under {condition}: it is in no mean of that condition."
    elif not any(grade > 0 for grade in grades.values()):
        yield f"No document is relevant under {condition}: nDCG, AP and recall are 0 whatever is found."


def _of_pair(explored: Explored, topic: Topic, base: str, new: str) -> Iterator[str]:
    before, after = explored.grades(topic, base), explored.grades(topic, new)
    if before is None or after is None:
        missing = " and ".join(name for name, grades in ((base, before), (new, after)) if grades is None)
        yield f"Not judged under {missing}: the two are not compared."
    elif not any(grade > 0 and after.get(docid, 0) <= 0 for docid, grade in before.items()):
        yield f"Every document that is relevant under {base} still is under {new}: p-MRR has nothing that should fall."
    elif not any(grade > 0 and after.get(docid, 0) > 0 for docid, grade in before.items()):
        yield f"No document is relevant under both {base} and {new}: selectivity has nothing that should stay."

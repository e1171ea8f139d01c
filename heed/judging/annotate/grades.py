"""The grades of several assessors: one final grade a document, their agreement, and where they differ."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple, TypedDict

from heed.judging.annotate.assessors import ADJUDICATED
from heed.judging.annotate.store import Judgement, wording_of
from heed.judging.annotate.task import CONDITIONS, Task
from heed.measures.agreement import agreement
from heed.types import Qrels

DocumentKey = tuple[str, str, str]  # topic, condition and docid
Graded = dict[tuple[str, str], tuple[int, str]]  # topic and document: grade, and the wording it was given under
Narratives = Mapping[str, str]  # qid -> the current changed narrative


class FinalGrades(NamedTuple):
    """The exported grades of both conditions.

    ``undecided`` counts documents without a consensus; ``incomplete`` counts, by topic, the relevant documents for
    which it has no changed grades.
    """

    original: Qrels
    changed: Qrels
    undecided: int
    incomplete: dict[str, int]


class PairAgreement(TypedDict):
    """Two assessors under one condition: the fields of :class:`~heed.measures.agreement.Agreement`.

    ``reworded`` documents, graded under different narratives, are not counted.
    """

    first: str
    second: str
    condition: str
    reworded: int
    agreement: dict[str, Any]


class Disagreement(TypedDict):
    """A document with different grades; ``decision`` is the adjudicated grade, None if there is none yet."""

    qid: str
    condition: str
    docid: str
    grades: dict[str, int]
    decision: int | None


def grades_by_document(judgements: Sequence[Judgement]) -> dict[DocumentKey, dict[str, int]]:
    """Return each document's grades by assessor, without judgements that are only notes."""
    grades: dict[DocumentKey, dict[str, int]] = {}
    for judgement in judgements:
        if judgement.grade is not None:
            key = judgement.qid, judgement.condition, judgement.docid
            grades.setdefault(key, {})[judgement.assessor] = judgement.grade
    return grades


def final_grade(grades: Mapping[str, int], assessor: str = "") -> int | None:
    """Return a document's grade: of ``assessor`` his own, else the adjudicated one, else that of more than half.

    None where nothing decides. ``grades`` are by assessor, such as those of :func:`grades_by_document`.
    """
    if assessor or ADJUDICATED in grades or not grades:
        return grades.get(assessor or ADJUDICATED)
    grade, votes = Counter(grades.values()).most_common(1)[0]
    return grade if 2 * votes > len(grades) else None


def final_grades(task: Task, judgements: Sequence[Judgement], narratives: Narratives) -> FinalGrades:
    """Return one grade a document and condition.

    Where nobody has judged, a document keeps its given grade under ``original``. The topics under ``changed`` are those
    whose changed narrative differs from the original and whose relevant documents are all judged under it: a relevant
    document without a changed grade would count as one that the edit has made non-relevant. Documents that were not
    relevant and are not judged under it keep their grades, since an edit only narrows (FollowIR, mFollowIR).
    """
    decided = {
        key: final_grade(grades) for key, grades in grades_by_document(judgements).items() if key[0] in task.pool
    }
    grades: dict[str, Qrels] = {condition: {qid: {} for qid in task.pool} for condition in CONDITIONS}
    for (qid, condition, docid), grade in decided.items():
        if grade is not None:
            grades[condition][qid][docid] = grade
    original = {qid: _in_order(task, qid, {**task.qrels.get(qid, {}), **grades["original"][qid]}) for qid in task.pool}
    changed, incomplete = {}, {}
    for qid, judged in grades["changed"].items():
        if not is_changed(task, qid, narratives) or not (judged or task.only_relevant):
            continue
        unchanged = {docid: grade for docid, grade in original[qid].items() if grade <= 0}
        missing = sum(grade > 0 and docid not in judged for docid, grade in original[qid].items())
        if missing and judged:
            incomplete[qid] = missing
        elif not missing and (unchanged or judged):
            changed[qid] = _in_order(task, qid, {**unchanged, **judged})
    return FinalGrades(
        original={qid: by_docid for qid, by_docid in original.items() if by_docid},
        changed=changed,
        undecided=sum(grade is None for grade in decided.values()),
        incomplete=incomplete,
    )


def is_changed(task: Task, qid: str, narratives: Narratives) -> bool:
    """Whether the current narrative differs from the original in more than white space."""
    return bool(narratives[qid].strip()) and wording_of(narratives[qid]) != wording_of(task.original(qid))


def _in_order(task: Task, qid: str, grades: Mapping[str, int]) -> dict[str, int]:
    """Return grades in the pool's order, those of documents outside of it last, by docid."""
    pooled = [docid for docid in task.pool[qid] if docid in grades]
    return {docid: grades[docid] for docid in [*pooled, *sorted(grades.keys() - set(pooled))]}


def pair_agreements(judgements: Sequence[Judgement], scale: Sequence[int]) -> list[PairAgreement]:
    """Return the agreement of every two assessors with a document in common, by condition and name."""
    graded: dict[str, dict[str, Graded]] = {"original": {}, "changed": {}}
    for judgement in judgements:
        if judgement.grade is not None and judgement.assessor != ADJUDICATED:
            by_document = graded[judgement.condition].setdefault(judgement.assessor, {})
            by_document[judgement.qid, judgement.docid] = judgement.grade, judgement.wording
    agreements = []
    for condition, by_assessor in graded.items():
        for first, second in combinations(sorted(by_assessor), 2):
            firsts, seconds = by_assessor[first], by_assessor[second]
            common = [(*firsts[key], *seconds[key]) for key in sorted(firsts.keys() & seconds.keys())]
            same = [(grade, other) for grade, wording, other, other_wording in common if wording == other_wording]
            if common:
                count, result = len(common) - len(same), agreement(same, scale)._asdict()
                pair = PairAgreement(first=first, second=second, condition=condition, reworded=count, agreement=result)
                agreements.append(pair)
    return agreements


def disagreements(judgements: Sequence[Judgement]) -> list[Disagreement]:
    """Return the documents with different grades, by topic, condition (original first) and docid."""
    grades = grades_by_document(judgements)
    differing = []
    for qid, condition, docid in sorted(grades, key=lambda key: (key[0], key[1] != "original", key[2])):
        by_assessor = grades[qid, condition, docid]
        decision = by_assessor.pop(ADJUDICATED, None)
        if len(set(by_assessor.values())) > 1:
            differing.append(
                Disagreement(qid=qid, condition=condition, docid=docid, grades=by_assessor, decision=decision)
            )
    return differing

"""The grades of several assessors: one final grade a document, their agreement, and where they differ."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple, NotRequired, TypedDict

from heed.judging.annotate.assessors import ADJUDICATED
from heed.judging.annotate.store import Judgement
from heed.judging.annotate.task import CONDITIONS, Task
from heed.measures.agreement import agreement
from heed.types import Qrels

DocumentKey = tuple[str, str, str]  # topic, condition and docid
Graded = dict[tuple[str, str], tuple[int, str]]  # topic and document: grade, and the wording it was given under
Narratives = Mapping[str, str]  # qid -> the current changed narrative


class FinalGrades(NamedTuple):
    """The exported grades of both conditions.

    ``undecided`` are the documents without a consensus; ``incomplete`` the relevant documents, by topic, that have no
    changed grade and for which their topic is left out of ``changed``.
    """

    original: Qrels
    changed: Qrels
    undecided: set[DocumentKey]
    incomplete: dict[str, list[str]]

    def unjudged(self, task: Task) -> dict[str, list[str]]:
        """Return the pooled documents that nobody has graded, by topic, without topics that have none."""
        undecided = {(qid, docid) for qid, condition, docid in self.undecided if condition == "original"}
        without = {
            qid: [
                docid for docid in docids if docid not in self.original.get(qid, {}) and (qid, docid) not in undecided
            ]
            for qid, docids in task.pool.items()
        }
        return {qid: docids for qid, docids in without.items() if docids}


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
    """A document with different grades; ``decision`` is the adjudicated grade, None if there is none yet.

    ``decided_by`` is absent where it is not known.
    """

    qid: str
    condition: str
    docid: str
    grades: dict[str, int]
    decision: int | None
    decided_by: NotRequired[str]


def grades_by_document(judgements: Sequence[Judgement]) -> dict[DocumentKey, dict[str, int]]:
    """Return each document's grades by assessor, without judgements that are only notes."""
    grades: dict[DocumentKey, dict[str, int]] = {}
    for judgement in judgements:
        if judgement.grade is not None:
            key = judgement.qid, judgement.condition, judgement.docid
            grades.setdefault(key, {})[judgement.assessor] = judgement.grade
    return grades


def final_grade(grades: Mapping[str, int]) -> int | None:
    """Return a document's adjudicated grade, else that of more than half; None where nothing decides.

    ``grades`` are by assessor, such as those of :func:`grades_by_document`.
    """
    if ADJUDICATED in grades or not grades:
        return grades.get(ADJUDICATED)
    if len(grades) == 1:  # nearly always: the page asks for all documents every few seconds
        return next(iter(grades.values()))
    grade, votes = Counter(grades.values()).most_common(1)[0]
    return grade if 2 * votes > len(grades) else None


def grade_before_edit(task: Task, qid: str, grades: Mapping[str, int], assessor: str) -> int | None:
    """Return the original grade by which ``assessor`` reads a document again after an edit; None without any.

    It is the final one, which decides what the export needs, else his own. Before a decision he learns nothing about
    what he has not graded himself, and nothing at all of topics that are assigned.
    """
    first = grades.get(assessor)
    is_known = ADJUDICATED in grades or (first is not None and qid not in task.assigned)
    final = final_grade(grades) if is_known else None
    return first if final is None else final


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
    original = {
        qid: in_pool_order(task, qid, {**task.qrels.get(qid, {}), **grades["original"][qid]}) for qid in task.pool
    }
    changed, incomplete = {}, {}
    for qid, judged in grades["changed"].items():
        if not is_changed(task, qid, narratives[qid]) or not (judged or task.only_relevant):
            continue
        unchanged = {docid: grade for docid, grade in original[qid].items() if grade <= 0}
        missing = [docid for docid, grade in original[qid].items() if grade > 0 and docid not in judged]
        if missing and judged:
            incomplete[qid] = missing
        elif not missing and (unchanged or judged):
            changed[qid] = in_pool_order(task, qid, {**unchanged, **judged})
    return FinalGrades(
        original={qid: by_docid for qid, by_docid in original.items() if by_docid},
        changed=changed,
        undecided={key for key, grade in decided.items() if grade is None},
        incomplete=incomplete,
    )


def is_changed(task: Task, qid: str, narrative: str) -> bool:
    """Whether a changed ``narrative`` differs from the topic's original in more than white space."""
    return bool(narrative.strip()) and narrative.split() != task.original(qid).split()


def in_pool_order(task: Task, qid: str, grades: Mapping[str, int]) -> dict[str, int]:
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


def disagreements(judgements: Sequence[Judgement], deciders: Mapping[DocumentKey, str]) -> list[Disagreement]:
    """Return the documents with different grades, by topic, condition (original first) and docid.

    ``deciders`` are the names of those who decided, as the store has them.
    """
    grades = grades_by_document(judgements)
    differing = []
    for qid, condition, docid in sorted(grades, key=lambda key: (key[0], key[1] != "original", key[2])):
        by_assessor = grades[qid, condition, docid]
        decision = by_assessor.pop(ADJUDICATED, None)
        if len(set(by_assessor.values())) > 1:
            item = Disagreement(qid=qid, condition=condition, docid=docid, grades=by_assessor, decision=decision)
            if decision is not None and (qid, condition, docid) in deciders:
                item["decided_by"] = deciders[qid, condition, docid]
            differing.append(item)
    return differing

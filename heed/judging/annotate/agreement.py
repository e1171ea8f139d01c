"""Agreement between assessors: Cohen's κ, and the documents that they graded differently."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import TypedDict

from heed.judging.annotate.store import ADJUDICATED, Judgement
from heed.measures.agreement import Agreement, agreement

Graded = dict[tuple[str, str], tuple[int, str]]  # topic and document: grade, and the wording it was given under


class PairAgreement(TypedDict):
    """Two assessors under one condition; ``reworded`` documents, graded under different narratives, are not counted."""

    first: str
    second: str
    condition: str
    reworded: int
    agreement: Agreement


class Disagreement(TypedDict):
    """A document with different grades; ``decision`` is the adjudicated grade, None if there is none yet."""

    qid: str
    condition: str
    docid: str
    grades: dict[str, int]
    decision: int | None


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
                count, result = len(common) - len(same), agreement(same, scale)
                pair = PairAgreement(first=first, second=second, condition=condition, reworded=count, agreement=result)
                agreements.append(pair)
    return agreements


def disagreements(judgements: Sequence[Judgement]) -> list[Disagreement]:
    """Return the documents with different grades, by topic, condition (original first) and docid."""
    grades: dict[tuple[str, str, str], dict[str, int]] = {}
    for judgement in judgements:
        if judgement.grade is not None:
            key = judgement.qid, judgement.condition, judgement.docid
            grades.setdefault(key, {})[judgement.assessor] = judgement.grade
    differing = []
    for qid, condition, docid in sorted(grades, key=lambda key: (key[0], key[1] != "original", key[2])):
        by_assessor = grades[qid, condition, docid]
        decision = by_assessor.pop(ADJUDICATED, None)
        if len(set(by_assessor.values())) > 1:
            differing.append(
                Disagreement(qid=qid, condition=condition, docid=docid, grades=by_assessor, decision=decision)
            )
    return differing


def consensus(grades: dict[str, int]) -> int | None:
    """Return the adjudicated grade, else the grade of more than half of the assessors, else None."""
    if ADJUDICATED in grades:
        return grades[ADJUDICATED]
    grade, votes = Counter(grades.values()).most_common(1)[0]
    return grade if 2 * votes > len(grades) else None

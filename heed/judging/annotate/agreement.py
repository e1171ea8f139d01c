"""Agreement between assessors: Cohen's κ, and the documents that they graded differently."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple, TypedDict

from heed.judging.annotate.store import ADJUDICATED, Judgement

Graded = dict[tuple[str, str], tuple[int, str]]  # topic and document: grade, and the wording it was given under


class Agreement(NamedTuple):
    """Two assessors over the ``n`` documents that both graded.

    ``observed`` is the share of equal grades; ``kappa`` and ``weighted`` (linear weights) are on κ's own scale, at most
    1, and None where chance alone would make all grades equal. ``matrix`` counts documents by the first assessor's
    grade (rows) and the second's (columns), in the order of the scale.
    """

    n: int
    observed: float | None
    kappa: float | None
    weighted: float | None
    matrix: list[list[int]]


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


def agreement(graded: Sequence[tuple[int, int]], scale: Sequence[int]) -> Agreement:
    """Return the agreement of two assessors' grades of the same documents.

    With O the share of documents in each cell of the matrix and E = row sum × column sum, κ = 1 − Σ w·O / Σ w·E. The
    weight w of a disagreement is 1 for any two different grades in the unweighted κ (J. Cohen, A coefficient of
    agreement for nominal scales, Educational and Psychological Measurement 20, 1960), and the distance of the two
    grades' positions on the scale in the linear one (J. Cohen, Weighted kappa, Psychological Bulletin 70, 1968; linear
    weights: D. Cicchetti and T. Allison, 1971): 0, 1, 3 are one position apart each.
    """
    position = {grade: i for i, grade in enumerate(scale)}
    matrix = [[0] * len(scale) for _ in scale]
    for first, second in graded:
        matrix[position[first]][position[second]] += 1
    equal = sum(matrix[i][i] for i in range(len(scale)))
    return Agreement(
        n=len(graded),
        observed=equal / len(graded) if graded else None,
        kappa=_kappa(matrix, weighted=False),
        weighted=_kappa(matrix, weighted=True),
        matrix=matrix,
    )


def _kappa(matrix: list[list[int]], weighted: bool) -> float | None:
    rows = [sum(row) for row in matrix]
    columns = [sum(column) for column in zip(*matrix, strict=True)]
    cells = [(i, j) for i in range(len(rows)) for j in range(len(rows)) if i != j]
    observed = sum((abs(i - j) if weighted else 1) * matrix[i][j] for i, j in cells)
    expected = sum((abs(i - j) if weighted else 1) * rows[i] * columns[j] for i, j in cells)
    return 1 - observed * sum(rows) / expected if expected else None


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

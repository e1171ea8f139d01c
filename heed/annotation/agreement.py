"""How far assessors agree: Cohen's κ, and the documents on which they do not."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple, TypedDict

from heed.annotation.store import ADJUDICATED, Judgement

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


class Pair(TypedDict):
    """Two assessors under one condition; ``reworded`` documents, graded under different narratives, count nowhere."""

    first: str
    second: str
    condition: str
    reworded: int
    agreement: Agreement


class Disagreement(TypedDict):
    """A document with different grades; ``decision`` is the adjudicated one, if it was made."""

    qid: str
    condition: str
    docid: str
    grades: dict[str, int]
    decision: int | None


def agreement(graded: Sequence[tuple[int, int]], scale: Sequence[int]) -> Agreement:
    """The agreement of two assessors' grades of the same documents.

    With O the share of documents in each cell of the matrix and E = row sum × column sum, κ = 1 − Σ w·O / Σ w·E. The
    weight w of a disagreement is 1 for any two different grades in the unweighted κ (J. Cohen, A coefficient of
    agreement for nominal scales, Educational and Psychological Measurement 20, 1960), and the distance of the two
    grades' places on the scale in the linear one (J. Cohen, Weighted kappa, Psychological Bulletin 70, 1968; linear
    weights: D. Cicchetti and T. Allison, 1971): 0, 1, 3 lie one place apart each.
    """
    place = {grade: at for at, grade in enumerate(scale)}
    matrix = [[0] * len(scale) for _ in scale]
    for first, second in graded:
        matrix[place[first]][place[second]] += 1
    equal = sum(matrix[at][at] for at in range(len(scale)))
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


def pairs(judgements: Sequence[Judgement], scale: Sequence[int]) -> list[Pair]:
    """Each two assessors' agreement under each condition, by name, where they graded a document in common."""
    graded: dict[str, dict[str, Graded]] = {"original": {}, "changed": {}}
    for one in judgements:
        if one.grade is not None and one.assessor != ADJUDICATED:
            graded[one.condition].setdefault(one.assessor, {})[one.qid, one.docid] = one.grade, one.wording
    found = []
    for condition, by_name in graded.items():
        for first, second in combinations(sorted(by_name), 2):
            both = _both(by_name[first], by_name[second])
            told = [(one[0], other[0]) for one, other in both if one[1] == other[1]]
            pair = Pair(
                first=first,
                second=second,
                condition=condition,
                reworded=len(both) - len(told),
                agreement=agreement(told, scale),
            )
            found += [pair] if both else []
    return found


def _both(first: Graded, second: Graded) -> list[tuple[tuple[int, str], tuple[int, str]]]:
    """What both say of the documents that both graded."""
    return [(first[place], second[place]) for place in sorted(first.keys() & second.keys())]


def disagreements(judgements: Sequence[Judgement]) -> list[Disagreement]:
    """Documents with different grades, by topic, condition (original first) and docid."""
    grades: dict[tuple[str, str, str], dict[str, int]] = {}
    for one in judgements:
        if one.grade is not None:
            grades.setdefault((one.qid, one.condition, one.docid), {})[one.assessor] = one.grade
    found = []
    for (qid, condition, docid), told in sorted(grades.items(), key=_original_first):
        decision = told.pop(ADJUDICATED, None)
        if len(set(told.values())) > 1:
            found.append(Disagreement(qid=qid, condition=condition, docid=docid, grades=told, decision=decision))
    return found


def _original_first(item: tuple[tuple[str, str, str], object]) -> tuple[str, bool, str]:
    (qid, condition, docid), _ = item
    return qid, condition != "original", docid


def settled(grades: dict[str, int]) -> int | None:
    """The grade that stands for several assessors: the adjudicated one, else that of more than half of them.

    None where neither is there, as with two assessors who differ.
    """
    if ADJUDICATED in grades:
        return grades[ADJUDICATED]
    grade, times = Counter(grades.values()).most_common(1)[0]
    return grade if 2 * times > len(grades) else None

"""Agreement of two who judge: Cohen's κ of their grades, and Kendall's τ of the orders of systems by each."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple, TypeVar

import numpy as np

from heed.errors import DataError
from heed.measures.per_topic import mean
from heed.measures.registry import standard
from heed.progress import warn
from heed.types import Qrels, Run

# NeuCLIR's main measure, and that of Zobel's and Voorhees's studies of pools
ORDER_MEASURES = ("nDCG@20", "AP")
Value = TypeVar("Value")
SEVERAL = 3  # documents in common, with more than one grade, from which equal grades throughout are remarkable


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

    def line(self) -> str:
        """Return share and coefficients for people, as ``equal 0.718, κ 0.584, linear κ 0.610``; - where undefined."""
        values = {"equal": self.observed, "κ": self.kappa, "linear κ": self.weighted}
        return ", ".join(f"{name} {'-' if value is None else f'{value:.3f}'}" for name, value in values.items())


def agreement(grades: Sequence[tuple[int, int]], scale: Sequence[int]) -> Agreement:
    """Return the agreement of two assessors, whose grades of the same documents are pairs of ``scale``.

    With O the share of documents in each cell of the matrix and E = row sum × column sum, κ = 1 − Σ w·O / Σ w·E. The
    weight w of a disagreement is 1 for any two different grades in the unweighted κ (J. Cohen, A coefficient of
    agreement for nominal scales, Educational and Psychological Measurement 20, 1960), and the distance of the two
    grades' positions on the scale in the linear one (J. Cohen, Weighted kappa, Psychological Bulletin 70, 1968; linear
    weights: D. Cicchetti and T. Allison, 1971): 0, 1, 3 are one position apart each.
    """
    position = {grade: i for i, grade in enumerate(scale)}
    matrix = [[0] * len(scale) for _ in scale]
    for first, second in grades:
        matrix[position[first]][position[second]] += 1
    equal = sum(matrix[i][i] for i in range(len(scale)))
    return Agreement(
        n=len(grades),
        observed=equal / len(grades) if grades else None,
        kappa=_kappa(matrix, weighted=False),
        weighted=_kappa(matrix, weighted=True),
        matrix=matrix,
    )


def pairs(documents: Iterable[Mapping[str, Value]]) -> dict[tuple[str, str], list[tuple[Value, Value]]]:
    """Return the grades, or values, of each two assessors for the documents that both judged, by their names, sorted.

    ``documents`` have them by assessor.
    """
    by_names: dict[tuple[str, str], list[tuple[Value, Value]]] = {}
    for by_assessor in documents:
        for names in combinations(sorted(by_assessor), 2):
            by_names.setdefault(names, []).append((by_assessor[names[0]], by_assessor[names[1]]))
    return dict(sorted(by_names.items()))


def same_grades(agreements: Iterable[tuple[tuple[str, str], Agreement]]) -> list[tuple[str, str]]:
    """Return each two assessors who agree in everything, perhaps one person twice, after a warning of them."""
    by_pair: dict[tuple[str, str], list[Agreement]] = {}
    for names, of_both in agreements:
        by_pair.setdefault(names, []).append(of_both)
    same = []
    for (first, second), results in by_pair.items():
        n = sum(result.n for result in results)
        if n >= SEVERAL and {1} <= {result.kappa for result in results} <= {1, None}:
            same.append((first, second))
            warn(f"{first} and {second} agree on all {n} documents that both judged: are they one person?")
    return same


def _kappa(matrix: list[list[int]], weighted: bool) -> float | None:
    counts, positions = np.array(matrix), np.arange(len(matrix))
    distances = np.abs(positions[:, None] - positions)
    weights = distances if weighted else np.sign(distances)
    expected = int((weights * np.outer(counts.sum(1), counts.sum(0))).sum())
    return 1 - int((weights * counts).sum()) * int(counts.sum()) / expected if expected else None


def kendall(first: Sequence[float], second: Sequence[float]) -> float:
    """Return Kendall's τ-b (Biometrika 1945) of two equally long sequences: concordant less discordant pairs.

    It is corrected for ties: 1 where both have nothing but ties, 0 where only one has. scipy's ``kendalltau`` divides
    twice, so that two equal orders with ties may get 0.9999999999999999.
    """
    signs = [np.sign(np.subtract.outer(values, values)).ravel() for values in (first, second)]
    score, untied_first, untied_second = (int(a @ b) for a, b in (signs, signs[:1] * 2, signs[1:] * 2))
    if not untied_first or not untied_second:
        return 1.0 if untied_first == untied_second else 0.0
    return score / math.sqrt(untied_first * untied_second)


class SystemOrder(NamedTuple):
    """The means of a measure by run, under each of two judgements; ``tau`` is τ-b, None for fewer than two runs."""

    tau: float | None
    human: dict[str, float]
    model: dict[str, float]


class Comparison(NamedTuple):
    """A model beside people over the documents that both judged.

    ``grades`` is the agreement on grades as they are, ``scale`` being the rows (people) and columns (model) of its
    matrix; ``relevance`` that on grades above 0, as the measures take them. ``orders`` is by measure.
    """

    topics: int
    scale: list[int]
    grades: Agreement
    relevance: Agreement
    orders: dict[str, SystemOrder]

    def as_data(self) -> dict[str, Any]:
        """Return the agreement as JSON data."""
        return {
            "topics": self.topics,
            "documents": self.grades.n,
            "scale": self.scale,
            "grades": self.grades._asdict(),
            "relevance": self.relevance._asdict(),
            "systems": {name: order._asdict() for name, order in self.orders.items()},
        }


def compare_judgements(human: Qrels, model: Qrels, runs: Mapping[str, Run], scale: Sequence[int]) -> Comparison:
    """Return the agreement of a model, which grades on ``scale``, with people over the documents that both judged.

    Negative grades are no judgements. ``runs`` are measured twice with the same documents judged, so that grades alone
    can move them. Raises :class:`DataError` where no document is judged by both.
    """
    common = {
        qid: [docid for docid in grades if human.get(qid, {}).get(docid, -1) >= 0] for qid, grades in model.items()
    }
    by_people = {qid: {docid: human[qid][docid] for docid in docids} for qid, docids in common.items() if docids}
    by_model = {qid: {docid: model[qid][docid] for docid in grades} for qid, grades in by_people.items()}
    pairs = [(grade, by_model[qid][docid]) for qid, grades in by_people.items() for docid, grade in grades.items()]
    if not pairs:
        raise DataError("no document is judged by people and by the model; give judgements of the same pool")
    whole_scale = sorted({*scale, *(grade for grade, _ in pairs)})
    return Comparison(
        topics=len(by_people),
        scale=whole_scale,
        grades=agreement(pairs, whole_scale),
        relevance=agreement([(int(first > 0), int(second > 0)) for first, second in pairs], (0, 1)),
        orders=_orders(by_people, by_model, runs) if runs else {},
    )


def _orders(human: Qrels, model: Qrels, runs: Mapping[str, Run]) -> dict[str, SystemOrder]:
    values = [{name: standard(run, qrels, ORDER_MEASURES) for name, run in runs.items()} for qrels in (human, model)]
    orders = {}
    for measure in ORDER_MEASURES:
        by_people, by_model = ({name: mean(of_run[measure]) for name, of_run in side.items()} for side in values)
        tau = kendall([*by_people.values()], [*by_model.values()]) if len(runs) > 1 else None
        orders[measure] = SystemOrder(tau, by_people, by_model)
    return orders

"""How far a model's judgements agree with people's: Cohen's κ, and Kendall's τ of the order of systems."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from heed.errors import DataError
from heed.judging.annotate.agreement import Agreement, agreement
from heed.judging.model.prompts import GRADES
from heed.judging.pools.reuse import kendall
from heed.measures.standard import mean, standard
from heed.types import Qrels, Run

MEASURES = ("nDCG@20", "AP")


class Order(NamedTuple):
    """The order of systems by one measure: ``tau`` is τ-b, None for fewer than two; values of each run by both."""

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
    orders: dict[str, Order]


def compare_judgements(human: Qrels, model: Qrels, runs: Mapping[str, Run]) -> Comparison:
    """Return the agreement over the documents that both judged; negative grades are no judgements.

    The systems are measured twice with the same documents judged, so that grades alone can move them. Raises
    :class:`DataError` where no document is judged by both.
    """
    common = [
        (qid, docid, human[qid][docid], grade)
        for qid, grades in model.items()
        for docid, grade in grades.items()
        if human.get(qid, {}).get(docid, -1) >= 0
    ]
    if not common:
        raise DataError("no document is judged by people and by the model; give judgements of the same pool")
    scale = sorted({*GRADES, *(given for _, _, given, _ in common)})
    by_people: Qrels = {}
    by_model: Qrels = {}
    for qid, docid, given, grade in common:
        by_people.setdefault(qid, {})[docid] = given
        by_model.setdefault(qid, {})[docid] = grade
    return Comparison(
        topics=len(by_people),
        scale=scale,
        grades=agreement([(given, grade) for _, _, given, grade in common], scale),
        relevance=agreement([(int(given > 0), int(grade > 0)) for _, _, given, grade in common], (0, 1)),
        orders=_orders(by_people, by_model, runs) if runs else {},
    )


def _orders(human: Qrels, model: Qrels, runs: Mapping[str, Run]) -> dict[str, Order]:
    values: dict[str, dict[str, list[float]]] = {name: {} for name in MEASURES}
    for run_name, run in runs.items():
        for qrels in (human, model):
            for name, by_topic in standard(run, qrels, MEASURES).items():
                values[name].setdefault(run_name, []).append(mean(by_topic))
    orders = {}
    for name, by_run in values.items():
        firsts, seconds = zip(*by_run.values(), strict=True)
        tau = kendall(firsts, seconds) if len(by_run) > 1 else None
        orders[name] = Order(
            tau,
            {run: first for run, (first, _) in by_run.items()},
            {run: second for run, (_, second) in by_run.items()},
        )
    return orders


def as_data(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as JSON data."""
    return {
        "topics": comparison.topics,
        "documents": comparison.grades.n,
        "scale": comparison.scale,
        "grades": comparison.grades._asdict(),
        "relevance": comparison.relevance._asdict(),
        "systems": {name: order._asdict() for name, order in comparison.orders.items()},
    }

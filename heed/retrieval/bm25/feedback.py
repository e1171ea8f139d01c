"""Queries expanded by the documents that they find, by RM3 and Rocchio: runs are those of Anserini's two rerankers.

Numbers are rounded to single precision where Anserini rounds them.
"""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from math import sqrt
from typing import NamedTuple, TypeVar

import numpy as np

Single = np.float32
Number = TypeVar("Number", int, np.float32)
Singles = dict[str, np.float32]  # by term

FREQUENT = Single(0.1)  # a term that is in a larger share of the documents is left out
PLAIN = re.compile(r"[a-z0-9]+")  # RM3's terms


class Feedback(NamedTuple):
    """How a query is expanded: by ``fb_terms`` terms of its ``fb_docs`` first documents.

    ``rm3_weight`` is RM3's weight of the query, the documents have the rest of 1. ``rocchio_alpha`` and
    ``rocchio_beta`` are Rocchio's weights of the query and of the documents.
    """

    fb_docs: int = 10
    fb_terms: int = 10
    rm3_weight: float = 0.5
    rocchio_alpha: float = 1.0
    rocchio_beta: float = 0.75


class FeedbackDocument(NamedTuple):
    """A document that a query found: how often it has each term (:func:`chosen_terms`), and its score."""

    counts: Mapping[str, int]
    score: float


Method = Callable[[Sequence[str], Sequence[FeedbackDocument], Feedback], dict[str, float]]


def is_frequent(documents: int, of: int) -> bool:
    """Return whether a term of so many ``documents`` is left out."""
    return bool(Single(documents) / Single(of) > FREQUENT)


def chosen_terms(terms: Iterable[str], frequent: Container[str]) -> Counter[str]:
    """Return how often each term is among ``terms``, without short, long and ``frequent`` ones."""
    return Counter(term for term in terms if term not in frequent and 2 <= len(_utf16(term)) // 2 <= 20)


def rm3(query: Sequence[str], documents: Sequence[FeedbackDocument], settings: Feedback) -> dict[str, float]:
    """Return the terms of a query and of the documents with their weights, as Anserini's ``Rm3Reranker`` does."""
    sums: Singles = {}
    for document in documents:
        plain = {term: count for term, count in document.counts.items() if PLAIN.fullmatch(term)}
        largest = _largest(plain, settings.fb_terms)
        norm = Single(sum(largest.values()))
        for term, count in largest.items():
            sums[term] = sums.get(term, Single(0)) + Single(count) / norm * Single(document.score)
    model, alone = _scaled(_largest(sums, settings.fb_terms), 1), _scaled(Counter(query), 1)
    weight = Single(settings.rm3_weight)
    rest = 1 - float(weight)
    return {
        term: float(Single(float(weight * alone.get(term, Single(0))) + rest * float(model.get(term, Single(0)))))
        for term in alone | model
    }


def rocchio(query: Sequence[str], documents: Sequence[FeedbackDocument], settings: Feedback) -> dict[str, float]:
    """Return the terms of a query and of the documents with their weights, as Anserini's ``RocchioReranker`` does."""
    sums: Singles = {}
    for document in documents:
        norm = Single(_norm(document.counts, 2))
        for term, count in document.counts.items():
            sums[term] = sums.get(term, Single(0)) + Single(count) / norm
    means = {term: value / Single(len(documents)) for term, value in sums.items()}
    model, alone = _scaled(_largest(means, settings.fb_terms), 2), _scaled(Counter(query), 2)
    alpha, beta, none = Single(settings.rocchio_alpha), Single(settings.rocchio_beta), Single(0)
    weights = {term: float(alpha * alone.get(term, none) + beta * model.get(term, none)) for term in alone | model}
    return {term: weight for term, weight in weights.items() if weight > 0}


METHODS: dict[str, Method] = {"rm3": rm3, "rocchio": rocchio}


def _largest(weights: Mapping[str, Number], count: int) -> dict[str, Number]:
    return dict(sorted(weights.items(), key=lambda item: (-float(item[1]), _utf16(item[0])))[:count])


def _scaled(weights: Mapping[str, int] | Singles, power: int) -> Singles:
    norm = _norm(weights, power)
    return {term: Single(float(weight) / norm) for term, weight in weights.items()}


def _norm(weights: Mapping[str, int] | Singles, power: int) -> float:
    total = sum(float(weight) ** power for weight in weights.values())
    return sqrt(total) if power == 2 else total


def _utf16(term: str) -> bytes:
    return term.encode("utf-16-be")  # Java's length and order of strings

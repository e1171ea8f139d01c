"""The terms that stand for some documents: Rocchio's centroid (1971), cut to its heaviest terms."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import sqrt

CHARACTERS = 2_000  # of a document that are read

Vector = dict[str, float]


def vector(terms: Sequence[str], idf: Mapping[str, float]) -> Vector:
    """Return a document's terms weighted by ``idf · f / (f + 1)``, ``f`` being their frequency, at length 1."""
    weights = {term: idf[term] * count / (count + 1) for term, count in Counter(terms).items()}
    length = sqrt(sum(weight * weight for weight in weights.values())) or 1.0
    return {term: weight / length for term, weight in weights.items()}


def centroid(vectors: Iterable[tuple[float, Vector]], size: int) -> Vector:
    """Return the ``size`` heaviest terms of the weighted sum of vectors, equally heavy ones by their letters."""
    sums: defaultdict[str, float] = defaultdict(float)
    for weight, one in vectors:
        for term, value in one.items():
            sums[term] += weight * value
    heaviest = sorted(sums.items(), key=lambda item: (-item[1], item[0]))[:size]
    return dict(sorted(heaviest))

"""Bootstrap intervals of means and paired significance tests, all seeded."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heed.measures.judged_ranks import Array
from heed.measures.per_topic import PerTopic

RESAMPLES = 10_000
SEED = 0
BLOCK = 1 << 20  # numbers drawn at once
EXACT_UP_TO = 13  # topics for which all sign flips (2^13 = 8,192) are fewer than the resamples
ALPHA = 0.05


class Interval(NamedTuple):
    """The 95% percentile bootstrap interval of a mean (Efron 1979)."""

    low: float
    high: float


def interval(values: Sequence[float]) -> Interval:
    """Return the interval of the mean of ``values``, one a topic, over 10,000 resamples of topics."""
    data = np.asarray(values, dtype=np.float64)
    means = np.concatenate([data[picks].mean(axis=1) for picks in _draw(len(data), len(data))])
    low, high = np.percentile(means, [100 * ALPHA / 2, 100 * (1 - ALPHA / 2)])
    return Interval(float(low), float(high))


def fisher(first: PerTopic, second: PerTopic) -> float:
    """Return the two-sided p-value of Fisher's randomization test on the topics that both have.

    Smucker, Allan and Carterette (CIKM 2007): the share of sign flips of the differences whose mean
    is at least as far from 0. All flips up to 13 topics, else 10,000 random ones (the observed one
    counted in, so that p is never 0).
    """
    differences = _differences(first, second)
    count = len(differences)
    if count <= EXACT_UP_TO:
        sums = (1 - 2 * ((np.arange(2**count)[:, None] >> np.arange(count)) & 1)) @ differences
    else:
        sums = np.concatenate([[differences.sum()], *((1 - 2 * flips) @ differences for flips in _draw(2, count))])
    return float(np.mean(np.abs(sums) >= abs(differences.sum()) - 1e-12))


def _draw(below: int, count: int) -> Iterator[NDArray[np.int64]]:
    """Yield ``RESAMPLES`` rows of ``count`` random numbers from 0 to ``below`` − 1, in blocks that fit into memory."""
    generator = np.random.default_rng(SEED)
    rows = max(1, BLOCK // count)
    for start in range(0, RESAMPLES, rows):
        yield generator.integers(below, size=(min(rows, RESAMPLES - start), count))


def wilcoxon(first: PerTopic, second: PerTopic) -> float:
    """Return the two-sided p-value of the Wilcoxon signed-rank test (SciPy) on the topics that both have."""
    from scipy.stats import wilcoxon as scipy_wilcoxon

    differences = _differences(first, second)
    return float(scipy_wilcoxon(differences).pvalue) if np.any(differences) else 1.0


def _differences(first: PerTopic, second: PerTopic) -> Array:
    return np.array([first[qid] - second[qid] for qid in sorted(first.keys() & second.keys())])


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return several p-values corrected by Holm's (1979) step-down method."""
    adjusted: dict[str, float] = {}
    highest = 0.0
    ordered = sorted(p_values.items(), key=lambda item: item[1])
    for smaller, (name, p_value) in enumerate(ordered):
        highest = max(highest, min(1.0, p_value * (len(ordered) - smaller)))
        adjusted[name] = highest
    return {name: adjusted[name] for name in p_values}

"""Bootstrap intervals of means and paired significance tests, all seeded."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple
from warnings import catch_warnings

import numpy as np
from numpy.typing import NDArray

from heed.measures.judged_ranks import Array
from heed.measures.per_topic import PerTopic, difference

RESAMPLES = 10_000
SEED = 0
BLOCK = 1 << 20  # numbers drawn at once
EXACT_UP_TO = 13  # topics for which all sign flips (2^13 = 8,192) are fewer than the resamples
ALPHA = 0.05
NEAR = 1e-12  # what rounding leaves of a difference
METHOD = f"95% percentile bootstrap over topics, {RESAMPLES:,} resamples"


class Interval(NamedTuple):
    """The 95% percentile bootstrap interval of a mean (Efron 1979)."""

    low: float
    high: float


def interval(values: Sequence[float]) -> Interval:
    """Return the interval of the mean of ``values``, one a topic, over 10,000 resamples of topics."""
    return intervals([values])[0]


def intervals(samples: Sequence[Sequence[float]]) -> list[Interval]:
    """Return the interval of the mean of each sample; those over as many topics share their resamples."""

    def bounds(columns: Array) -> Array:
        means = _product(_resamples(len(columns)), columns) / len(columns)
        return np.percentile(means, [100 * ALPHA / 2, 100 * (1 - ALPHA / 2)], axis=0).T

    return [Interval(float(low), float(high)) for low, high in _by_length(samples, bounds)]


def p_values(test: str, samples: Sequence[Sequence[float]]) -> list[float]:
    """Return for each sample of differences, one a topic, the two-sided p-value of the test that their mean is 0.

    ``test`` is ``wilcoxon`` or ``t``, as SciPy's ``wilcoxon`` and ``ttest_rel`` (NaN for one topic), or ``fisher``,
    Fisher's randomization test (Smucker, Allan and Carterette, CIKM 2007): the share of sign flips whose mean is at
    least as far from 0. These are all up to 13 topics, else 10,000 random ones and the observed one, so that p is
    never 0. Where no topic differs, p is 1. KeyError for another test.
    """
    return [float(p_value) for p_value in _by_length(samples, TESTS[test])]


def least_p(topics: int) -> float:
    """Return the least two-sided p-value of a test by signs over so many topics: all of them have one sign."""
    return 2.0 ** (1 - topics)


def fisher_lower(first: PerTopic, second: PerTopic) -> float:
    """Return the one-sided p-value of the same test: the share of sign flips whose mean is no higher than that seen.

    It is small where ``first`` is lower than ``second``.
    """
    column = np.array([*difference(first, second).values()])[:, None]
    return float(np.mean(_product(_flips(len(column)), column) <= column.sum() + NEAR))


def _by_length(samples: Sequence[Sequence[float]], function: Callable[[Array], Array]) -> list[Any]:
    """Return a result for each sample: ``function`` is given those of one length as the columns of a matrix."""
    groups: dict[int, list[int]] = {}
    for number, sample in enumerate(samples):
        groups.setdefault(len(sample), []).append(number)
    results = dict[int, Any]()
    for numbers in groups.values():
        columns = np.array([samples[number] for number in numbers], dtype=np.float64).T
        results |= zip(numbers, function(columns), strict=True)
    return [results[number] for number in range(len(samples))]


def _fisher(columns: Array) -> Array:
    sums, observed = _product(_flips(len(columns)), columns), columns.sum(axis=0)
    return np.asarray(np.mean(np.abs(sums) >= np.abs(observed) - NEAR, axis=0))


def _wilcoxon(columns: Array) -> Array:
    """Return SciPy's p-values; of few topics all signs of the ranks are counted here, which takes it 1.5 s a column."""
    if len(columns) <= EXACT_UP_TO:
        sizes = np.abs(columns)
        ranks = (sizes[:, None] > sizes).sum(axis=1) + ((sizes[:, None] == sizes).sum(axis=1) + 1) / 2
        return _fisher(np.sign(columns) * (ranks - (sizes == 0).sum(axis=0)))  # zeros have no rank
    from scipy.stats import wilcoxon as scipy_wilcoxon

    return np.array([scipy_wilcoxon(column).pvalue if np.any(column) else 1.0 for column in columns.T])


def _t(columns: Array) -> Array:
    from scipy.stats import ttest_1samp

    with catch_warnings(action="ignore"):  # of one topic, and of the same difference in all
        return np.where(np.any(columns, axis=0), ttest_1samp(columns, 0).pvalue, 1.0)


TESTS: Mapping[str, Callable[[Array], Array]] = {"fisher": _fisher, "wilcoxon": _wilcoxon, "t": _t}


@lru_cache(maxsize=8)
def _resamples(count: int) -> NDArray[np.uint8]:
    """Return how often each of ``count`` topics is drawn in each of the resamples, which are the rows."""
    drawn = [picks + count * np.arange(len(picks))[:, None] for picks in _draw(count, count)]
    counts = [np.bincount(picks.ravel(), minlength=picks.size).astype(np.uint8) for picks in drawn]
    return np.concatenate(counts).reshape(RESAMPLES, count)


@lru_cache(maxsize=8)
def _flips(count: int) -> NDArray[np.int8]:
    """Return signs for ``count`` topics: all there are of few, else random ones after the observed, which is 1s."""
    if count <= EXACT_UP_TO:
        return (1 - 2 * ((np.arange(2**count)[:, None] >> np.arange(count)) & 1)).astype(np.int8)
    drawn = [(1 - 2 * flips).astype(np.int8) for flips in _draw(2, count)]
    return np.concatenate([np.ones((1, count), dtype=np.int8), *drawn])


def _product(weights: NDArray[np.integer], columns: Array) -> Array:
    """Return ``weights @ columns``; the weights become doubles a block at a time."""
    rows = max(1, BLOCK // len(columns))
    return np.concatenate(
        [weights[start : start + rows].astype(float) @ columns for start in range(0, len(weights), rows)]
    )


def _draw(below: int, count: int) -> Iterator[NDArray[np.int64]]:
    """Yield ``RESAMPLES`` rows of ``count`` random numbers from 0 to ``below`` − 1, in blocks that fit into memory."""
    generator = np.random.default_rng(SEED)
    rows = max(1, BLOCK // count)
    for start in range(0, RESAMPLES, rows):
        yield generator.integers(below, size=(min(rows, RESAMPLES - start), count))


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return several p-values corrected by Holm's (1979) step-down method."""
    ordered = sorted(p_values, key=lambda name: p_values[name])
    products = [min(1.0, p_values[name] * (len(ordered) - smaller)) for smaller, name in enumerate(ordered)]
    return dict(zip(ordered, accumulate(products, max), strict=True))

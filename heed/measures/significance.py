"""Bootstrap intervals of means, paired significance tests, all seeded, and what a number of topics can show.

A test that finds nothing says little where the topics are few. Sakai, "Topic set size design" (Information Retrieval
Journal 19(3), 2016): values have the standard deviation σ over n topics, and their mean is truly δ away from 0. The
two-sided paired t-test at the level α then finds it with the power P(T > t), where T is noncentral t with n − 1 degrees
of freedom and the noncentrality λ = δ √n ÷ σ, and t is the 1 − α ÷ 2 quantile of Student's t. P(T < −t), about 10⁻⁶, is
left out, as R's ``power.t.test`` does.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from math import sqrt
from typing import Any, NamedTuple, NotRequired, TypedDict
from warnings import catch_warnings

import numpy as np
from numpy.typing import NDArray

from heed.errors import UsageError
from heed.measures.per_topic import Array, PerTopic, difference
from heed.measures.registry import find

RESAMPLES = 10_000
SEED = 0
BLOCK = 1 << 20  # numbers drawn at once
EXACT_UP_TO = 13  # topics for which all sign flips (2^13 = 8,192) are fewer than the resamples
ALPHA = 0.05
NEAR = 1e-12  # what rounding leaves of a difference
METHOD = f"95% percentile bootstrap over topics, {RESAMPLES:,} resamples"
POWER = 0.8  # a difference that is there is found four times of five: the field's custom, and Sakai's
FEWEST = 2  # topics that have a standard deviation
MOST = 10**9
EXACT = 1e-12  # what rounding leaves of a standard deviation that is 0


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


class Power(TypedDict):
    """What ``n`` topics can show: the least mean ``difference`` that they find, by the standard deviation ``sd``.

    Both are on the measure's own scale; ``topics``, where it is asked for, are those that show another difference.
    """

    n: int
    sd: float
    difference: float
    topics: NotRequired[int]


def smallest_difference(topics: int, sd: float, power: float = POWER, alpha: float = ALPHA) -> float:
    """Return the least mean difference that so many ``topics`` show with ``power``, in the unit of ``sd``.

    ``sd`` is the standard deviation over topics of the difference of two systems, or of a measure that is compared with
    0, such as selectivity. The result is λ sd ÷ √n with the noncentrality λ at which the test at level ``alpha`` has
    that power (see above); of many topics it is near (1.960 + 0.842) sd ÷ √n. Raises :class:`UsageError` for fewer than
    two topics.
    """
    from scipy.special import nctdtrinc, stdtrit  # scipy.stats takes twice as long to import

    if topics < FEWEST:
        raise UsageError(f"{topics} topics: a t-test needs {FEWEST} or more")
    critical = stdtrit(topics - 1, 1 - alpha / 2)
    return float(nctdtrinc(topics - 1, 1 - power, critical)) * sd / sqrt(topics)


def topics_needed(difference: float, sd: float, power: float = POWER, alpha: float = ALPHA) -> int:
    """Return how many topics show a mean ``difference`` with ``power``; ``sd`` is in the same unit.

    The least n whose :func:`smallest_difference` is no larger. Raises :class:`UsageError` for a difference that
    is not above 0, or that a thousand million topics would not show.
    """
    sizes = range(FEWEST, MOST)
    if not difference > 0 or smallest_difference(MOST, sd, power, alpha) > difference:
        raise UsageError(f"a difference of {difference:g}: no number of topics shows it; give a larger one")
    return sizes[bisect_left(sizes, -difference, key=lambda topics: -smallest_difference(topics, sd, power, alpha))]


def power_of(*systems: PerTopic) -> Power | None:
    """Return the power of the topics of these values: of one system against 0, of several between any two.

    The standard deviation σ is the topics' own. Of several systems it is that of the difference of any two: σ² = 2 V,
    with their :func:`residual_variance` V, as Sakai estimates it; of two systems this is the variance of their
    differences. None where fewer than two topics have a value of every system, and where nothing varies.
    """
    qids = sorted(set.intersection(*map(set, systems)))
    if len(qids) < FEWEST:
        return None
    values = np.array([[of_system[qid] for qid in qids] for of_system in systems])
    sd = sqrt(residual_variance(values) * min(len(systems), 2))
    return Power(n=len(qids), sd=sd, difference=smallest_difference(len(qids), sd)) if sd > EXACT else None


def residual_variance(values: Array) -> float:
    """Return the mean square of the residuals of a two-way analysis of variance without replication.

    ``values`` have a row for each system and a column for each topic, two at least; those of one system vary as they
    are.
    """
    systems, topics = values.shape
    residuals = values - values.mean(axis=1, keepdims=True)
    if systems > 1:
        residuals -= residuals.mean(axis=0)
    return float(np.sum(residuals**2) / ((topics - 1) * max(systems - 1, 1)))


def is_compared_with_zero(measure: str) -> bool:
    """Return whether the mean of a comparison's ``measure`` is compared with 0, which is no effect."""
    if measure.endswith(" change"):
        return not measure.startswith("Judged")  # no merit of a system
    declared = find(measure)
    return declared is not None and declared.signed

"""How far a mean can be trusted: bootstrap intervals and paired tests, all seeded."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from heed.measures.judged import PerTopic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from heed.measures.judged import Array

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
    """The interval of the mean of ``values``, over resampled topics."""
    import numpy as np

    data = np.asarray(values, dtype=np.float64)
    means = np.concatenate([data[picks].mean(axis=1) for picks in _drawn(len(data), len(data))])
    low, high = np.percentile(means, [100 * ALPHA / 2, 100 * (1 - ALPHA / 2)])
    return Interval(float(low), float(high))


def fisher(one: PerTopic, other: PerTopic) -> float:
    """Two-sided p-value of Fisher's randomization test on the topics that both have.

    Smucker, Allan and Carterette (CIKM 2007): the share of sign flips of the differences whose mean
    is at least as far from 0. All flips up to 13 topics, else 10,000 random ones (the observed one
    counted in, so that p is never 0).
    """
    import numpy as np

    differences = _differences(one, other)
    count = len(differences)
    if count <= EXACT_UP_TO:
        sums = (1 - 2 * ((np.arange(2**count)[:, None] >> np.arange(count)) & 1)) @ differences
    else:
        sums = np.concatenate([[differences.sum()], *((1 - 2 * flips) @ differences for flips in _drawn(2, count))])
    means = np.abs(sums)
    return float(np.mean(means >= abs(differences.sum()) - 1e-12))


def _drawn(below: int, count: int) -> Iterator["NDArray[np.int64]"]:
    """``RESAMPLES`` rows of ``count`` numbers from 0 to ``below`` − 1, a block at a time: topics may be thousands."""
    import numpy as np

    chooser = np.random.default_rng(SEED)
    rows = max(1, BLOCK // count)
    for begin in range(0, RESAMPLES, rows):
        yield chooser.integers(below, size=(min(rows, RESAMPLES - begin), count))


def wilcoxon(one: PerTopic, other: PerTopic) -> float:
    """Two-sided p-value of the Wilcoxon signed-rank test (SciPy) on the topics that both have."""
    import numpy as np
    from scipy.stats import wilcoxon as scipy_wilcoxon

    differences = _differences(one, other)
    if not np.any(differences):
        return 1.0
    return float(scipy_wilcoxon(differences).pvalue)


def _differences(one: PerTopic, other: PerTopic) -> "Array":
    import numpy as np

    return np.array([one[qid] - other[qid] for qid in sorted(one.keys() & other.keys())])


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's (1979) step-down correction of several p-values."""
    adjusted: dict[str, float] = {}
    highest = 0.0
    ordered = sorted(p_values.items(), key=lambda item: item[1])
    for place, (name, p_value) in enumerate(ordered):
        highest = max(highest, min(1.0, p_value * (len(ordered) - place)))
        adjusted[name] = highest
    return {name: adjusted[name] for name in p_values}

"""How many topics? What mean a number of topics can show, and how many topics can show a mean.

A test that finds nothing says little where the topics are few. Sakai, "Topic set size design" (Information Retrieval
Journal 19(3), 2016): values have the standard deviation σ over n topics, and their mean is truly δ away from 0. The
two-sided paired t-test at the level α then finds it with the power P(T > t), where T is noncentral t with n − 1 degrees
of freedom and the noncentrality λ = δ √n ÷ σ, and t is the 1 − α ÷ 2 quantile of Student's t. P(T < −t), about 10⁻⁶, is
left out, as R's ``power.t.test`` does.
"""

from bisect import bisect_left
from math import sqrt
from typing import NotRequired, TypedDict

import numpy as np

from heed.errors import UsageError
from heed.measures.per_topic import PerTopic
from heed.measures.registry import find
from heed.measures.significance import ALPHA

POWER = 0.8  # a difference that is there is found four times of five: the field's custom, and Sakai's
FEWEST = 2  # topics that have a standard deviation
MOST = 10**9
EXACT = 1e-12  # what rounding leaves of a standard deviation that is 0


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
    with the residual variance V of a two-way analysis of variance without replication (systems × topics), as Sakai
    estimates it; of two systems this is the variance of their differences. None where fewer than two topics have a
    value of every system, and where nothing varies.
    """
    qids = sorted(set.intersection(*map(set, systems)))
    if len(qids) < FEWEST:
        return None
    values = np.array([[of_system[qid] for qid in qids] for of_system in systems])
    residuals = values - values.mean(axis=1, keepdims=True)
    if len(systems) > 1:
        residuals -= residuals.mean(axis=0)
    freedom = (len(qids) - 1) * max(len(systems) - 1, 1)
    sd = sqrt(float(np.sum(residuals**2)) / freedom * min(len(systems), 2))
    return Power(n=len(qids), sd=sd, difference=smallest_difference(len(qids), sd)) if sd > EXACT else None


def is_compared_with_zero(measure: str) -> bool:
    """Return whether the mean of a comparison's ``measure`` is compared with 0, which is no effect."""
    if measure.endswith(" change"):
        return not measure.startswith("Judged")  # no merit of a system
    declared = find(measure)
    return declared is not None and declared.signed

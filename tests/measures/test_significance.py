"""Intervals and tests of significance, by hand, by tables, and drawn at once."""

import itertools
import random

import numpy as np
import pytest

from heed.measures import significance
from heed.measures.significance import holm, interval, p_values


def test_fishers_test_by_counting_all_sign_flips() -> None:
    differences = [0.4, 0.1, 0.3, -0.1]
    flipped = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in itertools.product((1, -1), repeat=4)
    ]
    expected = sum(total >= 0.7 - 1e-9 for total in flipped) / 16
    assert expected == 6 / 16  # ±.9 once, ±.7 twice
    assert p_values("fisher", [differences, [0.0] * 4]) == [expected, 1.0]


def test_topics_are_drawn_in_blocks_as_at_once() -> None:
    """10,000 draws of 317 topics are more numbers than one block has."""
    assert significance.RESAMPLES * 317 > 2 * significance.BLOCK
    chooser = random.Random(0)
    values, others = np.array([[chooser.random() for _ in range(317)] for _ in range(2)])
    picks = np.random.default_rng(significance.SEED).integers(317, size=(significance.RESAMPLES, 317))
    assert interval(values.tolist()) == pytest.approx(np.percentile(values[picks].mean(axis=1), [2.5, 97.5]).tolist())
    differences = values - others
    flips = np.random.default_rng(significance.SEED).integers(2, size=(significance.RESAMPLES, 317))
    further = np.abs((1 - 2 * flips) @ differences) >= abs(differences.sum()) - 1e-12
    [p_value] = p_values("fisher", [differences.tolist()])
    assert p_value == pytest.approx((1 + further.sum()) / (1 + significance.RESAMPLES))


def test_wilcoxons_test_equals_its_table() -> None:
    # n = 6, all differences of one sign: exact two-sided p = 2 / 2^6
    assert p_values("wilcoxon", [[*range(1, 7)], [0.0] * 6]) == [pytest.approx(2 / 64), 1.0]


def test_holms_correction_by_hand() -> None:
    # sorted .01 .03 .04: ×3 = .03, ×2 = .06, ×1 = .04 raised to .06
    corrected = holm({"a": 0.03, "b": 0.01, "c": 0.04})
    assert corrected == {"a": pytest.approx(0.06), "b": pytest.approx(0.03), "c": pytest.approx(0.06)}


def test_an_interval_holds_the_mean_and_shrinks_with_topics() -> None:
    few, many = interval([0.0, 1.0] * 5), interval([0.0, 1.0] * 200)
    assert few.low < 0.5 < few.high and many.low < 0.5 < many.high
    # the normal approximation: 1.96 · .5 / √400 = .049
    assert many.high - many.low == pytest.approx(2 * 0.049, rel=0.05)
    assert interval([0.25]) == (0.25, 0.25)
    assert interval([0.1, 0.9]) == interval([0.1, 0.9])


def test_wilcoxon_of_many_topics_is_scipys() -> None:
    from scipy.stats import wilcoxon as scipy_wilcoxon

    generator = np.random.default_rng(0)
    for count in (51, 60, 267):
        for decimals in (1, 2, 17):  # with many ties and zeros, with few, with none
            sample = np.round(generator.normal(0.05, 0.3, count), decimals)
            [p_value] = p_values("wilcoxon", [sample.tolist()])
            assert p_value == pytest.approx(scipy_wilcoxon(sample).pvalue, rel=1e-9)
    assert p_values("wilcoxon", [[0.0] * 60]) == [1.0]

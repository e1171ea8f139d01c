"""Agreement of two who judge: κ and τ by hand and as scikit-learn and scipy compute them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heed.addons.judging.agreement import agreement, compare_judgements, kendall


def test_kappa_of_a_hand_calculation() -> None:
    # grades 0, 1, 3 are one position apart each. Matrix, rows the first: 4 1 0 / 1 2 1 / 1 0 2, n = 12
    # row sums 5 4 3, column sums 6 3 3
    # unweighted: observed 4 of 12 differ; Σ of rows·columns off the diagonal = 144 − (30 + 12 + 9) = 93
    #   κ = 1 − 4·12/93 = 45/93
    # linear: observed 1·1 + 1·1 + 1·1 + 2·1 = 5; Σ weight·row·column = 5·3·1 + 5·3·2 + 4·6·1 + 4·3·1 + 3·6·2 + 3·3·1
    #   = 15 + 30 + 24 + 12 + 36 + 9 = 126; κ = 1 − 5·12/126 = 66/126
    graded = [(0, 0)] * 4 + [(0, 1)] + [(1, 0)] + [(1, 1)] * 2 + [(1, 3)] + [(3, 0)] + [(3, 3)] * 2
    result = agreement(graded, [0, 1, 3])
    assert (result.n, result.observed) == (12, 8 / 12)
    assert result.matrix == [[4, 1, 0], [1, 2, 1], [1, 0, 2]]
    assert result.kappa == pytest.approx(45 / 93)
    assert result.weighted == pytest.approx(66 / 126)


def test_kappa_is_not_defined_where_chance_explains_all() -> None:
    assert agreement([(0, 0)] * 9, [0, 1, 3])[1:4] == (1.0, None, None)
    assert agreement([], [0, 1])[:4] == (0, None, None, None)


GRADED = st.lists(st.tuples(st.sampled_from([0, 1, 3]), st.sampled_from([0, 1, 3])), min_size=2, max_size=40)


@settings(deadline=None)  # the first one waits for the import
@given(GRADED)
def test_kappa_is_that_of_scikit_learn(graded: list[tuple[int, int]]) -> None:
    from sklearn.metrics import cohen_kappa_score

    result = agreement(graded, [0, 1, 3])
    if result.kappa is None or result.weighted is None:
        assert {*graded} == {graded[0]}
        return
    first, second = zip(*graded, strict=True)
    assert result.kappa == pytest.approx(cohen_kappa_score(first, second, labels=[0, 1, 3]))
    assert result.weighted == pytest.approx(cohen_kappa_score(first, second, labels=[0, 1, 3], weights="linear"))


def test_kendalls_tau_by_hand() -> None:
    assert kendall([4, 3, 2, 1], [4, 3, 1, 2]) == (5 - 1) / 6
    assert kendall([1, 2], [2, 1]) == -1
    assert kendall([1, 1], [2, 2]) == 1
    assert kendall([1, 1], [1, 2]) == 0


FEW = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=9)


@given(FEW.filter(lambda pairs: all(len(set(side)) > 1 for side in zip(*pairs, strict=True))))
def test_kendalls_tau_is_scipys(pairs: list[tuple[int, int]]) -> None:
    from scipy.stats import kendalltau

    first, second = ([float(value) for value in side] for side in zip(*pairs, strict=True))
    assert kendall(first, second) == pytest.approx(kendalltau(first, second).statistic)


def test_a_model_is_compared_over_the_documents_that_people_judged_too() -> None:
    human = {"1": {"a": 3, "b": 0, "c": 1, "d": -1}, "2": {"e": 1}}
    model = {"1": {"a": 2, "b": 0, "c": 0, "d": 1, "f": 2}, "3": {"g": 1}}
    comparison = compare_judgements(human, model, {}, (0, 1, 2))
    assert (comparison.topics, comparison.scale) == (1, [0, 1, 2, 3])  # people's grade 3 too
    assert comparison.grades == agreement([(3, 2), (0, 0), (1, 0)], [0, 1, 2, 3])
    assert comparison.relevance == agreement([(1, 1), (0, 0), (1, 0)], [0, 1])

"""What a number of topics can show: by R, by statsmodels, by hand, and where it is printed."""

from itertools import combinations
from math import sqrt
from pathlib import Path
from statistics import mean, variance

import pytest
from comparing import compared, order, write_qrels
from conftest import Heed

from heed.errors import UsageError
from heed.formats.trec_files import write_run
from heed.measures import Power, power_of, smallest_difference, topics_needed
from heed.measures.significance import is_compared_with_zero

# three systems, five topics
VALUES = [
    dict(zip("abcde", values, strict=True))
    for values in ([0.1, 0.4, 0.3, 0.9, 0.5], [0.2, 0.2, 0.4, 0.7, 0.9], [0.0, 0.5, 0.1, 0.6, 0.3])
]


def test_topics_are_those_of_r() -> None:
    """Dalgaard, Introductory Statistics with R, 8.3: power.t.test(delta=10, sd=10*sqrt(2), power=0.85, type="paired").

    It prints n = 19.96892.
    """
    assert topics_needed(10, 10 * sqrt(2), power=0.85) == 20
    assert smallest_difference(20, 10 * sqrt(2), power=0.85) < 10 < smallest_difference(19, 10 * sqrt(2), power=0.85)


@pytest.mark.golden(program="statsmodels 0.15.0", compared="the difference that a paired t-test can show", systems=())
def test_differences_are_those_of_statsmodels() -> None:
    from statsmodels.stats.power import TTestPower

    for topics in (3, 5, 12, 52, 200):
        effect = TTestPower().solve_power(nobs=topics, alpha=0.05, power=0.8)
        assert smallest_difference(topics, 0.2) == pytest.approx(0.2 * effect, rel=1e-5)
        assert topics_needed(0.2 * effect * 1.0001, 0.2) == topics


def test_the_variance_of_two_systems_is_that_of_their_differences_and_of_more_the_mean_over_pairs() -> None:
    for systems in (VALUES[:2], VALUES):
        pairs = [variance(one[qid] - other[qid] for qid in one) for one, other in combinations(systems, 2)]
        power = power_of(*systems)
        assert power and power == Power(n=5, sd=power["sd"], difference=smallest_difference(5, power["sd"]))
        assert power["sd"] ** 2 == pytest.approx(mean(pairs))
    alone = power_of(VALUES[0])
    assert alone and alone["sd"] ** 2 == pytest.approx(variance(VALUES[0].values()))


def test_topics_that_some_system_lacks_do_not_count() -> None:
    longer = VALUES[1] | {"f": 0.9}
    assert power_of(VALUES[0], longer) == power_of(VALUES[0], VALUES[1])
    assert power_of(VALUES[0], {"a": 0.1, "z": 0.2}) is None  # one topic of both


def test_without_variance_nothing_is_said() -> None:
    assert power_of({"a": 0.1, "b": 0.1, "c": 0.1}) is None
    assert power_of(VALUES[0], {qid: value + 0.1 for qid, value in VALUES[0].items()}) is None


def test_what_no_number_of_topics_can_show_is_an_error() -> None:
    for difference in (0, -1, float("nan"), 1e-9):
        with pytest.raises(UsageError, match="no number of topics shows it"):
            topics_needed(difference, 0.2)
    with pytest.raises(UsageError, match="1 topics: a t-test needs 2 or more"):
        smallest_difference(1, 0.2)


@pytest.mark.parametrize(
    ("measure", "compared"),
    [
        *((name, True) for name in ("p-MRR", "p-MRR kept", "selectivity", "IRS", "WISE", "INSTFOL@20", "AP change")),
        *((name, False) for name in ("NFR", "SICR", "FlipRate", "AP base", "Robustness@10", "Judged@20 change")),
    ],
)
def test_measures_whose_0_is_no_effect_are_compared_with_it(measure: str, compared: bool) -> None:
    assert is_compared_with_zero(measure) == compared


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The excluded document x of five topics falls by 0 to 4 ranks, in ``other`` by 4 to 0; y, relevant, stays."""
    for name, falls in {"base": [0] * 5, "one": range(5), "other": range(4, -1, -1)}.items():
        run = {qid: order("y", *"abcd"[:fall], "x", *"abcd"[fall:]) for qid, fall in zip("12345", falls, strict=True)}
        write_run(tmp_path / f"{name}.run", run, name)
    write_qrels(tmp_path / "q", **{f"q{qid}": "y1 x1" for qid in "12345"})
    write_qrels(tmp_path / "n", **{f"q{qid}": "y1 x0" for qid in "12345"})
    return tmp_path


FALLEN = [1 - 2 / (2 + fall) for fall in range(5)]  # p-MRR by topic
JUDGED = ("--qrels", "q", "--new-qrels", "n")


def test_compare_says_what_the_topics_can_show(files: Path, heed: Heed) -> None:
    least = smallest_difference(5, sqrt(variance(FALLEN)))
    found, result = compared(heed, files, "base.run", "one.run", *JUDGED, "--difference", 5)
    head, line, *_ = result.stdout.splitlines()[1:]
    assert line.split()[:5] == ["p-MRR", f"{100 * mean(FALLEN):.1f}", *line.split()[2:4], "5"]
    assert line[: head.index("can show") + 8].split()[-1] == f"{100 * least:.1f}"
    needed = topics_needed(0.05, sqrt(variance(FALLEN)))
    assert f"topics that would show 5: p-MRR {needed}, selectivity {needed}\n" in result.stdout
    assert list(found) == ["measures", "per_topic", "power", "warnings"]
    assert found["power"].keys() == {"p-MRR", "selectivity"}  # of the others no topic differs
    assert found["power"]["p-MRR"]["difference"] == pytest.approx(least)

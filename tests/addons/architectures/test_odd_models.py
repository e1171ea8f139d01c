"""The program that compares odd models with the libraries: its cases, and its rule of what is equal."""

from pathlib import Path

import numpy as np

from hardening.models.__main__ import Outcome, judge
from hardening.models.folders import Case, make
from hardening.models.scores import heed_scores, library_scores
from heed.errors import ModelError

NUMBER = 2  # a T5 that answers yes or no


def case_of(place: Path) -> Case:
    place.mkdir()
    return make(NUMBER, ("float32",), place)


def test_a_case_is_the_same_when_it_is_repeated(tmp_path: Path) -> None:
    first, second = (case_of(tmp_path / name) for name in ("first", "second"))
    assert first.texts == second.texts
    assert first.description == second.description
    names = [path.name for path in sorted(first.folder.iterdir())]
    assert names == [path.name for path in sorted(second.folder.iterdir())]
    assert all((first.folder / name).read_bytes() == (second.folder / name).read_bytes() for name in names)


def test_heed_and_the_library_score_a_case_equally(tmp_path: Path) -> None:
    case = case_of(tmp_path / "case")
    scores, error = library_scores(case)
    assert error is None
    assert judge(case, Outcome(heed_scores(case)), Outcome(scores)) == ("", "equal")


def test_what_counts_as_a_problem(tmp_path: Path) -> None:
    case, theirs = case_of(tmp_path / "case"), np.arange(17.0)
    spread = float(np.sqrt((17**2 - 1) / 12))  # the standard deviation of 0 to 16

    def ended(ours: Outcome, case: Case = case) -> str:
        problem, ended = judge(case, ours, Outcome(theirs.tolist()))
        assert bool(problem) is (ended == "problems")
        return ended

    near, far = (Outcome((theirs + np.array([share * spread] + [0] * 16)).tolist()) for share in (0.9e-4, 1.1e-4))
    refusal = Outcome([], ModelError("2 weights are missing"))
    assert ended(near) == "equal"
    assert ended(far) == "problems"
    assert ended(far, case._replace(dtype="bfloat16")) == "equal in order"
    assert ended(Outcome(theirs[::-1].tolist()), case._replace(dtype="bfloat16")) == "problems"
    assert ended(refusal) == "problems"
    assert ended(refusal, case._replace(fault="missing weights")) == "refused"
    assert ended(near, case._replace(fault="missing weights")) == "problems"
    assert ended(Outcome([], KeyError("score"))) == "problems"

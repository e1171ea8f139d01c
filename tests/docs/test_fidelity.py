"""docs/fidelity.md says what the tests compare, of systems that there are, with programs in known versions."""

import re

import pytest
from conftest import ROOT

from hardening import fidelity
from hardening.fidelity import Comparison, comparisons, page, problems
from heed.models.registry.entries import Model, Registry

VERSION = re.compile(r"([A-Za-z][\w-]*) (\d[\w.]*)")


@pytest.fixture(scope="module")
def told() -> list[Comparison]:
    return comparisons(fidelity.TESTS)


def test_the_page_is_that_of_the_tests_and_the_registry(told: list[Comparison]) -> None:
    entries = Registry().entries
    assert problems(told, entries) == []
    assert page(told, entries) == fidelity.PAGE.read_text(encoding="utf-8"), "python -m hardening.fidelity writes it"


def test_every_program_is_locked_or_recorded_in_its_version(told: list[Comparison]) -> None:
    """A newer locked version must be told in the marker, after a look at the test."""
    locked = set(re.findall(r"^([\w-]+==[\w.]+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    recorded = "".join(path.read_text() for path in sorted((fidelity.TESTS / "data" / "golden").glob("*.json")))
    wrong = [
        f"{one.place}: {name} {version}"
        for one in told
        if one.program not in recorded
        for name, version in VERSION.findall(one.program) or [(one.program, "without a version")]
        if f"{name}=={version}" not in locked and f"{name} {version}" not in recorded
    ]
    assert wrong == []


def test_a_system_is_compared_only_read_or_named_only() -> None:
    entries = {
        "e": Model("e", "causal", note="From a <b> | c.", presets={"same": {}, "x": {"task": "t"}, "y": {"task": "u"}}),
        "n": Model("n", "table-encoder", status="named", note="No weights."),
    }
    found = [
        Comparison("test_a.py:3", "test_b", "p 1", "scores", ("causal", "e@x")),
        Comparison("test_a.py:9", "test_c", "q 2", "figures", ()),
        Comparison("test_a.py:12", "test_d", "q 2", "figures", ()),  # the same, once more
    ]
    text = page(found, entries)
    told = "p 1 | scores | [a](../tests/test_a.py) |"
    assert f"| causal | 1 | {told}" in text and "| table-encoder | 0 | *nothing* |  |  |" in text
    assert "| `e`, `e@same` | causal | *only read* |  |  | From a &lt;b> \\| c. |" in text
    assert f"| `e@x` | causal | {told}" in text and "| `e@y` | causal | *only read* |  |  |  |" in text
    assert "- `n`: No weights." in text
    assert "| q 2 | figures | [a](../tests/test_a.py) |" in text
    assert problems(found, entries) == []
    wrong = [Comparison("test_a.py:3", "test_b", "p 1", "scores", ("f", "e@z", "e@int8"))]
    assert problems(wrong, entries) == [
        f"tests/test_a.py:3: {name} is no family, model or preset of the registry" for name in ("f", "e@z", "e@int8")
    ]

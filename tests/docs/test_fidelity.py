"""docs/fidelity.md says what the tests compare, of systems that there are, with programs in known versions."""

import json
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
    figures = json.loads(fidelity.FIGURES.read_text(encoding="utf-8"))
    assert page(told, entries, figures) == fidelity.PAGE.read_text(encoding="utf-8"), (
        "python -m hardening.fidelity writes it"
    )


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


def test_comparisons_are_by_family_and_program_and_figures_beside_those_published() -> None:
    entries = {
        "e": Model("e", "causal", presets={"x": {"task": "t"}}),
        "f": Model("f", "causal"),
        "n": Model("n", "table-encoder", status="named", note="No weights."),
    }
    found = [
        Comparison("test_a.py:3", "test_b", "p 1", "scores", ("causal", "e@x")),
        Comparison("test_a.py:9", "test_c", "q 2", "figures", ()),
        Comparison("test_a.py:12", "test_d", "q 2", "figures", ()),  # the same, once more
    ]
    minilm = {"weights": "a", "model": "sentence-transformers/all-MiniLM-L6-v2", "collection": "scifact"}
    ours = {"nDCG@10": 64.508, "nDCG@20": 65.9, "R@100": 91.4}
    unnamed = {"weights": "b", "model": "", "collection": "scifact", "ours": ours, "why": "by hand"}
    text = page(found, entries, [{**minilm, "ours": ours, "why": "rounded"}, unnamed])
    assert "| `b` | scifact | 64.508 | 65.9 | 91.4 | by hand |" in text
    assert "| `a` | scifact | 64.508 (64.508) | 65.9 (65.988) | 91.4 (92.5) | rounded |" in text
    assert "\n- **causal**, p 1: scores\n" in text
    assert text.count("\n- q 2: figures\n") == 1
    assert "1 of 2 systems have no test of their own" in text and text.count("`f`") == 1 and "`n`" not in text
    assert problems(found, entries) == []
    wrong = [Comparison("test_a.py:3", "test_b", "p 1", "scores", ("g", "e@z", "e@int8"))]
    assert problems(wrong, entries) == [
        f"tests/test_a.py:3: {name} is no family, model or preset of the registry" for name in ("g", "e@z", "e@int8")
    ]

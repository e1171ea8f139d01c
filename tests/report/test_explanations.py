"""The examples of the explanations give what the pages say."""

import doctest

import pytest
from conftest import ROOT

PAGES = sorted(path for path in (ROOT / "docs").rglob("*.md") if ">>> " in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page(page: object) -> None:
    failed, run = doctest.testfile(str(page), module_relative=False)
    assert run and not failed

"""The examples of pages in Python give what the pages show."""

import doctest
import re
from pathlib import Path

import pytest
from conftest import ROOT

PAGES = sorted(path for path in (ROOT / "docs").rglob("*.md") if ">>> " in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page(page: Path) -> None:
    failed, run = doctest.testfile(str(page), module_relative=False)
    assert run and not failed


def test_the_example_of_polarity_prints_what_its_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "polarity.md").read_text(encoding="utf-8")
    code, shown = re.findall(r"```python\n(.*?)```\n\n((?:    [^\n]*\n)+)", page, re.DOTALL)[0]
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "docs/polarity.md", "exec"), {})  # noqa: S102 (our own page)
    lines = [line.strip() for line in shown.removesuffix("    …\n").splitlines()]
    assert capsys.readouterr().out.splitlines()[: len(lines)] == lines

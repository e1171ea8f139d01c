"""The example of docs/polarity.md, executed."""

import re
from pathlib import Path

import pytest
from conftest import ROOT


def test_the_example_prints_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "polarity.md").read_text(encoding="utf-8")
    code, shown = re.findall(r"```python\n(.*?)```\n\n((?:    [^\n]*\n)+)", page, re.DOTALL)[0]
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "docs/polarity.md", "exec"), {})  # noqa: S102 (our own page)
    lines = [line.strip() for line in shown.removesuffix("    …\n").splitlines()]
    assert capsys.readouterr().out.splitlines()[: len(lines)] == lines

"""What the README and the pages of docs/ say exists."""

import importlib
import re
from pathlib import Path

import pytest
from conftest import ROOT

from pipelines import COMMANDS

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "examples" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
OTHER_PROGRAMS = re.compile(r"(?:python -m (?!pipelines\.)|docker |pip |ray |wsl |--build-arg).*?(?:`|$)", re.MULTILINE)
COMMAND = re.compile(r"(?:^ {4}|^\$ |`)heed ([a-z]+)\b", re.MULTILINE)
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@pytest.fixture(scope="module")
def options() -> set[str]:
    """Every option of every command."""
    helps = [importlib.import_module(f"pipelines.{command}").parser().format_help() for command in COMMANDS]
    return {option for text in helps for option in re.findall(r"^  (?:-h, )?(--[a-z][a-z0-9-]*)", text, re.MULTILINE)}


def test_every_command_is_in_the_readme() -> None:
    assert set(COMMAND.findall(PAGES[0].read_text(encoding="utf-8"))) == set(COMMANDS)


@pages
def test_every_command_of_a_page_exists(page: Path) -> None:
    assert set(COMMAND.findall(page.read_text(encoding="utf-8"))) <= set(COMMANDS)


@pages
def test_every_option_of_a_page_exists(page: Path, options: set[str]) -> None:
    text = OTHER_PROGRAMS.sub("", page.read_text(encoding="utf-8"))
    assert set(re.findall(r"(?<![\w-])--[a-z][\w-]*", text)) - options == set()


@pages
def test_all_rows_of_a_table_have_as_many_cells(page: Path) -> None:
    for table in re.findall(r"(?:^\|.*\n)+", page.read_text(encoding="utf-8"), re.MULTILINE):
        rows = [re.sub(r"`[^`]*`|\\\|", "", row).count("|") for row in table.splitlines()]
        assert len(set(rows)) == 1, table


@pages
def test_every_file_of_a_page_exists(page: Path) -> None:
    for path in re.findall(r"`((?:heed|pipelines|tests|docs)/[\w./-]+)`", page.read_text(encoding="utf-8")):
        assert (ROOT / path).exists(), path


@pages
def test_every_make_target_of_a_page_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?:^    |`|: )make ([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE)) <= targets

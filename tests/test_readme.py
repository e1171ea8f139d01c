"""What the README says exists."""

import importlib
import re

from conftest import ROOT

from pipelines.__main__ import COMMANDS

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_command_is_in_the_readme_and_the_other_way_round() -> None:
    named = set(re.findall(r"(?:^    |`)heed ([a-z]+)\b", README, re.MULTILINE))
    assert named == set(COMMANDS)


def test_every_option_in_the_readme_exists() -> None:
    known = {
        option
        for command in COMMANDS
        for option in importlib.import_module(f"pipelines.{command}").parser()._option_string_actions
    }
    known |= {"--build-arg"}  # docker's
    assert set(re.findall(r"(?<![\w-])--[a-z][\w-]*", README)) - known == set()


def test_every_file_in_the_readme_exists() -> None:
    for path in re.findall(r"`((?:heed|pipelines|tests|docs)/[\w./-]+)`|\]\((docs/[\w./-]+)\)", README):
        assert (ROOT / "".join(path)).exists(), path


def test_every_make_target_in_the_readme_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"(?:^    |`|: )make ([a-z-]+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)

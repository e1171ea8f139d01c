"""What takes an add-on away from the core's tests and from the main job."""

from pathlib import Path

import pytest
from conftest import ROOT

from hardening.addons import PROBES, Missing, run


def test_only_the_named_modules_and_what_is_in_them_are_missing() -> None:
    finder = Missing("heed.addons.judging")
    for name in ("heed.addons.judging", "heed.addons.judging.pools.order"):
        with pytest.raises(ModuleNotFoundError) as caught:
            finder.find_spec(name)
        assert caught.value.name == name
    assert finder.find_spec("heed.addons") is None and finder.find_spec("heed.addons.judging_of_mine") is None


def test_each_add_on_has_a_command_that_needs_it() -> None:
    assert sorted(PROBES) == sorted(path.parent.name for path in ROOT.glob("heed/addons/*/__init__.py"))


def test_a_command_names_the_add_on_that_it_lacks(tmp_path: Path) -> None:
    ended = run("submission", ("check", "mine.run"), tmp_path)
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: the add-on heed.addons.submission is not installed for ")

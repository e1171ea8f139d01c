"""A class of the user's own is known by its ``config`` and its source, so that an edit is never hidden."""

import functools
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import heed as library
from heed import Experiment, load
from heed.extras import source_digest

MINE = '''"""Words that are shared."""
from functools import partial

WEIGHT = 2


def words(text):
    return text.lower().split()


class Mine:
    """Shared words."""

    name, config = "mine", {}

    def score(self, query, documents):
        """Return the scores."""
        wanted = set(words(query.text))  # once each
        return [WEIGHT * len(wanted & set(words(document.text))) for document in documents]


if __name__ == "__main__":
    print(Mine())
'''
Import = Callable[[str], ModuleType]


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Import:
    """Write a module ``own_code`` and import it as a new process would."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def again(text: str) -> ModuleType:
        Path("own_code.py").write_text(text)
        monkeypatch.delitem(sys.modules, "own_code", raising=False)
        invalidate_caches()
        return import_module("own_code")

    return again


def digest(module: ModuleType) -> str | None:
    return source_digest(module.Mine, module.Mine().score)


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        ("  # once each", "", True),
        ('"""Words that are shared."""\n', "", True),
        ('        """Return the scores."""\n', "\n\n", True),
        ("print(Mine())", "print(Mine().name)", True),
        ('if __name__ == "__main__":\n    print(Mine())\n', "", True),
        ("WEIGHT = 2", "WEIGHT = 3", False),
        ('name, config = "mine", {}', 'name, config = "mine", {}; extra = 1', False),
        ("text.lower()", "text", False),
        ("    print(Mine())\n", "    print(Mine())\nelse:\n    WEIGHT = 3\n", False),
    ],
)
def test_comments_docstrings_and_the_main_block_are_no_part_of_a_source(
    imported: Import, old: str, new: str, is_same: bool
) -> None:
    before = digest(imported(MINE))
    assert MINE.count(old) == 1 and before
    after = digest(imported(MINE.replace(old, new)))
    assert after and (after == before) == is_same


def test_what_runs_is_digested_and_not_what_its_file_says_by_now(imported: Import) -> None:
    running = imported(MINE)
    before = digest(running)
    Path("own_code.py").write_text(MINE.replace("WEIGHT = 2", "WEIGHT = 3"))
    assert digest(running) == before  # the process goes on with 2
    changed = imported(MINE.replace("WEIGHT = 2", "WEIGHT = 4"))
    Path("own_code.py").write_text(MINE.replace("wanted & set", "wanted | set"))
    assert digest(changed) is None  # never digested before its file was edited


def test_code_without_a_source_has_no_digest(imported: Import) -> None:
    module = imported(MINE)
    cell: dict[str, Any] = {"__name__": "own_code"}
    exec(MINE.replace("WEIGHT *", "3 *"), cell)  # noqa: S102 (as a notebook runs a cell)
    assert source_digest(cell["Mine"], cell["Mine"]().score) is None
    assert source_digest(len) is None
    function = module.words
    assert source_digest(functools.partial(function)) == source_digest(functools.cache(function)) == digest(module)


def test_the_prompt_has_no_source() -> None:
    lines = (
        "class A:\n    def score(self): pass\n\nfrom heed.extras import source_digest as s; print(s(A, A().score))\n"
    )
    done = subprocess.run([sys.executable, "-"], input=lines, capture_output=True, text=True, check=True)
    assert done.stdout == "None\n"


def test_a_run_is_used_again_until_its_class_is_edited(imported: Import, capsys: pytest.CaptureFixture[str]) -> None:
    scored = "        print(query.qid, end=' ')\n        wanted"
    counting = MINE.replace("        wanted", scored)

    def rerank(text: str) -> int:
        mine = imported(text).Mine()
        with Experiment(load("neuclir-sample", lang="eng"), conditions=["query"]) as experiment:
            experiment.rerank(mine, {"01": list(experiment.documents.docids())[:9]})
        return len(capsys.readouterr().out.split())

    scored_topics = rerank(counting)
    assert scored_topics > 0 and rerank(counting) == rerank(f"{counting}# a remark\n") == 0
    run = Path("runs/neuclir-sample/eng/mine.query.run").read_text()
    assert rerank(counting.replace("WEIGHT = 2", "WEIGHT = 3")) == scored_topics
    assert Path("runs/neuclir-sample/eng/mine.query.run").read_text() != run


def test_without_a_source_runs_are_made_anew_which_is_said(
    imported: Import, capsys: pytest.CaptureFixture[str]
) -> None:
    module = imported(MINE)
    assert set(library.reranker(module.Mine()).config or {}) == {"module's code"}
    cell: dict[str, Any] = {"__name__": "own_code"}
    exec(MINE.replace("WEIGHT *", "3 *"), cell)  # noqa: S102 (as a notebook runs a cell)
    assert library.reranker(cell["Mine"]()).config is None
    assert "mine: the source of its code cannot be read, so its runs are made anew" in capsys.readouterr().err


def test_a_measure_is_known_by_its_source_too(imported: Import) -> None:
    text = "def depth(run, qrels):\n    return {qid: 1.0 for qid in qrels}\n"
    first, same, other = (
        library.measure("depth", config={})(imported(each).depth).config
        for each in (text, f"# mine\n{text}", text.replace("1.0", "2.0"))
    )
    assert first == same != other and None not in (first, other)
    assert library.measure("depth")(imported(text).depth).config is None

"""Runs to be pooled, and the command run in this process and in the current folder."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from heed.formats.trec_files import read_pool, write_run
from pipelines.pool import main

RUNS = {
    "a": {"1": ["x", "y", "z"], "2": ["p", "q", "r"]},
    "b": {"1": ["y", "w", "x"], "2": ["q", "s", "p"]},
}


def write_lists(folder: Path, runs: Mapping[str, Mapping[str, Sequence[str]]]) -> list[Path]:
    """A run file for each name: the docids of its topics, best first."""
    paths = [folder / f"{name}.run" for name in runs]
    for path, lists in zip(paths, runs.values(), strict=True):
        run = {qid: {docid: float(-at) for at, docid in enumerate(docids)} for qid, docids in lists.items()}
        write_run(path, run, path.stem)
    return paths


def pooled(*arguments: object) -> dict[str, list[str]]:
    """The pool that the command writes."""
    assert main([*map(str, arguments), "--out", "pool.jsonl"]) == 0
    return read_pool(Path("pool.jsonl"))


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What the command says when it refuses; it leaves nothing behind."""
    before = sorted(Path().iterdir())
    capsys.readouterr()
    assert main([*map(str, arguments), "--out", "pool.jsonl"]) == 1
    assert sorted(Path().iterdir()) == before
    return capsys.readouterr().err

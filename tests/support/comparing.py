"""Lists in a known order, and what ``heed compare`` writes of runs in files."""

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from conftest import Heed


def order(*docids: str) -> dict[str, float]:
    """Return scores that put ``docids`` in this order."""
    return {docid: float(-place) for place, docid in enumerate(docids)}


def write_qrels(path: Path, **topics: str) -> Path:
    """Write judgements: ``q1="x1 y0"`` are the grades 1 and 0 of two documents of topic 1."""
    lines = (f"{qid[1:]} 0 {graded[:-1]} {graded[-1]}\n" for qid, docids in topics.items() for graded in docids.split())
    path.write_text("".join(lines))
    return path


def compared(heed: Heed, folder: Path, *arguments: object) -> tuple[Any, "CompletedProcess[str]"]:
    """Return the JSON of ``heed compare``, which runs in ``folder``, and the finished command."""
    result = heed("pipelines.compare", *arguments, "--json", "c.json")
    assert result.returncode == 0, result.stderr
    return json.loads((folder / "c.json").read_text()), result

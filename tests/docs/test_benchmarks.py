"""The page of speed is made from the figures of docs/benchmarks.json alone."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

from benchmarks.page import AREAS, JSON, PAGE, page, renew
from benchmarks.timing import Settings, measured


def entry(step: str, *ours: float, aim: float | None = None) -> dict[str, Any]:
    """Return the figures of an area with one step, in which the other program takes 12 s each time."""
    rows = [
        {
            "step": step,
            "peer": "another",
            "ours": [[seconds, 3.0] for seconds in ours],
            "theirs": [[12.0, 12.0] for _ in ours],
            "aim": aim,
            "results": "equal",
        }
    ]
    origin = {"command": "a command", "date": "2026-11-24", "commit": "abc1234", "machine": "a machine", "load": "0.1"}
    return {**origin, "seconds": 90, "about": "An input.", "rows": rows}


def test_the_page_in_docs_holds_what_was_measured() -> None:
    docs = ROOT / "docs"
    assert (docs / PAGE).read_text(encoding="utf-8") == page(json.loads((docs / JSON).read_text(encoding="utf-8")))


def test_an_area_has_its_origin_and_a_step_median_and_range() -> None:
    text = page({"lexical": entry("indexed", 6, 2, 4, aim=4)})
    origin = text.index("An input. `a command`, 1.5 minutes, 2026-11-24, commit abc1234, load 0.1.")
    # 12 / 6, 12 / 2, 12 / 4: 2, 6 and 3, so the median is 3 and below the aim; processor time is 12 / 3
    row = text.index("| BM25 | another | 1 | 3–3 | indexed | 4 | 12 | 3 (2–6) | 4 | 1 |")
    assert row < text.index("## BM25") < origin


def test_of_several_steps_the_slowest_is_shown() -> None:
    several = [entry(f"step {seconds}", seconds, aim=2) for seconds in (3, 12, 8)]  # 12 / 3, 12 / 12, 12 / 8
    text = page({"lexical": several[0] | {"rows": [row for each in several for row in each["rows"]]}})
    assert "| BM25 | another | 3 | 1–4 | step 12 | 12 | 12 | 1 (1–1) | 4 | 2 |" in text


def test_one_area_is_renewed_and_the_others_stay(tmp_path: Path) -> None:
    renew(tmp_path, "pools", entry("depth", 6))
    renew(tmp_path, "lexical", entry("indexed", 6))
    renew(tmp_path, "pools", entry("depth", 3))
    entries = json.loads((tmp_path / JSON).read_text())
    assert entries == {"lexical": entry("indexed", 6), "pools": entry("depth", 3)}
    assert list(entries) == sorted(entries, key=list(AREAS).index)
    assert (tmp_path / PAGE).read_text() == page(entries)


@pytest.mark.disturbance
def test_an_area_is_measured_with_command_and_commit(tmp_path: Path) -> None:
    # the document store, which needs none of the other programs; without collections its input is generated
    entry = json.loads(json.dumps(measured("stores", Settings(1, True, tmp_path))))
    assert entry["command"] == "python -m benchmarks --only stores --quick --repeat 1"
    assert {row["peer"] for row in entry["rows"]} == {"plain SQLite", "a limit"}
    assert all(seconds > 0 for row in entry["rows"] for seconds, _ in row["ours"])
    assert "| generated news: " in page({"stores": entry})
